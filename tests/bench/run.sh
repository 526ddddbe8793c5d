#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One command measures over several transports, and leaves JSON, CSV and plots;
# failures are reported, and do not stop the other measurements.
#
# run.sh JOBS/BENCH BUILD LAUNCH
set -eu

run=$1/run mpiexec=$3
export AMALGAM_BUILD=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

wrong() {
    echo "$*"
    cat "$dir/out" "$dir/err"
    exit 1
}

# ended CODE ARGUMENT...: runs it; checks its exit code.
ended() {
    local code=$1 got=0
    shift
    timeout 100 "$run" "$@" >"$dir/out" 2>"$dir/err" || got=$?
    [ "$got" = "$code" ] || wrong "$*: exit code $got instead of $code"
}

said() {
    grep -qF -- "$1" "$dir/$2" || wrong "does not say \"$1\""
}

# The one in the middle fails.
ended 1 latency -n 2 -t mpi+p2p,nowhere,auto -o "$dir/two" --smoke --size 8
said "latency over nowhere ended with exit code 1" err
said "The results are in $dir/two: JSON and CSV for 2 of 3 transports" out
for file in latency-mpi+p2p latency-auto; do
    grep -q '"complete": true' "$dir/two/$file.json" ||
        wrong "$file.json is not whole"
    [ "$(tail -n 1 "$dir/two/$file.csv")" = "# complete" ] ||
        wrong "$file.csv is not whole"
done
if command -v gnuplot >/dev/null && command -v jq >/dev/null; then
    grep -q "Amalgam auto" "$dir/two/latency.svg" || wrong "no plot of auto"
    [ -s "$dir/two/latency.png" ] || wrong "no latency.png"
else
    said "apt-get install gnuplot-nox jq" err
fi

# Arguments for the launcher and for amalgam_bench; the transport variable.
AMALGAM_TRANSPORT=mpi+p2p ended 0 rate -o "$dir/own" --no-plots \
    --launch "$mpiexec -n 2" --smoke -w 5
grep -q '"window": 5' "$dir/own/rate-mpi+p2p.json" || wrong "not with -w 5"
[ ! -e "$dir/own/rate.svg" ] || wrong "plots that nobody wanted"

ended 2 nothing -o "$dir/none" -t mpi+p2p,auto
said "nothing was measured" err
[ ! -e "$dir/none" ] || wrong "a folder for nothing"
ended 2 latency -n none
said "-n none: not a number of ranks" err
ended 2 latency -t
said "-t needs a value" err
ended 2 latency --json here.json
said "--json: the files are named here" err
ended 2 ../all
AMALGAM_BUILD=$dir ended 1 latency
said "there is no build in $dir" err
