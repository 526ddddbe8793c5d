/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files of /dev/shm this process has mapped. */
#ifndef BENCH_MAPPED_H
#define BENCH_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

enum { MAPPED_MAX = 640 }; /* one for each rank, and a few */

/* By their inodes, which all processes of a machine know alike. */
struct mapped {
    uint32_t count;
    uint64_t files[MAPPED_MAX];
};

/* All that are mapped now, but those of `without` (may be NULL). */
void mapped_read(const struct mapped *without, struct mapped *ret_mapped);
/* Is a file in both? */
bool mapped_meet(const struct mapped *one, const struct mapped *other);

#endif
