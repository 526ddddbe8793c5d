#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the checkpoint job on a small tree, and checks its files and output.
#
#   checkpoint.sh CASE PROGRAM RANKS
#
# HOSTS in the environment are two pretended nodes that share the ranks.
set -u

case_name=$1
program=$2
ranks=$3
launch=("$(dirname "$0")/../processes/launch" -n "$ranks")
[ -z "${HOSTS:-}" ] ||
    launch+=(-hosts "$HOSTS" -ppn $((ranks / 2)))
mib=$((1024 * 1024))
dir=$(mktemp -d "${TMPDIR:-/tmp}/checkpoint-test.XXXXXX") || exit 1
# A job that still runs would do so for ever.
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
mkdir "$dir/tmp"
export TMPDIR=$dir/tmp
# LD_PRELOAD is a list, cut at spaces and colons, which the path may have.
[ -z "${PRELOAD:-}" ] || ln -s "$PRELOAD" "$dir/preload.so"

die() {
    echo "$case_name: $*" >&2
    sed 's/^/  | /' "$dir/log" >&2
    exit 1
}

# For a machine that cannot show the case.
skip() {
    echo "skipped: $*"
    exit 77
}

# run CODE ARGUMENT...: the job ends with that code. Its output is in the log.
run() {
    local wanted=$1 code=0
    shift
    "${launch[@]}" "$program" "$@" >"$dir/log" 2>&1 </dev/null ||
        code=$?
    [ "$code" -eq "$wanted" ] || die "exit code $code, $wanted was expected"
}

said() {
    grep -Eq -- "$1" "$dir/log" || die "did not say: $1"
}

# same FROM TO: the same files, with the same modes.
same() {
    diff -r "$1" "$2" >&2 || die "$1 and $2 differ"
    [ "$(modes "$1")" = "$(modes "$2")" ] || die "modes of $1 and $2 differ"
}

modes() {
    (cd "$1" && find . -type f -printf '%m %p\n' | sort)
}

# No file below the output directory is incomplete.
no_partials() {
    [ -z "$(find "$dir/out" -name '.*partial*')" ] || die "partial files left"
}

bytes() {
    head -c "$1" /dev/urandom
}

# A tree of names and files that caused errors, or might.
make_tree() {
    local i deep="$1/deep"
    mkdir -p "$1/many" "$1/empty" "$1/sub/also empty"
    : >"$1/none"
    bytes 1 >"$1/one"
    bytes 2048 >"$1/eager"
    bytes $((4 * mib)) >"$1/part"
    bytes $((5 * mib + 3)) >"$1/parts"
    bytes $((9 * mib)) >"$1/sub/more parts"
    for i in {1..300}; do
        echo "file $i" >"$1/many/$i"
    done
    for i in {1..40}; do
        deep=$deep/level-$i
    done
    mkdir -p "$deep"
    echo deep >"$deep/file"
    echo long >"$1/$(printf 'n%.0s' {1..255})"
    printf '#!/bin/sh\n' >"$1/script"
    chmod 755 "$1/script"
    chmod 600 "$1/one"
}

# A file of /sys whose status says 4096 bytes, and which has fewer.
sys_file() {
    local file
    for file in /sys/devices/system/cpu/online /sys/kernel/uevent_seqnum; do
        if [ -r $file ] && [ "$(stat -c %s $file)" -gt "$(wc -c <$file)" ]; then
            echo $file
            return
        fi
    done
}

case_tree() {
    make_tree "$dir/in"
    ln -s one "$dir/in/link"
    run 0 -o "$dir/out" "$dir/in" "$program"
    said 'note: .*/link: skipped, it is a symbolic link'
    said '^ +310 +[0-9]+ +[0-9.]+ +[0-9.]+ +[0-9]+ +[0-9.]+ +[0-9.]+$'
    said '^checkpoint: 310 files, [0-9.]+ MB, [0-9]+ client ranks? -> '
    said "All files were verified in $dir/out"
    rm "$dir/in/link"
    same "$dir/in" "$dir/out/in"
    cmp "$program" "$dir/out/checkpoint" || die "the second path differs"
    no_partials
    # Again, over the existing files.
    echo changed >"$dir/in/one"
    run 0 -d 1 -o "$dir/out" "$dir/in/"
    same "$dir/in" "$dir/out/in"
}

# A terminal that a launcher gives a rank is not that of the user, who writes to a
# file: each frame of the bar would be a line of it.
case_terminal() {
    command -v script >/dev/null || skip "no command script, which makes terminals"
    mkdir "$dir/in"
    bytes $mib >"$dir/in/file"
    export program dir AMALGAM_TERMINAL
    for AMALGAM_TERMINAL in 0 1; do
        # shellcheck disable=SC2016 # for the shell in the terminal
        script -qec '"$program" "$dir/in"' /dev/null </dev/null >"$dir/log" 2>&1 ||
            die "exit code $?"
        said 'All files were verified'
        [ "$(grep -c '\[[#.]*\]' "$dir/log")" -gt 0 ] &&
            shown=1 || shown=0
        [ $shown = "$AMALGAM_TERMINAL" ] || die "a bar: $shown"
    done
}

