# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests between hosts: makes hosts out of namespaces.
#
# A host has its own network, name, processes, mounts, /dev/shm and System V
# memory, so libraries take it for another machine. All of them are in
# namespaces of the script, which is process 1 there: when it ends, in any way,
# the kernel ends the hosts' processes and removes their links. No name is
# visible outside, so runs do not collide, and may use one port.
# shellcheck shell=bash

net=10.77.0      # of all hosts; host N is $net.N
outside=$net.254 # the script itself
dir=/dev/shm     # of the script alone; hosts do not see it
declare -A init  # of each host: process 1

skip() {
    echo "skipped: $*"
    exit 77
}

fail() {
    echo "FAILED: $*"
    exit 1
}

# hosts_enter "$@": runs the script again, with its arguments, inside.
hosts_enter() {
    local tool namespaces=(unshare --net --uts --ipc --mount --pid --fork
        --kill-child --mount-proc) pid
    if [ -n "${HOSTS_INSIDE:-}" ]; then
        hosts_begin
        return
    fi
    [ "$(id -u)" -eq 0 ] || skip "only root makes hosts"
    for tool in ip tc unshare nsenter setpriv; do
        command -v $tool >/dev/null || skip "there is no $tool here"
    done
    "${namespaces[@]}" true 2>/dev/null || skip "no namespaces are to be had"
    HOSTS_INSIDE=yes setpriv --pdeathsig KILL \
        "${namespaces[@]}" bash "$0" "$@" &
    pid=$!
    trap 'kill -KILL $pid; exit 1' HUP INT TERM
    wait $pid
    exit
}

hosts_begin() {
    mount -t tmpfs none $dir || fail "no memory file system"
    ip link set lo up
    ip link add net0 type bridge 2>/dev/null || skip "no bridge can be made"
    ip link add veth0 type veth peer name veth1 2>/dev/null ||
        skip "no pair of links can be made"
    ip link del veth0
    ip addr add $outside/24 dev net0
    ip link set net0 up
    { # of all hosts
        echo "127.0.0.1 localhost"
        echo "$outside $(hostname)"
        printf "$net.%d h%d\n" 1 1 2 2 3 3 4 4
    } >$dir/hosts
    mount --bind $dir/hosts /etc/hosts
}

# host_make N: the host hN.
host_make() {
    local host=h$1 parent
    mkfifo "$dir/$host"
    # shellcheck disable=SC2016
    unshare --net --uts --ipc --mount --pid --fork --kill-child --mount-proc \
        bash -c 'hostname "$1"; mount -t tmpfs none /dev/shm; ip link set lo up
            echo; exec sleep infinity' init "$host" >"$dir/$host" &
    parent=$!
    read -rt 20 <"$dir/$host" || fail "$host did not come up"
    init[$host]=$(child_of $parent)
    ip link add "$host" type veth peer name eth0 netns "${init[$host]}"
    ip link set "$host" master net0 up
    on "$host" ip addr add "$net.$1/24" dev eth0
    on "$host" ip link set eth0 up
    # The one of every kernel. BBR, the default of some, takes a cut for a slow
    # link, and sends a few packets a second for a minute after it.
    on "$host" sh -c 'echo reno >/proc/sys/net/ipv4/tcp_congestion_control'
    # As in older kernels: retries a connection after 1, 3, 7, 15 s.
    on "$host" sh -c 'cd /proc/sys/net/ipv4 && [ ! -e tcp_syn_linear_timeouts ] ||
        echo 0 >tcp_syn_linear_timeouts'
}

# child_of PID: its only child.
child_of() {
    local child
    read -r child <"/proc/$1/task/$1/children" || [ -n "$child" ] ||
        fail "process $1 has no child"
    echo "$child"
}

# on HOST COMMAND...: runs it there. enter is the same in a shell that ends.
on() {
    (enter "$@")
}

enter() {
    local host=$1
    shift
    exec nsenter --target "${init[$host]}" --all -- "$@"
}

# link HOST down|up: the host's port of the switch.
link() {
    ip link set "$1" "$2"
}

# nic HOST down|up: the same at the host's side, where programs see it.
nic() {
    on "$1" ip link set eth0 "$2"
}

# rate HOST RATE|none: limits the rate in both directions.
rate() {
    if [ "$2" = none ]; then
        tc qdisc del dev "$1" root
        on "$1" tc qdisc del dev eth0 root
        return
    fi
    set -- "$1" root tbf rate "$2" burst 64kb latency 50ms
    tc qdisc replace dev "$@"
    on "$1" tc qdisc replace dev eth0 "${@:2}"
}

# mute HOST OTHER: drops all packets from HOST to OTHER; unmute ends that.
mute() {
    on "$1" ip route add blackhole "$net.${2#h}/32"
}

unmute() {
    on "$1" ip route del blackhole "$net.${2#h}/32"
}
