#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the batch scripts refuse, and how they start ranks, without a Slurm: one
# that only writes down what it is asked for stands in.
#
#   batch.sh BUILD
set -u

build=$1
home=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/batch-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
for name in $(compgen -e SLURM_) $(compgen -e AMALGAM_); do
    unset "$name"
done
unset -f module
export AMALGAM_HOME=$home AMALGAM_BUILD=$build

die() {
    echo "FAILED: $*" >&2
    sed 's/^/  | /' "$work/log" >&2
    exit 1
}

# run CODE SCRIPT [NAME=VALUE...] [-- ARGUMENT...]
run() {
    local wanted=$1 script=$2 names=() code=0
    shift 2
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        names+=("$1")
        shift
    done
    [ $# -eq 0 ] || shift
    env PATH="$work/bin:$PATH" ${names[@]+"${names[@]}"} \
        bash "$home/slurm/$script.sbatch" "$@" >"$work/log" 2>&1 || code=$?
    [ "$code" = "$wanted" ] || die "$script: exit code $code, not $wanted"
}

said() {
    grep -q -e "$1" "$work/log" || die "did not say: $1"
}

mkdir "$work/bin"
cat >"$work/bin/srun" <<'END'
#!/bin/bash
if [ "$1" = --mpi=list ]; then
    printf 'MPI plugin types are...\n\tnone\n\tpmi2\n\tcray_shasta\n' >&2
    exit 0
fi
echo "got: $*"
echo "transport: $AMALGAM_TRANSPORT, of each: ${SRUN_CPUS_PER_TASK:-}"
END
cat >"$work/bin/fake-mpirun" <<'END'
#!/bin/bash
[ "$1" != --version ] || { echo "mpirun (Open MPI) 4.1.4"; exit 0; }
echo "got: $*"
END
chmod +x "$work"/bin/*

for script in run bench cray infiniband service; do
    run 1 $script
    said "^$script.sbatch: this is no allocation of Slurm. Submit it: sbatch"
    said "slurm/$script.sbatch"
    run 1 $script SLURM_JOB_ID=7 AMALGAM_BUILD=/nowhere
    said "/nowhere.* Build on a node that has the compute nodes' MPI"
    run 1 $script AMALGAM_HOME=/nowhere
    said '^Submit from the top of the repository, or set AMALGAM_HOME$'
done

job=(SLURM_JOB_ID=7 SLURM_JOB_NUM_NODES=4 SLURM_NTASKS=8
    "SLURM_JOB_NODELIST=n[1-4]" AMALGAM_JOB=hello)
run 0 run "${job[@]}" SLURM_CPUS_PER_TASK=3 -- one 'two words'
said '^run.sbatch: job 7 on this cluster: 4 nodes (n\[1-4\]), 8 tasks$'
said '^got: --mpi=pmi2 -N 4 -n 8 --ntasks-per-node=2 .*/hello one two words$'
said '^transport: auto, of each: 3$'
run 0 run "${job[@]}" AMALGAM_NODES=2 AMALGAM_TRANSPORT=mpi AMALGAM_SRUN_ARGS="-K0 -l"
said '^got: --mpi=pmi2 -N 2 -n 4 --ntasks-per-node=2 -K0 -l .*/hello$'
said '^transport: mpi, '
run 0 run "${job[@]}" AMALGAM_TASKS_PER_NODE=3
said '^got: --mpi=pmi2 -N 4 -n 12 --ntasks-per-node=3 '
run 0 run "${job[@]}" AMALGAM_LAUNCHER=fake-mpirun
said '^got: -n 8 --map-by ppr:2:node .*-x AMALGAM_TRANSPORT .*/hello$'

run 1 run "${job[@]}" AMALGAM_NODES=5
said 'AMALGAM_NODES is 5, but the job has 4 nodes'
run 1 run "${job[@]}" AMALGAM_TASKS_PER_NODE=none
said 'AMALGAM_TASKS_PER_NODE is "none": no number'
run 1 run "${job[@]}" AMALGAM_JOB=no-such-job
said 'there is no job "no-such-job" in .*; the jobs are: .*checkpoint'
run 1 run "${job[@]}" AMALGAM_SRUN_MPI=pmix
said 'srun has no --mpi=pmix here; it says: .*pmi2'
run 1 run "${job[@]}" AMALGAM_LAUNCHER=no-such-launcher
said 'there is no no-such-launcher here; AMALGAM_LAUNCHER names another'
run 1 service SLURM_JOB_ID=7 -- none
said 'CALLS is "none": no number'

run 0 cray "${job[@]}"
said '^got: --mpi=cray_shasta .* --cpu-bind=cores .*/hello$'
said '^transport: ofi+cxi, '
run 0 infiniband "${job[@]}" AMALGAM_TRANSPORT=ofi+tcp
said '^got: --mpi=pmi2 .* --cpu-bind=cores .*/hello$'
said '^transport: ofi+tcp, '
run 1 cray "${job[@]}" AMALGAM_MODULES="one two"
said 'AMALGAM_MODULES is "one two", but there is no module command here'
exit 0