case_fresh_directory() {
    mkdir "$dir/in"
    bytes $mib >"$dir/in/file"
    run 0 "$dir/in"
    said "verified in $dir/tmp/checkpoint\.[^ ]+, which is removed now"
    [ -z "$(ls "$dir/tmp")" ] || die "the fresh directory is still there"
}

case_own_tree() {
    run 0
    said 'All files were verified'
}

case_wrong_path() {
    echo fine >"$dir/fine"
    run 1 -o "$dir/out" "$dir/nowhere" "$dir/fine"
    said "rank 0: $dir/nowhere: No such file"
    said 'Some files failed; verified files are in'
    cmp "$dir/fine" "$dir/out/fine" || die "the other file is not there"
    run 1 -o "$dir/out" "$dir/nowhere"
    said 'No such file'
}

# Named files are not silently left out.
case_named_not_copied() {
    mkdir "$dir/in"
    echo fine >"$dir/in/fine"
    mkfifo "$dir/in/fifo"
    run 0 -o "$dir/out" "$dir/in"
    said "note: .*/fifo: skipped, it is neither file nor directory"
    run 1 -o "$dir/out" "$dir/in/fine" "$dir/in/fifo"
    said "$dir/in/fifo: not copied, it is neither file nor directory"
    run 1 -o "$dir/in" "$dir/in"
    said "$dir/in: not copied, it is the output directory"
}

case_unwritable_output() {
    mkdir "$dir/in"
    echo one >"$dir/in/one"
    echo file >"$dir/file"
    run 1 -o "$dir/file/below" "$dir/in"
    said "rank 0: cannot write to the output directory $dir/file/below: Not a"
    # One file of two: a file exists in place of its directory.
    mkdir -p "$dir/in/sub" "$dir/out/in"
    echo two >"$dir/in/sub/two"
    echo "in the way" >"$dir/out/in/sub"
    run 1 -o "$dir/out" "$dir/in"
    said "rank [0-9]+: $dir/in/sub/two: server rank [0-9]+: cannot create: Not a"
    cmp "$dir/in/one" "$dir/out/in/one" || die "the other file is not there"
    no_partials
}

# No process may write more than 32 MiB into a file; MPI itself needs some.
case_output_full() {
    mkdir "$dir/in"
    truncate -s 41M "$dir/in/long"
    bytes 1000 >"$dir/in/short"
    trap '' XFSZ
    # Does a rank ignore it, too? Signal 25 is bit 24.
    "${launch[@]}" sh -c 'grep SigIgn /proc/self/status' | tail -n 1 |
        grep -q 'SigIgn:.*[13579bdf]......$' ||
        skip "the ranks of this launcher do not ignore what it ignores"
    ulimit -f $((32 * 1024))
    run 1 -o "$dir/out" "$dir/in"
    said "rank [0-9]+: $dir/in/long: server rank [0-9]+: cannot write: File too"
    cmp "$dir/in/short" "$dir/out/in/short" || die "the other file is not there"
    [ ! -e "$dir/out/in/long" ] || die "half a file under its final name"
    no_partials
}

case_file_shrinks() {
    local file
    file=$(sys_file)
    [ -n "$file" ] || skip "no file here says that it is longer than it is"
    echo fine >"$dir/fine"
    run 1 -o "$dir/out" "$dir/fine" "$file"
    said "rank [0-9]+: $file: shrank from [0-9]+ to [0-9]+ bytes"
    [ ! -e "$dir/out/${file##*/}" ] || die "it is there all the same"
    cmp "$dir/fine" "$dir/out/fine" || die "the other file is not there"
    no_partials
}

# With partial files at the server; PRELOAD is a library that shortens reads.
case_file_shrinks_late() {
    mkdir "$dir/in"
    bytes $((21 * mib)) >"$dir/in/long"
    echo fine >"$dir/in/fine"
    export LD_PRELOAD=$dir/preload.so SHRINK_AT=$((17 * mib))
    run 1 -o "$dir/out" "$dir/in"
    unset LD_PRELOAD
    said "rank [0-9]+: $dir/in/long: shrank from $((21 * mib)) to $((17 * mib))"
    [ "$(ls -A "$dir/out/in")" = fine ] || die "more than the other file"
}

