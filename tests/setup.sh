# SPDX-License-Identifier: BSD-3-Clause
# Sourced by jobs/run, tests/run and .ci/run: installs, configures, builds.
# shellcheck shell=bash

unset CDPATH
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cores=$(nproc 2>/dev/null || echo 2)

# Ends the script with a message.
fail() {
    echo "$0: $*" >&2
    exit 1
}

# Does this machine have the "found by" of tests/packages?
is_here() {
    case $2 in
    -) dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null |
        grep -qx installed ;;
    pc:*) pkg-config --exists "${2#pc:}" 2>/dev/null ;;
    c++:*) echo "#include <${2#c++:}>" |
        "${CXX:-c++}" -E -x c++ - >/dev/null 2>&1 ;;
    *.h) echo "#include <$2>" | "${CC:-cc}" -E - >/dev/null 2>&1 ;;
    *) PATH=$PATH:/usr/sbin:/sbin command -v "$2" >/dev/null ;;
    esac
}

# The packages for the purposes "$@" (run, plot ...) that are missing here.
missing_packages() {
    local name for found_by reason
    while read -r name for found_by reason; do
        case $name in '' | '#'*) continue ;; esac
        [[ " $* " != *" $for "* ]] || is_here "$name" "$found_by" ||
            echo "$name"
    done <"$root/tests/packages"
}

# Runs a command as root.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# Installs missing packages for "$@", and lists them. Without permission
# (AMALGAM_INSTALL=no, no root, another system), it says so and goes on: the
# build reports those that it needs.
install_packages() {
    local missing

    missing=$(missing_packages "$@" | paste -sd ' ')
    [ -n "$missing" ] || return 0
    if [ "${AMALGAM_INSTALL:-yes}" = no ] || ! command -v apt-get >/dev/null ||
        { [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; }; then
        echo "Missing here, by Debian's names, and not installed: $missing" \
            "(src/install/README.md has the names of other systems)"
        return 0
    fi
    echo "Installing Debian packages: $missing"
    as_root apt-get update -q ||
        echo "apt-get update failed; going on with the lists that are here"
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
        --no-install-recommends $missing ||
        fail "apt-get could not install: $missing;" \
            "AMALGAM_INSTALL=no goes on without"
    # Its daemon may have been started; the tests use their own.
    [[ " $missing " != *' munge '* ]] ||
        as_root service munge stop >/dev/null 2>&1 || true
}

# configure PRESET DIR [CMAKE-ARGUMENT...]
configure() {
    local preset=$1 dir=$2
    shift 2
    mkdir -p "$dir"
    (cd "$root" && cmake --preset "$preset" -B "$dir" "$@") \
        >"$dir/configure.log" 2>&1 || {
        cat "$dir/configure.log" >&2
        return 1
    }
}

# build DIR
build() {
    cmake --build "$1" -j "$cores"
}

# run_tests DIR [CTEST-ARGUMENT...]. With AMALGAM_TEST_TRIES=N a test that fails
# runs up to N times; those that passed only later are listed.
run_tests() {
    local dir=$1 tries=${AMALGAM_TEST_TRIES:-1} log rc=0
    shift
    log=$(mktemp)
    (
        set -o pipefail
        cd "$dir" && ctest --output-on-failure -j "$((3 * cores))" \
            --repeat "until-pass:$tries" "$@" 2>&1 | tee "$log"
    ) || rc=$?
    if [ "$tries" -gt 1 ] && grep -q '\*\*\*' "$log"; then
        echo "== tests that failed at least once:"
        grep '\*\*\*' "$log" | sort -u
    fi
    rm -f "$log"
    return "$rc"
}

# torture DIR MINUTES: random mixes from a random seed, which the report names.
torture() {
    local rc=0
    "$root/tests/torture/run" --build "$1" --minutes "$2" \
        --seed "$(($(od -An -N4 -tu4 /dev/urandom)))" || rc=$?
    [ "$rc" -eq 0 ] || [ "$rc" -eq 77 ]
}
