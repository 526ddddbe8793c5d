# SPDX-License-Identifier: BSD-3-Clause
# Sourced by names.sh and man.sh: declarations of installed headers. The caller
# sets here, the folder of this file; work, a folder to write to; folder, that
# of the headers; and cflags, an array.
# shellcheck shell=bash

# includes FILTER OPTION: an include for each header that grep selects.
includes() {
    find "$folder" -maxdepth 1 -name '*.h' -printf '#include "%f"\n' |
        sort | grep "$@"
}

# declared FILE FOLDER: declarations of its headers that are in FOLDER.
declared() {
    "${CC:-cc}" -std=c11 -E -dD "${cflags[@]}" "$1" >"$1.i"
    awk -v folder="$2/" -f "$here/declared.awk" "$1.i"
}

# Declarations of all headers.
declared_by_all() {
    includes . >"$work/every.c"
    [ ! -f "$folder/ult/abt.h" ] || echo '#include "ult/abt.h"' >>"$work/every.c"
    declared "$work/every.c" "$folder"
    declared "$work/every.c" "$folder/ult"
}
