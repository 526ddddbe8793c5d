# SPDX-License-Identifier: BSD-3-Clause
# Finds the libraries that the options ask for, or says what to install.

# Ends the configuration with advice when `found` is false.
function(need_package option found what package)
    if(NOT found)
        message(FATAL_ERROR
            "${option} is ON, but ${what} was not found. Install it (Debian: "
            "apt-get install ${package}), or configure with -D${option}=OFF.")
    endif()
endfunction()

find_package(Threads REQUIRED)
find_package(PkgConfig)
find_package(ZLIB REQUIRED)
find_path(UTHASH_INCLUDE uthash.h)
if(NOT UTHASH_INCLUDE)
    message(FATAL_ERROR "uthash was not found (Debian: apt-get install uthash-dev)")
endif()

if(AMALGAM_MPI)
    find_package(MPI 3.1 COMPONENTS C)
    need_package(AMALGAM_MPI "${MPI_C_FOUND}" "MPI (3.1 or later)"
        "mpich libmpich-dev")
endif()

foreach(row IN ITEMS "OFI;libfabric;libfabric-dev;1.17"
        "HWLOC;hwloc;libhwloc-dev;2.9")
    list(GET row 0 name)
    list(GET row 1 module)
    list(GET row 2 package)
    list(GET row 3 oldest)
    if(AMALGAM_${name})
        need_package(AMALGAM_${name} "${PKG_CONFIG_FOUND}"
            "pkg-config, which finds ${module}," pkg-config)
        pkg_check_modules(${name} QUIET IMPORTED_TARGET "${module}>=${oldest}")
        need_package(AMALGAM_${name} "${${name}_FOUND}"
            "${module} (${oldest} or later)" ${package})
    endif()
endforeach()

if(AMALGAM_TESTS)
    need_package(AMALGAM_TESTS "${PKG_CONFIG_FOUND}"
        "pkg-config, which finds cmocka," pkg-config)
    pkg_check_modules(CMOCKA QUIET IMPORTED_TARGET cmocka)
    need_package(AMALGAM_TESTS "${CMOCKA_FOUND}" "cmocka" libcmocka-dev)
endif()
