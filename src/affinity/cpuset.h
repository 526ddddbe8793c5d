/* SPDX-License-Identifier: BSD-3-Clause */
/* Set of hardware threads, by the system's numbers. */
#ifndef AMG_AFFINITY_CPUSET_H
#define AMG_AFFINITY_CPUSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AMG_CPUS_MAX = 1024, AMG_CPUSET_WORDS = AMG_CPUS_MAX / 64 };

/* Plain bytes, as the ranks of a node exchange sets. All zero is empty. */
struct amg_cpuset {
    uint64_t words[AMG_CPUSET_WORDS];
};

static inline bool amg_cpuset_has(const struct amg_cpuset *set, unsigned cpu)
{
    return cpu < AMG_CPUS_MAX && (set->words[cpu / 64] >> cpu % 64 & 1) != 0;
}

/* `cpu` is below AMG_CPUS_MAX. */
static inline void amg_cpuset_add(struct amg_cpuset *set, unsigned cpu)
{
    set->words[cpu / 64] |= 1ull << cpu % 64;
}

unsigned amg_cpuset_count(const struct amg_cpuset *set);
bool amg_cpuset_meets(
    const struct amg_cpuset *one, const struct amg_cpuset *other);
/* Is all of `part` in `set`? */
bool amg_cpuset_covers(
    const struct amg_cpuset *set, const struct amg_cpuset *part);
void amg_cpuset_unite(struct amg_cpuset *set, const struct amg_cpuset *more);
/* Removes the cpus that are not in `limit`. */
void amg_cpuset_cut(struct amg_cpuset *set, const struct amg_cpuset *limit);

/* Writes "0-3,8", with "..." for runs beyond `cap`. Returns `ret_text`. */
const char *amg_cpuset_format(
    const struct amg_cpuset *set, char *ret_text, size_t cap);

#endif
