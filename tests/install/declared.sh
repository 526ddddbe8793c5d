# SPDX-License-Identifier: BSD-3-Clause
# Sourced by names.sh and man.sh: what installed headers declare. They set here,
# the folder of this file; work, a folder to write to; folder, that of the
# headers; and cflags, an array.
# shellcheck shell=bash

# includes FILTER OPTION: a line for each header that grep takes.
includes() {
    find "$folder" -maxdepth 1 -name '*.h' -printf '#include "%f"\n' |
        sort | grep "$@"
}

# declared FILE FOLDER: what those of its headers declare that lie there.
declared() {
    "${CC:-cc}" -std=c11 -E -dD "${cflags[@]}" "$1" >"$1.i"
    awk -v folder="$2/" -f "$here/declared.awk" "$1.i"
}

# What all headers declare.
declared_by_all() {
    includes . >"$work/every.c"
    [ ! -f "$folder/ult/abt.h" ] || echo '#include "ult/abt.h"' >>"$work/every.c"
    declared "$work/every.c" "$folder"
    declared "$work/every.c" "$folder/ult"
}
