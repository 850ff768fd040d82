option(PAWL_TESTS "Build the tests" ON)
option(PAWL_BENCH "Build the benchmarks" OFF)
option(PAWL_FUZZ "Build the fuzz targets (clang)" OFF)
set(PAWL_SANITIZE "" CACHE STRING "Sanitizers for everything, as in -fsanitize=")

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

if(PAWL_SANITIZE)
  add_compile_options(-fsanitize=${PAWL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PAWL_SANITIZE})
endif()

add_library(pawl_warnings INTERFACE)
target_compile_options(pawl_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                       -Wnon-virtual-dtor -Woverloaded-virtual -Werror
                       $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
                       # g++ 12 sees overruns in moved std::expected<std::string> that are none.
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-maybe-uninitialized;-Wno-stringop-overflow;-Wno-stringop-overread>)

# Precompiled: what nearly every file includes, and what is slow to parse. ccache and clang's
# sanitizers work with it as long as time macros are not used.
# Further headers of a target are named behind it.
function(pawl_precompile target)
  if(NOT PAWL_FUZZ)
    target_precompile_headers(${target} PRIVATE ${ARGN} <fmt/format.h> <string> <vector> <memory> <expected> <optional>
                              <functional> <map> <unordered_map> <nlohmann/json.hpp>)
  endif()
endfunction()

# Where speed does not count, compilers need not work for it.
function(pawl_optimize_little target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
