#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A server that waits at its end, as its log says, and its clients in processes of their own, without MPI:
# two_programs.sh TRANSPORT PROGRAM, with the program of two_programs.cc.
set -eu

transport=$1
program=$2
server=
work=$(mktemp -d)
trap '[ -z "$server" ] || kill "$server" || :; rm -rf "$work"' EXIT

mkfifo "$work/lines" "$work/log"
"$program" serve "$transport" >"$work/lines" 2>"$work/log" &
server=$!
exec 3<"$work/lines" 4<"$work/log"
read -r address <&3
read -r line <&4
case $line in
*"waits for finalize(); AMALGAM_ENGINE_WAIT=0 ends instead"*) ;;
*)
    echo "FAILED: the server's log says \"$line\", not that it waits" >&2
    exit 1
    ;;
esac
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
