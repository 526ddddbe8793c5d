#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# amalgam_info refuses invalid arguments, and says what it cannot do.
#
# refused.sh AMALGAM_INFO HAS_JSON HAS_HWLOC
set -eu

info=$1 has_json=$2 has_hwloc=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# refused CODE PATTERN ARG...: must end so, with that stderr and no stdout.
refused() {
    local code=$1 pattern=$2 got=0
    shift 2
    "$info" "$@" </dev/null >"$dir/out" 2>"$dir/err" || got=$?
    if [ "$got" != "$code" ] || ! grep -q -- "$pattern" "$dir/err"; then
        echo "refused.sh: amalgam_info $*: ended with $got" >&2
        cat "$dir/err" >&2
        exit 1
    fi
    if [ "$code" = 2 ] && [ -s "$dir/out" ]; then
        echo "refused.sh: amalgam_info $*: wrote on stdout" >&2
        exit 1
    fi
}

usage='^amalgam_info \[--job\] \[-t TRANSPORT\]'
refused 2 "$usage" --nothing
refused 2 "$usage" -t
refused 2 "$usage" --xml
refused 2 "$usage" --xml ''
refused 2 "$usage" --json=1
refused 2 "$usage" -t self more
refused 1 "no transport 'nowhere'" -t nowhere
if [ "$has_hwloc" = ON ]; then
    refused 1 "topology to $dir/no/file: " -t self --xml "$dir/no/file"
    refused 1 "topology to $dir: Is a directory" -t self --xml "$dir"
    refused 1 "topology to /dev/null: not a regular file" -t self --xml /dev/null
else
    refused 2 "without hwloc" --xml "$dir/file"
fi
[ "$(cd "$dir" && echo ./*)" = "./err ./out" ] || exit 1
"$info" --help | grep -q "$usage"
if [ "$has_json" = ON ]; then
    refused 1 "no transport 'nowhere'" -t nowhere --json
    [ ! -s "$dir/out" ] || exit 1
else
    refused 2 "without json-c" --json
fi
# A report that cannot be written is no success.
if "$info" -t self >/dev/full 2>"$dir/err"; then
    exit 1
fi
grep -q 'stdout: No space' "$dir/err"
