#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs a build to a fresh prefix, and uses it from there:
#     run.sh WAY BUILD [PREFIX]      PREFIX: BUILD is installed there already
#
# pkgconfig, cmake  programs find it by pkg-config, and by find_package()
# fortran     the module is found by both, also by a project in Fortran alone
# readme      the examples of README.md compile without a warning, and print what they
#             promise
# refused     an original is not overwritten, and the names of the originals can be
#             left out
# components  each file is in one component, and each has what its name says
# moved       an install by DESTDIR works at another place than its prefix
# names, man  the table of public names is true, and so are the manual pages
# facts       the headers declare what the tables facts-*.txt state
# abi         the binary interface is that of the last release, and changes of it are
#             noticed
# argobots    Margo is built once more, on the Argobots of the system, if there is one:
#             at AMALGAM_ARGOBOTS_PREFIX, or known to pkg-config
# static      the libraries are built once more, as archives
# part        another project builds the libraries as a part of itself
set -eu
unset CDPATH

way=$1
build=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
launch=$here/../processes/launch
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=${3:-$work/prefix}

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# has NAME-IN-CACHE VALUE...
has() {
    grep -qxE "$1:[A-Z]+=($2)" "$build/CMakeCache.txt"
}
has_abt=no
! has AMALGAM_ULT amalgam || has_abt=yes
has_margo=no
if has AMALGAM_MARGO 'ON' && has AMALGAM_ULT 'amalgam|argobots'; then
    has_margo=yes
