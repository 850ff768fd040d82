# `make package`: build/pawl_VERSION_ARCH.deb (the program) and build/libpawl-dev_VERSION_ARCH.deb (the library).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pawl)
set(CPACK_PACKAGE_CONTACT "The authors of Pawl <pawl@pawl.invalid>")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL pawl dev debian debian_dev)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENT_PAWL_GROUP pawl)
set(CPACK_COMPONENT_DEBIAN_GROUP pawl)
set(CPACK_COMPONENT_DEV_GROUP dev)
set(CPACK_COMPONENT_DEBIAN_DEV_GROUP dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PAWL_PACKAGE_NAME pawl)
set(CPACK_DEBIAN_PAWL_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PAWL_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PAWL_DESCRIPTION "durable workflows, checkpoints and steps
Pawl runs workflows of agents, tools and scripts, and records every step
that finishes: a run that crashed, failed, waited or was interrupted goes on
where it was. Programs and scripts can save states of their own as
checkpoints. All of it is kept in a folder; there is no server to set up.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libpawl-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
string(JOIN ", " dev_depends ${pawl_debian_packages})
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${dev_depends}")
set(CPACK_DEBIAN_DEV_DESCRIPTION "durable workflows, checkpoints and steps (library)
Pawl records every step of a workflow that finishes, and states of programs
as checkpoints, durably, in a folder.
.
This package has the C++ library, its headers and the files for CMake's
find_package(pawl).")

# Files that Debian requires. The Debian changelog has one entry; changes are listed in CHANGELOG.md.
set(debian_changelog ${CMAKE_BINARY_DIR}/generated/changelog)
file(CONFIGURE OUTPUT ${debian_changelog} @ONLY CONTENT "pawl (@PROJECT_VERSION@) unstable; urgency=medium

  * Release @PROJECT_VERSION@; CHANGELOG.md says what is new.

 -- @CPACK_PACKAGE_CONTACT@  Sun, 11 Jan 2026 00:00:00 +0000
")
execute_process(COMMAND ${GZIP} -9nkf ${debian_changelog} COMMAND_ERROR_IS_FATAL ANY)
foreach(package pawl libpawl-dev)
  set(component debian)
  if(package STREQUAL libpawl-dev)
    set(component debian_dev)
  endif()
  install(FILES cmake/debian/copyright ${debian_changelog}.gz DESTINATION share/doc/${package}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
