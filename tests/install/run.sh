#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs a build to a fresh prefix, and uses it from there: run.sh WAY BUILD
# with WAY pkgconfig, cmake, readme (the example of README.md compiles without
# a warning, and prints what it promises), or names (the table of public names
# is true).
set -eu

way=$1
build=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

has_mpi=no
! grep -q '^AMALGAM_MPI:BOOL=ON' "$build/CMakeCache.txt" || has_mpi=yes

# The program links no MPI, and works.
check_mercury_user() {
    ! ldd "$1" | grep -q -i mpi || fail "$1 has MPI among its libraries"
    "$1" || fail "$1 returned $?"
}

check_amalgam_user() {
    ldd "$1" | grep -q "$prefix/.*libamalgam_mpi" ||
        fail "$1 does not use libamalgam_mpi of the prefix"
    "${MPIEXEC:-mpiexec}" -n 2 "$1" || fail "$1 returned $?"
}

# by_pkgconfig SOURCE PROGRAM MODULE
by_pkgconfig() {
    local flags
    flags=$(pkg-config --cflags --libs "$3")
    # shellcheck disable=SC2086
    ${CC:-cc} -o "$2" "$1" $flags \
        "-Wl,-rpath,$(pkg-config --variable=libdir "$3")"
}

# One text, in two languages, without a warning.
check_compat_user() {
    local c="${CC:-cc}" cxx="${CXX:-c++}" strict="-Wall -Wextra -Werror"

    CC="$c -std=c11 -pedantic $strict" \
        by_pkgconfig "$here/user/compat_user.c" "$work/compat_c" mercury
    check_mercury_user "$work/compat_c"
    cp "$here/user/compat_user.c" "$work/compat_user.cpp"
    CC="$cxx -std=c++14 $strict" \
        by_pkgconfig "$work/compat_user.cpp" "$work/compat_cxx" mercury
    check_mercury_user "$work/compat_cxx"
}

by_cmake() {
    cmake -S "$here/user" -B "$work/user" -DWITH_MPI=$has_mpi -G "$(sed -n \
        's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")" \
        -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$work/user"
}

cmake --install "$build" --prefix "$prefix" >"$work/install.log" ||
    fail "cmake --install: $(tail "$work/install.log")"
pc=$(find "$prefix" -name mercury.pc)
export PKG_CONFIG_PATH=${pc%/*}

case $way in
pkgconfig)
    pkg-config --exists 'mercury >= 2.2' || fail "mercury.pc is too old"
    by_pkgconfig "$here/user/mercury_user.c" "$work/mercury_user" mercury
    check_mercury_user "$work/mercury_user"
    check_compat_user
    if [ $has_mpi = yes ]; then
        by_pkgconfig "$here/user/amalgam_user.c" "$work/amalgam_user" amalgam
        check_amalgam_user "$work/amalgam_user"
    fi
    ;;
cmake)
    by_cmake >"$work/user.log" 2>&1 ||
        fail "the user's build: $(cat "$work/user.log")"
    check_mercury_user "$work/user/mercury_user"
    check_mercury_user "$work/user/mercury_user_2"
    if [ $has_mpi = yes ]; then
        check_amalgam_user "$work/user/amalgam_user"
    fi
    ;;
readme)
    awk '/^```c$/ { inside = 1; next } /^```/ && inside { exit } inside' \
        "$here/../../README.md" >"$work/example.c"
    [ -s "$work/example.c" ] || fail "README.md has no example in C"
    [ $has_mpi = yes ] || exit 77
    CC="${CC:-cc} -Wall -Wextra -Werror" \
        by_pkgconfig "$work/example.c" "$work/example" amalgam
    "${MPIEXEC:-mpiexec}" -n 2 "$work/example" >"$work/example.out" ||
        fail "the example of README.md returned $?"
    printf '40 + 2 = 42, says rank 0\n' | cmp - "$work/example.out" ||
        fail "the example of README.md printed: $(cat "$work/example.out")"
    ;;
names)
    "$here/names.sh" "$prefix" || fail "include/README.md is not true"
    ;;
*)
    fail "no way called $way"
    ;;
esac
