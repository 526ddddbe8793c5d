# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the checks: lists the files to look at, from the repository's top.
# shellcheck shell=bash

# The C files of the project: those git knows, or all where there is no git.
c_files() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -- '*.c' '*.h'
    else
        find include src mpi_backend ofi_backend jobs tests slurm \
            -name '*.[ch]' | sort
    fi | while read -r file; do
        [ ! -f "$file" ] || echo "$file"
    done
}

# The files in C++: thallium.hpp and its tests.
cxx_files() {
    {
        git ls-files -- '*.hpp' '*.cc' 2>/dev/null ||
            find include jobs tests -name '*.hpp' -o -name '*.cc'
    } | while read -r file; do
        [ ! -f "$file" ] || echo "$file"
    done
}

# The scripts and lists of the project.
other_files() {
    {
        git ls-files 2>/dev/null || find . -type f
    } | grep -E '(CMakeLists.txt|\.cmake|\.sh|\.sbatch|\.py|/run)$' | sed 's|^\./||' |
        grep -v '^build' | while read -r file; do
        [ ! -f "$file" ] || echo "$file"
    done
}
