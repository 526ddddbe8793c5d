#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# amalgam_info --watch prints totals and rates of a process until it ends.
#
# watch.sh AMALGAM_INFO STATUS_MAKER
set -eu

info=$1 maker=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# await PATTERN: reads lines of the watch until one matches.
await() {
    local line
    while IFS= read -r line <&"$watched"; do
        printf '%s\n' "$line" >>"$dir/all"
        [[ ! $line =~ $1 ]] || return 0
    done
    echo "watch.sh: '$1' did not come" >&2
    cat "$dir/all" >&2
    exit 1
}

mkfifo "$dir/in" "$dir/out" "$dir/watch"
"$maker" 1 2 3 <"$dir/in" >"$dir/out" &
pid=$!
exec 8>"$dir/in" 9<"$dir/out"
read -r _ <&9
"$info" --watch $pid -i 0.1 </dev/null >"$dir/watch" 8>&- &
watcher=$!
exec {watched}<"$dir/watch"
await "^rank 2 of 4 \(pid $pid, "
await '^    made no progress for at least .*runs 1 handler, "put" for 6'
await '^    waits for rank 3: its call of "swap"'
await '^    calls_sent  *100$'
await '^    calls_sent  *100  *0\.0 per s$'
echo >&8
await '^    calls_sent  *300  *[0-9]*[1-9][0-9]*\.[0-9] per s$'
await '^    calls_sent  *300  *0\.0 per s$'
exec 8>&-
await "^process $pid has ended$"
wait "$watcher"
if "$info" --watch $pid 2>"$dir/err"; then
    exit 1
fi
grep -qE "process $pid (does not exist|has no class open)" "$dir/err"
for bad in "--watch" "--watch 0" "--watch x" "--watch $$ -i 0" "-i x"; do
    # shellcheck disable=SC2086
    ! "$info" $bad 2>"$dir/err"
    grep -q '^amalgam_info --watch PID \[-i SECONDS\]$' "$dir/err"
done
