#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What is wrong for the whole job is said once, by rank 0, and not by each rank:
# job_warning_is_logged_once.sh LAUNCH PROGRAM
set -u
launch=$1
program=$2
failed=0

# once VARIABLE=VALUE TEXT
once() {
    local count

    count=$(env "$1" "$launch" -n 3 "$program" 2>&1 | grep -c "$2")
    [ "$count" -eq 1 ] || {
        echo "$1: \"$2\" stands $count times in the log"
        failed=1
    }
}

once AMALGAM_PROGRESS=app "AMALGAM_PROGRESS is 'app'"
once AMALGAM_CREDITS=0 "AMALGAM_CREDITS is '0'"
once AMALGAM_TRANSPROT=mpi "is AMALGAM_TRANSPORT meant?"
exit $failed
