#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The job heat: heat.sh PROGRAM RANKS. Its ranks compute what one rank alone
# computes, and its picture has a path for each of the 16 colours.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $*" >&2
    cat "$work/out" >&2
    exit 1
}

timeout 100 "$(dirname "$0")/../processes/launch" -n "$2" "$1" "$work/heat.svg" \
    >"$work/out" || fail "exit code $?"
[ "$(grep -c '^rank 0: checkpoint' "$work/out")" -eq 16 ] ||
    fail "not 16 checkpoints"
grep -qx "rank 0: $((96 * 48 * ($2 - 1))) temperatures are those of one rank alone" \
    "$work/out" || fail "nothing was compared"
python3 -c '
import sys, xml.dom.minidom
picture = xml.dom.minidom.parse(sys.argv[1])
sys.exit(len(picture.getElementsByTagName("path")) != 16)' "$work/heat.svg" ||
    fail "the picture is not the right one"
