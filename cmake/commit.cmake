# Generates a header with the commit for `pawl --version`. Only src/app/main/build_info.cpp includes it. Every build
# determines the commit but writes the header only if it changed, so a new commit recompiles one small file.
set(commit_header ${CMAKE_BINARY_DIR}/generated/commit/pawl_commit.hpp)
set(write_commit ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUTPUT=${commit_header}
    -P ${CMAKE_SOURCE_DIR}/cmake/write_commit.cmake)
execute_process(COMMAND ${write_commit} COMMAND_ERROR_IS_FATAL ANY)  # for tools that read the sources without building
add_custom_target(pawl_commit
  COMMAND ${write_commit}
  BYPRODUCTS ${commit_header}
  COMMENT "" VERBATIM)
add_dependencies(pawl pawl_commit)
set_source_files_properties(src/app/main/build_info.cpp PROPERTIES
  INCLUDE_DIRECTORIES ${CMAKE_BINARY_DIR}/generated/commit
  COMPILE_DEFINITIONS
    "PAWL_BUILD_TYPE=\"$<CONFIG>\";PAWL_PLATFORM=\"${CMAKE_SYSTEM_NAME} ${CMAKE_SYSTEM_PROCESSOR}\"")
