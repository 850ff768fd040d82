# Tests of the installation: a prefix, and the packages in a clean root. They use this build and compile nothing again.
set(package_tests install)
if(NOT PAWL_SANITIZE)  # nobody packages such a build, and sanitizers need /proc
  list(APPEND package_tests deb)
endif()
foreach(name IN LISTS package_tests)
  add_test(NAME package_${name}
           COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tests/package/${name}_test.py ${CMAKE_BINARY_DIR})
  set_tests_properties(package_${name} PROPERTIES TIMEOUT 300 LABELS "package" SKIP_RETURN_CODE 77)
endforeach()
