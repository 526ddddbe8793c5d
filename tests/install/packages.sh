#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes packages of a build, installs them to a root of their own, and uses the project
# from there: packages.sh KIND BUILD
#
# deb    by dpkg, with a database of its own: the dependencies of the packages are
#        looked for among the packages of this machine
# rpm    by rpm; dependencies are compared, not looked for, as this is no such system
# fresh  in a minimal Debian of its own, where apt installs the packages with all they
#        depend on, and a compiler: the examples of README.md are built and run there
#
# Exit 77: a tool is missing, or the right to use it, or the network.
set -eu
unset CDPATH

kind=$1
build=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

skip() {
    echo "skipped: $*"
    exit 77
}

needs() {
    local tool
    for tool; do
        command -v "$tool" >/dev/null || skip "$tool is not here"
    done
}

has() {
    grep -qxE "$1:[A-Z]+=($2)" "$build/CMakeCache.txt"
}

# The packages of a kind, in $work/packages.
pack() {
    (cd "$build" && cpack -G "$1" -B "$work/packages") >"$work/log" 2>&1 ||
        fail "cpack -G $1: $(tail "$work/log")"
    rm -r "$work/packages/_CPack_Packages"
}

# files FOLDER: what is in its usr, but folders and what rpm adds.
files() {
    (cd "$1" && find usr ! -type d ! -path '*/.build-id/*' | sort)
}

# All files of the install are in the root, and no others.
check_files() {
    DESTDIR=$work/all cmake --install "$build" --prefix /usr >"$work/log" 2>&1 ||
        fail "cmake --install: $(tail "$work/log")"
    files "$work/all" >"$work/wanted"
    files "$root" | diff "$work/wanted" - || fail "these files differ"
}

# Programs of another project use what lies in the root.
check_use() {
    local way
    for way in readme pkgconfig; do
        "$here/run.sh" $way "$build" "$root/usr" || [ $? = 77 ] ||
            fail "$way does not work with what is in the root"
    done
    "$root/usr/bin/amalgam_info" --help >"$work/log" ||
        fail "amalgam_info returned $?"
}

# in_root_dpkg ARGUMENT...: dpkg on the root. The root has no shell, so scripts of
# packages run outside of it, with an ldconfig that works on it.
in_root_dpkg() {
    PATH="$work/bin:$PATH:/usr/sbin:/sbin" dpkg --root="$root" \
        --force-unsafe-io --force-script-chrootless "$@"
}

