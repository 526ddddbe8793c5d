/* SPDX-License-Identifier: BSD-3-Clause */
/* The timers of an instance; the loop fires them. */
#ifndef AMG_MARGO_TIMERS_H
#define AMG_MARGO_TIMERS_H

#include <stdint.h>

#include "margo.h"

/* Part "calls" owns and completes this struct. */
struct amg_margo_timers {
    int unused;
};

void amg_margo_timers_init(margo_instance_id mid);
void amg_margo_timers_fini(margo_instance_id mid);

/* When the first one is due, of amg_clock_ns(); UINT64_MAX: none. No lock. */
uint64_t amg_margo_timers_next(margo_instance_id mid);

/* By the loop: runs, or hands to their pools, all that are due. */
void amg_margo_timers_fire(margo_instance_id mid, uint64_t now_ns);

#endif
