#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Refusals of the batch scripts, and their commands to start ranks, with a fake
# Slurm that only records its arguments.
#
#   batch.sh BUILD
set -u
unset CDPATH

build=$1
home=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/batch-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
for name in $(compgen -e SLURM_) $(compgen -e AMALGAM_); do
    unset "$name"
done
unset -f module
# Expected below: the way of MPICH.
! grep -q '^MPIEXEC_EXECUTABLE:.*openmpi' "$build/CMakeCache.txt" || {
    echo "skipped: a build with Open MPI asks srun for pmix"
    exit 77
}
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
if [ -n "${FAKE_SERVICE:-}" ]; then # a service, and the view of its clients
    echo "service: $*, VNI ${AMALGAM_SLINGSHOT_VNI:-}"
    case $* in
    *service_server*)
        echo mine >"$AMALGAM_SERVICE_FILE"
        for ((i = 0; i < 200; i++)); do
            [ ! -e "$FAKE_SERVICE" ] || exit 0
            sleep 0.1
        done
        ;;
    *--end) touch "$FAKE_SERVICE" ;;
    *) [ -z "${FAKE_OTHER:-}" ] || echo "$FAKE_OTHER" >"$AMALGAM_SERVICE_FILE" ;;
    esac
    exit
fi
echo "got: $*"
echo "transport: $AMALGAM_TRANSPORT, of each: ${SRUN_CPUS_PER_TASK:-}"
echo "compared: ${AMALGAM_BENCH_TRANSPORTS:-}, NIC: ${MPICH_OFI_NIC_POLICY:-}"
END
# CPUs, sockets, and cores of a socket of each node
cat >"$work/bin/sinfo" <<'END'
#!/bin/bash
[ "$*" = "-h -n n[1-4] -o %c %X %Y" ] || exit 1
echo "${FAKE_NODE:-64 2 32}"
END
# Intel MPI, if FAKE_INTEL names a library
cat >"$work/bin/ldd" <<'END'
#!/bin/bash
[ -n "${FAKE_INTEL:-}" ] || exec /usr/bin/ldd "$@"
echo "	libmpi.so.12 => $FAKE_INTEL (0x00007f0000000000)"
END
cat >"$work/bin/fake-mpirun" <<'END'
#!/bin/bash
[ "$1" != --version ] || { echo "mpirun (Open MPI) 4.1.4"; exit 0; }
echo "got: $*"
END
mkdir -p "$work/build/jobs/apps/service"
echo "amalgam_bench	$work/bin/srun	2	none" >"$work/build/jobs.list"
for name in server client; do
    cp "$work/bin/srun" "$work/build/jobs/apps/service/service_$name"
done
chmod +x "$work"/bin/* "$work"/build/jobs/apps/service/*

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

run 0 run SLURM_JOB_ID=7 SLURM_JOB_NUM_NODES=4 SLURM_NTASKS_PER_NODE=2 \
    AMALGAM_JOB=hello
said '^got: --mpi=pmi2 -N 4 -n 8 --ntasks-per-node=2 '
# By names relative to the directory of submission. Nothing is measured here.
cd "$(dirname "$home")" || exit 1
run 1 bench "${job[@]}" AMALGAM_HOME="$(basename "$home")" AMALGAM_BENCH=rate \
    AMALGAM_BENCH_TEAM= AMALGAM_BUILD="$work/build" AMALGAM_BENCH_DIR="$work/bench"
said '^got: --mpi=pmi2 -N 2 -n 2 .*/srun rate '
rm -r "$work/bench"
cd "$work" || exit 1

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
run 1 bench SLURM_JOB_ID=7 AMALGAM_BENCH_DIR="$work/bench" AMALGAM_BUILD="$work/build"
said 'one rank has none to talk to: sbatch -N 2'
[ ! -e "$work/bench" ] || die "a directory for nothing"

service=(SLURM_JOB_ID=7 AMALGAM_BUILD=build
    AMALGAM_SERVICE_FILE="$work/address")
run 0 service "${service[@]}" FAKE_SERVICE="$work/end"
said 'the service and its clients have ended'
[ ! -e "$work/address" ] || die "the address of a service that was killed is left"
rm "$work/end"
run 0 service "${service[@]}" FAKE_SERVICE="$work/end" FAKE_OTHER=theirs
grep -q '^theirs$' "$work/address" || die "took the address of another service away"

# One allocation: a step for the service, and one for all others of its tasks.
rm "$work/end"
run 0 service "${service[@]}" FAKE_SERVICE="$work/end" SLURM_NTASKS=5
said '^service: --mpi=none --exact -N 1 -n 1 .*/service_server, VNI $'
said '^service: --mpi=none --exact -n 4 .*/service_client 1000 --wait 60, VNI $'
rm "$work/end"
run 0 service "${service[@]}" FAKE_SERVICE="$work/end" SLURM_HET_SIZE=2 \
    SLURM_NTASKS_HET_GROUP_1=3 AMALGAM_TRANSPORT=ofi+cxi
said '^service: --mpi=none --het-group=0 -N 1 -n 1 .*/service_server, VNI 2$'
said '^service: --mpi=none --het-group=1 -n 3 .*/service_client .*, VNI 2$'
rm "$work/end"
run 0 service "${service[@]}" FAKE_SERVICE="$work/end" AMALGAM_TRANSPORT=cxi \
    AMALGAM_SLINGSHOT_VNI=1
said '^service: .*/service_server, VNI 1$'

run 0 cray "${job[@]}"
said '^got: --mpi=cray_shasta .* --cpu-bind=cores .*/hello$'
said '^transport: ofi+cxi, '
# Cray MPICH ends where a rank has several NUMA nodes, so only bound ranks get NUMA.
said 'NIC: NUMA$'
for args in --cpu-bind=none --cpu-bind=verbose,none --cpu-bind=verbose -l; do
    run 0 cray "${job[@]}" AMALGAM_SRUN_ARGS=$args
    said "^got: .* $args .*/hello$"
    said 'NIC: $'
