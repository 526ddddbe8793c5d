#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs service_server and its clients, and checks the file between them.
#
#   service.sh CASE TRANSPORT SERVER CLIENT
set -u

case_name=$1 transport=$2 server=$3 client=$4
work=$(mktemp -d "${TMPDIR:-/tmp}/service-test.XXXXXX") || exit 1
pid=
trap '[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; rm -rf "$work"' EXIT
export AMALGAM_SERVICE_FILE=$work/address

die() {
    echo "$case_name: $*" >&2
    tail -n 20 "$work"/*.log >&2
    exit 1
}

server_start() {
    "$server" "$transport" >"$work/server.log" 2>&1 &
    pid=$!
}

# server_end SENTENCE: it ends by itself, successfully, with this last line.
server_end() {
    local code=0
    wait "$pid" || code=$?
    pid=
    [ "$code" = 0 ] || die "the server ended with exit code $code"
    [ "$(tail -n 1 "$work/server.log")" = "service: $1" ] ||
        die "the server did not say: $1"
    [ ! -e "$AMALGAM_SERVICE_FILE" ] || die "the address is still there"
    # No other file, either.
    [ -z "$(find "$work" -name 'address*')" ] || die "a file was left"
    ! grep '^amalgam: ' "$work/server.log" || die "the library had complaints"
}

# client_run CODE ARGUMENT...
client_run() {
    local wanted=$1 code=0
    shift
    timeout 40 "$client" "$@" >"$work/client.log" 2>&1 || code=$?
    [ "$code" = "$wanted" ] || die "a client ended with $code, not $wanted"
}

said() {
    grep -q -- "$1" "$work/client.log" || die "the client did not say: $1"
}

case $case_name in
ended_by_client)
    server_start
    client_run 0 200
    said '^client: 200 calls, 0 sums wrong, '
    client_run 0 0 --end
    server_end 'ended by a client'
    ;;
ended_by_signal)
    for name in TERM INT HUP; do
        server_start
        client_run 0 3
        kill -s "$name" "$pid"
        server_end "ended by signal $(kill -l "$name")"
    done
    # Slurm and timeout may signal more than once, which must do no harm.
    server_start
    client_run 0 3
    for ((i = 0; i < 500; i++)); do
        kill -s TERM "$pid" 2>/dev/null || break
    done
    server_end 'ended by signal 15'
    ;;
ended_under_load)
    server_start
    client_run 0 1
    # This client gets more calls to make than it can.
    "$client" 1000000000 >"$work/load.log" 2>&1 &
    load=$!
    client_run 0 50
    kill -s TERM "$pid"
    server_end 'ended by signal 15'
    # It must not wait for ever, and must report that the service is gone.
    code=0
    wait "$load" || code=$?
    [ "$code" = 1 ] || die "the client of a service that is gone ended: $code"
    ;;
many_clients)
    server_start
    clients=()
    for i in 1 2 3 4; do
        timeout 40 "$client" 100 >"$work/client$i.log" 2>&1 &
        clients+=($!)
    done
    for i in "${clients[@]}"; do
        wait "$i" || die "a client ended with $?"
    done
    client_run 0 0 --end
    server_end 'ended by a client'
    ;;
service_killed)
    server_start
    client_run 0 3
    kill -s KILL "$pid"
    wait "$pid" 2>/dev/null
    pid=
    [ -s "$AMALGAM_SERVICE_FILE" ] || die "this test needs what is left"
    for words in 3 '0 --end'; do
        # shellcheck disable=SC2086 # words on purpose
        AMALGAM_CONNECT_TIMEOUT_MS=500 client_run 1 $words
        said "no answer from the address in $AMALGAM_SERVICE_FILE; "
    done
    # A new service replaces the old one.
    rm "$work/server.log"
    server_start
    until grep -qs 'serves at' "$work/server.log"; do
        kill -0 "$pid" 2>/dev/null || die "the second service does not start"
    done
    client_run 0 0 --end
    ! grep -q 'no answer' "$work/client.log" || die "it did answer"
    server_end 'ended by a client'
    ;;
no_service)
    client_run 1 --wait 0
    said 'did not appear within 0 s'
    printf 'half a line' >"$AMALGAM_SERVICE_FILE"
    client_run 1 --wait 0
    said 'is not one line with an address'
    client_run 2 --wait
    client_run 2 three
    said 'service_client \[CALLS\]'
    rm "$AMALGAM_SERVICE_FILE"
    AMALGAM_SERVICE_FILE=$work/none/address "$server" "$transport" \
        >"$work/server.log" 2>&1 && die "an address that cannot be written"
    grep -q "cannot write $work/none/address: No such file" \
        "$work/server.log" || die "the server did not say why"
    ;;
*) die "no such case" ;;
esac
