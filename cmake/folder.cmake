# pawl_folder(PATH DEPENDS targets... [PRECOMPILE headers...]): the library of src/PATH (target pawl_<path>), made of its *.cpp, and
# its unit tests (target <path>_test), made of its *_test.cpp.
function(pawl_folder path)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRECOMPILE" ${ARGN})
  string(REPLACE "/" "_" name ${path})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${path}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  add_library(pawl_${name} STATIC ${sources})
  set_property(GLOBAL APPEND PROPERTY PAWL_FOLDERS pawl_${name})  # cmake/install.cmake makes one library of them
  set_property(GLOBAL APPEND PROPERTY PAWL_DEPENDS ${ARG_DEPENDS})
  target_include_directories(pawl_${name} PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(pawl_${name} PUBLIC ${ARG_DEPENDS} PRIVATE pawl_warnings)
  pawl_precompile(pawl_${name} ${ARG_PRECOMPILE})
  if(PAWL_TESTS AND tests)
    pawl_test(${name}_test SOURCES ${tests} DEPENDS pawl_${name})
  endif()
endfunction()

# pawl_test(NAME SOURCES ... DEPENDS ... [LABELS ...] [TIMEOUT s]): a GoogleTest program, each test registered.
function(pawl_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} pawl_warnings GTest::gtest_main)
  pawl_precompile(${name} <gtest/gtest.h>)
  pawl_optimize_little(${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