done
run 0 cray "${job[@]}" AMALGAM_SRUN_ARGS="-l --cpu-bind=rank_ldom --nodelist=none"
said 'NIC: NUMA$'
run 0 cray "${job[@]}" AMALGAM_LAUNCHER=fake-mpirun
said '^got: -n 8 .*/hello$'
! grep -q '^got: .*--cpu-bind' "$work/log" || die "words of srun for mpirun"

# Two cores for each task: of one hardware thread, of two, of four.
allocation=(SLURM_CPUS_PER_TASK=2 "SLURM_TASKS_PER_NODE=2(x4)")
for script in cray infiniband; do
    run 0 $script "${job[@]}" "${allocation[@]}" "SLURM_JOB_CPUS_PER_NODE=64(x4)"
    said '^got: .* --cpu-bind=cores [^ ]*/hello$'
    said '^transport: .*, of each: 2$'
    run 0 $script "${job[@]}" "${allocation[@]}" FAKE_NODE="128 2 32" \
        "SLURM_JOB_CPUS_PER_NODE=128(x4)"
    said 'a core has 2 hardware threads, so -c 2 is one core: each task gets two'
    said '^got: .* --cpu-bind=cores -c 4 [^ ]*/hello$'
    said '^transport: .*, of each: $'
done
run 0 cray "${job[@]}" "${allocation[@]}" FAKE_NODE="16+ 1+ 4+" \
    "SLURM_JOB_CPUS_PER_NODE=16(x4)"
said '^got: .* --cpu-bind=cores -c 8 '
# No room for two cores each; then with room, as fewer tasks are started.
run 0 cray "${job[@]}" "${allocation[@]}" FAKE_NODE="4 1 2" \
    "SLURM_JOB_CPUS_PER_NODE=4(x4)"
said 'so -c 2 is one core, and a progress thread slows its task.* sbatch -c 4$'
said '^got: .* --cpu-bind=cores [^ ]*/hello$'
run 0 cray "${job[@]}" "${allocation[@]}" FAKE_NODE="4 1 2" \
    "SLURM_JOB_CPUS_PER_NODE=4(x4)" AMALGAM_TASKS_PER_NODE=1
said '^got: .* --cpu-bind=cores -c 4 '
# What the user has chosen stays.
smt=(FAKE_NODE="128 2 32" "SLURM_TASKS_PER_NODE=2(x4)"
    "SLURM_JOB_CPUS_PER_NODE=128(x4)")
for each in 1 3 4 8; do
    run 0 cray "${job[@]}" "${smt[@]}" SLURM_CPUS_PER_TASK=$each
    said '^got: .* --cpu-bind=cores [^ ]*/hello$'
    said "^transport: .*, of each: $each$"
done
for chosen in SLURM_THREADS_PER_CORE=1 SLURM_HINT=multithread; do
    run 0 cray "${job[@]}" "${smt[@]}" SLURM_CPUS_PER_TASK=2 $chosen
    said '^got: .* --cpu-bind=cores [^ ]*/hello$'
done
run 0 cray "${job[@]}" "${smt[@]}" SLURM_CPUS_PER_TASK=2 AMALGAM_SRUN_ARGS=-l
said '^got: .*=2 -l [^ ]*/hello$'

# Programs of Intel MPI need Slurm's library of PMI.
echo 'Intel(R) MPI Library 2021.11 for Linux* OS' >"$work/libmpi.so.12"
echo 'MPICH Version: 4.0.2' >"$work/libmpich.so.12"
touch "$work/libpmi2.so"
run 0 infiniband "${job[@]}" FAKE_INTEL="$work/libmpich.so.12"
run 1 infiniband "${job[@]}" FAKE_INTEL="$work/libmpi.so.12"
said '/hello is linked with Intel MPI, and I_MPI_PMI_LIBRARY is ""'
run 1 run "${job[@]}" FAKE_INTEL="$work/libmpi.so.12" I_MPI_PMI_LIBRARY=/nowhere
said 'I_MPI_PMI_LIBRARY is "/nowhere": each task would be a job of its own'
run 0 run "${job[@]}" FAKE_INTEL="$work/libmpi.so.12" \
    I_MPI_PMI_LIBRARY="$work/libpmi2.so"
said '^got: --mpi=pmi2 '
run 0 run "${job[@]}" FAKE_INTEL="$work/libmpi.so.12" AMALGAM_LAUNCHER=fake-mpirun

# InfiniBand compares transports unless one is named.
run 0 infiniband "${job[@]}"
said '^compared: auto,mpi+rma,ofi+verbs, '
run 0 infiniband "${job[@]}" AMALGAM_TRANSPORT=ofi+tcp
said '^got: --mpi=pmi2 .* --cpu-bind=cores .*/hello$'
said '^transport: ofi+tcp, '
said '^compared: , '
run 0 infiniband "${job[@]}" AMALGAM_LAUNCHER=fake-mpirun
said '^got: .* --map-by ppr:2:node .*/hello$'
! grep -q '^got: .*cpu-bind' "$work/log" || die "words of srun for mpirun"
run 1 cray "${job[@]}" AMALGAM_MODULES="one two"
said 'AMALGAM_MODULES is "one two", but there is no module command here'
# shellcheck disable=SC2317 # the scripts call it
module() {
    echo "loads $2 for ${NOT_THERE}nobody"
}
export -f module
run 0 infiniband "${job[@]}" AMALGAM_MODULES=mpich
said '^loads mpich for nobody$'
exit 0
