# SPDX-License-Identifier: BSD-3-Clause
# The verbs of the folders' lists: module, job, objects, test, run, repeats.

# amalgam_module(ROOM [LIBRARY amalgam_mpi] FILE...)
#
# The files of one module, which become part of libamalgam, or of LIBRARY.
function(amalgam_module module)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "LIBRARY" "")
    if(NOT arg_LIBRARY)
        set(arg_LIBRARY amalgam)
    endif()
    list(TRANSFORM arg_UNPARSED_ARGUMENTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    target_sources(${arg_LIBRARY} PRIVATE ${arg_UNPARSED_ARGUMENTS})
endfunction()

# Shared by job and test: builds TARGET, a program called NAME.
function(amalgam_program target name library sources libs)
    add_executable(${target} ${sources})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name})
    target_link_libraries(${target} PRIVATE amalgam_flags ${library} ${libs})
endfunction()

# amalgam_job(NAME [RANKS n] [ALONE] [LIBS lib...] FILE...)
#
# A program that `jobs/run NAME` launches, with RANKS ranks (2) where the user
# says nothing. The first comment of the first FILE, after the licence line, is
# what `jobs/run --list` says of it. ALONE: it is also built without MPI. The
# target is called job_NAME.
function(amalgam_job name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "ALONE" "RANKS" "LIBS")
    if(NOT AMALGAM_MPI AND NOT arg_ALONE)
        return()
    endif()
    if(NOT arg_RANKS)
        set(arg_RANKS 2)
    endif()
    set(library amalgam)
    if(AMALGAM_MPI)
        set(library amalgam_mpi)
    endif()
    amalgam_program(job_${name} ${name} ${library}
        "${arg_UNPARSED_ARGUMENTS}" "${arg_LIBS}")
    list(GET arg_UNPARSED_ARGUMENTS 0 main)
    string(JOIN "\t" row ${name} ${CMAKE_CURRENT_BINARY_DIR}/${name}
        ${arg_RANKS} ${CMAKE_CURRENT_SOURCE_DIR}/${main})
    set_property(GLOBAL APPEND_STRING PROPERTY AMALGAM_JOBS "${row}\n")
endfunction()

# amalgam_script(NAME RANKS n FILE)
#
# A job that is a script of the folder and launches by itself: jobs/run NAME.
function(amalgam_script name ranks_word ranks file)
    if(NOT AMALGAM_MPI)
        return()
    endif()
    string(JOIN "\t" row ${name} ${CMAKE_CURRENT_SOURCE_DIR}/${file} ${ranks}
        ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    set_property(GLOBAL APPEND_STRING PROPERTY AMALGAM_JOBS "${row}\n")
endfunction()

# amalgam_objects(TARGET "LIB..." FILE...)
#
# Files that several tests link, compiled once, against the libraries LIB...
# (libamalgam and what else they include): $<TARGET_OBJECTS:TARGET> is one of
# the SOURCES of each of those tests. Nothing where the first LIB is not built.
function(amalgam_objects target libs)
    list(GET libs 0 library)
    if(NOT TARGET ${library})
        return()
    endif()
    add_library(${target} OBJECT ${ARGN})
    target_link_libraries(${target} PRIVATE amalgam_flags ${libs})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src
        ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
endfunction()

# amalgam_test(LABEL NAME [option of amalgam_run]... [LIBS lib...]
#     [SOURCES file...])
#
# Builds a test from SOURCES (NAME.c), and runs it as amalgam_run() does. It is
# linked with libamalgam; with RANKS also with libamalgam_mpi, and then left
# out where there is no MPI. Tests of the label unit are linked with cmocka.
# The target is called LABEL_NAME, for more runs of it by amalgam_run().
function(amalgam_test label name)
    cmake_parse_arguments(PARSE_ARGV 2 arg "${run_flags}" "${run_values}"
        "SOURCES;LIBS;${run_lists}")
    if(arg_RANKS AND NOT AMALGAM_MPI)
        return()
    endif()
    set(library amalgam)
    if(arg_RANKS)
        set(library amalgam_mpi)
    endif()
    if(NOT arg_SOURCES)
        set(arg_SOURCES ${name}.c)
    endif()
    if(label STREQUAL "unit")
        list(APPEND arg_LIBS PkgConfig::CMOCKA)
    endif()
    amalgam_program(${label}_${name} ${name} ${library}
        "${arg_SOURCES}" "${arg_LIBS}")
    target_include_directories(${label}_${name} PRIVATE
        ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}
        ${PROJECT_SOURCE_DIR}/tests)

    set(options "")
    foreach(word IN LISTS run_flags)
        if(arg_${word})
            list(APPEND options ${word})
        endif()
    endforeach()
    foreach(word IN LISTS run_values run_lists)
        if(DEFINED arg_${word})
            list(APPEND options ${word} ${arg_${word}})
        endif()
    endforeach()
    amalgam_run(${label} ${name} PROGRAM ${label}_${name} ${options})
endfunction()

# What amalgam_run() and amalgam_test() understand besides their names.
set(run_flags SERIAL)
set(run_values PROCESSORS TIMEOUT)
set(run_lists RANKS ARGS ENV LABELS)

