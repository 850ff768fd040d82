# Compiles schemas/*.json into pawl_cli for `pawl schema --of NAME`. Changing, adding or removing one rebuilds them.
file(GLOB output_schemas CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/schemas/*.json)
set(output_schemas_list ${CMAKE_BINARY_DIR}/generated/output_schemas.list)
set(output_schemas_source ${CMAKE_BINARY_DIR}/generated/output_schemas.cpp)
string(REPLACE ";" "\n" output_schemas_lines "${output_schemas}")
file(CONFIGURE OUTPUT ${output_schemas_list} CONTENT "${output_schemas_lines}\n" @ONLY)
add_custom_command(
  OUTPUT ${output_schemas_source}
  COMMAND ${CMAKE_COMMAND} -DLIST=${output_schemas_list} -DOUTPUT=${output_schemas_source}
          -P ${CMAKE_SOURCE_DIR}/cmake/embed_schemas.cmake
  DEPENDS ${output_schemas} ${output_schemas_list} ${CMAKE_SOURCE_DIR}/cmake/embed_schemas.cmake
  COMMENT "Embedding the schemas of outputs"
  VERBATIM)
target_sources(pawl_cli PRIVATE ${output_schemas_source})
