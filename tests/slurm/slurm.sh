# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests under Slurm: their common box, and bounded waits.
#
# The box is that of slurm/cluster-in-a-box in AMALGAM_BOX_DIR, which slurm.up
# started. Without a usable Slurm, that wrote the reason beside it.
# shellcheck shell=bash

unset CDPATH
box=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../slurm" && pwd)/cluster-in-a-box

skip() {
    echo "skipped: $*"
    exit 77
}

# Prints the error, and the last messages of Slurm.
fail() {
    echo "FAILED: $*, at $(date +%T)"
    tail -n 20 "$AMALGAM_BOX_DIR"/log/{slurmctld,box?}.log 2>/dev/null
    exit 1
}

# Skips the test without an installed Slurm.
slurm_needed() {
    local name
    for name in munged slurmctld slurmd srun; do
        PATH=$PATH:/usr/sbin:/sbin command -v $name >/dev/null ||
            skip "there is no $name here: apt-get install slurm-wlm munge"
    done
}

# Lets commands of Slurm use the common box.
box_enter() {
    local lines
    slurm_needed
    [ ! -e "$AMALGAM_BOX_DIR.why" ] || skip "$(cat "$AMALGAM_BOX_DIR.why")"
    lines=$("$box" env) || fail "the box that slurm.up started is not there"
    eval "$lines"
}

# work_make: sets work to a directory that is removed with the test.
work_make() {
    work=$(mktemp -d) || fail "no directory for the test"
    trap 'rm -rf "$work"' EXIT
}

# until_true SECONDS COMMAND...: does it succeed in time?
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        read -rt 0.1 <> <(:)
    done
    return 0
}

# job_is ID PATTERN: does "STATE REASON" of the job match? A job that Slurm has
# forgotten is GONE.
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
