# Script: writes OUTPUT, a C++ source that contains the schemas named in LIST (one path per line) as raw strings.
cmake_minimum_required(VERSION 3.25)
set(delimiter "PAWL_SCHEMA")

file(STRINGS "${LIST}" schemas)
set(source "// Generated from schemas/ by cmake/embed_schemas.cmake; edit the schemas instead.
#include \"cli/output_schemas.hpp\"

namespace pawl::cli {
namespace {

constexpr OutputSchema kSchemas[] = {
")
foreach(schema IN LISTS schemas)
  get_filename_component(name "${schema}" NAME_WE)
  string(REPLACE "-" " " name "${name}")
  file(READ "${schema}" text)
  string(APPEND source "    {\"${name}\", R\"${delimiter}(${text})${delimiter}\"},\n")
endforeach()
string(APPEND source "};

}  // namespace

const std::span<const OutputSchema> kOutputSchemas{kSchemas};

}  // namespace pawl::cli
")
file(WRITE "${OUTPUT}" "${source}")
