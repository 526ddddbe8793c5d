#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a job, and looks at its code and at what it says before it ends:
# ends.sh MPIEXEC RANKS CODE LINE PROGRAM [ARG...]
set -u
mpiexec=$1 ranks=$2 wanted=$3 line=$4
shift 4

out=$(timeout 50 "$mpiexec" -n "$ranks" "$@" </dev/null 2>&1)
code=$?
echo "$out"
echo "code $code, and $wanted is right"
[ "$code" -eq "$wanted" ] && grep -q -- "$line" <<<"$out"
