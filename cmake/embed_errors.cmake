# Script: writes OUTPUT, a C++ source that contains the pages named in LIST (one path per line) as raw strings.
cmake_minimum_required(VERSION 3.25)
set(delimiter "PAWL_PAGE")

file(STRINGS "${LIST}" pages)
set(source "// Generated from docs/errors/ by cmake/embed_errors.cmake; edit the pages instead.
#include \"cli/error_pages.hpp\"

namespace pawl::cli {
namespace {

constexpr ErrorPage kPages[] = {
")
foreach(page IN LISTS pages)
  if(NOT page MATCHES "/PAWL-0*([1-9][0-9]*)\\.md$")
    message(FATAL_ERROR "${page}: the name of an error page must be PAWL-xxxx.md")
  endif()
  set(number "${CMAKE_MATCH_1}")
  file(READ "${page}" text)
  string(FIND "${text}" ")${delimiter}\"" position)
  if(NOT position EQUAL -1)
    message(FATAL_ERROR "${page}: the text contains the end of a raw string, )${delimiter}\"")
  endif()
  string(APPEND source "    {${number}, R\"${delimiter}(${text})${delimiter}\"},\n")
endforeach()
string(APPEND source "};

}  // namespace

const std::span<const ErrorPage> kErrorPages{kPages};

}  // namespace pawl::cli
")
file(WRITE "${OUTPUT}" "${source}")
