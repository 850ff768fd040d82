# Compiles the pages of docs/errors/ into pawl_cli for `pawl explain CODE`. Changing, adding or removing a page rebuilds
# them. The list is a separate file, because a removed dependency alone would not trigger a rebuild.
file(GLOB error_pages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/errors/PAWL-*.md)
set(error_pages_list ${CMAKE_BINARY_DIR}/generated/error_pages.list)
set(error_pages_source ${CMAKE_BINARY_DIR}/generated/error_pages.cpp)
string(REPLACE ";" "\n" error_pages_lines "${error_pages}")
file(CONFIGURE OUTPUT ${error_pages_list} CONTENT "${error_pages_lines}\n" @ONLY)
add_custom_command(
  OUTPUT ${error_pages_source}
  COMMAND ${CMAKE_COMMAND} -DLIST=${error_pages_list} -DOUTPUT=${error_pages_source}
          -P ${CMAKE_SOURCE_DIR}/cmake/embed_errors.cmake
  DEPENDS ${error_pages} ${error_pages_list} ${CMAKE_SOURCE_DIR}/cmake/embed_errors.cmake
  COMMENT "Embedding the error pages"
  VERBATIM)
target_sources(pawl_cli PRIVATE ${error_pages_source})