fi
has_thallium=no
[ ! -f "$build/src/install/thallium.pc" ] || has_thallium=yes
fortran= # the compiler, if the module was built
[ ! -f "$build/fortran/amalgam.mod" ] ||
    fortran=$(sed -n 's/^MPI_Fortran_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
has_mpi=no
! grep -q '^AMALGAM_MPI:BOOL=ON' "$build/CMakeCache.txt" || has_mpi=yes

# The program links no MPI, and works.
check_mercury_user() {
    ! ldd "$1" | grep -q -i mpi || fail "$1 has MPI among its libraries"
    "$1" || fail "$1 returned $?"
}

check_amalgam_user() {
    if [ "$way" = static ]; then
        ! ldd "$1" | grep libamalgam || fail "$1 is not static"
    else
        ldd "$1" | grep -q "$prefix/.*libamalgam_mpi" ||
            fail "$1 does not use libamalgam_mpi of the prefix"
    fi
    "$launch" -n 2 "$1" || fail "$1 returned $?"
}

# by_pkgconfig SOURCE PROGRAM MODULE
pkgconfig_flags=
by_pkgconfig() {
    local flags
    flags=$(pkg-config --cflags --libs $pkgconfig_flags "$3")
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

# The names of the originals are libraries: of a linker that takes of them what
# is used, and of dlopen().
check_names() {
    local lib=${pc%/pkgconfig/*} loads

    # shellcheck disable=SC2046
    ${CC:-cc} -o "$work/by_name" $(pkg-config --cflags-only-I mercury) \
        "$here/user/mercury_user.c" "-L$lib" -Wl,--as-needed \
        -Wl,--no-copy-dt-needed-entries -lna -lmercury_util -lmercury \
        "-Wl,-rpath,$lib" || fail "-lmercury does not link"
    check_mercury_user "$work/by_name"
    ${CC:-cc} -o "$work/loads" "$here/user/loads.c" -ldl
    loads="$lib/libmercury.so:HG_Init $lib/libna.so:NA_Initialize \
        $lib/libmercury_util.so:HG_Util_version_get"
    [ $has_abt = no ] || loads="$loads $lib/libabt.so:ABT_init"
    [ $has_margo = no ] || loads="$loads $lib/libmargo.so:margo_init_ext"
    # shellcheck disable=SC2086
    "$work/loads" $loads "$lib/libamalgam.so.0:HG_Init" ||
        fail "loading by the names of the originals: $?"
}

# Headers of parts that were not built are missing.
check_headers() {
    local header
    for header in margo.h:$has_margo ult/abt.h:$has_abt amalgam.h:$has_mpi \
        thallium/config.hpp:$has_thallium; do
        case $header in
        *:yes) [ -f "$prefix/include/${header%:*}" ] ;;
        *) [ ! -e "$prefix/include/${header%:*}" ] ;;
        esac || fail "is ${header%:*} installed? it should be: ${header#*:}"
    done
}

# refuses PREFIX FILE [DESTDIR]: FILE, of another package, stops the install,
# and nothing is changed.
refuses() {
    local to=${3:-}$1
    mkdir -p "$(dirname "$to/$2")"
    echo "somebody else's" >"$to/$2"
    if DESTDIR=${3:-} cmake --install "$build" --prefix "$1" >"$work/log" 2>&1
    then
        fail "$2 of somebody else was no reason to stop"
    fi
    tr -s ' \n' ' ' <"$work/log" | grep -qF "$to/$2 is not Amalgam's" ||
        fail "the error does not name $2: $(cat "$work/log")"
    [ "$(cat "$to/$2")" = "somebody else's" ] || fail "$2 was changed"
    [ "$(find "$to" -type f | wc -l)" = 1 ] ||
        fail "something was installed all the same: $(find "$to" -type f)"
}

check_refused() {
    local one=$work/one
    # This package may be installed over itself.
    cmake --install "$build" --prefix "$prefix" >"$work/log" 2>&1 ||
        fail "the second install: $(tail "$work/log")"
    refuses "$one" "${pc#"$prefix"/}"
    refuses "$work/two" "lib/libmercury.so"
    [ $has_thallium = no ] ||
        refuses "$work/four" "lib/cmake/thallium/thallium-config.cmake"
    refuses /usr/somewhere "lib/cmake/mercury/mercury-config.cmake" \
        "$work/three"
    mkdir -p "$work/five/lib"
    ln -s libmercury.so.2 "$work/five/lib/libmercury.so"
    ! cmake --install "$build" --prefix "$work/five" >"$work/log" 2>&1 ||
        fail "a link of somebody else was no reason to stop"
    [ "$(readlink "$work/five/lib/libmercury.so")" = libmercury.so.2 ] ||
        fail "a link of somebody else was changed"
    cmake --install "$build" --prefix "$one" --component amalgam \
        >"$work/log" 2>&1 || fail "without compat: $(tail "$work/log")"
    [ -z "$(find "$one" -name 'libmercury*' -o -name 'na.pc' \
        -o -name 'mercury-config*' -o -name 'thallium.pc')" ] || fail "compat came without being asked"
    [ -f "$one/include/mercury.h" ] || fail "no headers without compat"
}

# CMake options for the system's Argobots; empty: there is none.
system_argobots() {
    if [ -n "${AMALGAM_ARGOBOTS_PREFIX:-}" ]; then
        echo "-DAMALGAM_ARGOBOTS_PREFIX=$AMALGAM_ARGOBOTS_PREFIX"
    elif pkg-config --exists argobots; then
        echo "-DAMALGAM_ARGOBOTS_PREFIX="
    fi
}

# In a project of C++ alone, too, where it has the same targets.
by_cmake_cxx() {
    cat >"$work/cxx/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES CXX)
find_package(amalgam 0.2 REQUIRED)
add_executable(amalgam_user amalgam_user.cc)
target_link_libraries(amalgam_user amalgam::mpi)
END
    cp "$here/user/amalgam_user.c" "$work/cxx/amalgam_user.cc"
    cmake -S "$work/cxx" -B "$work/cxx/build" -G "$generator" \
        -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$work/cxx/build"
}

by_cmake() {
    cmake -S "$here/user" -B "$work/user" -DWITH_MPI=$has_mpi \
        -DWITH_MARGO=$has_margo -DWITH_ABT=$has_abt \
        -DWITH_THALLIUM=$has_thallium -G "$generator" \
        -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$work/user"
}

generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt")

# again NAME OPTION...: builds the library once more, fast.
again() {
    local name=$1
    shift
    cmake -S "$here/../.." -B "$work/build" -G "$generator" "$@" \
        -DAMALGAM_TESTS=OFF -DAMALGAM_MAN=OFF >"$work/build.log" 2>&1 &&
        cmake --build "$work/build" -j 2 >>"$work/build.log" 2>&1 ||
        fail "$name: $(tail "$work/build.log")"
    build=$work/build
}

# The libraries, and what a program needs of them, are archives.
check_static() {
    ! find "$prefix" -name 'lib*.so*' | grep . || fail "these are not static"
    pkgconfig_flags=--static
    by_pkgconfig "$here/user/mercury_user.c" "$work/mercury_user" mercury
    check_mercury_user "$work/mercury_user"
    by_pkgconfig "$here/user/opens.c" "$work/opens" mercury
    # A driver that was not linked is not loaded: it would bring another library.
    "$work/opens" self na+sm '!mpi' || fail "opens: $?"
    ! has AMALGAM_OFI ON || "$work/opens" ofi+tcp || fail "opens ofi+tcp: $?"
    if [ $has_margo = yes ]; then
        by_pkgconfig "$here/user/margo_user.c" "$work/margo_user" margo
        check_mercury_user "$work/margo_user"
    fi
    if [ $has_mpi = yes ]; then
        by_pkgconfig "$here/user/amalgam_user.c" "$work/amalgam_user" amalgam
        check_amalgam_user "$work/amalgam_user"
        # A driver is there though no function of its library is called.
        by_pkgconfig "$here/user/opens.c" "$work/opens_mpi" amalgam
        "$launch" -n 1 "$work/opens_mpi" mpi+p2p auto || fail "opens_mpi: $?"
    fi
    by_cmake >"$work/user.log" 2>&1 ||
        fail "the user's build: $(cat "$work/user.log")"
    check_mercury_user "$work/user/mercury_user_2"
    [ $has_margo = no ] || check_mercury_user "$work/user/below/margo_below"
    [ $has_mpi = no ] || check_amalgam_user "$work/user/amalgam_user"
}

# Another project gets the libraries under the names that find_package() gives
# them, and nothing else: no program, no test, no setting of its own build.
check_part() {
    local cache=$work/parent/CMakeCache.txt program

    [ $has_mpi = yes ] && [ $has_margo = yes ] || exit 77
    cmake -S "$here/parent" -B "$work/parent" -G "$generator" \
        -DAMALGAM_SOURCE="$here/../.." >"$work/parent.log" 2>&1 &&
        cmake --build "$work/parent" -j 2 >>"$work/parent.log" 2>&1 ||
        fail "as a part of another project: $(tail "$work/parent.log")"
    grep -qx 'CMAKE_BUILD_TYPE:STRING=' "$cache" ||
        fail "the other project is built as $(grep BUILD_TYPE: "$cache")"
    ! grep '^BUILD_SHARED_LIBS' "$cache" || fail "set for the other project"
    (cd "$work/parent" && ctest -N) | grep -qx 'Total Tests: 0' ||
        fail "the other project got tests"
    for program in $(find "$work/parent" -type f -executable ! -name '*.so*' \
        ! -path '*/CMakeFiles/*'); do
        case ${program##*/} in
        *_user | opens) ;;
        *) fail "the other project got $program" ;;
        esac
    done
    cmake --install "$work/parent" --prefix "$prefix" >"$work/parent.log" 2>&1 &&
        [ -n "$(find "$prefix" -name libamalgam_mpi.so)" ] &&
        [ -z "$(find "$prefix" -name 'libmercury*' -o -name mercury.pc)" ] ||
        fail "its install has no libraries, or names of the originals:" \
            "$(tail "$work/parent.log")"
    "$work/parent/opens" self na+sm || fail "opens: $?"
    check_mercury_user "$work/parent/mercury_user"
    check_mercury_user "$work/parent/margo_user"
    [ ! -f "$work/parent/thallium_user" ] ||
        check_mercury_user "$work/parent/thallium_user"
    prefix=$work/parent
    check_amalgam_user "$work/parent/amalgam_user"
}

