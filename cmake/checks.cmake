# Registers the checks of the source tree as tests: the folder graph, the conventions, and the checks themselves.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

function(pawl_check name)
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${ARGN} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS check)
endfunction()

pawl_check(layers tools/layers.py)
pawl_check(layers_test tools/layers_test.py)
pawl_check(tidy tools/tidy.py --compile-commands ${CMAKE_BINARY_DIR}/compile_commands.json)
pawl_check(tidy_test tools/tidy_test.py)
pawl_check(compliance tools/compliance.py)
pawl_check(compliance_test tools/compliance_test.py)
add_test(NAME format COMMAND ${CMAKE_SOURCE_DIR}/tools/format --check)
set_tests_properties(format PROPERTIES TIMEOUT 120 LABELS check)
pawl_check(mutants_apply tests/crash/mutants.py --check)
pawl_check(json_docs tools/json_docs.py --check)
pawl_check(messages tools/messages.py --check)
