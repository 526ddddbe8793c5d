#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a test between hosts: run.sh PROGRAM PROTOCOL
#
# `PROGRAM serve URI` on host h1 is the server, which writes its address;
# `PROGRAM ADDRESS` on h2 is the test. It writes commands for the hosts, one per
# line, and reads a line after each. See peers.h.
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/hosts/hosts.sh
. "$here/hosts.sh"
hosts_enter "$@"
program=$1 protocol=$2

where=$protocol://eth0:7000 # h1 has the address $net.1 there
address=
entered= # the process that entered the host to run the server,
serving= # and the server

start() {
    mkfifo "$dir/address"
    enter h1 "$program" serve "$where" >"$dir/address" &
    entered=$!
    read -rt 30 address <"$dir/address" || fail "the server did not start"
    rm "$dir/address"
    serving=$(child_of $entered)
}

freeze() { kill -STOP "$serving"; }
thaw() { kill -CONT "$serving"; }

stop() {
    kill -KILL "$serving"
    wait "$entered" 2>/dev/null || true
}

host_make 1
host_make 2
start
coproc test { enter h2 "$program" "$address" "$protocol"; }
# shellcheck disable=SC2154 # coproc sets it
pid=$test_PID
exec {from}<&"${test[0]}" {to}>&"${test[1]}"
while read -r command arguments <&$from; do
    case $command in
    start | stop | freeze | thaw | link | nic | rate | mute | unmute)
        # shellcheck disable=SC2086
        $command $arguments || fail "$command $arguments"
        echo "$command" >&$to
        ;;
    *) fail "'$command $arguments' is nothing that can be done" ;;
    esac
done
wait "$pid"
