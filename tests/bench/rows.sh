#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A benchmark writes its rows, each with all keys in their order. Times are not
# checked. Few operations, so each key is there, but no meaningful time.
#
# rows.sh LAUNCH RANKS AMALGAM_BENCH BENCH TRANSPORT VIA "OP=ROWS ..." [ARG...]
#
# VIA is the route of the calls, or * for any; controls have none. ROWS is a
# number, or one with a + for that many or more. HOSTS in the environment are
# pretended nodes with as many ranks on each. A transport that this build does not offer
# skips the test.
set -eu

launcher=$1 ranks=$2 program=$3 bench=$4 transport=$5 via=$6 ops=$7
shift 7
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

launch=("$launcher" -n "$ranks")
if [ -n "${HOSTS:-}" ]; then
    hosts=${HOSTS//[^,]/}
    launch=("$launcher" -hosts "$HOSTS" -ppn $((ranks / (${#hosts} + 1)))
        -n "$ranks")
fi
"${launch[@]}" "$program" "$bench" -t "$transport" --smoke --json "$dir/rows.json" "$@" >"$dir/out" 2>"$dir/err" || {
    code=$?
    cat "$dir/out" "$dir/err"
    offer=$(sed -n "s/.*no transport '$transport' here; this build offers: //p" \
        "$dir/err" | head -n 1)
    if [ -n "$offer" ]; then
        exit 77
    fi
    exit "$code"
}
cat "$dir/err"
# The table sends each row to the text of its own control.
awk 'NR == FNR && /^  \([0-9]+\) / { n = $1; sub(/^  \([0-9]+\) /, ""); text[n] = $0; next }
    NR == FNR && /  \([0-9]+\)$/ { number[++count] = $NF }
    NR == FNR { next }
    /^\{"bench"/ && !index($0, "\"control\": \"" text[number[++row]] "\",") {
        print "the table has another control for: " $0
        bad = 1
    }
    END { exit bad || row != count }' "$dir/out" "$dir/rows.json" || {
    cat "$dir/out"
    exit 1
}
awk -v bench="$bench" -v transport="$transport" -v via="$via" -v ops="$ops" '
    # The text or number of the key in this row.
    function value(key,    rest) {
        rest = $0
        if (!sub(".*\"" key "\": ", "", rest))
            return ""
        sub(/^"/, "", rest)
        sub(/[",}].*/, "", rest)
        return rest
    }
    BEGIN {
        n = split("bench transport via cores op size window threads ranks " \
            "peers memory unit value p50_us p99_us against control " \
            "control_value control_p50_us control_p99_us ratio better " \
            "batches runs spread control_spread noisy", keys, " ")
        for (i = split(ops, pairs, " "); i > 0; i--) {
            split(pairs[i], part, "=")
            wanted[part[1]] = part[2]
        }
    }
    NR == 1 {
        if ($0 !~ /^\{"format": "amalgam_bench", "version": 1, "complete": true,/)
            bad = "does not begin as a whole document: " $0
    }
    /^\{"bench"/ {
        rows++
        rest = $0
        for (i = 1; i <= n; i++) {
            at = index(rest, "\"" keys[i] "\": ")
            if (at == 0)
                bad = "row " rows " has no " keys[i]
            rest = substr(rest, at + 1)
        }
        if ((bench != "all" && value("bench") != bench) ||
            value("transport") != transport ||
            (via != "*" && value("bench") != "controls" &&
                value("via") != via) ||
            value("via") == "" ||
            value("cores") == "" || value("against") == "" || /[[ ](-?nan|-?inf|null)[],}]/)
            bad = "row " rows " is not right: " $0
        found[value("op")]++
    }
    END {
        if ($0 != "]}")
            bad = "does not end the document"
        for (op in found)
            if (!(op in wanted))
                bad = found[op] " rows of " op ", which nobody knows"
        for (op in wanted)
            if (found[op] + 0 < wanted[op] + 0 ||
                (found[op] + 0 > wanted[op] + 0 && wanted[op] !~ /[+]$/))
                bad = found[op] + 0 " rows of " op " instead of " wanted[op]
        if (bad != "")
            print bench ": " bad
        exit bad != ""
    }' "$dir/rows.json" || {
    cat "$dir/rows.json"
    exit 1
}
