#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs thallium_server and two thallium_clients, one after the other, the second
# of which ends the server, and compares what they print:
# thallium.sh TRANSPORT SERVER CLIENT
set -eu

transport=$1 server=$2 client=$3
work=$(mktemp -d)
trap 'kill "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT
pid=

fail() {
    echo "FAILED: $*" >&2
    cat "$work"/*.err >&2
    exit 1
}

mkfifo "$work/address"
"$server" "$transport" >"$work/address" 2>"$work/server.err" &
pid=$!
# Opens with the server; ends with it.
exec 3<"$work/address"
read -r -t 30 address <&3 || fail "the server told no address"
for who in ann bob; do
    stop=()
    [ $who = ann ] || stop=(stop)
    timeout 30 "$client" "$address" $who "${stop[@]}" \
        >"$work/got" 2>"$work/$who.err" || fail "client $who: exit code $?"
    for line in "2 + 3 = 5" "the distance is 5" "answered 11" "answered 22" \
        "answered 33" "10 apples" "savings 150, points 7" "paid once" \
        "the sum is $((4 * 300 * 3699 / 2)), 0 numbers are wrong"; do
        echo "$who: $line"
    done | diff -u - "$work/got" || fail "client $who: not the right output"
done
code=0
wait "$pid" || code=$?
[ "$code" = 0 ] || fail "the server: exit code $code"
! read -r rest <&3 || fail "the server said more: $rest"
! grep -h -E '^(amalgam[: ]|\[(warning|error|critical)\])' "$work"/*.err || fail "the library had complaints"
