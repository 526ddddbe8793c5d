#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The library sees the cores to which Slurm binds tasks: binding.sh INFO
#
# In its own box, which binds: a task with two cores has one left for the
# progress thread; two tasks with one core each have none.
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/slurm/slurm.sh
. "$here/slurm.sh"
info=$1
slurm_needed
[ ! -e "$AMALGAM_BOX_DIR.why" ] || skip "$(cat "$AMALGAM_BOX_DIR.why")"
# Slurm counts cores from 0, whatever we may use.
taskset -c 0,1 true 2>/dev/null || skip "cores 0 and 1 are not to be had"
mine=$AMALGAM_BOX_DIR.a
work_make
trap 'timeout 50 "$box" -d "$mine" down; rm -rf "$work"' EXIT
timeout 50 "$box" -d "$mine" down
timeout 100 "$box" -d "$mine" up 2 -a -c 2 -w $PPID ||
    fail "a box with task/affinity does not come up"

# ask WORDS...: the output of amalgam_info in a job, and the bindings of its
# tasks, one line each, in seen and bound.
ask() {
    # shellcheck disable=SC2016 # of the task
    "$box" -d "$mine" run timeout 40 srun --mpi=pmi2 --cpu-bind=cores "$@" \
        bash -c 'sed -n "s/^Cpus_allowed_list:[[:blank:]]*/task on /p" \
            /proc/$$/status; exec "$0" -t mpi+p2p' "$info" </dev/null >"$work/out" 2>&1 || {
        cat "$work/out"
        fail "srun $*"
    }
    bound=$(sed -n 's/^task on //p' "$work/out" | sort)
    seen=$(sed -n 's/^ *rank [0-9]*  *bound  *cpus \([0-9,-]*\).*/\1/p' \
        "$work/out" | sed 's/,$//' | sort)
    echo "srun $*: Slurm binds to ${bound//$'\n'/ and }, seen:" \
        "${seen//$'\n'/ and }"
    grep -A 1 '^ *rank [0-9]*  *bound ' "$work/out"
    [ "$seen" = "$bound" ] || fail "what Slurm binds to is not what is seen"
}

unset AMALGAM_PROGRESS
OMP_NUM_THREADS=1 ask -N1 -n1 -c2
grep -q '^ *rank 0  *mode  *assist ' "$work/out" ||
    fail "a task with a core left over has no progress thread there"
ask -N1 -n2 -c1
[ "$(sort -u <<<"$bound" | wc -l)" = 2 ] ||
    fail "Slurm was to bind the two tasks to a core each"
[ "$(nproc --all)" -gt 2 ] ||
    [ "$(grep -c '^ *rank [0-9]*  *mode  *caller ' "$work/out")" = 2 ] ||
    fail "tasks without an idle core should make progress themselves"
