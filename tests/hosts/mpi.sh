#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs ranks on two hosts: mpi.sh MPIEXEC RANKS PROGRAM [ARG...]
#
# Half of the ranks on each host. They pass when each has printed "rank N is
# done": MPI_Finalize of MPICH 4.0 over TCP ends only if no rank is faster than
# the others, so the test waits for nothing beyond that. As its launcher,
# mpiexec calls this script with the host and the command.
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/hosts/hosts.sh
. "$here/hosts.sh"
if [ -n "${HOSTS_INITS:-}" ]; then
    eval "$HOSTS_INITS"
    while [[ $1 = -* ]]; do shift; done
    host=$1
    shift
    enter "$host" bash -c "$*"
fi
hosts_enter "$@"
mpiexec=$1 ranks=$2
shift 2

"$mpiexec" --version 2>/dev/null | grep -q HYDRA ||
    skip "this mpiexec is not hydra's, and takes no launcher"
host_make 1
host_make 2
exec {from}< <(HOSTS_INITS=$(declare -p init) "$mpiexec" -launcher ssh \
    -launcher-exec "$here/mpi.sh" -localhost $outside -hosts h1,h2 \
    -ppn $((ranks / 2)) -n "$ranks" "$@" </dev/null 2>&1)
count=0
while [ $count -lt "$ranks" ] && read -r line <&$from; do
    echo "$line"
    [[ ! $line =~ ^rank\ [0-9]+\ is\ done$ ]] || count=$((count + 1))
done
[ $count -eq "$ranks" ] || fail "$count of $ranks ranks are done"
