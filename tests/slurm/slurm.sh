# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests under Slurm: the box they share, and waits that end.
#
# The box is that of slurm/cluster-in-a-box in AMALGAM_BOX_DIR, which slurm.up
# started. Where Slurm cannot be had, that wrote the reason beside it.
# shellcheck shell=bash

unset CDPATH
box=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../slurm" && pwd)/cluster-in-a-box

skip() {
    echo "skipped: $*"
    exit 77
}

# Says what is wrong, and what Slurm said last.
fail() {
    echo "FAILED: $*, at $(date +%T)"
    tail -n 20 "$AMALGAM_BOX_DIR"/log/{slurmctld,box?}.log 2>/dev/null
    exit 1
}

# Skips the test where Slurm is not installed.
slurm_needed() {
    local name
    for name in munged slurmctld slurmd srun; do
        PATH=$PATH:/usr/sbin:/sbin command -v $name >/dev/null ||
            skip "there is no $name here: apt-get install slurm-wlm munge"
    done
}

# From now on commands of Slurm speak to the shared box.
box_enter() {
    local lines
    slurm_needed
    [ ! -e "$AMALGAM_BOX_DIR.why" ] || skip "$(cat "$AMALGAM_BOX_DIR.why")"
    lines=$("$box" env) || fail "the box that slurm.up started is not there"
    eval "$lines"
}

# work_make: sets work to a directory of the test, which goes with it.
work_make() {
    work=$(mktemp -d) || fail "no directory for the test"
    trap 'rm -rf "$work"' EXIT
}

# until_true SECONDS COMMAND...: whether it succeeded in time.
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        read -rt 0.1 <> <(:)
    done
    return 0
}

# job_is ID PATTERN: whether "STATE REASON" of the job is like that; a job that
# has gone from the queue's memory is GONE.
job_is() {
    local state
    state=$(timeout 10 squeue -h -t all -j "$1" -o '%T %r' 2>/dev/null)
    # shellcheck disable=SC2053 # a pattern on purpose
    [[ ${state:-GONE} == $2 ]]
}

job_over() {
    job_is "$1" 'COMPLETED *' || job_is "$1" 'FAILED *' ||
        job_is "$1" 'CANCELLED *' || job_is "$1" 'TIMEOUT *' ||
        job_is "$1" 'NODE_FAIL *' || job_is "$1" GONE
}

# node_is NODE STATE
node_is() {
    [ "$(timeout 10 sinfo -h -n "$1" -o '%T' 2>/dev/null)" = "$2" ]
}
