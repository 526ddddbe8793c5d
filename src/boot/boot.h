/* SPDX-License-Identifier: BSD-3-Clause */
/* Bootstrap of a job: its ranks, and how they exchange bytes at the start. */
#ifndef AMG_BOOT_BOOT_H
#define AMG_BOOT_BOOT_H

#include <stddef.h>
#include <stdint.h>

#include "mercury_core_types.h"

struct amg_boot;

/* Every slot is collective over the ranks: all call it, in the same order, with
 * the same `len` and `root`. Each may block until all have called it. Threads:
 * one at a time. Errors: HG_NA_ERROR when the communication failed; the log has
 * the cause, and the output is undefined then. */
struct amg_boot_ops {
    /* Sends `len` bytes of each rank to all: `ret_all` has room for size * len,
     * and rank r's are at r * len. */
    hg_return_t (*allgather)(
        struct amg_boot *boot, const void *mine, size_t len, void *ret_all);
    /* Sends `len` bytes of `root` to the `bytes` of all others. */
    hg_return_t (*bcast)(
        struct amg_boot *boot, void *bytes, size_t len, uint32_t root);
    hg_return_t (*barrier)(struct amg_boot *boot);
};

/* Embedded at the front of an implementation's struct. Constant once made,
 * owned by its creator. */
struct amg_boot {
    const struct amg_boot_ops *ops;
    uint32_t rank;      /* below size */
    uint32_t size;      /* ranks of the job, >= 1 */
    uint32_t node_rank; /* below node_size */
    uint32_t node_size; /* ranks of the job on this node, >= 1 */
};

#endif
