#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A trace of a process that was killed is read up to its end, also if the file
# ends inside of a chunk or an event; a damaged file is refused.
#   trace_killed.sh TOOL PROGRAM
set -eu
tool=$1 program=$2
here=$(unset CDPATH; cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
rc=0
"$program" "$folder/t" || rc=$?
[ "$rc" -eq 137 ]
file=$(echo "$folder"/t/*.amgtrace)
# check LEN WANTED: the first LEN bytes of the file have WANTED in the output.
check() {
    mkdir "$folder/cut"
    head -c "$1" "$file" >"$folder/cut/a.amgtrace"
    "$tool" "$folder/cut" -o "$folder/job.json" --summary >"$folder/summary"
    "$here/trace_format.py" "$folder/job.json" "${@:3}"
    grep -q "$2" "$folder/summary"
    rm -r "$folder/cut"
}
len=$(stat -c %s "$file")
check "$len" 'lost events 0$' 'marks:mark 0=1' 'marks:mark 4999=1'
check $((len - 1)) 'cut in a chunk' 'marks:mark 4998=1' 'marks:mark 4999=0'
check $((len - 40 * 10)) 'cut in a chunk' 'marks:mark 4989=1' 'marks:mark 4990=0'
check $((len - 40 * 10 - 17)) 'cut in a chunk' 'marks:mark 4988=1' \
    'marks:mark 4989=0'
check 64 'cut in a chunk' 'marks:mark 0=0'

# refuse WHY COMMAND...: the tool refuses what COMMAND writes.
refuse() {
    mkdir "$folder/bad"
    "${@:2}" >"$folder/bad/a.amgtrace"
    rc=0
    "$tool" "$folder/bad" --summary >/dev/null 2>"$folder/why" || rc=$?
    [ "$rc" -eq 1 ]
    grep -q "$1" "$folder/why"
    rm -r "$folder/bad"
}
refuse 'shorter than the head' head -c 63 "$file"
refuse 'no trace of this version' head -c 100 /dev/zero
refuse 'damaged at byte' sh -c "cat '$file'; head -c 100 /dev/zero"
mkdir "$folder/none"
! "$tool" "$folder/none" --summary 2>"$folder/why"
grep -q 'no file of a trace' "$folder/why"