# amalgam_run(LABEL NAME PROGRAM target-or-path [RANKS n...] [ARGS word...]
#     [ENV name=value...] [TIMEOUT seconds] [LABELS label...] [PROCESSORS n]
#     [SERIAL])
#
# Registers a test called LABEL.NAME, which runs PROGRAM alone; or, with RANKS,
# one test LABEL.NAME.nN for each number, under `${launch} -n N`. It passes with
# exit code 0, and 77 skips it. AMALGAM_PROGRESS is caller, unless ENV says so.
# TIMEOUT is 60 s, and three times that under a sanitizer. LABELS are more labels, for instance long. SERIAL: nothing else
# runs at the same time; so it is for more ranks than the usual machine's cores,
# unless PROCESSORS says how many of them are busy at once.
function(amalgam_run label name)
    cmake_parse_arguments(PARSE_ARGV 2 arg "${run_flags}"
        "PROGRAM;${run_values}" "${run_lists}")
    if(arg_RANKS AND NOT AMALGAM_MPI)
        return()
    endif()
    set(program ${arg_PROGRAM})
    if(TARGET ${arg_PROGRAM}) # the emulator is for programs of another processor
        set(program ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${arg_PROGRAM}>)
    endif()
    if(NOT arg_RANKS)
        add_test(NAME ${label}.${name} COMMAND ${program} ${arg_ARGS})
        amalgam_test_settings(${label}.${name} 1)
    endif()
    foreach(ranks IN LISTS arg_RANKS)
        add_test(NAME ${label}.${name}.n${ranks} COMMAND ${launch}
            -n ${ranks} ${program} ${arg_ARGS})
        amalgam_test_settings(${label}.${name}.n${ranks} ${ranks})
    endforeach()
endfunction()

# The environment in which the sanitizers and MPI bear each other: UCX must not
# put hooks into malloc, and what other libraries leak is not ours to report.
# hwloc's plugins are closed before the leaks are counted, and so have no name
# that a suppression could match: they are not loaded (see test_env). A library
# that is opened by name is not found beside the one that asks, because the
# sanitizer asks.
set(sanitize_env
    "LD_LIBRARY_PATH=${PROJECT_BINARY_DIR}/lib"
    "ASAN_OPTIONS=detect_leaks=1:abort_on_error=0"
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1"
    "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp"
    "UCX_MEM_EVENTS=n" "UCX_MEM_MMAP_HOOK_MODE=none")

# The environment of each test, which must not depend on the machine: hwloc has
# plugins where Open MPI is installed, and looks through them for 30 ms in each
# process. MPIEXEC and its flags are for tests/processes/launch, by which tests
# start ranks.
set(test_env "HWLOC_PLUGINS_PATH=/nowhere")
set(launch ${PROJECT_SOURCE_DIR}/tests/processes/launch)
if(AMALGAM_MPI)
    list(JOIN MPIEXEC_PREFLAGS " " before)
    list(JOIN MPIEXEC_POSTFLAGS " " after)
    list(APPEND test_env "MPIEXEC=${MPIEXEC_EXECUTABLE}"
        "MPIEXEC_PREFLAGS=${before}" "MPIEXEC_POSTFLAGS=${after}")
endif()

# The part of amalgam_run() that is the same for all; sees its arg_ variables.
function(amalgam_test_settings test ranks)
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    if(AMALGAM_SANITIZE)
        math(EXPR arg_TIMEOUT "3 * ${arg_TIMEOUT}")
        list(PREPEND arg_ENV ${sanitize_env})
    endif()
    list(PREPEND arg_ENV ${test_env})
    set(busy ${ranks})
    if(arg_PROCESSORS)
        set(busy ${arg_PROCESSORS})
    endif()
    # What a test says must not depend on the machine it runs on.
    if(NOT "${arg_ENV}" MATCHES "AMALGAM_PROGRESS=")
        list(APPEND arg_ENV AMALGAM_PROGRESS=caller)
    endif()
    set_tests_properties(${test} PROPERTIES
        LABELS "${label};${arg_LABELS}"
        ENVIRONMENT "${arg_ENV}"
        TIMEOUT ${arg_TIMEOUT}
        PROCESSORS ${busy}
        SKIP_RETURN_CODE 77)
    if(arg_SERIAL)
        set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
    endif()
endfunction()

# amalgam_repeats(REGEX...)
#
# Tests of this folder whose names without the label match one REGEX repeat what
# another test shows, with another number of ranks or over another way: they are
# left to the long run. Under a sanitizer they stay, because its runs have no
# long tests.
function(amalgam_repeats)
    if(AMALGAM_SANITIZE)
        return()
    endif()
    get_property(tests DIRECTORY PROPERTY TESTS)
    foreach(regex IN LISTS ARGN)
        set(repeats ${tests})
        list(FILTER repeats INCLUDE REGEX "^[a-z]+\\.(${regex})$")
        set_property(TEST ${repeats} APPEND PROPERTY LABELS long)
    endforeach()
endfunction()
