#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Is there a manual page for each public function, and no other, and are the
# pages true? man.sh PREFIX BUILD: of the installed ones, built there.
# PKG_CONFIG_PATH leads to the .pc files of PREFIX.
set -eu
unset CDPATH

prefix=$1
build=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=$(cd "$prefix/include" && pwd)
man=$prefix/share/man
module=mercury
[ ! -f "$folder/amalgam.h" ] || module=amalgam
read -ra cflags <<<"-I$folder -I$folder/ult $(pkg-config --cflags "$module")"
# shellcheck source=tests/install/declared.sh
. "$here/declared.sh"
bad=0

complain() {
    echo "$*"
    bad=1
}

# agree WHAT WANTED FOUND: two lists of lines, which must be the same.
agree() {
    sort -u "$2" >"$work/wanted"
    sort -u "$3" >"$work/found"
    [ -s "$work/wanted" ] || {
        echo "nothing to compare: $1"
        return 1
    }
    diff "$work/wanted" "$work/found" >"$work/diff" && return 0
    sed -n "s|^< |$1: no page tells of |p; s|^> |$1: a page tells of |p" \
        "$work/diff"
    return 1
}

# The check detects missing and superfluous entries.
printf '%s\n' a b >"$work/two"
echo a >"$work/one"
agree self "$work/two" "$work/two" || complain "equal lists differ"
! agree self "$work/two" "$work/one" >/dev/null || complain "b is not missed"
! agree self "$work/one" "$work/two" >/dev/null || complain "b is not too much"

# Functions. The tables of facts name them, too, for the headers that are here;
# a macro that is another name of a function has no page.
check_functions() {
    local table
    declared_by_all >"$work/declared"
    sed -n 's/^macro\t\([^\t]*\)\t.*/\1/p' "$work/declared" >"$work/macros"
    sed -n 's/^function\t\([^\t]*\)\t.*/\1/p' "$work/declared" \
        >"$work/functions"
    for table in mercury:mercury.h margo:margo.h argobots:ult/abt.h; do
        [ ! -f "$folder/${table#*:}" ] ||
            awk -F '|' '$1 ~ /^function / { print $2 }' \
                "$here/facts-${table%:*}.txt" | tr -s ' ' '\n' |
            grep . | grep -vxF -f "$work/macros" >>"$work/functions"
    done
    find "$man/man3" -name '*.3' -printf '%f\n' | sed 's/\.3$//' >"$work/pages"
    agree functions "$work/functions" "$work/pages" || bad=1
    [ ! -s "$build/man/functions.log" ] ||
        complain "docstrings lack: $(cat "$build/man/functions.log")"
    # Each parameter has words beside its direction.
    awk '/^\.It Fa/ || /^\.El/ { if (is_bare) print FILENAME ": " bare
            is_bare = /^\.It Fa/; bare = $0; next }
        { is_bare = 0 }' "$man"/man3/*.3 >"$work/bare"
    [ ! -s "$work/bare" ] ||
        complain "parameters without a word: $(cat "$work/bare")"
    # A page has the sections of the docstring's tags.
    for section in NAME SYNOPSIS DESCRIPTION 'RETURN VALUES' ERRORS OWNERSHIP \
        THREADS 'UNDEFINED BEHAVIOUR' 'CONFORMING TO' 'SEE ALSO'; do
        grep -L "^\.Sh $section\$" "$man"/man3/*.3 >"$work/without" || true
        [ ! -s "$work/without" ] ||
            complain "no $section in $(tr '\n' ' ' <"$work/without")"
    done
}

# example_pages FILE: the pages that show the example.
example_pages() {
    sed -n 's/^ \* Pages: \(.*\) \*\/$/\1/p' "$1" | grep . ||
        basename "$1" .c
}

# runs NAME COMMAND...: a program made of examples ends with exit code 0.
runs() {
    local name=$1
    shift
    timeout 100 "$@" >"$work/$name.out" 2>&1 ||
        complain "the examples, by $name, returned $?: $(cat "$work/$name.out")"
}

# links NAME MODULE FILE...: builds it of the files.
links() {
    local name=$1 module=$2 flags
    shift 2
    read -ra flags <<<"$(pkg-config --cflags --libs "$module")"
    "${CC:-cc}" -Wall -Wextra -Werror -o "$work/$name" "$@" "${flags[@]}" \
        "-Wl,-rpath,$(pkg-config --variable=libdir "$module")" || {
        complain "the examples, as $name, do not link"
        return 1
    }
}

# The functions that programs begin with have examples, which compile and run.
check_examples() {
    local example page pages count=0 of=$here/../../man/examples
    local launch=$here/../processes/launch by=$here/examples
    for example in "$of"/*.c; do
        [ $module = amalgam ] || [[ $example != */amalgam_* ]] || continue
        [ -f "$folder/margo.h" ] || [[ $example != *margo_* ]] || continue
        read -ra pages <<<"$(example_pages "$example")"
        for page in "${pages[@]}"; do
            count=$((count + 1))
            page=$man/man3/$page.3
            grep -qx '\.Sh EXAMPLES' "$page" && grep -q '^}' "$page" ||
                complain "no example in $page"
        done
        "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -fsyntax-only \
            "${cflags[@]}" "$example" || complain "$example does not compile"
    done
    [ $count -ge 17 ] || complain "only $count pages have an example"

    ! links mercury mercury "$by/mercury.c" "$of"/HG_*.c ||
        runs mercury "$work/mercury" "$work/address"
    if [ -f "$folder/margo.h" ]; then
        ! links margo margo "$by/margo.c" "$of"/margo_*.c ||
            runs margo "$work/margo"
    fi
    [ $module = amalgam ] || return 0
    ! links job amalgam "$by/job.c" "$of"/HG_{Get_input,Register_name,Trigger}.c \
        "$of"/amalgam_{addr_rank,finalize,forward_group,quiesce,wait}.c || {
        runs job "$launch" -n 3 "$work/job"
        grep -qx 'all ranks allow steps of up to 98' "$work/job.out" ||
            complain "amalgam_forward_group: $(cat "$work/job.out")"
    }
    for example in "$of"/amalgam_{init,margo_init}.c; do
        [ -f "$folder/margo.h" ] || [[ $example != *margo_* ]] || continue
        ! links alone amalgam "$example" || runs alone "$launch" -n 2 "$work/alone"
    done
}

