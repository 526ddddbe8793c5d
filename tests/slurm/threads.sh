#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each task gets two cores where a core has two hardware threads: threads.sh
#
# In its own box, of one node with four such cores; the job of slurm/cray.sbatch
# is a program that prints what Slurm has given to its step.
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/slurm/slurm.sh
. "$here/slurm.sh"
slurm_needed
[ ! -e "$AMALGAM_BOX_DIR.why" ] || skip "$(cat "$AMALGAM_BOX_DIR.why")"
mine=$AMALGAM_BOX_DIR.t
work_make
trap 'timeout 50 "$box" -d "$mine" down; rm -rf "$work"' EXIT
timeout 50 "$box" -d "$mine" down
timeout 100 "$box" -d "$mine" up 1 -c 4 -t 2 -w $PPID ||
    fail "a box of cores with two threads does not come up"

cat >"$work/program" <<'END'
#!/bin/bash
scontrol show step "$SLURM_JOB_ID.$SLURM_STEP_ID" |
    sed -n 's/.* CPUs=\([0-9]*\) Tasks=\([0-9]*\) .*/step: \1 CPUs, \2 tasks/p'
END
chmod +x "$work/program"
printf 'program\t%s\n' "$work/program" >"$work/jobs.list"
home=$(cd "$here/../.." && pwd)
export AMALGAM_HOME=$home AMALGAM_BUILD=$work AMALGAM_JOB=program
export AMALGAM_TRANSPORT=ofi+tcp AMALGAM_SRUN_MPI=none
cd "$work" || exit 1

# submit LINE OPTION...: the job must complete, and write LINE.
submit() {
    local line=$1
    shift
    "$box" -d "$mine" run timeout 100 sbatch -W -N 1 -o "$work/out" "$@" \
        "$home/slurm/cray.sbatch" </dev/null || {
        cat "$work/out"
        fail "sbatch $*"
    }
    cat "$work/out"
    grep -q -e "$line" "$work/out" || fail "sbatch $*: did not write: $line"
    ! grep -q 'may never run' "$work/out" || fail "sbatch $*: srun warns"
}

submit '^step: 8 CPUs, 2 tasks$' --ntasks-per-node=2
grep -q 'each task gets two, by -c 4$' "$work/out" || fail "nobody is told why"
# One thread of each core: -c 2 is two cores, which have four CPUs.
submit '^step: 8 CPUs, 2 tasks$' --ntasks-per-node=2 --hint=nomultithread
! grep -q 'each task gets two' "$work/out" || fail "two cores became four"
submit '^step: 2 CPUs, 2 tasks$' --ntasks-per-node=2 -c 1
submit 'progress thread slows its task' --ntasks-per-node=4
grep -q '^step: 8 CPUs, 4 tasks$' "$work/out" || fail "not one core for each"
