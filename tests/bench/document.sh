#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A run leaves a readable document, however it ends, and reports whether the
# expectations hold.
#
# document.sh LAUNCH AMALGAM_BENCH DOCUMENT
set -eu

launch=$1 program=$2 document=$3
dir=$(mktemp -d)
bench=
trap '[ -z "$bench" ] || kill -KILL "$bench" 2>/dev/null || true; rm -rf "$dir"' EXIT

fail() {
    echo "$*"
    cat "$dir/out" "$dir/err" 2>/dev/null || true
    exit 1
}

# run CODE ARG...: must end with that exit code; on `ranks` ranks.
ranks=2
run() {
    local wanted=$1 code=0
    shift
    "$launch" -n "$ranks" "$program" "$@" >"$dir/out" 2>"$dir/err" || code=$?
    [ "$code" = "$wanted" ] || fail "$*: exit code $code instead of $wanted"
}

# says WORDS: a line of stderr has them.
says() {
    grep -q -- "$1" "$dir/err" || fail "does not say \"$1\""
}

# rows FILE complete|incomplete: prints their number.
rows() {
    "$document" "$1" "$2" || fail "$(cat "$1")"
}

small=(latency -t mpi+p2p --size 8 --smoke)

# Both forms, with as many rows; a file through a link, and one that is no file.
ln -s "$dir/real.json" "$dir/link.json"
run 0 "${small[@]}" --json "$dir/link.json" --csv "$dir/a.csv"
[ -L "$dir/link.json" ] || fail "the link was replaced"
[ "$(rows "$dir/real.json" complete)" = 1 ] || fail "not one row"
[ "$(tail -n 1 "$dir/a.csv")" = "# complete" ] || fail "$(cat "$dir/a.csv")"
grep -v '^#' "$dir/a.csv" | awk '
    { gsub(/"[^"]*"/, "text") }
    NR == 1 { columns = gsub(/,/, ",") }
    NR > 1 && gsub(/,/, ",") != columns { bad = 1 }
    END { exit NR != 2 || columns < 26 || bad }' || fail "$(cat "$dir/a.csv")"
run 0 "${small[@]}" --csv /dev/null
[ -c /dev/null ] || fail "/dev/null was replaced"
[ "$(find "$dir" -name '*.part' | wc -l)" = 0 ] || fail "parts are left"

# The document is ASCII, whatever bytes are on the command line.
run 0 "${small[@]}" --csv "$dir/$(printf '\303\244 \377"')" --json "$dir/u.json"
[ "$(rows "$dir/u.json" complete)" = 1 ] || fail "not one row"
grep -qF '/?? ?\" --json' "$dir/u.json" || fail "$(head -n 2 "$dir/u.json")"

# An expectation that holds; fails; is missing; is of another benchmark.
cat >"$dir/holds.json" <<'END'
{"rows": [{"bench": "latency", "op": "rpc", "size": 8, "ratio": 1e9},
    {"bench": "rate", "ratio": 0}, {"transport": "shm", "ratio": 0}]}
END
run 0 "${small[@]}" --expect "$dir/holds.json"
says "All 1 expectations that matched a row hold"
cat >"$dir/not.json" <<'END'
{"slack": 0.25, "rows": [{"op": "rpc", "ratio": 0},
    {"bench": "latency", "size": 9, "ratio": 1}]}
END
run 3 "${small[@]}" --expect "$dir/not.json" --json "$dir/b.json"
says "expected: latency rpc over mpi+p2p, 8 B.*at most 0.000 (slack 25 %), got"
says "expected: a row of bench latency, size 9: ratio 1.000, got no such row"
[ "$(rows "$dir/b.json" complete)" = 1 ] || fail "not one row"
printf '{"rows": [\n{"ratio": }]}' >"$dir/bad.json"
run 2 "${small[@]}" --expect "$dir/bad.json" --json "$dir/none.json"
says "bad.json:2: "
[ ! -e "$dir/none.json" ] || fail "measured in spite of what it cannot read"

# Each row three times.
run 0 "${small[@]}" --runs 3 --json "$dir/c.json"
grep -q '"runs": [123],' "$dir/c.json" || fail "$(cat "$dir/c.json")"

# A time limit, after one row at least; then a signal in the middle of a run.
long=(latency -t mpi+p2p --batches 300 --calls 50)
run 142 "${long[@]}" --time 1 --json "$dir/d.json" --csv "$dir/d.csv"
says "incomplete (time limit)"
[ "$(rows "$dir/d.json" incomplete)" -ge 1 ] || fail "no row"
grep -q '^# incomplete: time limit$' "$dir/d.csv" || fail "$(cat "$dir/d.csv")"
# Rows that a benchmark computes from several others are left out without these.
ranks=4
run 142 incast -t mpi+p2p --time 1 --batches 15 --json "$dir/f.json"
[ $(($(rows "$dir/f.json" incomplete) % 2)) = 0 ] || fail "$(cat "$dir/f.json")"
ranks=2
"$launch" -n 2 "$program" "${long[@]}" --json "$dir/e.json" >"$dir/out" 2>"$dir/err" &
bench=$!
until grep -q '^{"bench"' "$dir/e.json" 2>/dev/null; do
    kill -0 "$bench" || fail "ended by itself"
done
# Signals each rank itself: mpiexec may report success when it is told to end.
pkill -TERM -f "^$program .*--json $dir/e.json" || fail "no rank to be ended"
code=0
wait "$bench" || code=$?
bench=
[ "$code" != 0 ] || fail "exit code 0 in spite of the signal"
[ "$(rows "$dir/e.json" incomplete)" -ge 1 ] || fail "no row"
