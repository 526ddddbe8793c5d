#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Shows that Ctrl-C in the middle leaves nothing behind: no process, and no
# file of ours in shared memory or TMPDIR: ctrl_c.sh MPIEXEC PROGRAM
set -u
mpiexec=$1 program=$2
# So that whatever a rank makes there is seen, and nobody else's is.
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

out=$TMPDIR/out

# Files that are named as those of our processes would be.
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

# A session of its own: SIGINT is ignored by jobs in the background else.
setsid bash -c 'trap - INT; exec "$@"' run env --default-signal=INT \
    "$mpiexec" -n 2 "$program" >"$out" 2>&1 </dev/null &
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
