#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Boxes run side by side, restart after a daemon was killed, end with the
# process that they were made for, leave nothing, and refuse invalid requests.
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/slurm/slurm.sh
. "$here/slurm.sh"
box_enter
parent=$(mktemp -d /tmp/amalgam-box-XXXXXX) || fail "no directory"
dir=$parent/box
other=$parent/other
watched=
end() {
    local one
    [ -z "$watched" ] || kill "$watched" 2>/dev/null
    for one in "$dir" "$other"; do
        timeout 50 "$box" -d "$one" down >/dev/null 2>&1
    done
    rm -rf "$parent"
}
trap end EXIT

# refused CODE WORDS ARG...: prints that, and does nothing.
refused() {
    local code=$1 words=$2 said got=0
    shift 2
    said=$(timeout 60 "$box" "$@" 2>&1) || got=$?
    [ "$got" = "$code" ] || fail "cluster-in-a-box $*: code $got: $said"
    [[ $said == *"$words"* ]] || fail "cluster-in-a-box $* says: $said"
}

pid_of() {
    cut -d ' ' -f 1 "$dir/run/$1.pid"
}

is_dead() {
    [ ! -d "/proc/$1" ] || grep -q '^State:.[ZX]' "/proc/$1/status"
}

# Processes with the box in $dir.
left() {
    grep -zlFx "SLURM_CONF=$dir/etc/slurm.conf" /proc/[0-9]*/environ 2>/dev/null
}

none_left() {
    [ -z "$(left)" ]
}

refused 2 "is no command"
refused 2 "'start' is no command" start
refused 2 "up 0: no number of nodes" -d "$dir" up 0
refused 2 "up many: no number of nodes" -d "$dir" up many
refused 2 "-c needs a number" -d "$dir" up 2 -c
refused 2 "-t needs a number" -d "$dir" up 2 -t none
refused 1 "there is no process 999999999" -d "$dir" up 1 -w 999999999
refused 1 "too long for a socket" -d "/tmp/$(printf '%0120d' 0)" up 1
refused 1 "there is no box up" -d "$dir" run true
refused 1 "there is no box up" -d "$dir" env
refused 0 "there is no box" -d "$dir" down
refused 1 "use -d with a plain path" -d "$dir two" up 1
mkdir "$parent/nodes"
touch "$parent/lock"
refused 0 "there is no box" -d "$parent" down
[ -d "$parent/nodes" ] || fail "a directory that is no box was removed"
touch "$parent/of-somebody"
refused 1 "is no box, and not empty" -d "$parent" up 1
[ ! -e "$dir" ] || fail "what was refused made $dir"

# Daemons of newer versions get a file that lets them do without cgroups; here they
# keep that file, and end.
mkdir "$parent/bin"
cat >"$parent/bin/slurmctld" <<'END'
#!/bin/bash
[ "$1" != -V ] || { echo "slurm $FAKE_VERSION"; exit 0; }
cp "${SLURM_CONF%/*}/cgroup.conf" "$FAKE_SEEN"
exit 1
END
cp "$parent/bin/slurmctld" "$parent/bin/slurmd"
cp "$parent/bin/slurmctld" "$parent/bin/sinfo" # which would wait for an answer
chmod +x "$parent"/bin/*
for version in 22.05.8 23.02.7 24.11.5; do
    export FAKE_VERSION=$version FAKE_SEEN=$parent/cgroup.$version
    PATH=$parent/bin:$PATH refused 1 "Slurm did not come up" -d "$dir" up 1
done
[ "$(cd "$parent" && grep -x CgroupPlugin=disabled cgroup.*)" = \
    "cgroup.23.02.7:CgroupPlugin=disabled
cgroup.24.11.5:CgroupPlugin=disabled" ] || fail "versions without cgroups"

"$box" -d "$dir" up 1 -w $$ || fail "the first box does not come up"
"$box" -d "$dir" run timeout 60 srun -n1 test -e "$dir/nodes" ||
    fail "no job runs in the first box"
refused 0 "already up" -d "$dir" up 1
refused 1 "another box, of 1 nodes, is up" -d "$dir" up 2
# The box of all tests is beside it, with nodes of the same names.
timeout 60 srun -N4 true || fail "the box of the tests does not run a job"

# The job's process outlives a killed daemon, but not the box.
"$box" -d "$dir" run sbatch --parsable -o "$parent/out" --wrap \
    'echo $$; exec sleep 60' >/dev/null || fail "sbatch in the first box"
until_true 100 test -s "$parent/out" || fail "the job does not start"
read -r job <"$parent/out"
kill -KILL "$(pid_of slurmctld)"
"$box" -d "$dir" status >/dev/null 2>&1
"$box" -d "$dir" up 1 -w $$ || fail "a box whose slurmctld was killed stays down"
is_dead "$job" || fail "process $job of a job outlived its box"
"$box" -d "$dir" run timeout 60 srun -n1 true || fail "no job runs again"
"$box" -d "$dir" down || fail "the box does not end"
[ ! -e "$dir" ] || fail "$dir is still there"
until_true 10 none_left || fail "processes outlived their box: $(left)"

sleep 60 &
watched=$!
"$box" -d "$other" up 1 -w $watched || fail "no box that watches"
dir=$other
pids=("$(pid_of munged)" "$(pid_of slurmctld)" "$(pid_of box0)")
kill $watched
until_true 30 test ! -e "$other" || fail "a box outlives what it was made for"
for pid in "${pids[@]}"; do
    is_dead "$pid" || fail "daemon $pid outlived its box"
done
echo "all boxes have ended"
