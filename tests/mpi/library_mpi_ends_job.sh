#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a job, and checks its exit code and its last line:
# library_mpi_ends_job.sh LAUNCH RANKS CODE LINE PROGRAM MODE
set -u
launch=$1 ranks=$2 wanted=$3 line=$4
shift 4

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkfifo "$dir/fifo"
out=$(timeout 50 "$launch" -n "$ranks" "$@" "$dir/fifo" </dev/null 2>&1)
code=$?
echo "$out"
echo "code $code, and $wanted is right"
[ "$code" -eq "$wanted" ] && grep -q -- "$line" <<<"$out"
