#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# amalgam_info tells the same as text, as JSON and as a picture, whatever it is
# run over. A transport that this build does not offer skips the test.
#
# info.sh XML_GOOD JSON_AGREES RANKS COMMAND...
#
# RANKS are on the node of rank 0. JSON_AGREES is none in a build without json-c.
# PATTERN in the environment has to be found in the text.
set -eu

xml_good=$1 json_agrees=$2 ranks=$3
shift 3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
    echo "info.sh: $*" >&2
    cat "$dir/text" "$dir/err" >&2
    exit 1
}

"$@" --svg "$dir/node.svg" </dev/null >"$dir/text" 2>"$dir/err" || {
    code=$?
    if grep -q "this build offers: " "$dir/err"; then
        exit 77
    fi
    fail "ended with $code"
}
[ "$(cd "$dir" && echo ./*)" = "./err ./node.svg ./text" ] || fail "left more"
"$xml_good" "$dir/node.svg" || fail "no XML"
grep -qE "${PATTERN:-^A class over }" "$dir/text" ||
    fail "'$PATTERN' is not there"
for ((rank = 0; rank < ranks; rank++)); do
    grep -q ">rank $rank: bound to " "$dir/node.svg" ||
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
