#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs while a node of the box is drained: drain.sh NODES PROGRAM
#
# One that needs all nodes waits, and says for which; one with fewer runs
# meanwhile; the first one runs when the node is back.
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/slurm/slurm.sh
. "$here/slurm.sh"
nodes=$1 program=$2
box_enter
work_make
node=box$((nodes - 1))
id=

back() {
    [ -z "$id" ] || scancel -Q "$id"
    scontrol update nodename="$node" state=resume 2>/dev/null
    rm -rf "$work"
}
trap back EXIT

waits() { job_is "$id" "PENDING *$node*" || job_is "$id" "PENDING *DRAINED*"; }

scontrol update nodename="$node" state=drain reason="a fan is loud" ||
    fail "$node cannot be drained"
until_true 10 node_is "$node" drained ||
    fail "$node is $(sinfo -h -n "$node" -o '%T')"
sinfo -R -h | grep -q "a fan is loud.*$node" || fail "the reason is not told"

printf '#!/bin/bash\nexec srun --mpi=pmi2 %q 0 "ranks of %d other nodes"\n' \
    "$program" $((nodes - 1)) >"$work/job"
id=$(AMALGAM_TRANSPORT=mpi+p2p sbatch --parsable -N "$nodes" -n "$nodes" \
    -o "$work/out" "$work/job") || fail "sbatch refuses the job"
until_true 20 waits ||
    fail "the job should wait: $(squeue -h -t all -j "$id" -o '%T %r')"
squeue -h -j "$id" -o 'job %i waits: %r'

AMALGAM_TRANSPORT=mpi+p2p timeout 100 srun --mpi=pmi2 -N $((nodes - 1)) \
    -n $((nodes - 1)) "$program" 0 "ranks of $((nodes - 2)) other nodes" \
    </dev/null || fail "a job on the other nodes did not run"
waits || fail "the job waits no longer"

scontrol update nodename="$node" state=resume || fail "$node does not come back"
until_true 100 job_over "$id" || fail "the job does not go on"
cat "$work/out"
job_is "$id" 'COMPLETED *' ||
    fail "the job ended as $(squeue -h -t all -j "$id" -o '%T %r')"
