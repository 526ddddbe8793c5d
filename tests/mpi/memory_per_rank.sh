#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# memory_per_rank with 8 ranks on as many pretended nodes.
#
# memory_per_rank.sh MPIEXEC PROGRAM
set -eu
if ! "$1" -launcher fork -hosts a,b -n 2 true 2>/dev/null; then
    echo "this mpiexec cannot pretend that there are several nodes"
    exit 77
fi
exec "$1" -launcher fork -hosts a,b,c,d,e,f,g,h -n 8 "$2"
