#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Do the headers declare the facts of the tables facts-*.txt of the three APIs,
# in C and in C++? facts.sh INCLUDE: of the installed headers there. First, does
# the check detect errors? Each of some wrong facts must be refused.
set -u
unset CDPATH

include=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
flags="-Wall -Wextra -Werror -Wno-deprecated-declarations -D_GNU_SOURCE"
flags="$flags -fsyntax-only -I$include -I$include/ult"

# compiles STANDARD TABLE: errors go to stdout.
compiles() {
    local compiler=${CC:-cc} language=c
    case $1 in
    c++*) compiler=${CXX:-c++} language=c++ ;;
    esac
    awk -f "$here/facts.awk" "$2" \
        >"$work/facts.$language" || return 1
    # shellcheck disable=SC2086
    "$compiler" "-std=$1" $flags -x $language "$work/facts.$language" 2>&1
}

# Every macro takes as many parameters as the table says.
arities_agree() {
    awk -v list=arity -f "$here/facts.awk" \
        "$1" >"$work/arity"
    awk -f "$here/facts.awk" "$1" \
        >"$work/facts.c"
    # shellcheck disable=SC2086
    "${CC:-cc}" -std=c11 ${flags/-fsyntax-only/} -E -dM "$work/facts.c" 2>/dev/null |
        awk 'NR == FNR { want[$1] = $2; next }
            match($2, /\(/) || sub(/\(.*/, "(", $2) {
                text = $0
                sub(/^#define [A-Za-z0-9_]+\(/, "", text)
                sub(/\).*/, "", text)
                name = $2
                sub(/\(.*/, "", name)
                has[name] = text == "" ? 0 : split(text, words, ",")
            }
            END {
                for (name in want)
                    if (!(name in has) || has[name] != want[name]) {
                        print name " takes " (name in has ? has[name] : "no") \
                            " parameters, not " want[name]
                        bad = 1
                    }
                exit bad
            }' "$work/arity" -
}

# refused FACT: a table with only this fact is refused, in both languages.
refused() {
    local ok=yes standard
    printf 'headers | mercury.h\n%s\n' "$1" >"$work/wrong.txt"
    for standard in c11 c++14; do
        if compiles $standard "$work/wrong.txt" >/dev/null; then
            ok=no
        fi
    done
    arities_agree "$work/wrong.txt" >/dev/null || ok=yes
    [ $ok = yes ] || {
        echo "this is not so, and was not refused: $1"
        bad=1
    }
}

# The same facts, corrected, must pass, or the reason would be another one.
printf 'headers | mercury.h\n%s\n' \
    'function | HG_Cancel | hg_return_t (hg_handle_t)' \
    'field | struct hg_info.id | hg_id_t' 'type | hg_id_t | uint64_t' \
    'enumerators | HG_SUCCESS HG_PERMISSION | 0' 'value | HG_TRUE | 1' \
    'macro | HG_PACKED | 1' >"$work/right.txt"
for standard in c11 c++14; do
    compiles $standard "$work/right.txt" || bad=1
done
arities_agree "$work/right.txt" || bad=1
refused 'function | HG_Cancel | hg_return_t (hg_handle_t, int)'
refused 'function | HG_Cancel | void (hg_handle_t)'
refused 'function | HG_No_such_call | ?'
refused 'field | struct hg_info.id | uint32_t'
refused 'field | struct hg_info.no_such_field | ?'
refused 'type | hg_id_t | uint32_t'
refused 'type | hg_no_such_t'
refused 'enumerators | HG_PERMISSION HG_SUCCESS | 0'
refused 'value | HG_TRUE | 2'
refused 'macro | HG_NO_SUCH_MACRO'
refused 'macro | HG_PACKED | 2'

checked=0
for table in "$here"/facts-*.txt; do
    header=$(sed -n 's/^headers | \([^ ]*\).*/\1/p;T;q' "$table")
    [ -n "$header" ] || continue
    [ -f "$include/$header" ] || [ -f "$include/ult/$header" ] || continue
    for standard in c11 c++14 c++17 c++20; do
        compiles $standard "$table" >"$work/out" || {
            bad=1
            echo "${table##*/} in $standard:"
            grep -E 'error|^facts' "$work/out"
        }
    done
    arities_agree "$table" || bad=1
    checked=$((checked + 1))
done
[ $checked -gt 0 ] || {
    echo "no table of facts is about the headers in $include"
    bad=1
}
exit $bad