# files FOLDER: what is in it, but folders.
files() {
    (cd "$1" && find . ! -type d | sort)
}

# Each component has its files, and all have those of the whole install.
check_components() {
    local name all=$work/all program

    for name in lib dev tools doc compat fortran; do
        cmake --install "$build" --prefix "$work/$name" --component $name \
            >"$work/log" 2>&1 || fail "--component $name: $(tail "$work/log")"
        [ -d "$work/$name" ] || continue
        files "$work/$name" >>"$all"
    done
    sort -o "$all" "$all"
    [ -z "$(uniq -d "$all")" ] || fail "in two components: $(uniq -d "$all")"
    files "$prefix" | diff "$all" - ||
        fail "the components are not the whole install"
    ! files "$work/lib" | grep -v '\.so\.[0-9.]*$' || fail "these are in lib"
    ! files "$work/dev" | grep '^./bin/\|\.so\.' || fail "these are in dev"
    ! files "$work/doc" | grep -v '^./share/' || fail "these are in doc"
    # Programs need the libraries, and nothing else of the project.
    cp -R "$work/lib/." "$work/tools"
    for program in amalgam_info amalgam_hang; do
        "$work/tools/bin/$program" --help >"$work/log" 2>&1 ||
            fail "$program without the other components: $(cat "$work/log")"
        ldd "$work/tools/bin/$program" | grep -q "$work/tools/.*libamalgam" ||
            fail "$program does not use the libraries beside it"
    done
}

