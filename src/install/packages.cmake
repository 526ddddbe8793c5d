# SPDX-License-Identifier: BSD-3-Clause
# Packages of the components, for systems of Debian's and of Red Hat's kind:
#     cmake -B build -DCMAKE_INSTALL_PREFIX=/usr ... && cmake --build build
#     cd build && cpack -G DEB       # or RPM; -B DIR writes to DIR
# The prefix /usr makes CMake choose the system's folder of libraries. What the
# libraries and programs need at run time is found in the files themselves
# (dpkg-shlibdeps, rpm's generators); the rows below say the rest.

set(CPACK_PACKAGE_NAME amalgam)
set(CPACK_PACKAGE_VENDOR "the Amalgam developers")
set(CPACK_PACKAGE_CONTACT "${CPACK_PACKAGE_VENDOR} <amalgam@localhost>")
set(CPACK_PACKAGE_DESCRIPTION "Amalgam lets the ranks of an MPI job call each \
other, one rank or all at once. It is a C library with the APIs of Mercury, Margo, \
Argobots and Thallium.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_GENERATOR DEB)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
    ${PROJECT_BINARY_DIR}/shipped ${PROJECT_BINARY_DIR}/lib)

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE BSD-3-Clause)
set(CPACK_RPM_PACKAGE_GROUP System/Libraries)
# Folders of the system itself are no part of a package.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
    /usr/share/man /usr/share/man/man1 /usr/share/man/man3 /usr/share/man/man7
    /usr/lib/pkgconfig /usr/lib/cmake /usr/include
    /usr/${CMAKE_INSTALL_LIBDIR} /usr/${CMAKE_INSTALL_LIBDIR}/pkgconfig
    /usr/${CMAKE_INSTALL_LIBDIR}/cmake)

# What programs need that include the headers, or link archives.
set(deb_dev "")
set(rpm_dev "")
if(AMALGAM_MPI)
    if("${MPI_C_LIBRARIES};${MPI_C_INCLUDE_DIRS}" MATCHES "openmpi")
        list(APPEND deb_dev libopenmpi-dev)
        list(APPEND rpm_dev openmpi-devel)
    else()
        list(APPEND deb_dev libmpich-dev)
        list(APPEND rpm_dev mpich-devel)
    endif()
endif()
if(has_thallium)
    list(APPEND deb_dev libcereal-dev)
    list(APPEND rpm_dev cereal-devel)
endif()
if(AMALGAM_KIND STREQUAL "static")
    list(APPEND deb_dev zlib1g-dev)
    list(APPEND rpm_dev zlib-devel)
    foreach(row IN ITEMS "OFI;libfabric-dev;libfabric-devel"
            "HWLOC;libhwloc-dev;hwloc-devel" "JSON;libjson-c-dev;json-c-devel")
        list(POP_FRONT row name deb rpm)
        if(TARGET PkgConfig::${name})
            list(APPEND deb_dev ${deb})
            list(APPEND rpm_dev ${rpm})
        endif()
    endforeach()
endif()

# margo.pc requires json-c.pc, as that of the original does.
set(compat_needs "")
if(has_margo)
    set(compat_needs DEB libjson-c-dev RPM json-c-devel)
endif()

# amalgam_package(COMPONENT DEB-NAME RPM-NAME SUMMARY [NEEDS component...]
#     [DEB package...] [RPM package...])
function(amalgam_package component deb rpm summary)
    cmake_parse_arguments(PARSE_ARGV 4 arg "" "" "NEEDS;DEB;RPM")
    string(TOUPPER ${component} upper)
    list(REMOVE_DUPLICATES arg_DEB)
    list(REMOVE_DUPLICATES arg_RPM)
    foreach(needed IN LISTS arg_NEEDS)
        string(TOUPPER ${needed} needed)
        list(APPEND arg_RPM "${CPACK_RPM_${needed}_PACKAGE_NAME} = ${version_rpm}")
    endforeach()
    list(JOIN arg_DEB ", " arg_DEB)
    list(JOIN arg_RPM ", " arg_RPM)
    set(CPACK_COMPONENT_${upper}_DEPENDS "${arg_NEEDS}" PARENT_SCOPE)
    set(CPACK_COMPONENT_${upper}_DESCRIPTION
        "${summary}\n${CPACK_PACKAGE_DESCRIPTION}" PARENT_SCOPE)
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${deb} PARENT_SCOPE)
    set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${arg_DEB}" PARENT_SCOPE)
    set(CPACK_RPM_${upper}_PACKAGE_NAME ${rpm} PARENT_SCOPE)
    set(CPACK_RPM_${upper}_PACKAGE_SUMMARY "${summary}" PARENT_SCOPE)
    set(CPACK_RPM_${upper}_PACKAGE_DESCRIPTION
        "${CPACK_PACKAGE_DESCRIPTION}" PARENT_SCOPE)
    set(CPACK_RPM_${upper}_PACKAGE_REQUIRES "${arg_RPM}" PARENT_SCOPE)
    set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
endfunction()

set(version_rpm ${PROJECT_VERSION})
set(libs "")
set(CPACK_COMPONENTS_ALL "")
if(NOT AMALGAM_KIND STREQUAL "static")
    amalgam_package(lib libamalgam0 amalgam "calls between MPI ranks: libraries")
    set(CPACK_DEBIAN_LIB_PACKAGE_SHLIBDEPS ON)
    # CPack itself can write this, but first starts a program for each of a
    # thousand files, which took 20 s.
    set(shlibs ${CMAKE_CURRENT_BINARY_DIR}/shlibs)
    file(WRITE ${shlibs} "")
    foreach(library IN ITEMS amalgam amalgam_mpi amalgam_ofi)
        file(APPEND ${shlibs}
            "lib${library} 0 libamalgam0 (>= ${PROJECT_VERSION})\n")
    endforeach()
    set(CPACK_DEBIAN_LIB_PACKAGE_CONTROL_EXTRA ${shlibs})
    set(libs lib)
endif()
amalgam_package(dev libamalgam-dev amalgam-devel
    "calls between MPI ranks: headers, pkg-config and CMake files"
    NEEDS ${libs} DEB ${deb_dev} RPM ${rpm_dev})
amalgam_package(compat libamalgam-compat amalgam-compat
    "calls between MPI ranks: under the names of Mercury, Margo and others"
    NEEDS dev ${compat_needs})
amalgam_package(tools amalgam-tools amalgam-tools
    "calls between MPI ranks: amalgam_info, amalgam_bench and others"
    NEEDS ${libs})
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS python3) # amalgam_trace, margo-stats
amalgam_package(doc amalgam-doc amalgam-doc
    "calls between MPI ranks: manual pages and guides")
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_RPM_DOC_PACKAGE_ARCHITECTURE noarch)
if(has_fortran)
    amalgam_package(fortran amalgam-fortran amalgam-fortran
        "calls between MPI ranks: the module of Fortran" NEEDS dev)
    set(CPACK_DEBIAN_FORTRAN_PACKAGE_SHLIBDEPS ON)
    # In a folder of its own, as the name is given.
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/fortran/shlibs
        "libamalgam_fortran 0 amalgam-fortran (= ${PROJECT_VERSION})\n")
    set(CPACK_DEBIAN_FORTRAN_PACKAGE_CONTROL_EXTRA
        ${CMAKE_CURRENT_BINARY_DIR}/fortran/shlibs)
endif()
include(CPack)
