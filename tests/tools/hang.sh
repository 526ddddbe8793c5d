#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# amalgam_hang prints what processes do, finds the circle of ranks that wait for
# each other, keeps jobs apart, asks, and refuses processes that it cannot read.
#
# hang.sh AMALGAM_HANG STATUS_MAKER
set -eu

hang=$1 maker=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
pids=() ins=() outs=()

fail() {
    echo "hang.sh: $*" >&2
    cat "$dir/out" "$dir/err" >&2
    exit 1
}

# start JOB RANK TO: starts a process, and waits until it has its page.
start() {
    local n=${#pids[@]} in out line
    mkfifo "$dir/in$n" "$dir/out$n"
    "$maker" "$@" <"$dir/in$n" >"$dir/out$n" &
    pids+=($!)
    exec {in}>"$dir/in$n" {out}<"$dir/out$n"
    ins+=("$in") outs+=("$out")
    read -r line <&"$out"
    [ "$line" = "asked 0" ] || exit 1
}

# run CODE ARG...: amalgam_hang must end so.
run() {
    local code=$1 got=0
    shift
    "$hang" "$@" </dev/null >"$dir/out" 2>"$dir/err" || got=$?
    [ "$got" = "$code" ] || fail "amalgam_hang $*: ended with $got"
}

has() {
    grep -qE -- "$1" "$dir/out" || fail "'$1' is not there"
}

start 1 0 1
start 1 1 2
start 1 2 1
start 2 1 nobody # another job, whose rank 1 waits for nobody

run 0 "${pids[0]}"
has "^rank 0 of 4 \(pid ${pids[0]}, $(basename "$maker" | cut -c 1-15) on .*\): shm to 3 ranks$"
has '^    made no progress for at least [0-9.]+ s; runs 1 handler, "put" for 6[0-9] s; 0 calls are queued; its process .* \(state [A-Z]\); mark "step 12"$'
has '^    waits for rank 1: its call of "swap", 6[0-9] s old, made in a handler, is queued there$'
! grep -q circle "$dir/out" || fail "a circle of one"
run 0 "${pids[3]}" "${pids[0]}" "${pids[1]}" "${pids[2]}"
has '^circle: rank 1 -> rank 2 -> rank 1: each waits for the next$'
[ "$(grep -c circle "$dir/out")" = 1 ] || fail "several circles"
[ "$(grep -c 'waits for rank' "$dir/out")" = 3 ] || fail "who waits?"
run 0 "${pids[0]}" "${pids[2]}" "${pids[3]}"
! grep -q circle "$dir/out" || fail "a circle across two jobs"
run 0 all
for pid in "${pids[@]}"; do
    has "\(pid $pid, "
done
has '^circle: rank [12] -> rank [12] -> rank [12]: '

run 0 --ask "${pids[1]}"
for n in 0 1; do
    echo >&"${ins[n]}"
    read -r line <&"${outs[n]}"
    [ "$line" = "asked $n" ] || fail "process $n: $line"
done

run 1 $$ "${pids[0]}"
grep -q "process $$ has no class open" "$dir/err" || fail "a shell has no class"
has "pid ${pids[0]}, "
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --clear-groups "$hang" --help \
    >"$dir/out" 2>"$dir/err"; then
    if setpriv --reuid=65534 --clear-groups "$hang" "${pids[0]}" \
        >"$dir/out" 2>"$dir/err"; then
        fail "another user may read"
    fi
    grep -q "process ${pids[0]} is of another user" "$dir/err" || fail "who?"
fi
in=${ins[3]} # the last one: no other process has this descriptor
exec {in}>&-
wait "${pids[3]}"
run 1 "${pids[3]}"
grep -q "process ${pids[3]} does not exist" "$dir/err" || fail "it has ended"

for bad in "" "all 12" "all all" 0 -1 12x --nothing "--ask"; do
    # shellcheck disable=SC2086
    run 2 $bad
    grep -q '^amalgam_hang \[--ask\] PID\.\.\. | all$' "$dir/err" || fail usage
done
run 0 --help
has '^amalgam_hang \[--ask\]'
if "$hang" "${pids[1]}" >/dev/full 2>"$dir/err"; then
    fail "a full disk is no success"
fi
