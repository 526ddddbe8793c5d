/* SPDX-License-Identifier: BSD-3-Clause */
/* Set of hardware threads, by the system's numbers. */
#include "affinity/cpuset.h"

#include <stdio.h>
#include <string.h>

unsigned amg_cpuset_count(const struct amg_cpuset *set)
{
    unsigned count = 0;

    for (unsigned i = 0; i < AMG_CPUSET_WORDS; i++)
        count += (unsigned)__builtin_popcountll(set->words[i]);
    return count;
}

bool amg_cpuset_meets(
    const struct amg_cpuset *one, const struct amg_cpuset *other)
{
    uint64_t both = 0;

    for (unsigned i = 0; i < AMG_CPUSET_WORDS; i++)
        both |= one->words[i] & other->words[i];
    return both != 0;
}

bool amg_cpuset_covers(
    const struct amg_cpuset *set, const struct amg_cpuset *part)
{
    uint64_t missing = 0;

    for (unsigned i = 0; i < AMG_CPUSET_WORDS; i++)
        missing |= part->words[i] & ~set->words[i];
    return missing == 0;
}

void amg_cpuset_unite(struct amg_cpuset *set, const struct amg_cpuset *more)
{
    for (unsigned i = 0; i < AMG_CPUSET_WORDS; i++)
        set->words[i] |= more->words[i];
}

void amg_cpuset_cut(struct amg_cpuset *set, const struct amg_cpuset *limit)
{
    for (unsigned i = 0; i < AMG_CPUSET_WORDS; i++)
        set->words[i] &= limit->words[i];
}

const char *amg_cpuset_format(
    const struct amg_cpuset *set, char *ret_text, size_t cap)
{
    size_t len = 0;
    size_t whole = 0; /* length of the runs that leave room for "..." */

    if (cap > 0)
        ret_text[0] = '\0';
    for (unsigned cpu = 0; cpu < AMG_CPUS_MAX && len < cap; cpu++) {
        unsigned first = cpu;

        if (!amg_cpuset_has(set, cpu))
            continue;
        while (amg_cpuset_has(set, cpu + 1))
            cpu++;
        if (len + sizeof("...") <= cap)
            whole = len;
        len += (size_t)snprintf(ret_text + len, cap - len,
            first == cpu ? "%s%u" : "%s%u-%u", len > 0 ? "," : "", first, cpu);
    }
    if (len >= cap)
        snprintf(ret_text + whole, cap - whole, "...");
    return ret_text;
}
