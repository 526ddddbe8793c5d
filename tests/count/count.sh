#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Instructions of calls, by callgrind: counts, not times, so that they are the
# same on any machine with this compiler. Fails if a case takes over 2 % more
# than its budget, and tells of those that take over 2 % less.
#
# count.sh CALLS BUDGETS COMPILER
set -euo pipefail

calls=$1
budgets=$2
compiler=$3

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
valgrind -q --tool=callgrind --callgrind-out-file="$dir/counts" "$calls"

# Of each dump: its name, its sum, and the parts of a call.
for dump in "$dir"/counts.*; do
    sed -n 's/^desc: Trigger: Client Request: /case /p; s/^totals: /total /p' \
        "$dump"
    callgrind_annotate --auto=no --inclusive=yes --threshold=100 "$dump" |
        sed -n 's/^ *\([0-9,]*\) .*:part_\([a-z_]*\) .*/part \2 \1/p'
done | awk '
    FNR == NR {
        if ($0 !~ /^#/ && NF == 3)
            budget[$1 " " $2] = $3
        next
    }
    function row_end() {
        if (name == "")
            return
        verdict = "no budget"
        if (name in budget) {
            verdict = "budget " budget[name]
            if (total > budget[name] * 1.02) {
                verdict = verdict ", EXCEEDED"
                wrong++
            } else if (total < budget[name] * 0.98)
                verdict = verdict ", lower it"
            met++
        } else
            wrong++
        printf "%-22s %6.0f  %s\n%s", name, total, verdict, parts
    }
    $1 == "case" {
        row_end()
        name = $2 " " $3
        times = $4
        parts = ""
    }
    $1 == "total" { total = $2 / times }
    $1 == "part" {
        gsub(",", "", $3)
        parts = parts sprintf("    %-18s %6.0f\n", $2, $3 / times)
    }
    END {
        row_end()
        for (name in budget)
            rows++
        if (met < rows) {
            print rows - met " of the budgets have no count"
            wrong++
        }
        exit wrong > 0
    }' "$budgets" -
