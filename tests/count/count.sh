#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Instructions of calls, by callgrind: counts, not times, so that they are the
# same on any machine with this compiler. Fails if a case takes over 2 % more
# than its budget, and tells of those that take over 2 % less. With a LAUNCHER,
# the counts are the sum over all ranks of the instructions in the library and
# the program, without those of MPI.
#
# count.sh PROGRAM BUDGETS COMPILER [LAUNCHER ARG...]
set -euo pipefail

program=$1
budgets=$2
compiler=$3
launcher=("${@:4}")

if ! command -v valgrind >/dev/null; then
    echo "skipped: there is no valgrind here"
    exit 77
fi
wanted=$(sed -n 's/^# compiler: //p' "$budgets")
if [ "$compiler" != "$wanted" ]; then
    echo "skipped: the budgets are for $wanted, and this is $compiler"
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
collect=yes
[ ${#launcher[@]} -eq 0 ] || collect=no
"${launcher[@]}" valgrind -q --tool=callgrind --collect-atstart=$collect \
    --callgrind-out-file="$dir/counts.%p" "$program"

annotate() {
    callgrind_annotate --auto=no --threshold=100 "$@"
}

# Of each dump of each process: its name, its sum, and the parts of a call.
for dump in "$dir"/counts.*.*; do
    sed -n 's/^desc: Trigger: Client Request: /case /p' "$dump"
    if [ $collect = no ]; then
        annotate "$dump" | sed -nE \
            '/below main/d; s,^ *([0-9\,]+) .*\[.*/(libamalgam[^/]*|'"${program##*/}"')\]$,sum \1,p'
        continue
    fi
    sed -n 's/^totals: /sum /p' "$dump"
    annotate --inclusive=yes "$dump" |
        sed -n 's/^ *\([0-9,]*\) .*:part_\([a-z_]*\) .*/part \2 \1/p'
done | awk '
    FNR == NR {
        if ($0 !~ /^#/ && NF == 3)
            budget[$1 " " $2] = $3
        next
    }
    { gsub(",", "", $NF) }
    $1 == "case" {
        name = $2 " " $3
        times = $4
        if (!(name in sum))
            names[++count] = name
    }
    $1 == "sum" { sum[name] += $2 / times }
    $1 == "part" {
        parts[name] = parts[name] sprintf("    %-18s %6.0f\n", $2, $3 / times)
    }
    END {
        for (i = 1; i <= count; i++) {
            name = names[i]
            verdict = "no budget"
            if (!(name in budget))
                wrong++
            else {
                verdict = "budget " budget[name]
                if (sum[name] > budget[name] * 1.02) {
                    verdict = verdict ", EXCEEDED"
                    wrong++
                } else if (sum[name] < budget[name] * 0.98)
                    verdict = verdict ", lower it"
            }
            printf "%-22s %6.0f  %s\n%s", name, sum[name], verdict, parts[name]
        }
        for (name in budget)
            if (!(name in sum)) {
                print name " has a budget and no count"
                wrong++
            }
        exit wrong > 0
    }' "$budgets" -
