#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A job that was split into jobs of one rank logs that once, with a hint, and
# ends with an error; a job that was started alone does not.
#
#   split_job_is_logged_once.sh LAUNCH HELLO
set -u

launch=$1 hello=$2
log=$(mktemp "${TMPDIR:-/tmp}/fell-apart.XXXXXX") || exit 1
trap 'rm -f "$log"' EXIT
# Hides the launcher of this test.
for name in $(compgen -e SLURM_) $(compgen -e PMI) $(compgen -e OMPI_COMM); do
    unset "$name"
done

die() {
    echo "FAILED: $*" >&2
    sed 's/^/  | /' "$log" >&2
    exit 1
}

# run NAME=VALUE... COMMAND...: must end with an error, since one rank cannot
# say hello to others.
run() {
    timeout 40 env "$@" >"$log" 2>&1 </dev/null
    [ $? = 1 ] || die "$*: exit code 1 was expected"
    grep -q 'run it with at least 2 ranks' "$log" || die "$*: did not say why"
}

warned() {
    [ "$(grep -c "MPI sees 1 rank, but $1" "$log")" = 1 ] ||
        die "not one line that says: $1"
    grep 'MPI sees' "$log" | grep -q -- "$2" || die "did not say to try $2"
}

silent() {
    ! grep -q 'MPI sees' "$log" || die "$1 was taken for a job that fell apart"
}

step=(SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=4)
run "${step[@]}" SLURM_PROCID=0 "$hello"
warned 'srun started 4 tasks' 'srun --mpi=pmi2'
run "${step[@]}" SLURM_PROCID=3 "$hello"
silent "a task that is not the first"
run OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0 "$hello"
warned 'the launcher started 3 processes' 'by the mpiexec of the MPI'

run SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_PROCID=0 "$hello"
silent "a program in an allocation of 4 tasks"
run "${step[@]}" SLURM_PROCID=0 SLURM_PTY_PORT=4711 "$hello"
silent "a program that was typed in srun --pty bash"
run "${step[@]}" SLURM_PROCID=0 "$launch" -hosts a -n 1 "$hello"
silent "mpiexec -n 1 in an allocation"
exit 0
