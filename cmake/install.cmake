# Install components: `pawl` (the program, its manual and completions) and `dev` (the library and headers).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(cmake/dependencies.cmake)

# The folders are many small libraries. Users get a single archive of all of them except the command line.
get_property(folders GLOBAL PROPERTY PAWL_FOLDERS)
get_property(used GLOBAL PROPERTY PAWL_DEPENDS)
list(REMOVE_ITEM folders pawl_cli)
list(TRANSFORM folders REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
list(FILTER used EXCLUDE REGEX "^pawl_")
list(REMOVE_DUPLICATES used)
set(pawl_find_code "")
set(linked "")
set(pawl_debian_packages "")
foreach(target IN LISTS used)
  get_property(code GLOBAL PROPERTY "PAWL_FIND_${target}")
  get_property(debian GLOBAL PROPERTY "PAWL_DEBIAN_${target}")
  if(NOT code)
    message(FATAL_ERROR "${target} is missing in cmake/dependencies.cmake")
  elseif(NOT code STREQUAL "HEADERS")
    string(APPEND pawl_find_code "${code}\n")
    list(APPEND linked ${target})
    list(APPEND pawl_debian_packages ${debian})
  endif()
endforeach()

add_library(pawl_library STATIC ${objects})
set_target_properties(pawl_library PROPERTIES OUTPUT_NAME pawl EXPORT_NAME pawl LINKER_LANGUAGE CXX)
target_include_directories(pawl_library INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
target_link_libraries(pawl_library INTERFACE ${linked})
target_compile_features(pawl_library INTERFACE cxx_std_23)
add_library(pawl::pawl ALIAS pawl_library)

install(TARGETS pawl RUNTIME COMPONENT pawl)
install(TARGETS pawl_library EXPORT pawlTargets ARCHIVE COMPONENT dev INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/pawl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/pawl)
install(EXPORT pawlTargets NAMESPACE pawl:: DESTINATION ${package_folder} COMPONENT dev)
configure_package_config_file(cmake/pawlConfig.cmake.in ${CMAKE_BINARY_DIR}/generated/pawlConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/pawlConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/pawlConfig.cmake ${CMAKE_BINARY_DIR}/generated/pawlConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT dev)

# The program itself generates the manual and the completions, so they are always up to date.
set(share ${CMAKE_BINARY_DIR}/share)
find_program(GZIP gzip REQUIRED)
add_custom_command(
  OUTPUT ${share}/pawl.1.gz ${share}/pawl ${share}/_pawl ${share}/pawl.fish
  COMMAND ${CMAKE_COMMAND} -E make_directory ${share}
  COMMAND pawl __man > ${share}/pawl.1
  COMMAND ${GZIP} -9nf ${share}/pawl.1
  COMMAND pawl completion bash > ${share}/pawl
  COMMAND pawl completion zsh > ${share}/_pawl
  COMMAND pawl completion fish > ${share}/pawl.fish
  DEPENDS pawl
  COMMENT "Writing the manual and the completions")
set(always ALL)
if(PAWL_FUZZ)
  set(always)  # this program is not installed
endif()
add_custom_target(pawl_share ${always} DEPENDS ${share}/pawl.1.gz ${share}/pawl ${share}/_pawl ${share}/pawl.fish)
install(FILES ${share}/pawl.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT pawl)
install(FILES ${share}/pawl DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT pawl)
# zsh uses different folders below /usr/local and below /usr (Debian).
install(CODE "
  set(zsh_folder site-functions)
  if(CMAKE_INSTALL_PREFIX MATCHES \"/usr$\")
    set(zsh_folder vendor-completions)
  endif()
  file(INSTALL \"${share}/_pawl\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${zsh_folder}\")"
  COMPONENT pawl)
install(FILES ${share}/pawl.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT pawl)

set(documents ${CMAKE_INSTALL_DATADIR}/doc/pawl)
install(FILES LICENSE DESTINATION ${documents} COMPONENT licence)  # Debian packages use debian/copyright instead
install(FILES README.md CHANGELOG.md docs/workflow.md docs/resume.md DESTINATION ${documents} COMPONENT pawl)
install(DIRECTORY examples DESTINATION ${documents} COMPONENT pawl USE_SOURCE_PERMISSIONS)
