# SPDX-License-Identifier: BSD-3-Clause
# Finds the libraries that the options ask for, or says what to install.

# Ends the configuration with advice when `found` is false. `option` is the
# one that asked for it, or "" when the library cannot do without.
function(need_package option found what package)
    if(found)
        return()
    endif()
    set(advice "Install it (Debian: apt-get install ${package})")
    if(option)
        message(FATAL_ERROR "${option} is ON, but ${what} was not found. "
            "${advice}, or configure with -D${option}=OFF.")
    endif()
    message(FATAL_ERROR "${what} was not found. ${advice}.")
endfunction()

find_package(Threads REQUIRED)
find_package(PkgConfig)

find_package(ZLIB)
need_package("" "${ZLIB_FOUND}" "zlib" zlib1g-dev)
find_path(UTHASH_INCLUDE uthash.h)
need_package("" "${UTHASH_INCLUDE}" "uthash.h" uthash-dev)

if(AMALGAM_MPI)
    find_package(MPI 3.1 COMPONENTS C)
    need_package(AMALGAM_MPI "${MPI_C_FOUND}" "MPI (3.1 or later)"
        "mpich libmpich-dev")
    include(CheckSymbolExists)
    set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
    check_symbol_exists(MPI_Type_get_contents_c mpi.h MPI_HAS_COUNTS)
    unset(CMAKE_REQUIRED_LIBRARIES)
endif()

# The options that ask for each; the first that is ON is named in advice.
set(json_for AMALGAM_JSON)
if(AMALGAM_ULT)
    list(PREPEND json_for AMALGAM_MARGO)
endif()
foreach(row IN ITEMS "OFI;libfabric;libfabric-dev;1.17;AMALGAM_OFI"
        "HWLOC;hwloc;libhwloc-dev;2.9;AMALGAM_HWLOC"
        "JSON;json-c;libjson-c-dev;0.15;${json_for}")
    list(POP_FRONT row name module package oldest)
    foreach(option IN LISTS row)
        if(${option} AND NOT TARGET PkgConfig::${name})
            need_package(${option} "${PKG_CONFIG_FOUND}"
                "pkg-config, which finds ${module}," pkg-config)
            pkg_check_modules(
                ${name} QUIET IMPORTED_TARGET "${module}>=${oldest}")
            need_package(${option} "${${name}_FOUND}"
                "${module} (${oldest} or later)" ${package})
        endif()
    endforeach()
endforeach()

if(AMALGAM_TESTS)
    need_package(AMALGAM_TESTS "${PKG_CONFIG_FOUND}"
        "pkg-config, which finds cmocka," pkg-config)
    pkg_check_modules(CMOCKA QUIET IMPORTED_TARGET cmocka)
    need_package(AMALGAM_TESTS "${CMOCKA_FOUND}" "cmocka" libcmocka-dev)
endif()
