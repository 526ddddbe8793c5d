#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Kills or stops a random process of a service with three clients, again and
# again: survive.sh PEER TRANSPORT ROUNDS [VICTIMS]
#
# Every call of the others ends: a client lets all of its calls end before it
# looks for the next server, and then must be answered. Processes that do not
# communicate with the victim are not disturbed: no call of theirs fails. At the
# end all exit cleanly, and nothing is left of any process, dead ones included.
#
# VICTIMS is "any" (the default), "clients" or "server".
set -u
peer=$1 transport=$2 rounds=$3 victims=${4:-any}
limit=40 # seconds to wait for a line

dir=$(mktemp -d) || exit 1
mkfifo "$dir/lines"
exec 3<>"$dir/lines"
all=() clients=() server=0

fail() {
    echo "FAILED: $*"
    cat "$dir"/log.* 2>/dev/null | tail -40
    for one in "${all[@]}"; do kill -KILL "$one" 2>/dev/null; done
    rm -rf "$dir"
    exit 1
}

# The next line must be "PID WORD [NUMBER]": sets pid, word and number.
line() {
    read -rt $limit -u 3 pid word number || fail "nothing in $limit s: $*"
}

start() { # ROLE: sets started
    "$peer" "$1" "$transport" "$dir/address" >&3 2>"$dir/log.${#all[@]}" &
    started=$!
    all+=("$started")
}

server_start() {
    start server
    server=$started
    line "the server $server begins"
    [ "$pid $word" = "$server serves" ] || fail "$pid $word $number"
}

client_start() { # N
    start client
    clients[$1]=$started
    line "the client $started begins"
    [ "$pid $word" = "$started begins" ] || fail "$pid $word $number"
}

# All of these get replies; with "undisturbed" first, no call of theirs failed.
answered() {
    local how=$1 waiting=" ${*:2} "
    kill -USR1 "${@:2}" || fail "one of $* is gone"
    while [ "$waiting" != " " ]; do
        line "answers of$waiting"
        [ "$word" = answered ] || fail "$pid $word $number"
        [ "$how" != undisturbed ] || [ "$number" = 0 ] ||
            fail "$number calls of $pid failed ($victim was $signal)"
        waiting=${waiting/ $pid / }
        [ -n "$waiting" ] || waiting=" "
    done
}

others() { # the clients except one
    for one in "${clients[@]}"; do [ "$one" = "$1" ] || echo "$one"; done
}

victim=nobody signal=well
server_start
for i in 0 1 2; do
    client_start $i
done
answered first "${clients[@]}"

RANDOM=${SEED:-$$}
echo "seed ${SEED:-$$}"
for ((round = 0; round < rounds; round++)); do
    i=$((RANDOM % 4))
    [ "$victims" = clients ] && i=$((RANDOM % 3))
    [ "$victims" = server ] && i=3
    victim=$server
    [ $i = 3 ] || victim=${clients[i]}
    signal=killed
    ((RANDOM % 3)) || signal=stopped
    if [ $signal = stopped ]; then
        kill -STOP "$victim"
        # shellcheck disable=SC2046
        [ $i = 3 ] || answered undisturbed $(others "$victim")
        kill -CONT "$victim"
        answered undisturbed "${clients[@]}"
        continue
    fi
    kill -KILL "$victim"
    wait "$victim" 2>/dev/null
    if [ $i = 3 ]; then
        server_start
        answered anew "${clients[@]}"
    else
        # shellcheck disable=SC2046
        answered undisturbed $(others "$victim")
        client_start $i
        answered undisturbed "${clients[@]}"
    fi
done

kill -TERM "${clients[@]}"
for one in "${clients[@]}"; do
    wait "$one" || fail "client $one left with $?"
done
kill -TERM "$server"
wait "$server" || fail "the server left with $?"
for one in "${all[@]}"; do
    [ ! -d "/proc/$one" ] || fail "process $one is left"
    left=$(find /dev/shm -maxdepth 1 -name "amalgam-*-$one-*")
    [ -z "$left" ] || fail "left in /dev/shm: $left"
done
echo "$rounds rounds with ${#all[@]} processes"
rm -rf "$dir"
