# SPDX-License-Identifier: BSD-3-Clause
# Finds the libraries that the options ask for, or says what to install.

# Ends the configuration with advice when `found` is false. `option` is the
# one that asked for it, or "" when the library cannot do without.
function(need_package option found what package)
    if(found)
        return()
    endif()
    set(advice "Install it (Debian: apt-get install ${package}; for RHEL, SLES and "
        "Spack see src/install/README.md), or say where it is by "
        "CMAKE_PREFIX_PATH, and by PKG_CONFIG_PATH for its .pc file")
    list(JOIN advice "" advice)
    if(option)
        message(FATAL_ERROR "${option} is ON, but ${what} was not found. "
            "${advice}, or configure with -D${option}=OFF.")
    endif()
    message(FATAL_ERROR "${what} was not found. ${advice}.")
endfunction()

# The targets of packages are those of the whole build: a project that has this
# one as a folder links them, too, by ours.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
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
                ${name} QUIET IMPORTED_TARGET GLOBAL "${module}>=${oldest}")
            need_package(${option} "${${name}_FOUND}"
                "${module} (${oldest} or later)" ${package})
        endif()
    endforeach()
endforeach()

# Which user-level threads Margo stands on. Those of a system are the target
# amalgam_argobots, found at a prefix or by pkg-config.
if(NOT "${AMALGAM_ULT}" MATCHES "^(amalgam|argobots)$" AND AMALGAM_ULT)
    message(FATAL_ERROR "AMALGAM_ULT is \"${AMALGAM_ULT}\", and only amalgam, "
        "argobots and OFF are known.")
endif()
if(AMALGAM_MARGO AND NOT AMALGAM_ULT)
    message(STATUS "Margo is left out: it needs user-level threads, and "
        "AMALGAM_ULT is OFF")
endif()
if(AMALGAM_MARGO AND AMALGAM_ULT STREQUAL "argobots")
    if(AMALGAM_ARGOBOTS_PREFIX)
        find_path(AMALGAM_ARGOBOTS_INCLUDE abt.h NO_DEFAULT_PATH
            PATHS ${AMALGAM_ARGOBOTS_PREFIX}/include)
        find_library(AMALGAM_ARGOBOTS_LIBRARY abt NO_DEFAULT_PATH
            PATHS ${AMALGAM_ARGOBOTS_PREFIX} PATH_SUFFIXES lib lib64
                ${CMAKE_INSTALL_LIBDIR})
        mark_as_advanced(AMALGAM_ARGOBOTS_INCLUDE AMALGAM_ARGOBOTS_LIBRARY)
        set(where "below AMALGAM_ARGOBOTS_PREFIX, ${AMALGAM_ARGOBOTS_PREFIX}")
    elseif(PKG_CONFIG_FOUND)
        pkg_check_modules(ARGOBOTS QUIET argobots)
        set(AMALGAM_ARGOBOTS_INCLUDE ${ARGOBOTS_INCLUDE_DIRS})
        set(AMALGAM_ARGOBOTS_LIBRARY ${ARGOBOTS_LINK_LIBRARIES})
        if(ARGOBOTS_FOUND AND NOT AMALGAM_ARGOBOTS_INCLUDE)
            set(AMALGAM_ARGOBOTS_INCLUDE ${ARGOBOTS_INCLUDEDIR})
        endif()
        set(where "by pkg-config (is argobots.pc in PKG_CONFIG_PATH?)")
    endif()
    if(NOT AMALGAM_ARGOBOTS_INCLUDE OR NOT AMALGAM_ARGOBOTS_LIBRARY)
        message(FATAL_ERROR "AMALGAM_ULT is argobots, but abt.h and libabt were "
            "not found ${where}. Say where it is installed with "
            "-DAMALGAM_ARGOBOTS_PREFIX=DIR, or configure with "
            "-DAMALGAM_ULT=amalgam, which needs none.")
    endif()
    if("${AMALGAM_ARGOBOTS_LIBRARY}" MATCHES "libamalgam")
        message(FATAL_ERROR "AMALGAM_ULT is argobots, but the argobots.pc that "
            "was found is our own (${AMALGAM_ARGOBOTS_LIBRARY}). Say where "
            "the other one is with -DAMALGAM_ARGOBOTS_PREFIX=DIR.")
    endif()
    message(STATUS "User-level threads: ${AMALGAM_ARGOBOTS_LIBRARY}")
