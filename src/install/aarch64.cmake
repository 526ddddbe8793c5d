# SPDX-License-Identifier: BSD-3-Clause
# Toolchain file: builds for 64-bit Arm on another machine, by Debian's
# gcc-aarch64-linux-gnu (and g++-aarch64-linux-gnu for thallium.hpp).
#     cmake --toolchain src/install/aarch64.cmake -DAMALGAM_SYSROOT=DIR -B build-aarch64
# DIR has the libraries that the options ask for, built for Arm, in DIR/usr: for
# instance Debian's packages, unpacked by dpkg-deb -x, as tests/install/cross.sh does;
# zlib and uthash are always needed. The C library is the one of the compiler.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triplet aarch64-linux-gnu)
set(CMAKE_C_COMPILER ${triplet}-gcc)
find_program(AMALGAM_CROSS_CXX ${triplet}-g++)
mark_as_advanced(AMALGAM_CROSS_CXX)
set(CMAKE_CXX_COMPILER "${AMALGAM_CROSS_CXX}") # never the machine's own
set(CMAKE_LIBRARY_ARCHITECTURE ${triplet})

# Projects that CMake makes to try things need the variable, too.
set(AMALGAM_SYSROOT "" CACHE PATH "where libraries for the target are, in usr")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES AMALGAM_SYSROOT)
set(CMAKE_FIND_ROOT_PATH ${AMALGAM_SYSROOT} /usr/${triplet})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${AMALGAM_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${AMALGAM_SYSROOT}/usr/lib/${triplet}/pkgconfig:${AMALGAM_SYSROOT}/usr/share/pkgconfig)

# Programs for Arm run here by qemu-user, where that is installed.
find_program(AMALGAM_QEMU qemu-aarch64)
mark_as_advanced(AMALGAM_QEMU)
if(AMALGAM_QEMU)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${AMALGAM_QEMU} -L /usr/${triplet})
endif()
