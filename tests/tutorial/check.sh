#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a tutorial program and compares all it prints: check.sh NAME PROGRAM
# RANKS. Ranks print independently, so the order of lines counts only where the
# program promises one. HOSTS in the environment are two pretended nodes that
# share the ranks.
set -eu

name=$1
program=$2
ranks=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work/tmp # where save creates its new directory
mkdir "$TMPDIR"
args=()
status=0      # the expected exit code
is_sorted=yes # no: the order of lines counts, too

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# The expected lines of each program.
want_init() {
    is_sorted=no
    for ((rank = 0; rank < ranks; rank++)); do
        echo "rank $rank: mpi://JOB/$rank"
    done
}

want_hello() {
    for ((rank = 1; rank < ranks; rank++)); do
        echo "rank 0: hello from rank $rank"
        echo "rank $rank: said hello"
    done
    echo "rank 0: $((ranks - 1)) greetings"
}

want_context_data() {
    local balance=0
    for ((rank = 1; rank < ranks; rank++)); do
        echo "rank $rank: paid in $((100 * rank)), drew 10"
        balance=$((balance + 100 * rank - 10))
    done
    echo "rank 0: the desk served $((2 * (ranks - 1))) calls"
    echo "rank 0: the bank closes with $balance"
}

want_sum() {
    for ((rank = 1; rank < ranks; rank++)); do
        echo "rank $rank: $rank + 100 = $((rank + 100))"
    done
}

want_fortran_sum() {
    want_sum
}

want_fortran_save() {
    for ((rank = 1; rank < ranks; rank++)); do
        echo "rank $rank: saved 300000 numbers"
    done
    echo "rank 0: $((ranks - 1)) files"
}

want_fortran_halo() {
    awk -v ranks="$ranks" 'BEGIN {
        for (i = 1; i <= 8 * ranks; i++)
            for (j = 1; j <= 50; j++)
                sum += (7 * i + 3 * j) % 11
        printf "rank 0: %d ranks, the sum is %.3f\n", ranks, sum
    }'
}

want_fortran_group() {
    local limit=1000 own agree=0
    for ((rank = 0; rank < ranks; rank++)); do
        own=$((rank % 2 == 0 ? 1000 : 600 / rank))
        limit=$((own < limit ? own : limit))
        agree=$((agree + (own >= 800)))
    done
    echo "rank 0: 800 us: $agree of $ranks ranks agree"
    for ((rank = 0; rank < ranks; rank++)); do
        echo "rank $rank: a step takes $limit us"
    done
}

want_list() {
    local length
    echo "rank 0: a false length gives HG_OVERFLOW and no list"
    for ((rank = 1; rank < ranks; rank++)); do
        for length in 0 "$rank" 10000; do
            echo "rank $rank: $length numbers came back reversed," \
                "their sum is $((length * (length + 1) / 2))"
        done
    done
}

# want_saved FILE: each client has saved FILE.
want_saved() {
    for ((rank = 1; rank < ranks; rank++)); do
        echo "rank $rank: saved ${1##*/}.rank$rank, $(stat -Lc %s "$1")" \
            "bytes, the same checksum"
    done
    echo "rank 0: $((ranks - 1)) files"
}

want_save() {
    want_saved "$program"
}

want_save_to() {
    want_saved "$work/file"
}

want_save_nothing() {
    echo "rank 0: 0 files"
}

want_pipeline() {
    for ((rank = 1; rank < ranks; rank++)); do
        echo "rank 0: 80000 bytes of rank $rank in 27 pieces, up to 4 at once"
        echo "rank $rank: sent 16 rows of 5000 bytes, the same checksum"
    done
}

want_types() {
    local rows=$ranks cols=1 neighbours
    [ "$ranks" -lt 4 ] || cols=2 # like MPI_Dims_create()
    rows=$((ranks / cols))
    echo "rank 0: $rows x $cols blocks of 24 x 16 cells, 20 steps"
    for ((rank = 0; rank < ranks; rank++)); do
        neighbours=$((cols - 1))
        [ "$rank" -lt "$cols" ] || neighbours=$((neighbours + 1))
        [ "$rank" -ge $((ranks - cols)) ] || neighbours=$((neighbours + 1))
        echo "rank $rank: pulled $((20 * neighbours)) edges," \
            "the same result as alone"
    done
}

want_group() {
    local no=$((ranks / 2)) step=0
    for ((rank = 1; rank < ranks; rank += 2)); do
        step=$((600 / rank))
        echo "rank 0: rank $rank votes no, its limit is $step us"
    done
    echo "rank 0: 800 us: $((ranks - no)) yes, $no no"
    echo "rank 0: $step us: $no yes, 0 no"
    for ((rank = 0; rank < ranks; rank++)); do
        echo "rank $rank: a step takes $step us"
    done
}

