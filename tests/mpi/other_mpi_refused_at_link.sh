#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A program that was compiled with another MPI does not link with the library.
#
# other_mpi_refused_at_link.sh MPICC INCLUDE-DIR LIBRARY-DIR
set -eu

mpicc=$1 include=$2 library=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

echo '#include "amalgam.h"
int main(void) { return amalgam_init == 0; }' >"$dir/main.c"
link() {
    "$mpicc" "$@" -I"$include" "$dir/main.c" -o "$dir/main" -L"$library" \
        -lamalgam_mpi -lamalgam -Wl,-rpath-link,"$library" >"$dir/out" 2>&1
}
fail() {
    echo "$*"
    cat "$dir/out"
    exit 1
}

echo '#include <mpi.h>
OPEN_MPI' | "$mpicc" -E -xc - | tail -n 1 | grep -q OPEN_MPI ||
    exit 77 # only MPICH's mpi.h leaves the name to the test
link || fail "does not link with its own MPI"
for other in OPEN_MPI:open_mpi MPI_ABI_VERSION:mpi_abi; do
    ! link "-D${other%:*}=1" || fail "links with another MPI ($other)"
    grep -q "undefined reference to .amalgam_for_${other#*:}" "$dir/out" ||
        fail "says something else"
done
