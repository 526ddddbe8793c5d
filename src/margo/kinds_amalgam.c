/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of pools in our own runtime, which has all of them. */
#include "margo/kinds.h"

ABT_pool_kind amg_margo_kind_abt(
    const struct amg_margo_log *log, enum amg_margo_pool_kind kind)
{
    (void)log;
    switch (kind) {
    case AMG_MARGO_POOL_FIFO:
        return ABT_POOL_FIFO;
    case AMG_MARGO_POOL_PRIO_WAIT:
        return AMALGAM_POOL_PRIO_WAIT;
    case AMG_MARGO_POOL_EARLIEST_FIRST:
        return AMALGAM_POOL_EARLIEST_FIRST;
    case AMG_MARGO_POOL_RANDWS:
        return ABT_POOL_RANDWS;
    default:
        return ABT_POOL_FIFO_WAIT;
    }
}