# Options, and other names in .It Fl or .It Cm lists of the page, are those of
# --help.
check_options() {
    local program=$1 page=$man/man1/$1.1
    "$prefix/bin/$program" --help >"$work/help" 2>/dev/null ||
        complain "$program --help returned $?"
    {
        echo --help
        sed -n 's/^  \(-\{0,2\}[a-z]\{1,\}\)\>.*/\1/p' "$work/help"
    } >"$work/wanted.$program"
    sed -n 's/^\.It Fl \(-\{0,1\}[a-z]*\).*/-\1/p; s/^\.It Cm \([a-z]*\)$/\1/p' \
        "$page" >"$work/found.$program"
    agree "$program" "$work/wanted.$program" "$work/found.$program" || bad=1
}

# The table of variables is that of the program.
check_environment() {
    "$prefix/bin/amalgam_info" >"$work/info"
    sed -n '/^  [A-Z][A-Z0-9_]* /{s/^  \([A-Z0-9_]*\) .*/\1/;N;s/\n */: /;p}' \
        "$work/info" >"$work/variables"
    sed -n '/^\.It Ev /{s/^\.It Ev //;N;s/\n\(\\&\)*/: /;p}' \
        "$man/man7/amalgam-environment.7" >"$work/described"
    agree variables "$work/variables" "$work/described" || bad=1
}

# Pages refer only to existing pages of ours, and few of others.
check_references() {
    sed -n 's/^\.It Xr/.Xr/; s/^\.Xr \([^ ]*\) \([137]\).*/\1.\2/p' "$man"/man?/* |
        grep -vxE '(mpiexec|lstopo)\.1' >"$work/referenced"
    sed -n 's/^\.It.* , Xr \([^ ]*\) \([137]\).*/\1.\2/p' "$man"/man?/* \
        >>"$work/referenced"
    find "$man" -name '*.[137]' -printf '%f\n' >"$work/pages"
    cat "$work/pages" "$work/referenced" >"$work/both"
    agree references "$work/both" "$work/pages" || bad=1
}

has_functions=no
if [ -d "$man/man3" ]; then
    has_functions=yes
    check_functions
    check_examples
fi
check_options amalgam_info
check_options amalgam_hang
[ ! -x "$prefix/bin/amalgam_bench" ] || check_options amalgam_bench
check_environment
if [ $has_functions$module = yesamalgam ] && [ -f "$folder/ult/abt.h" ] &&
    [ -f "$folder/margo.h" ]; then
    check_references
fi
[ $bad = 0 ] || exit 1
command -v mandoc >/dev/null || {
    echo "no mandoc here, so the form of the pages is not checked"
    exit 77
}
find "$man" -name '*.[137]' -print0 | xargs -0 mandoc -T lint -W warning \
    >"$work/lint" || complain "mandoc complains: $(cat "$work/lint")"
[ $has_functions = yes ] || {
    echo "no doxygen or xsltproc here, so functions have no pages"
    exit 77
}
exit $bad
