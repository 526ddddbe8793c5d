#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A server and its clients in processes of their own, without MPI:
# two_programs.sh TRANSPORT PROGRAM, with the program of two_programs.cc.
set -eu

transport=$1
program=$2
server=
work=$(mktemp -d)
trap '[ -z "$server" ] || kill "$server" || :; rm -rf "$work"' EXIT

mkfifo "$work/lines"
"$program" serve "$transport" >"$work/lines" &
server=$!
exec 3<"$work/lines"
read -r address <&3
for word in orange yellow violet; do
    "$program" call "$address" "$word, of which the server has room for six"
    read -r got <&3
    [ "$got" = "$word" ] || {
        echo "FAILED: the server has read \"$got\", not \"$word\"" >&2
        exit 1
    }
done
"$program" stop "$address"
wait "$server"
server=
