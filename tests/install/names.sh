#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Is every public name of Mercury's API and of ours in the table of
# include/COMPATIBILITY.md, and is the table true? Margo's and Argobots' headers declare
# what those do, and only have to declare all that the libraries give out.
# names.sh PREFIX: the headers and libraries installed there are asked.
# PKG_CONFIG_PATH leads to its .pc files.
set -eu
unset CDPATH

prefix=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=$(cd "$prefix"/include && pwd)
module=mercury
has_mpi=no
if [ -f "$folder/amalgam.h" ]; then
    module=amalgam
    has_mpi=yes
fi
# -isystem, as package builds use it, would hide the folder's own path.
read -ra cflags <<<"-I$folder -I$folder/ult $(pkg-config --cflags "$module")"
read -ra libs <<<"$(pkg-config --libs "$module")"
libdir=$(pkg-config --variable=libdir "$module")

# shellcheck source=tests/install/declared.sh
. "$here/declared.sh"

includes -vE "margo|thallium" >"$work/all.c"
declared "$work/all.c" "$folder" >"$work/declared"

bad=0
cp "$work/all.c" "$work/uses.c"
awk -v list=names -f "$here/facts.awk" "$here/facts-mercury.txt" >"$work/facts"
awk -v table="$here/../../include/COMPATIBILITY.md" -v has_mpi=$has_mpi \
    -v facts="$work/facts" -v uses="$work/uses.part" -f "$here/names.awk" "$work/declared" || bad=1
cat "$work/uses.part" >>"$work/uses.c"
if [ $bad = 0 ]; then
    "${CC:-cc}" -std=c11 "${cflags[@]}" "$work/uses.c" -o "$work/uses" \
        "${libs[@]}" "-Wl,-rpath,$libdir"
    "$work/uses"
fi

# The reverse: exported public names of the libraries must be declared. It would
# show names that declared.awk overlooks.
declared_by_all >>"$work/declared"
# Those of the Fortran module are declared by its interfaces.
sed -n 's/.*name="\(amalgam_f_[a-z_]*\)").*/f\t\1\t/p' \
    "$here/../../src/fortran/amalgam.F90" >>"$work/declared"
nm -D --defined-only "$libdir"/libamalgam*.so |
    awk '{ sub(/@.*/, "", $3) }
        $3 ~ /^(HG|hg|NA|na|amalgam|margo|ABT)_/ { print $3 }' |
    sort -u >"$work/given"
[ "$(wc -l <"$work/given")" -gt 100 ] || {
    echo "nm finds no public names in $libdir"
    bad=1
}
while read -r name; do
    grep -q "	$name	" "$work/declared" || {
        echo "the libraries give out $name, which no header declares"
        bad=1
    }
done <"$work/given"
exit $bad
