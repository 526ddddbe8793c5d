# SPDX-License-Identifier: BSD-3-Clause
# How everything is compiled: language, warnings, sanitizers, where things lie.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Both libraries lie in one folder and find each other beside themselves, also
# when the first opens the second while it runs.
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_INSTALL_RPATH "$ORIGIN")

# What every target of the project is compiled with; not passed on to users.
add_library(amalgam_flags INTERFACE)
target_compile_definitions(amalgam_flags INTERFACE
    _GNU_SOURCE
    _DEFAULT_SOURCE
    $<$<BOOL:${AMALGAM_MPI}>:AMALGAM_HAS_MPI>
    $<$<BOOL:${AMALGAM_OFI}>:AMALGAM_HAS_OFI>
    $<$<BOOL:${AMALGAM_HWLOC}>:AMALGAM_HAS_HWLOC>)
# Where tests stop threads; see base/assert.h.
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_definitions(amalgam_flags INTERFACE AMG_TEST_POINTS)
endif()
target_compile_options(amalgam_flags INTERFACE
    -Wall -Wextra $<$<BOOL:${AMALGAM_WERROR}>:-Werror>
    # Numbers that were sent are compared with those that came; and gfortran warns
    # of descriptors of arrays that are not allocated.
    $<$<COMPILE_LANG_AND_ID:Fortran,GNU>:-Wno-compare-reals>
    $<$<COMPILE_LANG_AND_ID:Fortran,GNU>:-Wno-uninitialized>)

if(AMALGAM_SANITIZE STREQUAL "asan")
    set(sanitize -fsanitize=address,undefined -fno-omit-frame-pointer)
elseif(AMALGAM_SANITIZE STREQUAL "tsan")
    # It does not know fences, and says so where one stands; ours are between
    # processes, which it does not see either.
    set(sanitize -fsanitize=thread -fno-omit-frame-pointer -Wno-tsan)
elseif(AMALGAM_SANITIZE STREQUAL "coverage")
    # Counts of lines, of all threads and processes; see tests/torture/run.
    set(sanitize --coverage -fprofile-update=atomic)
elseif(AMALGAM_SANITIZE STREQUAL "fuzz")
    if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
        message(FATAL_ERROR "AMALGAM_SANITIZE is fuzz, and libFuzzer comes with "
            "clang: configure with -DCMAKE_C_COMPILER=clang.")
    endif()
    set(sanitize -fsanitize=fuzzer-no-link,address,undefined
        -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
elseif(NOT AMALGAM_SANITIZE STREQUAL "")
    message(FATAL_ERROR "AMALGAM_SANITIZE is \"${AMALGAM_SANITIZE}\", and only "
        "asan, tsan, coverage, fuzz and nothing are known.")
endif()
if(sanitize)
    target_compile_options(amalgam_flags INTERFACE ${sanitize})
    target_link_options(amalgam_flags INTERFACE ${sanitize})
endif()

# Calls within shared libraries do not go through their tables of symbols,
# which takes 2 % off the instructions of a null call. Two passes of gcc add
# 1.5 %: one moves computations up to where they are not always needed, the other
# gathers neighbouring words for one store. In Release builds the libraries are
# also optimised across their files (at twice the time to build), but not in
# archives, which another compiler may link. gcc stops to inline when a library
# has grown by 40 %, small functions of the fast path too; hence the higher bound.
function(amalgam_optimise library)
    if(sanitize OR CMAKE_BUILD_TYPE STREQUAL "Debug")
        return()
    endif()
    target_compile_options(${library} PRIVATE
        -fno-semantic-interposition -fno-plt
        $<$<C_COMPILER_ID:GNU>:-fno-tree-pre>
        $<$<C_COMPILER_ID:GNU>:-fno-tree-slp-vectorize>)
    target_link_options(${library} PRIVATE -Wl,-Bsymbolic-functions)
    if(NOT CMAKE_BUILD_TYPE STREQUAL "Release"
            OR AMALGAM_KIND STREQUAL "static")
        return()
    endif()
    include(CheckIPOSupported)
    check_ipo_supported(RESULT has_ipo LANGUAGES C)
    set_target_properties(${library} PROPERTIES
        INTERPROCEDURAL_OPTIMIZATION ${has_ipo})
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        set(inline "SHELL:--param inline-unit-growth=200"
            "SHELL:--param max-inline-insns-single=400"
            "SHELL:--param max-inline-insns-auto=60")
        target_compile_options(${library} PRIVATE ${inline})
        target_link_options(${library} PRIVATE ${inline})
    endif()
endfunction()
