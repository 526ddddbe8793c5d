#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# scancel in the middle of calls and transfers leaves nothing: no process, no
# file of the library in shared memory or TMPDIR, no segment of System V:
# scancel.sh HOW NODES RANKS PROGRAM
#
# HOW is term, at which programs end; or kill: they ignore SIGTERM, and get a
# SIGKILL after KillWait.
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/slurm/slurm.sh
. "$here/slurm.sh"
how=$1 nodes=$2 ranks=$3 program=$4
box_enter
work_make
mkdir "$work/tmp"
out=$work/out

began() { [ "$(grep -c 'is in the middle$' "$out" 2>/dev/null)" = "$ranks" ]; }

# The ranks that are left, without zombies.
left() {
    local pid
    for pid in "${pids[@]}"; do
        { ! grep -q '^State:.Z' "/proc/$pid/status"; } 2>/dev/null &&
            [ -d "/proc/$pid" ] && echo "$pid"
    done
}
none_left() { [ -z "$(left)" ]; }

files_left() {
    local pid
    for pid in "${pids[@]}"; do
        find /dev/shm -maxdepth 1 -name "amalgam-*-$pid-*"
    done
    find "$work/tmp" -mindepth 1
}

# Segments of System V that one of the ranks made.
segments_left() {
    ipcs -mp | awk -v pids=" ${pids[*]} " \
        '$3 ~ /^[0-9]+$/ && index(pids, " " $3 " ")'
}

words=(env)
[ "$how" = term ] || words+=(--ignore-signal=TERM)
printf '#!/bin/bash\nexport TMPDIR=%q\nsrun --mpi=pmi2 %s\n' "$work/tmp" \
    "$(printf '%q ' "${words[@]}" "$program")" >"$work/job"
id=$(sbatch --parsable -N "$nodes" -n "$ranks" -o "$out" "$work/job") ||
    fail "sbatch refuses the job"
until_true 100 began || {
    scancel "$id"
    cat "$out"
    fail "the ranks did not begin: $(squeue -h -t all -j "$id" -o '%T %r')"
}
mapfile -t pids < <(sed -n 's/^process \([0-9]*\) is in the middle$/\1/p' "$out")
scancel "$id" || fail "scancel does not find job $id"
until_true 20 none_left || fail "processes are left: $(left | paste -sd ' ')"
until_true 20 job_over "$id" || fail "the job does not end"
[ -z "$(files_left)" ] || fail "files are left:" "$(files_left)"
[ -z "$(segments_left)" ] || fail "segments are left:" "$(segments_left)"
job_is "$id" 'CANCELLED *' ||
    fail "the job was to be cancelled: $(squeue -h -t all -j "$id" -o '%T %r')"
echo "nothing is left of processes ${pids[*]}"
