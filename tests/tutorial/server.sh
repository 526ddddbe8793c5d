#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs margo_server and two margo_clients, one after the other, and compares
# what they print: server.sh TRANSPORT SERVER CLIENT
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
"$server" "$transport" 8 >"$work/address" 2>"$work/server.err" &
pid=$!
# Opens with the server; ends with it.
exec 3<"$work/address"
read -r -t 30 address <&3 || fail "the server told no address"
for i in 1 2; do
    timeout 30 "$client" "$address" 4 >"$work/got" 2>"$work/client$i.err" ||
        fail "client $i: exit code $?"
    for count in 1000 2000 3000 4000; do
        echo "the sum of 1 to $count is $((count * (count + 1) / 2))"
    done | diff -u - "$work/got" || fail "client $i: not the right output"
done
# It ends by itself, after the last call.
code=0
wait "$pid" || code=$?
[ "$code" = 0 ] || fail "the server: exit code $code"
! read -r rest <&3 || fail "the server said more: $rest"
! grep -hE '^(amalgam[: ]|\[(warning|error|critical)\])' "$work"/*.err ||
    fail "the library had complaints"
