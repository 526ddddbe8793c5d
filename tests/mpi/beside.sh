#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a test whose ranks die, on one node, or on the nodes that the environment
# names in HOSTS (a,b): beside.sh LAUNCH RANKS SURVIVORS PROGRAM [ARG...]
#
# Ranks of a node have one proxy, which ends them all when it hears that one has
# died, or left without MPI_Finalize. So the shell that started a rank stays in
# its place, and keeps its connection to the proxy open, until the survivors have
# written their lines.
set -u
launch=$1 ranks=$2 survivors=$3
shift 3

hosts=${HOSTS:-here}
nodes=$(tr ',' '\n' <<<"$hosts" | wc -l)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2016 # for the shell of each rank
"$launch" -hosts "$hosts" -ppn $((ranks / nodes)) -apart -n "$ranks" sh -c '
    log=$1 survivors=$2
    shift 2
    "$@" >>"$log" 2>&1
    code=$?
    [ $code -eq 0 ] || [ $code -ge 128 ] || exit $code
    for i in $(seq 50); do
        [ "$(grep -c survived "$log")" -lt "$survivors" ] || exit 0
        sleep 1
    done' rank "$log" "$survivors" "$@" </dev/null
[ $? -ne 77 ] || exit 77
cat "$log"
count=$(grep -c '^rank [0-9]* survived$' "$log")
echo "$count of $survivors survivors"
[ "$count" -eq "$survivors" ]
