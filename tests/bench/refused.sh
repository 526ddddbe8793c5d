#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Invalid measurements end with a message and an exit code, in time.
#
# refused.sh LAUNCH AMALGAM_BENCH
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# refused RANKS WORDS ARG...: fails, and prints WORDS.
refused() {
    ranks=$1 words=$2
    shift 2
    if "$launch" -n "$ranks" "$program" "$@" >"$dir/out" 2>"$dir/err"; then
        echo "$*: it should have failed"
        exit 1
    fi
    grep -q "$words" "$dir/err" || {
        echo "$*: does not say \"$words\":"
        cat "$dir/err"
        exit 1
    }
}

launch=$1 program=$2
refused 2 "this build offers: .*mpi+p2p" latency -t nowhere
refused 1 "start it with -n 2" latency
refused 3 "3 ranks are an odd number: start it with -n 2" latency
refused 2 'no benchmark "nothing"; there are latency, .* all' nothing
refused 2 "no benchmark is named; there are .* all" -t mpi+p2p
refused 2 "bench: -w?" rate -w 65
refused 2 "cannot write /nowhere/rows" latency --json /nowhere/rows
refused 2 "cannot read /nowhere/expect" latency --expect /nowhere/expect

refused 2 "are both $dir/twice: name two" latency --json "$dir/twice" --csv "$dir/twice"
[ ! -e "$dir/twice" ]

# Other arguments at rank 1.
if "$launch" -n 1 "$program" latency : -n 1 "$program" rate >"$dir/out" 2>"$dir/err"; then
    echo "other arguments at rank 1: it should have failed"
    exit 1
fi
grep -q "rank 1 on .* has other arguments than rank 0" "$dir/err" || {
    cat "$dir/err"
    exit 1
}

# A million calls of 64 KiB take many seconds.
refused 2 "not done after 1 s: batch 0 of 1000000 operations" latency \
    -t mpi+p2p --size 65536 --calls 1000000 --batches 15 --deadline 1