check_deb() {
    local package name

    needs dpkg dpkg-deb dpkg-shlibdeps file
    [ "$(id -u)" = 0 ] || skip "only root writes files of root"
    pack DEB
    for name in libamalgam0 libamalgam-dev libamalgam-compat amalgam-tools \
        amalgam-doc; do
        package=$(echo "$work/packages/${name}"_*.deb)
        [ -f "$package" ] || fail "there is no package $name"
        dpkg-deb -f "$package" >>"$work/fields"
    done
    grep -q '^Depends: .*libc6 (>= .*zlib1g' "$work/fields" ||
        fail "libamalgam0 lacks dependencies: $(cat "$work/fields")"
    ! has AMALGAM_OFI ON || grep -q '^Depends: .*libfabric1' "$work/fields" ||
        fail "libfabric1 is no dependency: $(cat "$work/fields")"
    [ "$(grep -c '^Depends: .*libamalgam0 (= ' "$work/fields")" = 2 ] ||
        fail "not two packages depend on libamalgam0 of their version"

    mkdir -p "$work/bin" "$root/etc" "$root/var/lib/dpkg/updates" \
        "$root/var/lib/dpkg/info"
    cp /var/lib/dpkg/status "$root/var/lib/dpkg"
    cat >"$work/bin/ldconfig" <<'END'
#!/bin/sh
PATH=/usr/sbin:/sbin
exec ldconfig -r "$DPKG_ROOT"
END
    chmod +x "$work/bin/ldconfig"
    ! in_root_dpkg -i "$work/packages"/libamalgam-dev_*.deb >"$work/log" 2>&1 ||
        fail "libamalgam-dev installs without libamalgam0"
    in_root_dpkg -i "$work/packages"/*.deb >"$work/log" 2>&1 ||
        fail "dpkg -i: $(tail -20 "$work/log")"
    grep -qx 'libamalgam_mpi 0 libamalgam0 (>= [0-9.]*)' \
        "$root/var/lib/dpkg/info/libamalgam0.shlibs" ||
        fail "packages of programs cannot find the package of the library"
    PATH=$PATH:/usr/sbin:/sbin ldconfig -r "$root" -p |
        grep -q 'libamalgam\.so\.0' ||
        fail "the linker's cache has no libamalgam.so.0"
    check_files
    check_use
    ! in_root_dpkg -r libamalgam0 >"$work/log" 2>&1 ||
        fail "libamalgam0 can go while others need it"
    for package in "$work/packages"/*.deb; do
        dpkg-deb -f "$package" Package
    done >"$work/names"
    # shellcheck disable=SC2046
    in_root_dpkg -P $(cat "$work/names") >"$work/log" 2>&1 ||
        fail "dpkg -P: $(tail "$work/log")"
    [ -z "$(files "$root" 2>/dev/null)" ] || fail "left: $(files "$root")"
}

# requires NAME WORD...: the package in rpm requires them.
requires() {
    local word list
    list=$(rpm -qp --requires "$work/packages/$1"-[0-9]*.rpm)
    shift
    for word; do
        grep -qxF "$word" <<<"$list" || fail "$word is not required: $list"
    done
}

check_rpm() {
    local version

    needs rpm rpmbuild
    pack RPM
    version=$(sed -n 's/^CMAKE_PROJECT_VERSION:[A-Z]*=//p' "$build/CMakeCache.txt")
    requires amalgam-devel "amalgam = $version"
    requires amalgam-compat "amalgam-devel = $version"
    if [ "$(getconf LONG_BIT)" = 64 ]; then
        requires amalgam-tools "libamalgam.so.0()(64bit)" \
            "libamalgam.so.0(AMALGAM_PRIVATE_$version)(64bit)"
        requires amalgam "libz.so.1()(64bit)"
    fi
    # Requirements that this system's packages meet.
    rpm --root "$root" --initdb
    rpm --root "$root" -i --nodeps --noscripts "$work/packages"/*.rpm \
        >"$work/log" 2>&1 || fail "rpm -i: $(tail "$work/log")"
    ! rpm --root "$root" -e amalgam >"$work/log" 2>&1 ||
        fail "amalgam can go while others need it"
    check_files
    check_use
}

# in_root COMMAND: runs it in the root, with devices and processes of this machine,
# which are gone from the root when it ends.
in_root() {
    unshare --mount --propagation private sh -euc '
        mount --rbind /dev "$0/dev"
        mount --rbind /sys "$0/sys"
        mount -t proc proc "$0/proc"
        exec chroot "$0" sh -euc "$1"' "$root" "$1"
}

check_fresh() {
    local suite

    needs mmdebstrap unshare chroot dpkg-shlibdeps file
    [ "$(id -u)" = 0 ] || skip "only root makes a root"
    has AMALGAM_MPI ON && [ -f "$build/src/install/thallium.pc" ] ||
        skip "the examples need MPI and thallium.hpp"
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [ "$(. /etc/os-release && echo "$ID")" = debian ] || skip "this is no Debian"
    pack DEB
    mmdebstrap --variant=apt --skip=cleanup/apt/lists \
        --aptopt='APT::Install-Recommends "false"' \
        --include=gcc,g++,libc6-dev,pkg-config,mpich "$suite" "$root" \
        >"$work/log" 2>&1 || {
        tail "$work/log"
        skip "no Debian of its own: is there a network?"
    }
    mkdir "$root/packages"
    cp "$work/packages"/*.deb "$root/packages"
    cp /etc/resolv.conf "$root/etc"
    cp "$here/user/margo_user.c" "$root/packages"
    awk -v dir="$root/packages" '
        /^```(c|cpp)$/ { file = dir "/example." substr($0, 4); next }
        /^```/ { file = "" }
        file != "" { print >file }' "$here/../../README.md"
    in_root 'cd /packages
        export DEBIAN_FRONTEND=noninteractive HOME=/root
        apt-get install -y ./*.deb
        flags=$(pkg-config --cflags --libs amalgam)
        cc -Wall -Werror example.c -o example_c $flags
        c++ -std=c++14 -Wall -Werror example.cpp -o example_cpp $flags
        cc -Wall -o margo_user margo_user.c $(pkg-config --cflags --libs margo)
        ./margo_user
        amalgam_info --help >/dev/null
        for program in example_c example_cpp; do
            mpiexec -n 2 ./$program >$program.out
        done' >"$work/log" 2>&1 || fail "in the root: $(tail -20 "$work/log")"
    for program in example_c example_cpp; do
        printf '40 + 2 = 42, says rank 0\n' |
            cmp - "$root/packages/$program.out" ||
            fail "$program printed: $(cat "$root/packages/$program.out")"
    done
}

check_"$kind"
