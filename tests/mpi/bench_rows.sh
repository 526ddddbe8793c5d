#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Each benchmark writes its rows, with all the keys in their order. Nothing is
# said of the figures.
#
# bench_rows.sh MPIEXEC AMALGAM_BENCH
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# check BENCH ROWS RANGE-OF-SIZES
check() {
    "$1" -n 2 "$2" "$3" -t mpi+p2p --batches 15 --calls 4 \
        --json "$dir/$3.json" >"$dir/$3.txt"
    awk -v rows="$4" -v bench="$3" '
        BEGIN {
            n = split("bench transport op size window memory unit value " \
                "p50_us p99_us control control_value ratio better batches " \
                "spread", keys, " ")
        }
        NR == 1 { if ($0 != "[") bad = "does not begin an array" }
        /^\{/ {
            found++
            rest = $0
            for (i = 1; i <= n; i++) {
                at = index(rest, "\"" keys[i] "\": ")
                if (at == 0)
                    bad = "row " found " has no " keys[i]
                rest = substr(rest, at + 1)
            }
            if ($0 !~ "\"bench\": \"" bench "\"" || /nan|inf/)
                bad = "row " found " is not right: " $0
        }
        END {
            if (found != rows)
                bad = found + 0 " rows instead of " rows
            if ($0 != "]")
                bad = "does not end the array"
            if (bad != "")
                print bench ": " bad
            exit bad != ""
        }' "$dir/$3.json"
}

check "$1" "$2" latency 15
check "$1" "$2" bulk 6
