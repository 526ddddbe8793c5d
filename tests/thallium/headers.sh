#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each header of the C++ API compiles alone, in one standard, without a warning:
# headers.sh STANDARD FOLDER-OF-CEREAL [HEADER...]
set -u
cd "$(dirname "$0")/../../include" || exit 1

export standard=$1 cereal=$2
shift 2

compiles() {
    # A header of macros alone would leave nothing to compile.
    printf '#include <%s>\nextern int something;\n' "$1" |
        ${CXX:-c++} "-std=$standard" -Wall -Wextra -Wpedantic -Werror \
            -D_GNU_SOURCE -fsyntax-only -I. -Iult -idirafter "$cereal" \
            -x c++ - || {
        echo "$1 in $standard"
        return 1
    }
}
export -f compiles

headers=$*
[ $# -gt 0 ] || headers=$(find thallium.hpp thallium -name '*.hpp' | sort)
[ -n "$headers" ] || {
    echo "there are no headers"
    exit 1
}
echo "$headers" | xargs -P "$(nproc)" -L 1 bash -c 'compiles "$0"'
