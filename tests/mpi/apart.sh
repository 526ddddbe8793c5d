#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a test with a proxy for each rank, so that MPI does not end the others
# when one dies: apart.sh LAUNCH RANKS SURVIVORS PROGRAM [ARG...]
#
# mpiexec reports the dead rank as a failure of the job, so the survivors are
# counted by the line that each writes last. They write to a file: this mpiexec
# dies of SIGPIPE when it writes to the proxy of a dead rank, and loses the
# output it has not passed on.
set -u
launch=$1 ranks=$2 survivors=$3
shift 3

hosts=$(seq -s, -f 'host%g' "$ranks")
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2016 # for the shell of each rank
"$launch" -apart -hosts "$hosts" -n "$ranks" \
    sh -c 'exec "$@" >>"$0" 2>&1' "$log" "$@" </dev/null
[ $? -ne 77 ] || exit 77
cat "$log"
count=$(grep -c '^rank [0-9]* survived$' "$log")
echo "$count of $survivors survivors"
[ "$count" -eq "$survivors" ]