endif()

# thallium.hpp: headers in C++ over margo.h, which include cereal's.
include(CheckLanguage)
check_language(CXX)
find_path(CEREAL_INCLUDE cereal/cereal.hpp)
mark_as_advanced(CEREAL_INCLUDE)
set(found_all OFF)
if(CMAKE_CXX_COMPILER AND CEREAL_INCLUDE)
    set(found_all ON)
endif()
option(AMALGAM_THALLIUM
    "install thallium.hpp, which needs Margo, cereal and a C++ compiler"
    ${found_all})
set(has_thallium OFF)
if(AMALGAM_THALLIUM AND AMALGAM_MARGO AND AMALGAM_ULT)
    need_package(AMALGAM_THALLIUM "${CMAKE_CXX_COMPILER}" "a C++ compiler" g++)
    need_package(AMALGAM_THALLIUM "${CEREAL_INCLUDE}" "cereal" libcereal-dev)
    set(has_thallium ON)
    enable_language(CXX)
    set(CMAKE_CXX_STANDARD 14)
    set(CMAKE_CXX_STANDARD_REQUIRED ON)
    set(CMAKE_CXX_EXTENSIONS OFF)
    if(AMALGAM_TESTS)
        find_path(DOCTEST_INCLUDE doctest/doctest.h)
        mark_as_advanced(DOCTEST_INCLUDE)
        need_package(AMALGAM_TESTS "${DOCTEST_INCLUDE}" "doctest" doctest-dev)
    endif()
elseif(AMALGAM_THALLIUM)
    message(STATUS "thallium.hpp is left out: it needs Margo")
elseif(AMALGAM_MARGO AND AMALGAM_ULT)
    message(STATUS "thallium.hpp is left out: AMALGAM_THALLIUM is OFF, which "
        "it is by default without cereal (Debian: libcereal-dev) or a C++ "
        "compiler")
endif()

# The Fortran module. Its compiler has to know the descriptors of arrays that C
# reads, and the MPI of Fortran has to be that of C. A project that has this one
# as a folder gets the module if that project has Fortran.
get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
include(CheckIncludeFile)
set(found_all OFF)
if(AMALGAM_MPI AND (AMALGAM_FORTRAN OR (NOT DEFINED AMALGAM_FORTRAN
        AND (PROJECT_IS_TOP_LEVEL OR "Fortran" IN_LIST languages))))
    check_language(Fortran)
    if(CMAKE_Fortran_COMPILER)
        enable_language(Fortran)
        find_package(MPI 3.1 QUIET COMPONENTS Fortran)
        check_include_file(ISO_Fortran_binding.h HAS_FORTRAN_BINDING)
        set(missing ${MPI_C_LIBRARIES})
        list(REMOVE_ITEM missing ${MPI_Fortran_LIBRARIES})
        if(MPI_Fortran_FOUND AND HAS_FORTRAN_BINDING AND NOT missing)
            set(found_all ON)
        endif()
    endif()
endif()
option(AMALGAM_FORTRAN
    "build the Fortran module, which needs MPI and a Fortran compiler"
    ${found_all})
set(has_fortran OFF)
if(AMALGAM_FORTRAN AND AMALGAM_MPI)
    need_package(AMALGAM_FORTRAN "${found_all}"
        "a Fortran compiler of the C compiler's kind, with Fortran's part of the MPI that C uses (MPI_Fortran_COMPILER),"
        gfortran)
    set(has_fortran ON)
elseif(AMALGAM_FORTRAN)
    message(STATUS "The Fortran module is left out: it needs AMALGAM_MPI")
elseif(AMALGAM_MPI)
    message(STATUS "The Fortran module is left out: AMALGAM_FORTRAN is OFF, "
        "which it is by default without a Fortran compiler (Debian: gfortran) "
        "and Fortran's part of the MPI")
endif()

if(AMALGAM_TESTS)
    need_package(AMALGAM_TESTS "${PKG_CONFIG_FOUND}"
        "pkg-config, which finds cmocka," pkg-config)
    pkg_check_modules(CMOCKA QUIET IMPORTED_TARGET cmocka)
    need_package(AMALGAM_TESTS "${CMOCKA_FOUND}" "cmocka" libcmocka-dev)
endif()
