#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Results become complete pictures and a table with the right contents, and
# results that cannot be drawn are refused with a reason.
#
# plot.sh JOBS/BENCH RESULTS.json
set -eu

plot=$1/plot table=$1/table results=$2
for tool in gnuplot jq; do
    command -v "$tool" >/dev/null || {
        echo "there is no $tool here"
        exit 77
    }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

wrong() {
    echo "$*"
    exit 1
}

# whole DIR NAME WORD...: the picture exists in both forms, with these words.
whole() {
    local svg=$1/$2.svg png=$1/$2.png
    shift 2
    head -c 8 "$png" | od -An -tx1 | grep -q '89 50 4e 47 0d 0a 1a 0a' ||
        wrong "$png is no PNG"
    tail -c 8 "$png" | od -An -tx1 | grep -q '49 45 4e 44 ae 42 60 82' ||
        wrong "$png has no end"
    grep -q '<svg' "$svg" || wrong "$svg is no SVG"
    tail -n 3 "$svg" | grep -q '^</svg>$' || wrong "$svg has no end"
    for word in "$@"; do
        grep -qF "$word" "$svg" || wrong "$svg does not say \"$word\""
    done
}

# refused CODE WORDS COMMAND...: ends with CODE and prints WORDS.
refused() {
    local code=$1 words=$2 got=0
    shift 2
    "$@" >"$dir/out" 2>"$dir/err" || got=$?
    [ "$got" = "$code" ] || wrong "$*: exit code $got instead of $code"
    grep -qF -- "$words" "$dir/err" || {
        cat "$dir/err"
        wrong "$*: does not say \"$words\""
    }
}

one() {
    "$plot" "$results" -o "$dir/one" --title "It's \`the\` title"
    whole "$dir/one" latency "bytes of input" "shaded to p99 [µs]" "64 B" \
        ">Amalgam shm<" ">MPI<" "title: A call" "Amalgam 0.1.0"
    whole "$dir/one" rate "calls in flight" "million calls a second"
    whole "$dir/one" bulk-pull "GB/s" "memcpy" "process_vm_readv" \
        "memory of the library"
    whole "$dir/one" overlap "While the target computes"
    [ ! -e "$dir/one/bulk-push.svg" ] || wrong "a picture of no rows"
    ! grep -q INCOMPLETE "$dir/one/latency.svg" || wrong "it is complete"
    "$table" "$results" >"$dir/table"
    grep -Eq '^\| null call \| shm \| [0-9.]+ us \| [0-9.]+ us \| [0-9.]+ us, MPI \| [0-9.]+ \|$' \
        "$dir/table" || {
        cat "$dir/table"
        wrong "the table has no null call"
    }
}

# Transports, versions, and machines share a picture; MPI's times on the same
# machine are one line.
several() {
    jq '.run.transport = "mpi+p2p"' "$results" >"$dir/p2p.json"
    "$plot" "$results" "$dir/p2p.json" -o "$dir/several"
    whole "$dir/several" latency "Amalgam shm" "Amalgam mpi+p2p"
    [ "$(grep -c '<title>MPI' "$dir/several/latency.svg")" = 1 ] ||
        wrong "one machine, and not one line of MPI"
    jq '.machine.host = "o'\''ther" | .versions.amalgam = "9.8"' "$results" \
        >"$dir/other.json"
    "$plot" -o "$dir/several" "$results" "$dir/other.json"
    whole "$dir/several" latency "Amalgam shm, o’ther, 9.8" "MPI, o’ther, 9.8"
    # Only the names of the files differ.
    cp "$results" "$dir/again.json"
    "$plot" -o "$dir/several" "$results" "$dir/again.json"
    whole "$dir/several" latency "Amalgam shm (again.json)"
}

partly() {
    jq '.complete = false | .why = "it was interrupted" | .rows[0:2][].noisy = true' \
        "$results" >"$dir/partly.json"
    "$plot" "$dir/partly.json" -o "$dir/partly"
    # Ended after the null call: a picture of one point, left of all powers.
    jq '.complete = false | .rows |= map(select(.op == "rpc" and .size == 0))' \
        "$results" >"$dir/null.json"
    "$plot" "$dir/null.json" -o "$dir/null"
    whole "$dir/null" latency INCOMPLETE
    whole "$dir/partly" latency "INCOMPLETE: partly.json (it was interrupted)" \
        "hollow: noisy"
}