case_file_vanishes() {
    mkdir "$dir/in"
    echo gone >"$dir/in/gone"
    echo fine >"$dir/in/fine"
    export LD_PRELOAD=$dir/preload.so VANISHED=$dir/in/gone
    run 1 -o "$dir/out" "$dir/in"
    unset LD_PRELOAD
    said "rank [0-9]+: $dir/in/gone: has vanished since it was listed"
    [ "$(ls -A "$dir/out/in")" = fine ] || die "more than the other file"
}

case_file_grows() {
    [ -r /proc/self/status ] || skip "no /proc here"
    run 1 -o "$dir/out" /proc/self/status
    said 'rank [0-9]+: /proc/self/status: grew beyond its 0 bytes'
    [ -z "$(ls -A "$dir/out")" ] || die "something is there all the same"
}

case_same_names() {
    mkdir "$dir/a" "$dir/b"
    echo a >"$dir/a/file"
    echo b >"$dir/b/file"
    run 1 -o "$dir/out" "$dir/a/file" "$dir/b/file"
    said "$dir/a/file and $dir/b/file would both be called \"file\""
    [ ! -e "$dir/out" ] || die "something was written"
    run 1 -o "$dir/a" "$dir/a/file"
    said 'would be written onto itself'
    [ "$(cat "$dir/a/file")" = a ] || die "the file was touched"
}

case_usage() {
    run 2 -d 0 .
    said '-d 0: must be a number from 1 to 64'
    run 2 -s "$ranks" .
    said "must be a number from 1 to $((ranks - 1))"
    run 2 -x
    run 0 -h
    said '^checkpoint \[-o DIR\]'
}

# start ARGUMENT...: the job, in the background, until a file is half written.
# One rank needs no launcher; hydra's drops its exit code after a signal.
start() {
    [ "$ranks" -gt 1 ] || launch=()
    truncate -s 100G "$dir/endless"
    "${launch[@]}" "$program" "$@" "$dir/endless" \
        >"$dir/log" 2>&1 </dev/null &
    job=$!
    until [ -n "$(find "$dir/out" "$dir/tmp" -name '.endless.partial.*' \
        2>/dev/null)" ]; do
        kill -0 $job 2>/dev/null || die "ended too early"
        read -r -t 0.02 <>/dev/zero -N 0 || true
    done
}

case_stopped() {
    local signal code
    for signal in INT TERM; do
        start -o "$dir/out"
        kill -$signal $job
        code=0
        wait $job || code=$?
        # The message of mpiexec at its own end varies.
        [ "$ranks" -gt 1 ] || [ $code -eq 130 ] ||
            die "exit code $code after SIG$signal"
        said 'rank [0-9]+: note: stopped by a signal'
        [ -z "$(ls -A "$dir/out")" ] || die "something is left in the output"
        start
        kill -$signal $job
        code=0
        wait $job || code=$?
        [ "$ranks" -gt 1 ] || [ $code -eq 130 ] ||
            die "exit code $code after SIG$signal, fresh directory"
        [ -z "$(ls -A "$dir/tmp")" ] || die "the fresh directory is left"
    done
}

# Process number of a rank, from what Hydra or Open MPI put into its environment.
rank_pid() {
    local pid
    for pid in $(pgrep -f "^$program"); do
        if tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null |
            grep -qx "TMPDIR=$TMPDIR" &&
            tr '\0' '\n' <"/proc/$pid/environ" | grep -Eqx "(PMI|OMPI_COMM_WORLD)_RANK=$1"; then
            echo "$pid"
            return
        fi
    done
}

# silence SECONDS RANK...: stops these ranks while the job runs, and waits for the
# end of the job, which must name them and no others.
silence() {
    local rank stopped seconds=$1 pids=()
    shift
    stopped=$(tr ' ' '|' <<<"$*")
    start -w "$seconds" -o "$dir/out"
    for rank; do
        pids+=("$(rank_pid "$rank")")
        [ -n "${pids[-1]}" ] || skip "this launcher does not tell ranks apart"
    done
    kill -STOP "${pids[@]}"
    wait $job && die "exit code 0"
    for rank; do
        said "no message from rank $rank on host [^ ]+ for [0-9]+ s; the job"
    done
    # Open MPI lets them go on before it ends them.
    grep 'no message from' "$dir/log" | grep -Ev "rank ($stopped): no message" |
        grep -Eqv " ($stopped) on host" && die "named more than $*"
    [ ! -e "$dir/out/endless" ] || die "half a file under its final name"
}

case_silent_server() {
    silence 1 0
    said 'rank [0-9]+: server rank 0 did not reply within 1 s'
    said 'rank [0-9]+: .*/endless: server rank 0: it did not reply in time'
}

# They have nothing to send: rank 1 does.
case_silent_clients() {
    silence 2 2 3
}

: >"$dir/log"
mkdir -p "$dir/empty"
"case_$case_name"
