#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs ranks by srun: srun.sh NODES RANKS [OPTION...] PROGRAM [ARG...]
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/slurm/slurm.sh
. "$here/slurm.sh"
box_enter
nodes=$1 ranks=$2
shift 2
exec timeout 150 srun --mpi=pmi2 -N "$nodes" -n "$ranks" "$@" </dev/null
