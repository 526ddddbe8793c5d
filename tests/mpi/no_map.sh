#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One rank cannot map the memory of the others on its node: no_map.sh MPIEXEC
# PRELOAD PROGRAM [ofi]. Its node does without, and says so once; the other node
# does not. Where nothing else is allowed, no class is opened. Of the addresses
# of other nodes, which libfabric needs, it gets a copy.
set -eu

mpiexec=$1
preload=$2
program=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# LD_PRELOAD is a list, cut at spaces and colons, which the path may have.
ln -s "$preload" "$work/no_map.so"

fail() {
    echo "FAILED: $*" >&2
    cat "$work/err" >&2
    exit 1
}

run() {
    LD_PRELOAD=$work/no_map.so NO_MAP_RANK=1 AMALGAM_TRANSPORT=$1 timeout 50 \
        "$mpiexec" "${@:2}" >"$work/out" 2>"$work/err"
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

run auto -launcher fork -hosts a,b -ppn 2 -n 3 "$program" 0 ||
    fail "a node of two ranks, and one of one"
times 1 "cannot map"

run shm -n 2 "$program" refused "node cannot use shared memory" ||
    fail "shm alone was opened"

[ "${4:-}" = ofi ] || exit 0
run ofi+tcp -launcher fork -hosts a,b -ppn 2 -n 4 "$program" any ||
    fail "libfabric between two nodes"
times 1 "rank 1 cannot map the memory of rank 0 on its node"
times 1 "rank 1 cannot share the address table of its node"
