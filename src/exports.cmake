# SPDX-License-Identifier: BSD-3-Clause
# What shared libraries export: version scripts, made of src/exports.txt.
include(CheckLinkerFlag)

# A part that was not built leaves names without a definition.
check_linker_flag(C LINKER:--undefined-version AMALGAM_HAS_UNDEFINED_VERSION)
mark_as_advanced(AMALGAM_HAS_UNDEFINED_VERSION)

# amalgam_exports(TARGET LIBRARY [ALL])
#
# TARGET exports what src/exports.txt lists of LIBRARY; with ALL, all internal names
# of the library besides, as private ones. Without, the link fails where a name is
# missing that TARGET needs of another library; instrumented libraries get names from
# the program.
function(amalgam_exports target library)
    set(table ${PROJECT_SOURCE_DIR}/src/exports.txt)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
    file(STRINGS ${table} rows REGEX "^${library} ")
    set(nodes "")
    foreach(row IN LISTS rows)
        string(REGEX MATCH "^[^ ]+ ([^ ]+) ([^ ]+)$" row "${row}")
        if(NOT CMAKE_MATCH_1 IN_LIST nodes)
            list(APPEND nodes ${CMAKE_MATCH_1})
        endif()
        string(APPEND names_${CMAKE_MATCH_1} "    ${CMAKE_MATCH_2};\n")
    endforeach()
    if("ALL" IN_LIST ARGN)
        set(names_private "    amg_*;\n")
    elseif(NOT AMALGAM_SANITIZE)
        target_link_options(${target} PRIVATE LINKER:-z,defs)
    endif()

    # Nodes of releases in their order: each inherits the one before.
    list(REMOVE_ITEM nodes private)
    list(SORT nodes COMPARE NATURAL)
    set(text "")
    set(before "")
    foreach(node IN LISTS nodes)
        string(APPEND text
            "AMALGAM_${node} {\nglobal:\n${names_${node}}}${before};\n")
        set(before " AMALGAM_${node}")
    endforeach()
    if(names_private)
        string(PREPEND names_private "global:\n")
    endif()
    string(APPEND text "AMALGAM_PRIVATE_${PROJECT_VERSION} {\n"
        "${names_private}local:\n    *;\n};\n")
    set(script ${PROJECT_BINARY_DIR}/exports/${target}.map)
    file(CONFIGURE OUTPUT ${script} CONTENT "${text}" @ONLY)
    target_link_options(${target} PRIVATE LINKER:--version-script=${script})
    if(AMALGAM_HAS_UNDEFINED_VERSION)
        target_link_options(${target} PRIVATE LINKER:--undefined-version)
    endif()
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
endfunction()

# amalgam_shipped(RET LIBRARY [LANGUAGE language] [OBJECTS library...])
#
# Settles what LIBRARY exports, and sets RET to the target that is installed. Tests
# call internal functions of a shared library, so a build with tests links the same
# object files twice: LIBRARY is for tests and jobs, and RET for the install. OBJECTS
# are object libraries that are part of LIBRARY, and LANGUAGE (C) is that of its linker.
function(amalgam_shipped ret library)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "LANGUAGE" "OBJECTS")
    if(NOT arg_LANGUAGE)
        set(arg_LANGUAGE C)
    endif()
    set(${ret} ${library} PARENT_SCOPE)
    if(AMALGAM_KIND STREQUAL "static")
        return()
    endif()
    if(NOT AMALGAM_TESTS)
        amalgam_exports(${library} ${library})
        return()
    endif()
    set(twin ${library}_shipped)
    set(${ret} ${twin} PARENT_SCOPE)
    add_library(${twin} SHARED)
    foreach(objects IN LISTS library arg_OBJECTS)
        target_sources(${twin} PRIVATE $<TARGET_OBJECTS:${objects}>)
    endforeach()
    set_target_properties(${twin} PROPERTIES
        OUTPUT_NAME ${library}
        EXPORT_NAME ${library}
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/shipped
        LINKER_LANGUAGE ${arg_LANGUAGE})
    foreach(property IN ITEMS VERSION SOVERSION EXPORT_NAME BUILD_RPATH
            LINK_LIBRARIES LINK_OPTIONS INTERFACE_LINK_LIBRARIES
            INTERFACE_INCLUDE_DIRECTORIES INTERPROCEDURAL_OPTIMIZATION)
        get_target_property(value ${library} ${property})
        if(NOT value STREQUAL "value-NOTFOUND")
            list(FILTER value EXCLUDE REGEX "^::@") # folders of the calls
            list(TRANSFORM value REPLACE "^amalgam(_mpi)?$" "\\0_shipped")
            set_property(TARGET ${twin} PROPERTY ${property} "${value}")
        endif()
    endforeach()
    amalgam_exports(${twin} ${library})
    amalgam_exports(${library} ${library} ALL)
endfunction()
