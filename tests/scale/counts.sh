#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What opening a class, a call of each rank and closing it cost, for several
# numbers of ranks of this machine: counts, their mean over the ranks and that of
# the rank with the most, and the power of the number of ranks with which each
# grows. Fails when one grows faster than its bound.
#
# counts.sh LAUNCH COUNTS TRANSPORT RANKS RANKS...
set -euo pipefail

launch=$1
counts=$2
transport=$3
shift 3
work=$(mktemp)
trap 'rm -f "$work"' EXIT
# A rank that blocks opens descriptors for that. So that this does not depend on
# the load of the machine, ranks block whenever they wait.
export AMALGAM_WAIT=sleep
for ranks in "$@"; do
    "$launch" -n "$ranks" "$counts" "$transport" >>"$work"
done

# Bounds: phase, count, power of the mean, power of the largest; - is printed
# only. Context switches depend on how many ranks share a core, and a descriptor
# of a peer on which of two ranks was first.
awk -v transport="$transport" '
function power(values, n,    i, x, y, sx, sy, sxx, sxy) {
    for (i = 1; i <= n; i++) {
        x = log(sizes[i])
        y = log(values[i] < 1 ? 1 : values[i])
        sx += x; sy += y; sxx += x * x; sxy += x * y
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx)
}
function verdict(bound, grows) {
    if (bound == "-" || grows <= bound)
        return " "
    wrong++
    return "!"
}
FNR == NR {
    if ($1 == "bound")
        bounds[$2 " " $3] = $4 " " $5
    next
}
$1 != "count" { next }
{
    row = $3 " " $4
    if (!(row in seen)) {
        seen[row] = 1
        rows[++row_count] = row
    }
    if (!($2 in size_at)) {
        sizes[++size_count] = $2
        size_at[$2] = size_count
    }
    mean[row, size_at[$2]] = $5
    most[row, size_at[$2]] = $6
}
END {
    printf "counts per rank over %s: mean and largest\n%-22s", transport, "ranks"
    for (i = 1; i <= size_count; i++)
        printf " %18d", sizes[i]
    printf "  %13s %13s\n", "power (bound)", "of largest"
    for (r = 1; r <= row_count; r++) {
        row = rows[r]
        if (mean[row, 1] < 0) {
            print row ": not counted, this process may not"
            continue
        }
        for (i = 1; i <= size_count; i++) {
            means[i] = mean[row, i]
            mosts[i] = most[row, i]
        }
        split(row in bounds ? bounds[row] : "- -", bound, " ")
        printf "%-22s", row
        for (i = 1; i <= size_count; i++)
            printf " %9.1f %8d", means[i], mosts[i]
        a = power(means, size_count)
        b = power(mosts, size_count)
        printf "  %5.2f (%4s)%s %5.2f (%4s)%s\n", a, bound[1],
            verdict(bound[1], a), b, bound[2], verdict(bound[2], b)
    }
    if (row_count == 0)
        wrong++
    exit wrong > 0
}' - "$work" <<'BOUNDS'
bound open messages 0.05 0.05
bound open bytes 0.05 0.05
bound open collectives 0.05 0.05
bound open syscalls 0.4 1.0
bound open descriptors 0.05 0.05
bound open mappings 0.3 0.3
bound open resident_kib 0.4 1.0
bound calls messages 0.05 0.05
bound calls bytes 0.05 0.05
bound calls collectives 0.05 0.05
bound calls syscalls 0.6 1.0
bound calls descriptors 0.3 0.4
bound calls mappings 0.6 1.1
bound calls resident_kib 0.4 1.0
bound close messages 0.3 0.5
bound close bytes 0.3 0.5
bound close collectives 0.05 0.05
bound close syscalls 0.6 0.8
bound close descriptors 0.05 0.05
bound close mappings 0.6 1.1
bound close resident_kib 0.4 1.0
BOUNDS
