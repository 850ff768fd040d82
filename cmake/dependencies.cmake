# External libraries: pawl_dependency(TARGET DEBIAN_PACKAGE code...). The code finds the target in projects that use the
# installed library. libpawl-dev depends on the package. A target in a pawl_folder line that is not listed here is a
# configuration error. HEADERS: used only by our sources, not by our installed headers.
function(pawl_dependency target package)
  string(JOIN "\n" code ${ARGN})
  set_property(GLOBAL PROPERTY "PAWL_FIND_${target}" "${code}")
  set_property(GLOBAL PROPERTY "PAWL_DEBIAN_${target}" ${package})
endfunction()

pawl_dependency(fmt::fmt libfmt-dev "find_dependency(fmt)")
pawl_dependency(OpenSSL::Crypto libssl-dev "find_dependency(OpenSSL)")
pawl_dependency(SQLite::SQLite3 libsqlite3-dev "find_dependency(SQLite3)")
pawl_dependency(simdjson::simdjson libsimdjson-dev "find_dependency(simdjson)")
pawl_dependency(yaml-cpp libyaml-cpp-dev "find_dependency(yaml-cpp)")
pawl_dependency(ZLIB::ZLIB zlib1g-dev "find_dependency(ZLIB)")
pawl_dependency(PkgConfig::zstd libzstd-dev "find_dependency(PkgConfig)"
                "pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)")
pawl_dependency(PkgConfig::re2 libre2-dev "find_dependency(PkgConfig)"
                "pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)")
pawl_dependency(Threads::Threads "" "find_dependency(Threads)")
pawl_dependency(nlohmann_json::nlohmann_json "" HEADERS)
pawl_dependency(CLI11::CLI11 "" HEADERS)