want_quiesce() {
    for ((rank = 0; rank < ranks; rank++)); do
        echo "rank $rank: 500 vertices, the same distances as alone"
    done
}

want_compute() {
    for ((rank = 1; rank < ranks; rank++)); do
        echo "rank $rank: pi is about 3.1416"
    done
    echo "rank 0: computed until $((ranks - 1)) ranks had enough"
}

want_errors() {
    for ((rank = 1; rank < ranks; rank++)); do
        echo "rank $rank: 7 cakes for 3 guests: 2 each"
        echo "rank $rank: 7 cakes for 0 guests: Numerical argument out of domain"
        echo "rank $rank: \"unknown\": HG_NOENTRY"
        echo "rank $rank: \"later\": HG_CANCELED"
        echo "rank $rank: \"now\": HG_SUCCESS"
    done
    echo "rank 0: $((ranks - 1)) answers came too late"
}

want_margo_sum() {
    local count
    for ((rank = 1; rank < ranks; rank++)); do
        for count in 1 10 100000; do
            echo "rank $rank: the sum of 1 to $count is" \
                $((count * (count + 1) / 2))
        done
    done
}

want_thallium_sum() {
    local i line
    for ((rank = 1; rank < ranks; rank++)); do
        for line in "2 + 3 = 5" "the distance is 5" "10 apples"; do
            echo "rank $rank: $line"
        done
        for i in 1 2 3; do
            echo "rank $rank: answered $((11 * i))"
        done
    done
}

want_thallium_account() {
    for ((rank = 1; rank < ranks; rank++)); do
        echo "rank $rank: savings 150, points 7"
        echo "rank $rank: paid once"
    done
}

want_thallium_table() {
    for ((rank = 1; rank < ranks; rank++)); do
        # 4 rows of 1000 numbers, of which columns 200 to 499 are summed.
        echo "rank $rank: the sum is $((4 * 300 * 3699 / 2)), 0 numbers are" \
            "wrong"
    done
}

case $name in
save_to) # a large file, to a directory that does not exist yet
    head -c 3000001 /dev/urandom >"$work/file"
    args=("$work/file" "$work/saved")
    ;;
save_nothing) # a missing file: a message, exit code 1
    args=("$work/absent")
    status=1
    ;;
esac

"want_$name" >"$work/want.raw"
got_status=0
launch=("$(dirname "$0")/../processes/launch" -n "$ranks")
[ -z "${HOSTS:-}" ] ||
    launch+=(-hosts "$HOSTS" -ppn $((ranks / 2)))
"${launch[@]}" "$program" "${args[@]}" \
    >"$work/got.raw" 2>"$work/err" || got_status=$?
cat "$work/err" >&2
[ "$got_status" = "$status" ] || {
    cat "$work/got.raw"
    fail "exit code $got_status where $status is right"
}

# The job number in an address changes each time. For a job that ends with an
# error, mpiexec adds its own report between lines of "=".
sed -E -i 's|mpi://[0-9a-f]{16}/|mpi://JOB/|; /^=+$/,/^=+$/d; /^YOUR APPL/,$d' \
    "$work/got.raw"
for file in want got; do
    if [ $is_sorted = yes ]; then
        sort "$work/$file.raw" >"$work/$file"
    else
        cp "$work/$file.raw" "$work/$file"
    fi
done
diff -u "$work/want" "$work/got" || fail "the output is not the right one"

case $name in
save_to)
    for ((rank = 1; rank < ranks; rank++)); do
        cmp "$work/file" "$work/saved/file.rank$rank"
    done
    ;;
save_nothing)
    for ((rank = 1; rank < ranks; rank++)); do
        grep -q "^rank $rank: cannot read $work/absent: " "$work/err" ||
            fail "rank $rank does not say that it cannot read its file"
    done
    ;;
errors)
    # The library warns of each call of an unknown RPC, and of nothing else.
    [ "$(grep -cE '^amalgam .*: warning: .*; HG_NOENTRY$' "$work/err")" = \
        "$(grep -cE '^(amalgam[: ]|\[(warning|error|critical)\])' "$work/err")" ] ||
        fail "the library had other complaints"
    ;;
*)
    ! grep -E '^(amalgam[: ]|\[(warning|error|critical)\])' "$work/err" ||
        fail "the library had complaints"
    ;;
esac
[ -z "$(ls -A "$TMPDIR")" ] || fail "left behind: $(ls -A "$TMPDIR")"
