# SPDX-License-Identifier: BSD-3-Clause
# The component `compat` of the install: what projects look for that were
# written for Mercury, Margo, Argobots or Thallium, under the names of the originals. It
# may stand beside the rest, but never in the place of an original.

# compat_install(FILE FOLDER): FILE of the build, to FOLDER of the prefix; it is
# one of compat_paths, which must not be there.
function(compat_install file folder)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${file} DESTINATION ${folder}
        COMPONENT compat)
    set_property(DIRECTORY APPEND PROPERTY compat_paths ${folder}/${file})
endfunction()

# compat_pc(NAME VERSION REQUIRES LIBS CFLAGS): NAME.pc
function(compat_pc name version requires libs cflags)
    configure_file(compat.pc.in ${name}.pc @ONLY)
    compat_install(${name}.pc ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# compat_package(PACKAGE VERSION TARGETS [EACH code] [PACKAGES code]
#     [MODULES PREFIX=NAME...])
#
# For find_package(PACKAGE), which makes TARGETS, also as PACKAGE::TARGET, finds
# other packages by PACKAGES, and makes PkgConfig::PREFIX for each NAME.pc, as that
# of the original does. EACH is run for ${amalgam_target}, a target just made.
function(compat_package package version targets)
    cmake_parse_arguments(PARSE_ARGV 3 arg "" "EACH;PACKAGES" "MODULES")
    string(TOUPPER ${package} upper)
    set(names ${targets})
    list(TRANSFORM names PREPEND ${package}::)
    list(PREPEND names ${targets})
    list(JOIN targets " " targets)
    list(JOIN names " " names)
    set(each "${arg_EACH}")
    set(packages "${arg_PACKAGES}")
    list(TRANSFORM arg_MODULES REPLACE "(.+)=(.+)"
        "    pkg_check_modules(\\1 QUIET IMPORTED_TARGET \\2)\n")
    list(JOIN arg_MODULES "" modules)
    set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    string(REPLACE "." ";" numbers ${version})
    list(GET numbers 0 major)
    list(GET numbers 1 minor)
    list(GET numbers 2 patch)
    configure_package_config_file(compat-config.cmake.in
        ${package}-config.cmake PATH_VARS CMAKE_INSTALL_INCLUDEDIR pc_dir
        INSTALL_DESTINATION ${cmake_dir}/${package})
    write_basic_package_version_file(
        ${CMAKE_CURRENT_BINARY_DIR}/${package}-config-version.cmake
        VERSION ${version} COMPATIBILITY SameMajorVersion)
    file(APPEND ${CMAKE_CURRENT_BINARY_DIR}/${package}-config-version.cmake
        "# Amalgam, with the API of this version\n")
    compat_install(${package}-config.cmake ${cmake_dir}/${package})
    compat_install(${package}-config-version.cmake ${cmake_dir}/${package})
endfunction()

# compat_library(NAME...): libNAME.so, a link to libamalgam in the same folder: a
# linker (-lNAME, or the path of the file) records the soname of libamalgam, and
# dlopen("libNAME.so") gives the library that is loaded already, if one is.
# Static: libNAME.a, a linker script that names all that a program links.
function(compat_library)
    foreach(name ${ARGN})
        if(AMALGAM_KIND STREQUAL "static")
            set(file lib${name}.a)
            separate_arguments(text UNIX_COMMAND "${AMALGAM_PC_CORE}")
            list(TRANSFORM text REPLACE "^-Wl,-u,(.+)" "EXTERN(\\1)")
            list(TRANSFORM text REPLACE "^-l(amalgam.*)" "INPUT(lib\\1.a)")
            list(TRANSFORM text REPLACE "^-l.+" "INPUT(\\0)")
            list(TRANSFORM text REPLACE "^-L(.+)" "SEARCH_DIR(\\1)")
            list(JOIN text " " text)
            file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${file}
                "/* Amalgam: a linker script */ ${text}\n")
        else()
            set(file lib${name}.so)
            file(CREATE_LINK libamalgam.so.0
                ${CMAKE_CURRENT_BINARY_DIR}/${file} SYMBOLIC)
        endif()
        compat_install(${file} ${CMAKE_INSTALL_LIBDIR})
    endforeach()
endfunction()

compat_library(mercury mercury_util na)
compat_package(mercury ${AMALGAM_MERCURY_VERSION} "mercury;mercury_util;na")
compat_pc(mercury_util ${AMALGAM_MERCURY_VERSION} "" "" "")
compat_pc(na ${AMALGAM_NA_VERSION} "" "" "")
compat_pc(mercury ${AMALGAM_MERCURY_VERSION} "" "" "")
if(has_abt)
    compat_library(abt)
    compat_pc(argobots ${AMALGAM_ARGOBOTS_VERSION} "" "" " -I\${includedir}/ult")
endif()
if(has_margo)
    set(requires_abt "argobots >= 1.2, ")
    if(NOT has_abt)
        set(requires_abt "") # its folders are told, and need no .pc of its own
    endif()
    compat_library(margo)
    compat_package(margo ${AMALGAM_MARGO_VERSION} "margo"
        MODULES ARGOBOTS=argobots JSONC=json-c PACKAGES [[
find_dependency(Threads)
find_dependency(mercury
    PATHS "${CMAKE_CURRENT_LIST_DIR}/../mercury" NO_DEFAULT_PATH)
]])
    compat_pc(margo ${AMALGAM_MARGO_VERSION} "mercury, ${requires_abt}json-c"
        "${AMALGAM_PC_ABT_LIBS}" "${AMALGAM_PC_ABT}")
    compat_pc(margo-hg-shim ${AMALGAM_MARGO_VERSION} "mercury" "" "")
endif()
if(has_thallium)
    set(folder "") # of cereal, where compilers do not look by themselves
    if(NOT CEREAL_INCLUDE IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
        set(folder " -I${CEREAL_INCLUDE}")
    endif()
    # The headers include cereal's, and are C++14. With the second target, both
    # sides of a call compare the types of its arguments.
    compat_package(thallium ${AMALGAM_THALLIUM_VERSION}
        "thallium;thallium_check_types" MODULES margo=margo PACKAGES [[
find_dependency(cereal)
set(THALLIUM_LIBRARIES thallium)
]] EACH [[
        target_link_libraries(${amalgam_target} INTERFACE cereal::cereal)
        target_compile_features(${amalgam_target} INTERFACE cxx_std_14)
        if(amalgam_target MATCHES "check_types$")
            target_compile_definitions(
                ${amalgam_target} INTERFACE THALLIUM_DEBUG_RPC_TYPES)
        endif()
]])
    compat_pc(thallium ${AMALGAM_THALLIUM_VERSION} "margo" "" "${folder}")
endif()
get_property(compat_paths DIRECTORY PROPERTY compat_paths)
