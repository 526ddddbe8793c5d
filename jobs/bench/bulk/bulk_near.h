/* SPDX-License-Identifier: BSD-3-Clause */
/* What moves bulk data within a node without a library: the kernel, memcpy. */
#ifndef BENCH_BULK_NEAR_H
#define BENCH_BULK_NEAR_H

#include "jobs/bench/bulk/bulk_data.h"

/* One system call for each. duel->more is a struct bulk. */
#define BULK_CROSS_TEXT                                                        \
    "bare process_vm_readv (pull) or process_vm_writev (push) of that size "   \
    "between the same buffers of the same processes"
double bulk_cross(struct pair *pair, struct duel *duel, double *ret_samples);

/* Both ranks: what bulk_cross() needs. Without bulk->far_pid, and with a word
 * why, when one process may not reach into the other. */
void bulk_cross_init(struct pair *pair, struct bulk *bulk);

/* Where bulk->like is shared. */
#define BULK_COPY_TEXT                                                         \
    "memcpy of that size between the same private buffer and memory that "     \
    "both ranks have mapped"
double bulk_copy(struct pair *pair, struct duel *duel, double *ret_samples);

#endif
