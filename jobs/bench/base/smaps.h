/* SPDX-License-Identifier: BSD-3-Clause */
/* How much memory this process has, as the kernel counts it. */
#ifndef BENCH_SMAPS_H
#define BENCH_SMAPS_H

#include <stdbool.h>
#include <stddef.h>

/* In KiB. */
struct smaps {
    double rss;            /* pages that are there */
    double pss;            /* the same, shared ones divided by their users */
    double anonymous;      /* of the first, those that are this process's own */
    double shared_len;     /* of all shared writable mappings */
    double shared_touched; /* pages of these that exist, whoever touched them */
};

/* False when the kernel does not tell. */
bool smaps_read(struct smaps *ret_smaps);

/* Forgets the most pages that were there at once. False when the kernel does
 * not let one. */
bool smaps_peak_reset(void);
/* How many that were since then, in KiB; 0: the kernel does not tell. */
double smaps_peak(void);

#endif
