#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank of a job dies at a message that the seed draws, and each other rank
# names it, or ends by itself:
#
#   killed.sh KILLER.so VICTIM SEED LAST PROGRAM [ARG...]
#
# Four ranks on two nodes. The message is one of the first LAST messages; a rank
# that sends fewer lives on, and the job succeeds. A job whose ranks wait for the
# dead rank, not in a call to it, is ended here when all have named it.
set -u
killer=$1 victim=$2 seed=$3 last=$4
shift 4
ranks=4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
RANDOM=$seed
export KILL_RANK=$victim KILL_AT=$((1 + RANDOM % last)) HG_LOG_LEVEL=info
: >"$dir/ends"
# The shell of a dead rank stays, as its proxy would end the rank beside it.
# shellcheck disable=SC2016 # for the shell of each rank
"$(dirname "$0")/../processes/launch" -hosts a,b -ppn 2 -apart -n "$ranks" sh -c '
    dir=$1 killer=$2 ranks=$3
    shift 3
    LD_PRELOAD=$killer "$@" >"$dir/log.$$" 2>&1 &
    while kill -0 $! 2>/dev/null &&
        [ "$(grep -l "rank $KILL_RANK (pid .* has died" "$dir"/log.* | wc -l)" \
            -lt $((ranks - 1)) ]; do
        sleep 0.2
    done
    kill -KILL $! 2>/dev/null
    wait $!
    echo $? >>"$dir/ends"
    for i in $(seq 60); do
        [ "$(wc -l <"$dir/ends")" -lt "$ranks" ] || exit 0
        sleep 1
    done' rank "$dir" "$killer" "$ranks" "$@" </dev/null
[ $? -ne 77 ] || exit 77
cat "$dir"/log.*
count=$(grep -l "rank $victim (pid [0-9]* on [^ ]*) has died" "$dir"/log.* | wc -l)
echo "victim $victim at message $KILL_AT is named by $count ranks; the ranks" \
    "ended with: $(xargs <"$dir/ends")"
if grep -q MPI_Abort "$dir"/log.*; then # which ends all others
    [ "$count" -ge 1 ]
elif grep -q '^137$' "$dir/ends"; then
    [ "$count" -eq $((ranks - 1)) ]
else
    [ "$(grep -c '^0$' "$dir/ends")" -eq "$ranks" ]
fi
