# SPDX-License-Identifier: BSD-3-Clause
# Sourced by jobs/run, tests/run and .ci/run: installs, configures, builds.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cores=$(nproc 2>/dev/null || echo 2)

# Ends the script with a message.
fail() {
    echo "$0: $*" >&2
    exit 1
}

# Names of the packages for the purposes "$@" (run, plot ...), one per line.
package_names() {
    local name for rest
    while read -r name for rest; do
        case $name in '' | '#'*) continue ;; esac
        [[ " $* " != *" $for "* ]] || echo "$name"
    done <"$root/tests/packages"
}

# Installs what is missing of the packages for "$@". Says which.
install_packages() {
    local missing as_root=()

    if ! command -v dpkg-query >/dev/null; then
        echo "This is no Debian: have these installed under their local names:"
        package_names "$@" | paste -sd ' '
        return 0
    fi
    # Virtual and foreign names count too: a package is there if dpkg says so.
    # shellcheck disable=SC2046
    missing=$(comm -23 <(package_names "$@" | sort -u) <(dpkg-query -W \
        -f '${db:Status-Status} ${Package}\n' $(package_names "$@") \
        2>/dev/null | awk '$1 == "installed" { print $2 }' | sort -u))
    [ -n "$missing" ] || return 0
    # shellcheck disable=SC2086
    echo "Installing Debian packages:" $missing
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null ||
            fail "not root, and no sudo here; install them as root"
        as_root=(sudo)
    fi
    "${as_root[@]}" apt-get update -q ||
        echo "apt-get update failed; going on with the lists that are here"
    # shellcheck disable=SC2086
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
        --no-install-recommends $missing ||
        fail "apt-get could not install:" $missing
    # Its daemon may have been started; the tests have one of their own.
    [[ $'\n'$missing$'\n' != *$'\n'munge$'\n'* ]] ||
        "${as_root[@]}" service munge stop >/dev/null 2>&1 || true
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

# run_tests DIR [CTEST-ARGUMENT...]
run_tests() {
    local dir=$1
    shift
    (cd "$dir" && ctest --output-on-failure -j 3 "$@")
}
