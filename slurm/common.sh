# SPDX-License-Identifier: BSD-3-Clause
# Functions of the batch scripts: find the build and the allocation, print what
# will run and where, and start it.
# shellcheck shell=bash
#
# Variables to set in the shell that calls sbatch:
#
#   AMALGAM_HOME            the repository; default: where sbatch was called
#   AMALGAM_BUILD           its build; default: AMALGAM_HOME/build
#   AMALGAM_NODES           nodes of the step; default: all of the allocation
#   AMALGAM_TASKS_PER_NODE  tasks on each; default: those of the allocation
#   AMALGAM_LAUNCHER        srun (the default), or the mpiexec to use
#   AMALGAM_SRUN_MPI        which --mpi; default: by the MPI of the build
#   AMALGAM_SRUN_ARGS       further options for each srun or mpiexec
#   AMALGAM_MODULES         modules to load first (cray and infiniband)
#
# The ranks inherit all other variables of the library, too: slurm/README.md.

script=${BASH_SOURCE[1]##*/}
# Slurm runs a copy of the script under another name.
[ "$script" != slurm_script ] || script=${SLURM_JOB_NAME:-batch}
# The scripts change directory, and the ranks may start in another one.
unset CDPATH
home=$(cd "$home" && pwd)
build=${AMALGAM_BUILD:-$home/build}
[[ $build == /* ]] || build=$PWD/$build

say() {
    printf '%s: %s\n' "$script" "$*"
}

# Ends the script with a message.
fail() {
    printf '%s: %s\n' "$script" "$*" >&2
    exit 1
}

# number_check NAME VALUE: ends the script unless VALUE is a number above 0.
number_check() {
    [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] ||
        fail "$1 is \"$2\": no number from 1 to 999999999"
}

# Ends the script unless it runs in an allocation.
allocation_check() {
    [ -n "${SLURM_JOB_ID:-}" ] || fail "this is no allocation of Slurm." \
        "Submit it: sbatch slurm/$script; or get one first: salloc -N 2"
}

# Sets nodes and tasks (in total) to those of a step; prints the job's size.
# Only this function reads the size of a job from Slurm's variables, to request
# a step of that size; ranks come from MPI alone.
allocation_find() {
    local own
    allocation_check
    nodes=${SLURM_JOB_NUM_NODES:-${SLURM_NNODES:-1}}
    # Some versions set no SLURM_NTASKS if only tasks per node were requested.
    tasks=${SLURM_NTASKS:-$((nodes * ${SLURM_NTASKS_PER_NODE:-1}))}
    say "job $SLURM_JOB_ID on ${SLURM_CLUSTER_NAME:-this cluster}:" \
        "$nodes nodes (${SLURM_JOB_NODELIST:-?}), $tasks tasks"
    own=$(((tasks + nodes - 1) / nodes))
    if [ -n "${AMALGAM_TASKS_PER_NODE:-}" ]; then
        number_check AMALGAM_TASKS_PER_NODE "$AMALGAM_TASKS_PER_NODE"
        own=$AMALGAM_TASKS_PER_NODE
    fi
    if [ -n "${AMALGAM_NODES:-}" ]; then
        number_check AMALGAM_NODES "$AMALGAM_NODES"
        [ "$AMALGAM_NODES" -le "$nodes" ] || fail "AMALGAM_NODES is" \
            "$AMALGAM_NODES, but the job has $nodes nodes: sbatch -N" \
            "$AMALGAM_NODES"
        nodes=$AMALGAM_NODES
    fi
    if [ -n "${AMALGAM_NODES:-}${AMALGAM_TASKS_PER_NODE:-}" ]; then
        tasks=$((nodes * own))
    fi
    # Since 22.05 srun does not inherit this from the allocation.
    if [ -n "${SLURM_CPUS_PER_TASK:-}" ]; then
        export SRUN_CPUS_PER_TASK=${SRUN_CPUS_PER_TASK:-$SLURM_CPUS_PER_TASK}
    fi
}

# Ends the script, and says how to build.
build_missing() {
    fail "$1. Build on a node that has the compute nodes' MPI:" \
        "cd $home && jobs/run --list; or name a build that is there by" \
        "AMALGAM_BUILD"
}

# Sets program to the program of the job "$1" (see jobs/run --list).
job_find() {
    local list=$build/jobs.list
    [ -r "$list" ] || build_missing "no build in $build"
    program=$(awk -F '\t' -v name="$1" '$1 == name { print $2 }' "$list")
    [ -n "$program" ] || fail "there is no job \"$1\" in $list; the jobs are:" \
        "$(cut -f 1 "$list" | paste -sd ' ')"
    program_check
}

# Sets program to "$1", a path below the build.
program_find() {
    program=$build/$1
    program_check
}

program_check() {
    [ -x "$program" ] || build_missing "$program is not there"
}

# Prints the --mpi for the MPI that "$1" is linked with.
mpi_kind() {
    case $(ldd "$1" 2>/dev/null) in
    # Open MPI, also as a library of the MPI ABI (libmpi_abi.so)
    *libmpi.so.40* | *libopen-pal* | *libopen-rte*) echo pmix ;;
    *libmpi_cray.* | *libmpi_gnu* | *libmpi_intel.* | *libmpi_nvidia.* | \
        *libmpi_amd.*) echo cray_shasta ;;
    *) echo pmi2 ;; # MPICH, MVAPICH, Intel MPI
    esac
}

# Makes srun bind each task to its own cores, unless AMALGAM_SRUN_ARGS is set: of
# two cores, one stays idle for progress. Where Slurm counts hardware threads, -c 2
# may be two threads of one core; then each task gets the CPUs of two cores.
cores_bind() {
    local each=${SLURM_CPUS_PER_TASK:-1} cpus sockets cores of_core own
    [[ ${AMALGAM_LAUNCHER:-srun} == *srun ]] || return 0
    [ -z "${AMALGAM_SRUN_ARGS:-}" ] || return 0
    export AMALGAM_SRUN_ARGS=--cpu-bind=cores
    # By sbatch --hint, or --threads-per-core, the user has chosen.
    [ -z "${SLURM_HINT:-}${SLURM_THREADS_PER_CORE:-}" ] || return 0
    read -r cpus sockets cores < <(sinfo -h -n "${SLURM_JOB_NODELIST:-}" \
        -o '%c %X %Y') || return 0
    of_core=$((${cpus%+} / (${sockets%+} * ${cores%+})))
    if [ "$each" -lt 2 ] || [ "$each" -gt "$of_core" ]; then
        return 0
    fi
    own=${AMALGAM_TASKS_PER_NODE:-${SLURM_TASKS_PER_NODE:-1}}
    cpus=${SLURM_JOB_CPUS_PER_NODE:-$cpus}
    if [ $((2 * of_core * ${own%%[!0-9]*})) -le "${cpus%%[!0-9]*}" ]; then
        say "a core has $of_core hardware threads, so -c $each is one core:" \
            "each task gets two, by -c $((2 * of_core))"
        AMALGAM_SRUN_ARGS+=" -c $((2 * of_core))"
        # Else srun warns that the step asks for more than the job.
        unset SLURM_CPUS_PER_TASK SRUN_CPUS_PER_TASK
    else
        say "a core has $of_core hardware threads, so -c $each is one core, and" \
            "a progress thread slows its task. For two cores each: fewer" \
            "tasks a node, and sbatch -c $((2 * of_core))" >&2
    fi
}

# Ends the script if "$1" is linked with Intel MPI, which reaches Slurm's process
# manager only by a library that I_MPI_PMI_LIBRARY names.
intel_check() {
    local mpi
    mpi=$(ldd "$1" 2>/dev/null | awk '$1 == "libmpi.so.12" { print $3 }')
    [ -r "$mpi" ] && grep -q 'Intel(R) MPI Library' "$mpi" || return 0
    [ -r "${I_MPI_PMI_LIBRARY:-}" ] || fail "$1 is linked with Intel MPI, and" \
        "I_MPI_PMI_LIBRARY is \"${I_MPI_PMI_LIBRARY:-}\": each task would be a" \
        "job of its own. Set it to Slurm's libpmi2.so (ldconfig -p names it), or" \
        "set AMALGAM_LAUNCHER=mpiexec"
}

# Sets launch to the command that starts "$3" on $1 nodes with $2 tasks in all.
launch_make() {
    local kinds own=$((($2 + $1 - 1) / $1)) name
    launch=("${AMALGAM_LAUNCHER:-srun}")
    command -v "${launch[0]}" >/dev/null ||
        fail "there is no ${launch[0]} here; AMALGAM_LAUNCHER names another"
    if [[ ${launch[0]} == *srun ]]; then
        mpi=${AMALGAM_SRUN_MPI:-$(mpi_kind "$3")}
        kinds=$("${launch[0]}" --mpi=list 2>&1 | tr '\n\t' '  ')
        [[ " $kinds " == *[\ ,:]"$mpi"[\ ,]* ]] ||
            fail "srun has no --mpi=$mpi here; it says: $kinds." \
                "AMALGAM_SRUN_MPI names another one"
        intel_check "$3"
        launch+=("--mpi=$mpi" -N "$1" -n "$2" "--ntasks-per-node=$own")
    elif [[ $("${launch[0]}" --version 2>&1) == *[Oo]pen*[Mm][Pp][Ii]* ]]; then
        launch+=(-n "$2" --map-by "ppr:$own:node")
        for name in $(compgen -e AMALGAM_) $(compgen -e FI_); do
            launch+=(-x "$name")
        done
    else
        launch+=(-n "$2" -ppn "$own")
    fi
    if [ -n "${AMALGAM_SRUN_ARGS:-}" ]; then
        # shellcheck disable=SC2206 # words on purpose
        launch+=($AMALGAM_SRUN_ARGS)
    fi
}

# step_run NODES TASKS PROGRAM [ARGUMENT...]: prints the command, runs it,
# reports a failure, and returns its exit code.
step_run() {
    local at=$1 of=$2 code=0
    shift 2
    launch_make "$at" "$of" "$1"
    say "$of tasks on $at nodes over ${AMALGAM_TRANSPORT:-auto}," \
        "by: ${launch[*]} $*"
    "${launch[@]}" "$@" || code=$?
    [ "$code" = 0 ] || say "${1##*/} ended with exit code $code" >&2
    return "$code"
}

# Loads the modules of AMALGAM_MODULES.
modules_load() {
    local names
    read -ra names <<<"${AMALGAM_MODULES:-}"
    [ "${#names[@]}" -gt 0 ] || return 0
    command -v module >/dev/null || fail "AMALGAM_MODULES is" \
        "\"$AMALGAM_MODULES\", but there is no module command here"
    say "module load ${names[*]}"
    set +u # modules look at variables that may not be there
    module load "${names[@]}" || fail "module load ${names[*]} failed"
    set -u
}

# Continues with run.sbatch if AMALGAM_JOB is set, else with bench.sbatch.
run_or_bench() {
    local next=bench
    [ -z "${AMALGAM_JOB:-}" ] || next=run
    exec bash "$home/slurm/$next.sbatch" "$@"
}
