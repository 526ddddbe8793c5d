#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each header of the C++ API compiles alone, as C++14, 17 and 20, without a
# warning: headers.sh FOLDER-OF-CEREAL
set -u
cd "$(dirname "$0")/../../include" || exit 1

# One header in one standard.
compiles() {
    # A header of macros alone would leave nothing to compile.
    printf '#include <%s>\nextern int something;\n' "$1" |
        ${CXX:-c++} "-std=$2" -Wall -Wextra -Wpedantic -Werror \
            -D_GNU_SOURCE -fsyntax-only -I. -Iult -idirafter "$cereal" \
            -x c++ - || {
        echo "$1 in $2"
        return 1
    }
}
cereal=$1
export cereal
export -f compiles

headers=$(find . -name '*.hpp' -path './thallium*' | sed 's|^\./||' | sort)
[ -n "$headers" ] || {
    echo "there are no headers"
    exit 1
}
for standard in c++14 c++17 c++20; do
    for header in $headers; do
        echo "$header $standard"
    done
done | xargs -P "$(nproc)" -L 1 bash -c 'compiles "$0" "$1"'