# Moves an install from where DESTDIR has put it; no file says where it was.
check_moved() {
    DESTDIR=$work/stage cmake --install "$build" --prefix /opt/amalgam \
        >"$work/install.log" 2>&1 || fail "DESTDIR: $(tail "$work/install.log")"
    [ ! -e /opt/amalgam ] && [ -d "$work/stage/opt/amalgam" ] ||
        fail "DESTDIR is not respected"
    mv "$work/stage/opt/amalgam" "$prefix"
    ! grep -rlIF -e /opt/amalgam -e "$build" -e "$work/stage" "$prefix" ||
        fail "these files say where they were installed or built"
}

# Libraries and programs find all that they need of each other's private names, and
# the libraries export no others.
check_private() {
    local file libs=${pc%/pkgconfig/*}
    nm -D --defined-only "$libs"/libamalgam*.so |
        sed -n 's/.* \(amg_[A-Za-z0-9_]*\)@.*/\1/p' | sort -u >"$work/private"
    [ -s "$work/private" ] || fail "no private names are exported"
    sed -n 's/.* private //p' "$here/../../src/exports.txt" | sort -u |
        comm -23 "$work/private" - >"$work/others"
    [ ! -s "$work/others" ] || fail "these are exported: $(cat "$work/others")"
    for file in "$prefix"/bin/* "$libs"/libamalgam*.so; do
        ! LD_LIBRARY_PATH=$libs ldd -r "$file" 2>&1 |
            grep 'undefined symbol: .*amg_' ||
            fail "$file needs more private names than src/exports.txt has"
    done
}

# abi_says SED WORDS: compare complains with WORDS when SED changed the interface;
# empty WORDS: no complaint.
abi_says() {
    sed "$1" "$work/abi" >"$work/abi.changed"
    ! cmp -s "$work/abi" "$work/abi.changed" || fail "'$1' changes nothing"
    if "$here/abi.py" compare "$release" "$work/abi.changed" "$2" \
        >"$work/said"; then
        [ -z "$3" ] || fail "abi.py does not notice '$1'"
    else
        [ -n "$3" ] && grep -qF "$3" "$work/said" ||
            fail "abi.py on '$1': $(cat "$work/said")"
    fi
}

check_abi() {
    local release version new="name amalgam AMALGAM_"

    check_private
    [ $has_mpi$has_margo$has_abt = yesyesyes ] && [ "$(uname -m)" = x86_64 ] &&
        "${CC:-cc}" --version | grep -qi 'gcc\|free software' || exit 77
    # shellcheck disable=SC2046
    "$here/abi.py" write "$prefix" $(pkg-config --cflags amalgam) >"$work/abi" ||
        fail "the interface cannot be read"
    # shellcheck disable=SC2012
    release=$(ls -v "$here"/abi-*.txt | tail -1)
    version=$(pkg-config --modversion amalgam)
    "$here/abi.py" compare "$release" "$work/abi" "$version" ||
        fail "see include/ABI.md: what may change, and how to write $release"

    abi_says '/ HG_Init: /d' 9.0.0 'gone since'
    abi_says '/ HG_Init: /s/0.2/0.3/' 9.0.0 'gone since'
    abi_says 's/\(HG_Get_info: .*\)hg_handle_t/\1int/' 9.0.0 'gone since'
    abi_says 's/^\(struct hg_info.context_id: at \).*,/\11,/' 9.0.0 'gone since'
    abi_says 's/^\(value HG_CANCELED = \).*/\199/' 9.0.0 'gone since'
    abi_says 's/^\(struct amalgam_options: \)/\19/' 9.0.0 ''
    abi_says 's/^\(struct hg_info: \)/\19/' 9.0.0 'gone since'
    abi_says "1s/^/${new}0.2 HG_New: int HG_New(void)\n/" 9.0.0 'has it not'
    abi_says "1s/^/${new}0.9 HG_New: int HG_New(void)\n/" 9.0.0 ''
    abi_says "1s/^/${new}0.9 HG_New: int HG_New(void)\n/" \
        "$(sed -n '1s/# Amalgam \([^,]*\),.*/\1/p' "$release")" 'lacks'
}

if [ "$way" = part ]; then
    check_part
    exit
elif [ "$way" = static ]; then
    again static -DBUILD_SHARED_LIBS=OFF -DCMAKE_BUILD_TYPE=Debug \
        -DCMAKE_C_FLAGS_DEBUG=-O0 -DAMALGAM_MPI=$has_mpi \
        -DAMALGAM_OFI="$(! has AMALGAM_OFI ON || echo ON)"
elif [ "$way" = argobots ]; then
    found=$(system_argobots)
    [ -n "$found" ] || {
        echo "no Argobots here: neither AMALGAM_ARGOBOTS_PREFIX nor argobots.pc"
        exit 77
    }
    again "Margo on $found" -DAMALGAM_ULT=argobots "$found"
    has_abt=no
    has_thallium=no
    [ ! -f "$build/src/install/thallium.pc" ] || has_thallium=yes
fi
[ $# -gt 2 ] || [ "$way" = moved ] ||
    cmake --install "$build" --prefix "$prefix" >"$work/install.log" ||
    fail "cmake --install: $(tail "$work/install.log")"
[ "$way" != moved ] || check_moved
pc=$(find "$prefix" -name mercury.pc)
export PKG_CONFIG_PATH=${pc%/*}

case $way in
argobots)
    check_headers
    by_pkgconfig "$here/user/margo_user.c" "$work/margo_user" margo
    check_mercury_user "$work/margo_user"
    ldd "$work/margo_user" | grep -q libabt || fail "libabt is not used"
    ;;
pkgconfig)
    check_headers
    pkg-config --exists 'mercury >= 2.2' || fail "mercury.pc is too old"
    by_pkgconfig "$here/user/mercury_user.c" "$work/mercury_user" mercury
    check_mercury_user "$work/mercury_user"
    for module in mercury_util na; do
        pkg-config --exists "$module >= 2.2" || fail "$module.pc is too old"
        by_pkgconfig "$here/user/mercury_user.c" "$work/$module" $module
        check_mercury_user "$work/$module"
    done
    check_compat_user
    check_names
    if [ $has_abt = yes ]; then
        pkg-config --exists 'argobots >= 1.2' || fail "argobots.pc is too old"
        by_pkgconfig "$here/user/abt_user.c" "$work/abt_user" argobots
        check_mercury_user "$work/abt_user"
    fi
    if [ $has_margo = yes ]; then
        pkg-config --exists 'margo >= 0.24' || fail "margo.pc is too old"
        by_pkgconfig "$here/user/margo_user.c" "$work/margo_user" margo
        check_mercury_user "$work/margo_user"
        pkg-config --print-requires margo >"$work/requires"
        grep -qx 'mercury' "$work/requires" || fail "margo.pc needs no mercury"
        by_pkgconfig "$here/user/mercury_user.c" "$work/shim" margo-hg-shim
        check_mercury_user "$work/shim"
    fi
    if [ $has_thallium = yes ]; then
        pkg-config --exists 'thallium >= 0.16' || fail "thallium.pc is too old"
        pkg-config --print-requires thallium >"$work/requires"
        grep -qx 'margo' "$work/requires" || fail "thallium.pc needs no margo"
        CC="${CXX:-c++} -std=c++14 -Wall -Wextra -Werror" by_pkgconfig \
            "$here/user/thallium_user.cc" "$work/thallium_user" thallium
        check_mercury_user "$work/thallium_user"
    fi
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
    check_mercury_user "$work/user/mercury_user_3"
    check_mercury_user "$work/user/mercury_user_4"
    if [ $has_abt = yes ]; then
        check_mercury_user "$work/user/abt_user"
        [ $has_margo = no ] || check_mercury_user "$work/user/margo_user_3"
    fi
    if [ $has_margo = yes ]; then
        check_mercury_user "$work/user/margo_user"
        check_mercury_user "$work/user/margo_user_2"
    fi
    if [ $has_thallium = yes ]; then
        check_mercury_user "$work/user/thallium_user"
        check_mercury_user "$work/user/thallium_user_2"
    fi
    if [ $has_mpi = yes ]; then
        check_amalgam_user "$work/user/amalgam_user"
        mkdir "$work/cxx"
        by_cmake_cxx >"$work/user.log" 2>&1 ||
            fail "a project of C++: $(cat "$work/user.log")"
        check_amalgam_user "$work/cxx/build/amalgam_user"
    fi
    ;;
fortran)
    [ -n "$fortran" ] || exit 77
    (cd "$work" && CC="$fortran -Wall -Werror" by_pkgconfig \
        "$here/user_fortran/fortran_user.f90" "$work/fortran_user" amalgam-fortran)
    check_amalgam_user "$work/fortran_user"
    cmake -S "$here/user_fortran" -B "$work/user" -G "$generator" \
        -DCMAKE_PREFIX_PATH="$prefix" -DMPI_Fortran_COMPILER="$fortran" \
        >"$work/user.log" 2>&1 && cmake --build "$work/user" >>"$work/user.log" 2>&1 ||
        fail "a project of Fortran: $(cat "$work/user.log")"
    check_amalgam_user "$work/user/fortran_user"
    ;;
readme)
    awk -v dir="$work" '
        /^```(c|cpp|fortran)$/ { file = dir "/example." substr($0, 4); next }
        /^```/ { file = "" }
        file != "" { print >file }' "$here/../../README.md"
    [ -s "$work/example.c" ] && [ -s "$work/example.cpp" ] &&
        [ -s "$work/example.fortran" ] ||
        fail "README.md has no example in C, in C++, or in Fortran"
    [ $has_mpi = yes ] && [ $has_margo = yes ] || exit 77
    strict="-Wall -Wextra -Werror"
    CC="${CC:-cc} $strict" \
        by_pkgconfig "$work/example.c" "$work/example_c" amalgam
    programs=$work/example_c
    if [ $has_thallium = yes ]; then
        CC="${CXX:-c++} -std=c++14 $strict" \
            by_pkgconfig "$work/example.cpp" "$work/example_cpp" amalgam
        programs="$programs $work/example_cpp"
    fi
    if [ -n "$fortran" ]; then
        mv "$work/example.fortran" "$work/example.f90"
        (cd "$work" && CC="$fortran $strict" \
            by_pkgconfig example.f90 example_fortran amalgam-fortran)
        programs="$programs $work/example_fortran"
    fi
    for program in $programs; do
        "$launch" -n 2 "$program" >"$work/example.out" 2>"$work/example.err" ||
            fail "${program##*/} of README.md returned $?"
        ! grep -E '^(amalgam[: ]|\[(warning|error|critical)\])' \
            "$work/example.err" || fail "the library had complaints"
        printf '40 + 2 = 42, says rank 0\n' | cmp - "$work/example.out" ||
            fail "${program##*/} of README.md printed:" \
                "$(cat "$work/example.out")"
    done
    ;;
names)
    "$here/names.sh" "$prefix" || fail "include/COMPATIBILITY.md is not true"
    ;;
man)
    has AMALGAM_MAN ON || exit 77
    "$here/man.sh" "$prefix" "$build" && exit
    [ $? = 77 ] || fail "the manual pages are not true"
    exit 77
    ;;
facts)
    "$here/facts.sh" "$prefix/include" ||
        fail "headers do not declare what the originals do"
    ;;
static)
    check_static
    ;;
components)
    check_components
    ;;
moved)
    for next in readme cmake; do
        "$here/run.sh" $next "$build" "$prefix" || [ $? = 77 ] ||
            fail "$next does not work at another place"
    done
    "$prefix/bin/amalgam_info" --help >"$work/log" || fail "amalgam_info: $?"
    ;;
abi)
    check_abi
    ;;
refused)
    check_refused
    ;;
*)
    fail "no way called $way"
    ;;
esac
