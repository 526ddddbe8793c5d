#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the kv job, and checks its output.
#
#   kv.sh CASE PROGRAM RANKS
#
# HOSTS in the environment are two pretended nodes that share the ranks.
set -u

case_name=$1
program=$2
ranks=$3
launch=("$(dirname "$0")/../processes/launch" -n "$ranks")
[ -z "${HOSTS:-}" ] ||
    launch+=(-hosts "$HOSTS" -ppn $((ranks / 2)))
log=$(mktemp "${TMPDIR:-/tmp}/kv-test.XXXXXX") || exit 1
trap 'rm -f "$log"' EXIT

die() {
    echo "$case_name: $*" >&2
    sed 's/^/  | /' "$log" >&2
    exit 1
}

# run CODE ARGUMENT...: the job ends with that code.
run() {
    local wanted=$1 code=0
    shift
    "${launch[@]}" "$program" "$@" >"$log" 2>&1 </dev/null || code=$?
    [ "$code" -eq "$wanted" ] || die "exit code $code, $wanted was expected"
}

said() {
    grep -Eq -- "$1" "$log" || die "did not say: $1"
}

case $case_name in
all)
    run 0
    # 60 keys and 8 workers; two versions, 4 counters, and 25 adds to each.
    said "^$ranks ranks, 2 providers and 8 workers on each$"
    said "^$((2 * 60 * ranks + 4)) puts, "
    said " puts, $((2 * 60 * ranks * ranks + 4 * ranks)) gets, "
    said " gets, $((8 * 100 * ranks)) adds; [1-9][0-9]* values by bulk$"
    said '^0 values wrong, 0 calls failed$'
    ! grep '^amalgam: ' "$log" || die "the library had complaints"
    ;;
many_workers)
    run 0 --keys 500 --workers 200 --providers 5
    said "^$ranks ranks, 5 providers and 200 workers on each$"
    said '^0 values wrong, 0 calls failed$'
    ;;
usage)
    run 2 --keys 0
    said '^kv: --keys\?$'
    run 2 --workers
    said '^kv: --workers\?$'
    run 2 --sizes 3
    said '^  --keys N  '
    ;;
*)
    die "no such case"
    ;;
esac
