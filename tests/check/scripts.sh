#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The scripts work in any directory, and whoever may install or has built: with
# an exported CDPATH, packages from elsewhere, no right to install, a build of
# another user.
set -u
unset CDPATH

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# wanted CODE TEXT COMMAND...: it ends with CODE, and prints TEXT.
wanted() {
    local code=0
    local text=$2 right=$1
    shift 2
    "$@" >"$work/said" 2>&1 </dev/null || code=$?
    if [ $code -ne "$right" ] || ! grep -q -- "$text" "$work/said"; then
        echo "FAILED: $*: exit code $code, $right is right, saying \"$text\":"
        sed 's/^/  | /' "$work/said"
        failed=1
    fi
}

# A folder that a shell with this CDPATH finds before that of the project.
mkdir -p "$work/other/jobs" "$work/other/tests" "$work/other/slurm"
cd "$root" || exit 1
export CDPATH=$work/other:.
wanted 1 'not a number of ranks' jobs/run -n 0
wanted 0 'tests/run .--full' tests/run --help
wanted 0 'cluster-in-a-box' slurm/cluster-in-a-box --help
unset CDPATH
for script in $(git ls-files 2>/dev/null | xargs grep -lsE '=\$\(cd ' --); do
    grep -qx 'unset CDPATH' "$script" || {
        echo "FAILED: $script: looks for itself by cd, and CDPATH is not unset"
        failed=1
    }
done

# Only the presence of a tool counts, not its package; nothing is installed
# without wish or permission.
mkdir -p "$work/tree/tests" "$work/bin"
cp tests/setup.sh "$work/tree/tests"
{
    grep -v -e '[[:space:]]-[[:space:]]' tests/packages | grep '[[:space:]]run[[:space:]]'
    printf 'nothing-has-this\tother\tno-such-command\treason\n'
    printf 'or-this\tother\tno_such_header.h\treason\n'
} >"$work/tree/tests/packages"
printf '#!/bin/sh\necho "$0 $*" >>"%s"\nexit 1\n' "$work/called" |
    tee "$work/bin/apt-get" "$work/bin/sudo" "$work/bin/dpkg-query" >/dev/null
chmod +x "$work"/bin/*
install='. tests/setup.sh; install_packages "$@"; echo went on'
cd "$work/tree" || exit 1
PATH=$work/bin:$PATH wanted 0 '^went on' bash -c "$install" here run
PATH=$work/bin:$PATH AMALGAM_INSTALL=no wanted 0 \
    'not installed: nothing-has-this or-this' bash -c "$install" here other
PATH=$work/bin:$PATH AMALGAM_INSTALL=no wanted 0 '^went on' \
    bash -c "$install" here other
[ ! -e "$work/called" ] || {
    echo "FAILED: called:"
    cat "$work/called"
    failed=1
}
cd "$root" || exit 1

# A build of another user is used while it is up to date.
mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(small NONE)
add_custom_command(OUTPUT made DEPENDS ${CMAKE_SOURCE_DIR}/source
    COMMAND ${CMAKE_COMMAND} -E touch made)
add_custom_target(small ALL DEPENDS made)
END
touch "$work/project/source"
cmake -G Ninja -S "$work/project" -B "$work/build" >"$work/said" 2>&1 &&
    cmake --build "$work/build" >>"$work/said" 2>&1 || {
    cat "$work/said"
    exit 1
}
printf 'small\t/bin/true\t1\t%s\n' "$0" "$root"/jobs/apps/*/main.c \
    "$root"/jobs/tools/*info.c "$root"/jobs/bench/{main.c,run} \
    >"$work/build/jobs.list"
chmod -R a+rX "$work"
chmod -R a-w "$work/build"
other=()
[ "$(id -u)" -ne 0 ] || other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if "${other[@]}" test -r "$root/jobs/run"; then
    export AMALGAM_BUILD=$work/build AMALGAM_INSTALL=no
    wanted 0 '^small' "${other[@]}" "$root/jobs/run" --list
    # Each has a sentence, not only its name.
    grep -q 'files by RPC' "$work/said" &&
        ! grep -vE 'ranks  ([^ ]+ ){5}.*[^:]$' "$work/said" || {
        echo "FAILED: jobs/run --list says of a job only what it is called"
        failed=1
    }
    touch -d "+1 minute" "$work/project/source"
    wanted 1 'is out of date: set AMALGAM_BUILD' \
        "${other[@]}" "$root/jobs/run" --list
fi
chmod -R u+w "$work/build"
exit $failed
