#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# amalgam_info prints the same facts as text, as JSON and as a topology over each
# transport, and lstopo, if installed, draws the topology. A transport that this
# build does not offer skips the test.
#
# info.sh HAS_HWLOC JSON_AGREES RANKS COMMAND...
#
# RANKS are on the node of rank 0. JSON_AGREES is none in a build without json-c.
# PATTERN in the environment must match the text.
set -eu

has_hwloc=$1 json_agrees=$2 ranks=$3
shift 3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
    echo "info.sh: $*" >&2
    cat "$dir/text" "$dir/err" >&2
    exit 1
}

xml=()
[ "$has_hwloc" != ON ] || xml=(--xml "$dir/node.xml")
"$@" ${xml[@]+"${xml[@]}"} </dev/null >"$dir/text" 2>"$dir/err" || {
    code=$?
    if grep -q "this build offers: " "$dir/err"; then
        exit 77
    fi
    fail "ended with $code"
}
if [ "$has_hwloc" = ON ]; then
    [ "$(cd "$dir" && echo ./*)" = "./err ./node.xml ./text" ] ||
        fail "left more"
    if command -v lstopo-no-graphics >/dev/null; then
        lstopo-no-graphics -i "$dir/node.xml" --of svg -f "$dir/node.svg" ||
            fail "lstopo draws nothing"
        tail -n 1 "$dir/node.svg" | grep -q '^</svg>$' || fail "half a picture"
    fi
fi
grep -qE "${PATTERN:-^A class over }" "$dir/text" ||
    fail "'$PATTERN' is not there"
locked=$(ulimit -l)
[ "$locked" = unlimited ] || locked=$((locked * 1024))
grep -qE "^      locked bytes  *$locked  *[0-9]+  *(none|all exposed)$" \
    "$dir/text" || fail "the limit is not $locked bytes of locked memory"
grep -qE "^      descriptors  *$(ulimit -n)  *[1-9][0-9]*  *[1-9][0-9]*$" "$dir/text" ||
    fail "the limit is not $(ulimit -n) descriptors"
for ((rank = 0; rank < ranks; rank++)); do
    [ "$has_hwloc" != ON ] ||
        grep -q "value=\"rank $rank  bound " "$dir/node.xml" ||
        fail "rank $rank is not in the topology"
    [ ! -e "$dir/node.svg" ] || grep -q ">rank $rank  bound " "$dir/node.svg" ||
        fail "rank $rank is not in the picture"
    grep -q "^    rank $rank  *bound " "$dir/text" ||
        fail "rank $rank is not in the text"
done
if grep -q "rank $ranks  *bound " "$dir/text"; then
    fail "there are more ranks than $ranks"
fi
if [ "$json_agrees" != none ]; then
    "$@" --json </dev/null >"$dir/json" 2>"$dir/err" ||
        fail "--json ended with $?"
    "$json_agrees" "$dir/json" "$dir/text" "$ranks" || fail "the JSON"
fi
