#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Submits a batch script: sbatch.sh BUILD LINE SCRIPT [OPTION...] [-- ARG...]
#
# OPTIONs are sbatch's, ARGs the script's. The job must complete, and write
# LINE. It runs in an empty directory, in which it may leave files.
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/slurm/slurm.sh
. "$here/slurm.sh"
build=$1 line=$2 script=$3
shift 3
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
done
[ $# -eq 0 ] || shift
box_enter
work_make
cd "$work" || exit 1
AMALGAM_HOME=$(cd "$here/../.." && pwd)
export AMALGAM_HOME AMALGAM_BUILD=$build AMALGAM_BENCH_DIR=$work/results
export AMALGAM_SERVICE_FILE=$work/address

id=$(sbatch --parsable -o "$work/out" "${options[@]}" \
    "$AMALGAM_HOME/slurm/$script" "$@") || fail "sbatch refuses $script"
until_true 100 job_over "$id" || scancel "$id"
cat "$work/out"
job_is "$id" 'COMPLETED *' ||
    fail "the job ended as $(squeue -h -t all -j "$id" -o '%T %r')"
grep -q -e "$line" "$work/out" || fail "the job did not write: $line"
