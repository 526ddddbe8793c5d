#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# margo-stats gives each of its verdicts for a file that calls for it: files of
# real runs, and files made by hand. Other files are refused.
#
# margo_stats.sh MARGO_STATS STATS_MAKER
set -euo pipefail

stats=$1
maker=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if ! command -v python3 >/dev/null; then
    echo "skipped: there is no python3 here"
    exit 77
fi

# ends CODE FILE PATTERN...: must end so, and print a line for each pattern, on
# stdout, or on stderr if the code is not 0.
ends() {
    local wanted=$1 file=$2 code=0 pattern
    shift 2
    "$stats" "$file" >"$dir/out" 2>"$dir/err" || code=$?
    for pattern in "$@"; do
        # The verdicts break their lines.
        tr '\n' ' ' <"$dir/$([ "$wanted" = 0 ] && echo out || echo err)" |
            tr -s ' ' | grep -qE -- "$pattern" || code="$code, without '$pattern'"
    done
    if [ "$code" != "$wanted" ]; then
        echo "margo_stats.sh: '$file' ended with $code, not $wanted" >&2
        cat "$dir/out" "$dir/err" >&2
        exit 1
    fi
}

# Files of real runs.
for mode in run queue nest; do
    mkdir "$dir/$mode"
    MARGO_OUTPUT_DIR=$dir/$mode "$maker" $mode
    set -- "$dir/$mode"/*.stats.json
    case $mode in
    run)
        ends 0 "$1" '^process [0-9]+ on [^ ]+, na\+sm://' \
            ' busy 20 .* 100 % ' \
            '- busy takes most of .*: 100 %' \
            '- Its calls run: ' '- All calls came from na\+sm://' \
            '- No pool is overloaded: in the fullest, __primary__' \
            '- Of the calls made here, busy at na\+sm://'
        ;;
    queue)
        # Where main() loses its core while few calls are left, the waits behind
        # the handlers are longer than those before them.
        ends 0 "$1" \
            '- Its (calls are queued|handlers wait until their answers leave): '
        ;;
    nest)
        ends 0 "$1" '- outer takes most of ' \
            '- Its handlers wait for calls that they make: '
        ;;
    esac
done
ends 1 "$(echo "$dir"/run/*.series.json)" 'this is the time series'

# numbers CALLS SECONDS: the sum of durations; the greatest is a tenth of it.
numbers() {
    printf '{"num": %s, "sum": %s, "max": %se-1}' "$1" "$2" "$2"
}

# served NAME CALLER CALLS RUN QUEUED ANSWERS BULK
served() {
    printf '"%s %s": {"rpc_id": 1, "provider_id": 3, "name": "%s",
        "parent_rpc_id": 65535, "parent_provider_id": 65535, "origin": {},
        "target": {"received from %s": {
            "ult": {"duration": %s,
                "relative_timestamp_from_handler_start": %s},
            "irespond_wait": {"duration": %s},
            "bulk": {"create": {"duration": %s, "size": %s},
                "pull from x": {"itransfer_wait": {"duration": %s}}}}}}' \
        "$1" "$2" "$1" "$2" "$(numbers "$3" "$4")" "$(numbers "$3" "$5")" \
        "$(numbers "$3" "$6")" "$(numbers 1 1)" "$(numbers 1 1)" \
        "$(numbers "$3" "$7")"
}

# made NAME TARGET CALLS SECONDS: as Margo itself writes, without "forward".
made() {
    printf '"%s %s": {"rpc_id": 2, "provider_id": 65535, "name": "%s",
        "parent_rpc_id": 65535, "parent_provider_id": 65535, "target": {},
        "origin": {"sent to %s": {"iforward_wait": {"duration": %s}}}}' \
        "$1" "$2" "$1" "$2" "$(numbers "$3" "$4")"
}

# file NAME RPC...: the statistics of these RPCs.
file() {
    local name=$1 IFS=,
    shift
    printf '{"pid": 7, "hostname": "n01", "address": "tcp://n01:7",
        "rpcs": {%s}}' "$*" >"$dir/$name.stats.json"
    made=$dir/$name.stats.json
}

# series NAME READY: time series with two pools beside the statistics.
series() {
    printf '{"rpcs": {}, "pools": {"calm": {"size": [0, 1],
        "total_size": [1, 2]}, "full": {"size": [%s], "total_size": [9, 9]},
        "new": {"size": [], "total_size": []}}}' "$2" >"$dir/$1.series.json"
}

file queued "$(served write a 10 2 5 0 0)" "$(served write b 30 6 15 0 0)" \
    "$(served read a 1 1 0 0 0)"
series queued 2,3
ends 0 "$made" 'process 7 on n01, tcp://n01:7' \
    ' write:3 40 28 s 97 % 500 ms 1.5 s 200 ms 600 ms ' \
    ' full 2 2.5 3 9.0 9 ' \
    '- write:3 takes most of the time .*: 97 % of 29 s\.' \
    '- Its calls are queued: on average they wait 500 ms in the pool, and 0 us ' \
    '- One caller causes most of that time: b, 72 %\.' \
    '- Pool full is overloaded: on average 2.5 threads are ready'
series queued 2,1
ends 0 "$made" '- No pool is overloaded: in the fullest, full, on average 1.5 '
printf '{"rpcs": {}, "pools": {}}' >"$dir/queued.series.json"
ends 0 "$made" '- Pools are unknown: the time series has no points\.'

file answers "$(served write a 10 9 1 8 0)"
ends 0 "$made" '- Its handlers wait until their answers leave: 800 ms of the 900 ' \
    '- Pools are unknown: the time series is not beside FILE\.'
file bulk "$(served write a 10 9 1 1 7)" "$(served write b 10 9 1 1 7)" \
    "$(served write c 10 9 1 1 7)"
ends 0 "$made" '- Its handlers wait for bulk transfers: 700 ms of the 900 ms ' \
    '- No caller stands out: the first of 3, a, causes 33 %\.'
# Some microseconds in the pool are no queue.
file short "$(served write a 1000 0.001 0.002 0 0)"
ends 0 "$made" '- Its calls run: 1 us on average, after 2 us in the pool\.'

# Calls made here, more than a table shows.
rpcs=()
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    rpcs+=("$(made get$i t 10 $i)")
done
file made "${rpcs[@]}"
ends 0 "$made" ' get12 at t 10 12 s 15 % 1.2 s 1.2 s ' \
    'and 2 more, with less time' \
    '- Of the calls made here, get12 at t takes 15 % of the time, 1.2 s each'
file none "$(served write a 0 0 0 0 0)"
ends 0 "$made" '- No call was served or made here\.'
file empty
ends 0 "$made" '- No call was served or made here\.'

# A dump has both parts, or one.
file queued "$(served write a 10 2 5 0 0)"
series queued 4,4
printf '{"stats": %s, "series": %s}' "$(cat "$made")" \
    "$(cat "$dir/queued.series.json")" >"$dir/dump"
ends 0 "$dir/dump" '- Pool full is overloaded: on average 4.0 threads'
printf '{"stats": %s}' "$(cat "$made")" >"$dir/dump"
ends 0 "$dir/dump" '- Pools are unknown: the time series is not '
printf '{"series": {"pools": {}}}' >"$dir/dump"
ends 1 "$dir/dump" 'no statistics of Margo'

# Refused.
ends 1 "$dir/absent" 'No such file'
for text in '' '{' '[]' '3' '{}' '{"rpcs": 3}' '{"rpcs": {"a": 3}}' \
    '{"rpcs": {"a": {"name": "a"}}}'; do
    printf '%s' "$text" >"$dir/other"
    ends 1 "$dir/other" '^margo-stats: [^ ]*/other: '
done
head -c 99 /dev/urandom >"$dir/other"
ends 1 "$dir/other" '^margo-stats: [^ ]*/other: '
ends 2 '' '^margo-stats FILE '
ends 2 --unknown '^margo-stats FILE '
ends 0 --help '^margo-stats FILE '
