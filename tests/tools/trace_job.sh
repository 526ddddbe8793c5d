#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A trace of a job of 4 ranks on two pretended nodes becomes a valid file, a page
# and a summary, and the error of its clocks is within their bound.
#   trace_job.sh TOOL PROGRAM SKEW_NS SKEW_PPM mpiexec...
set -eu
tool=$1 program=$2 skew_ns=$3 skew_ppm=$4
shift 4
here=$(unset CDPATH; cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ -n "${LATE:-}" ]; then
    export TRACE_LATE=$folder/t
else
    export AMALGAM_TRACE=$folder/t AMALGAM_TRACE_LEVEL=3
fi
SKEW_FROM=2 SKEW_NS=$skew_ns SKEW_PPM=$skew_ppm "$@" -n 4 "$program"
[ "$(find "$folder/t" -name '*.amgtrace' | wc -l)" -eq 4 ]
"$tool" "$folder/t" -o "$folder/job.json.gz" --html "$folder/page.html" \
    --summary >"$folder/summary"
cat "$folder/summary"
"$here/trace_format.py" "$folder/job.json.gz" processes=4 arrows=+100
"$here/trace_clock.py" "$tool" "$folder/t" 2 "$skew_ns"
# Every call has ended, and has the four times of a round trip.
awk '/^ranks_echo|^test_echo|^echo/ { found = 1; if ($3 != 0 || $4 == "-") exit 1 }
    END { exit !found }' "$folder/summary"
grep -q 'slowest calls' "$folder/summary"
grep -q '"arrows":\[\[' "$folder/page.html"
! grep -q 'https\?://' "$folder/page.html"
