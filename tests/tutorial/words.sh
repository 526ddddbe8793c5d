#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tutorial programs refuse unknown arguments: words.sh PROGRAM... And save
# copies a file whose size the file system does not know.
set -u

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
    echo "FAILED: $*" >&2
    cat "$dir/out" "$dir/err" >&2
    exit 1
}

for program in "$@"; do
    words=(-x)
    [ "${program##*/}" != save ] || words=(a b -x)
    timeout 50 "$(dirname "$0")/../processes/launch" -n 2 "$program" "${words[@]}" \
        >"$dir/out" 2>"$dir/err"
    [ $? -eq 2 ] || fail "$program ${words[*]}: not exit code 2"
    grep -q 'what is "-x"?' "$dir/err" || fail "$program does not name the word"
    [ "${program##*/}" != save ] || save=$program
done

timeout 50 "$(dirname "$0")/../processes/launch" -n 2 "$save" /proc/version "$dir/saved" \
    >"$dir/out" 2>"$dir/err" || fail "save of a file in /proc"
cmp /proc/version "$dir/saved/version.rank1" || fail "not the same bytes"
