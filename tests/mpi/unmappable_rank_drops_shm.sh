#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One rank cannot map the memory of the others on its node:
# unmappable_rank_drops_shm.sh LAUNCH PRELOAD PROGRAM [ofi]. Its node does
# without, and logs that once; the other node does not. If shared memory is
# required, no class is opened. The rank gets a copy of the addresses of other
# nodes, which libfabric needs. A rank that finds the memory of others by name
# only uses it, and the names stay until the class closes. A rank that cannot
# meet the others of its node is alone on one.
set -eu

launch=$1
preload=$2
program=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# LD_PRELOAD is a list, cut at spaces and colons, which the path may have.
ln -s "$preload" "$work/preload.so"

fail() {
    echo "FAILED: $*" >&2
    cat "$work/err" >&2
    exit 1
}

run() {
    env "${who:-NO_MAP_RANK=1}" LD_PRELOAD="$work/preload.so" \
        AMALGAM_TRANSPORT="$1" timeout 50 \
        "$launch" "${@:2}" >"$work/out" 2>"$work/err"
}

# times COUNT TEXT
times() {
    local got
    got=$(grep -c "$2" "$work/err" || true)
    [ "$got" = "$1" ] || fail "\"$2\" is there $got times, not $1"
}

run auto -n 3 "$program" 0 "mpi+p2p to 2 ranks of this node" ||
    fail "three ranks of one node"
times 1 "rank 1 cannot map the memory of rank 0 on its node"

run auto -hosts a,b -ppn 2 -n 3 "$program" 0 ||
    fail "a node of two ranks, and one of one"
times 1 "cannot map"

run shm -n 2 "$program" refused "node cannot use shared memory" ||
    fail "shm alone was opened"

who=NO_PROC_RANK=2
run auto -n 3 "$program" 2 "shm to 2 ranks of this node" ||
    fail "a rank that needs the names"
times 0 "cannot"
who=NO_PLACE_RANK=2
run auto -n 3 "$program" any "of 1 other node" || fail "a rank in a container"
times 1 "rank 2 cannot share /dev/shm/.* (Permission denied), and treats"
who=NO_ROOM_RANK=1
run auto -n 3 "$program" any "to 2 ranks of 2 other nodes" ||
    fail "a rank without room"
times 1 "rank 1 cannot share /dev/shm/.* (No space left on device), and treats"
unset who

[ "${4:-}" = ofi ] || exit 0
run ofi+tcp -hosts a,b -ppn 2 -n 4 "$program" any ||
    fail "libfabric between two nodes"
times 1 "rank 1 cannot map the memory of rank 0 on its node"
times 1 "rank 1 cannot share the address table of its node"
