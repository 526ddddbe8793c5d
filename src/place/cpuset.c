/* SPDX-License-Identifier: BSD-3-Clause */
/* A set of hardware threads, by the numbers that the system gives them. */
#include "place/cpuset.h"

unsigned amg_cpuset_count(const struct amg_cpuset *set)
{
    unsigned count = 0;

    for (unsigned i = 0; i < AMG_CPUSET_WORDS; i++)
        count += (unsigned)__builtin_popcountll(set->words[i]);
    return count;
}
