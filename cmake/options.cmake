option(PAWL_TESTS "Build the tests" ON)
option(PAWL_BENCH "Build the benchmarks" OFF)
option(PAWL_FUZZ "Build the fuzz targets (clang)" OFF)
option(PAWL_UNITY "Compile several source files at once: faster from scratch" ON)
set(PAWL_SANITIZE "" CACHE STRING "Sanitizers for everything, as in -fsanitize=")

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
# -O3 takes longer to compile; whether it makes any benchmark faster has not been measured.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

if(PAWL_SANITIZE)
  add_compile_options(-fsanitize=${PAWL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PAWL_SANITIZE})
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()

# Hardening. Sanitizers have their own checks and do not work with _FORTIFY_SOURCE.
add_compile_options(-fstack-protector-strong -D_GLIBCXX_ASSERTIONS)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|i.86")
  add_compile_options(-fcf-protection)
endif()
add_link_options(LINKER:-z,relro LINKER:-z,now)

add_library(pawl_warnings INTERFACE)
target_compile_options(pawl_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                       -Wnon-virtual-dtor -Woverloaded-virtual -Werror
                       $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
                       # g++ 12 reports false overruns in moved std::expected<std::string>, and false overlaps in added strings.
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-maybe-uninitialized;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-restrict>)

# Headers that nearly every file includes and that are slow to parse. All libraries share one precompiled header, all
# tests another: a target that reuses one must be compiled with the same flags, except for the level of optimization.
set(pawl_precompiled_headers <fmt/format.h> <fmt/ranges.h> <algorithm> <array> <charconv> <chrono> <cstdint> <expected> <filesystem>
    <functional> <map> <memory> <optional> <set> <span> <string> <string_view> <unordered_map> <variant> <vector>
    <nlohmann/json.hpp>)

function(pawl_make_precompiled name)
  set(source ${CMAKE_BINARY_DIR}/generated/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Only its precompiled header is used.\n" @ONLY)
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE ${ARGN} pawl_warnings)
  if(NOT PAWL_FUZZ)
    target_precompile_headers(${name} PRIVATE ${pawl_precompiled_headers})
  endif()
endfunction()

function(pawl_precompile target from)
  if(NOT PAWL_FUZZ)
    target_precompile_headers(${target} REUSE_FROM ${from})
  endif()
endfunction()

# pawl_batches(OUT TARGET SOURCES...): sets OUT to the files to compile instead of SOURCES. Each includes several
# sources, by names relative to the project, so that ccache finds them again from another build folder. A batch has at
# most `pawl_batch_bytes` of sources, so that recompiling one takes seconds. The engine has smaller batches, because it
# takes longest to compile per byte.
set(pawl_batch_bytes 60000)
set(pawl_batch_bytes_engine 42000)
function(pawl_batches out target)
  if(NOT PAWL_UNITY)
    set(${out} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(result "")
  set(batch "")
  set(bytes 0)
  set(count 0)
  set(separate reaper.cpp reaper_start.cpp)
  set(limit ${pawl_batch_bytes})
  if(DEFINED pawl_batch_bytes_${target})
    set(limit ${pawl_batch_bytes_${target}})
  endif()
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(GET source FILENAME file)
    if(file IN_LIST separate)
      list(APPEND result ${source})
      continue()
    endif()
    file(SIZE ${source} size)
    math(EXPR bytes "${bytes} + ${size}")
    if(batch AND bytes GREATER limit)
      pawl_write_batch(${target} ${count} "${batch}")
      list(APPEND result ${CMAKE_BINARY_DIR}/generated/batches/${target}_${count}.cpp)
      math(EXPR count "${count} + 1")
      set(batch "")
      set(bytes ${size})
    endif()
    list(APPEND batch ${source})
  endforeach()
  if(batch)
    pawl_write_batch(${target} ${count} "${batch}")
    list(APPEND result ${CMAKE_BINARY_DIR}/generated/batches/${target}_${count}.cpp)
  endif()
  set(${out} ${result} PARENT_SCOPE)
endfunction()

function(pawl_write_batch target number sources)
  set(text "")
  foreach(source IN LISTS sources)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
    string(APPEND text "#include \"${source}\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/batches/${target}_${number}.cpp CONTENT "${text}" @ONLY)
endfunction()

# Optimizes less, for targets whose speed does not matter.
function(pawl_optimize_little target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
