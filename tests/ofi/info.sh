#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# amalgam_info lists providers of libfabric in full, and what it lists can be
# opened by that init string, at an address of that kind.
#
# info.sh AMALGAM_INFO VERSION-OF-LIBFABRIC
set -eu

info=$1
version=$2
all=$("$info" -t self)

fail() {
    printf '%s\n' "info.sh: $1" "$all" >&2
    exit 1
}

# field INIT NAME: its value for this provider.
field() {
    printf '%s\n' "$all" | awk -v init="  $1" -v name="$2" '
        /^  [^ ]/ { is_it = $0 == init }
        is_it && index($0, "      " name " ") == 1 {
            sub("^      " name " +", ""); print }'
}

grep -q "^Libfabric [0-9.]* (built with ${version%.*}), " <<<"$all" ||
    fail "does not say which libfabric this is"
inits=$(printf '%s\n' "$all" | sed -n '/^Libfabric /,$s/^  \(ofi+.*\)/\1/p')
grep -q '^ofi+tcp' <<<"$inits" || fail "tcp is not listed"
[[ -z $(sort <<<"$inits" | uniq -d) ]] || fail "one is listed twice"

for init in $inits; do
    [[ $(field "$init" address) == "$init://"* ]] || fail "$init: its address"
    [[ -n $(field "$init" networks) ]] || fail "$init: no network"
    [[ $(field "$init" messages) =~ ^[1-9][0-9]*\ bytes,\ [1-9] ]] ||
        fail "$init: its messages"
    [[ $(field "$init" transfers) =~ ^[1-9][0-9]*\ bytes\ in\ [1-9].*keys\ of\ [48] ]] ||
        fail "$init: its transfers"
    [[ -n $(field "$init" 'exposed memory') ]] || fail "$init: its memory"
    one=$("$info" -t "$init" | sed '/^Libfabric /,$d')
    grep -qF "own address        $init://" <<<"$one" ||
        fail "$init is listed, and cannot be opened: $one"
    case $(field "$init" waiting) in
    "blocks on a descriptor") wanted="blocks on a descriptor" ;;
    "polls with pauses") wanted="polls, then sleeps" ;;
    *) fail "$init: how it waits" ;;
    esac
    grep -q "waiting  *$wanted" <<<"$one" || fail "$init: waits otherwise: $one"
done