# rows BENCH FILTER: a document with rows made from the calls of the first one.
rows() {
    jq ".rows |= (map(select(.op == \"rpc\")) | map(.bench = \"$1\" | $2))" \
        "$results"
}

# No two lines of a panel look the same.
looks() {
    local kind count
    for kind in ours:36 control:12; do
        count=$(jq -n -L "${plot%/*}" --arg kind "${kind%:*}" 'include "gnuplot";
            [range(36) as $n | {kind: $kind, name: "a line", points: []} |
                drawn(0; $n; "$data"; true)] | unique | length')
        [ "$count" -ge "${kind#*:}" ] ||
            wrong "$count kinds of lines for ${kind%:*}"
    done
}

# Documents of other benchmarks.
others() {
    rows incast '.op = ("incast", "incast_fair")' >"$dir/incast.json"
    # The number of ranks is an axis, so it distinguishes no lines.
    rows scale '.op = ("scale_init", "scale_rss") | .ranks = 4' \
        >"$dir/scale.json"
    jq '.run.ranks = 8 | .rows[].ranks = 8' "$dir/scale.json" >"$dir/scale8.json"
    "$plot" -o "$dir/others" "$dir"/{incast,scale}.json
    [ ! -e "$dir/others/scale.svg" ] || wrong "a curve of one number of ranks"
    "$plot" -o "$dir/others" "$dir"/{incast,scale,scale8}.json
    whole "$dir/others" incast "99th percentile" "fairness" "null calls"
    whole "$dir/others" scale "Amalgam shm, open" "KiB of the rank" ">4<" ">8<"
}

refusals() {
    refused 2 "no file is named" "$plot" -o "$dir/none"
    refused 2 "-o DIR" "$plot" "$results"
    refused 2 "cannot read /nowhere/x.json" "$plot" /nowhere/x.json -o "$dir/none"
    head -c 1500 "$results" >"$dir/cut.json"
    refused 2 "cut.json: no JSON: " "$plot" "$dir/cut.json" -o "$dir/none"
    grep -q "line [0-9]*, column" "$dir/err" || wrong "cut.json: no place"
    echo '[]' >"$dir/array.json"
    refused 2 'array.json: these are no results' "$plot" "$dir/array.json" -o "$dir/none"
    jq '.version = 2' "$results" >"$dir/future.json"
    refused 2 "future.json: is of version 2" "$table" "$dir/future.json"
    cat "$results" "$results" >"$dir/both.json"
    refused 2 "both.json: holds 2 values" "$plot" "$dir/both.json" -o "$dir/none"
    jq '.rows = []' "$results" >"$dir/empty.json"
    [ ! -e "$dir/none" ] || wrong "made a folder for what was refused"
    refused 5 "no rows that could be drawn" "$plot" "$dir/empty.json" -o "$dir/none"
    refused 5 "none of the rows" "$table" "$dir/empty.json"
    # A PATH with all other commands.
    mkdir "$dir/path"
    for tool in bash dirname jq cat; do
        ln -s "$(command -v "$tool")" "$dir/path/$tool"
    done
    refused 4 "apt-get install gnuplot-nox jq" env PATH="$dir/path" \
        "$dir/path/bash" "$plot" "$results" -o "$dir/none"
}

# Text of a document is text in a picture, never a command.
harmless() {
    jq --arg file "$dir/made" '.run.transport = "'\''; system(\"touch \($file)\") #`touch \($file)`\n{/Symbol a}" | .machine.host = .run.transport' \
        "$results" >"$dir/harm.json"
    "$plot" "$dir/harm.json" -o "$dir/harm"
    whole "$dir/harm" latency "{/Symbol a}"
    [ ! -e "$dir/made" ] || wrong "a document's text was executed"
}

one
# One picture of each is enough from here on.
jq '.rows |= map(select(.bench == "latency"))' "$results" >"$dir/short.json"
results=$dir/short.json
several
partly
looks
others
refusals
harmless
