/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of pools in Argobots, which has those without priorities. */
#include "margo/kinds.h"

ABT_pool_kind amg_margo_kind_abt(
    const struct amg_margo_log *log, enum amg_margo_pool_kind kind)
{
    switch (kind) {
    case AMG_MARGO_POOL_FIFO:
        return ABT_POOL_FIFO;
    case AMG_MARGO_POOL_PRIO_WAIT:
    case AMG_MARGO_POOL_EARLIEST_FIRST:
        amg_margo_log_write(log, MARGO_LOG_WARNING,
            "configuration: pools of the kind %s are of Amalgam's own threads; "
            "this build uses Argobots, and takes fifo_wait",
            amg_margo_pool_kind_name(kind));
        return ABT_POOL_FIFO_WAIT;
    case AMG_MARGO_POOL_RANDWS:
        return ABT_POOL_RANDWS;
    default:
        return ABT_POOL_FIFO_WAIT;
    }
}
