#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# 10,000 null calls make no more system calls than 10,000 round trips of plain
# MPI. Counted in all threads of both ranks, between two marks that the program
# sets, without those that Open MPI makes while it waits: it gives the core away,
# and looks at its descriptors; and without the five of each look at a neighbour,
# four times a second (src/rpc/deaths.c), however many calls are made.
#
# null_calls_need_few_syscalls.sh LAUNCH AMALGAM_BENCH
set -eu

# A timer of MPI may expire in only one of the two.
slack=20

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if ! strace -f -o "$dir/try" true 2>/dev/null; then
    echo "there is no strace here, or it may not trace"
    exit 77
fi

# The system calls of both ranks around the calls of kind $3.
count() {
    mkdir "$dir/$3"
    # shellcheck disable=SC2016
    "$1" -n 2 sh -c 'exec strace -f -o "$0/$$" "$@"' "$dir/$3" \
        "$2" count --calls 10000 --what "$3" -t mpi+p2p >&2
    cat "$dir/$3"/* | awk '
        /amalgam_bench\/end/ { counts = 0; ends++ }
        / sched_yield\(/ || / poll\(.*, 0\) += 0/ { next }
        counts && /openat\(.*"\/proc\/[0-9]+\/stat"/ { looks++ }
        counts && !/<\.\.\. .* resumed>/ && !/ (---|\+\+\+) / { calls++ }
        /amalgam_bench\/begin/ { counts = 1; begins++ }
        END {
            if (begins != 2 || ends != 2)
                exit 1
            print calls - 5 * looks
        }'
}

rpc=$(count "$1" "$2" rpc)
mpi=$(count "$1" "$2" raw)
echo "system calls around 10000 null calls: $rpc; around plain MPI: $mpi"
[ "$rpc" -le $((mpi + slack)) ]
