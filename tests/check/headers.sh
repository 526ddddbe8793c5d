#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each public header compiles alone, as strict C11, as C++14, and without a
# warning as C99.
set -u
cd "$(dirname "$0")/../../include" || exit 1

bad=0
mpi=$(pkg-config --cflags mpich 2>/dev/null) || mpi=
for header in *.h ult/*.h; do
    if [ -z "$mpi" ] && grep -q '<mpi.h>' "$header"; then
        echo "$header not checked: no mpich.pc here"
        continue
    fi
    # A header of macros alone would leave nothing to compile.
    text=$(printf '#include "%s"\nextern int something;' "$header")
    # shellcheck disable=SC2086
    echo "$text" | ${CC:-gcc} -std=c11 -pedantic -Wall -Wextra \
        -Werror -fsyntax-only -I. -Iult $mpi -x c - || bad=1
    # The type hg_time_t is a struct timespec, which C99 alone does not have.
    posix=
    [ "$header" != mercury_time.h ] || posix=-D_POSIX_C_SOURCE=199309L
    # shellcheck disable=SC2086
    echo "$text" | ${CC:-gcc} -std=c99 $posix -Wall -Wextra \
        -Werror -fsyntax-only -I. -Iult $mpi -x c - || bad=1
    # shellcheck disable=SC2086
    echo "$text" | ${CXX:-g++} -std=c++14 -Wall -Wextra \
        -Werror -fsyntax-only -I. -Iult $mpi -x c++ - || bad=1
done
exit $bad
