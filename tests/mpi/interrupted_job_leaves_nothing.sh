#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ctrl-C in the middle leaves nothing behind: no process, and no file of the
# library in shared memory or TMPDIR: interrupted_job_leaves_nothing.sh LAUNCH
# PROGRAM
set -u
launch=$1 program=$2
# Only files of these ranks are there, and all of them.
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

out=$TMPDIR/out

# Files with the names of our processes.
ours() {
    local one
    for one in $pids; do
        find /dev/shm -maxdepth 1 -name "amalgam-*-$one-*" -printf '%f\n'
    done
}

fail() {
    echo "$1"
    cat "$out"
    kill -KILL "$pid" 2>/dev/null
    exit 1
}

# Waits up to 20 s until a command succeeds.
until_true() {
    for _ in $(seq 200); do
        "$@" && return 0
        read -rt 0.1 <> <(:)
    done
    return 1
}

both_began() { [ "$(grep -c 'in the middle' "$out")" -eq 2 ]; }
pids_gone() {
    local one
    for one in $pids; do
        [ -d "/proc/$one" ] && ! grep -q '^State:.Z' "/proc/$one/status" &&
            return 1
    done
    return 0
}

# A separate session: otherwise background jobs ignore SIGINT.
setsid bash -c 'trap - INT; exec "$@"' run env --default-signal=INT \
    "$launch" -n 2 "$program" >"$out" 2>&1 </dev/null &
pid=$!
until_true both_began || fail "the ranks did not begin"
pids=$(sed -n 's/^process \([0-9]*\) is in the middle$/\1/p' "$out")
kill -INT "$pid"
until_true pids_gone || fail "processes are left: $pids"
wait "$pid"
[ -z "$(ours)" ] || fail "left in /dev/shm: $(ours)"
left=$(find "$TMPDIR" -mindepth 1 ! -path "$out")
[ -z "$left" ] || fail "left in TMPDIR: $left"
echo "nothing is left of processes $pids"
