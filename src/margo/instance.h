/* SPDX-License-Identifier: BSD-3-Clause */
/* An instance: what margo_instance_id points to. */
#ifndef AMG_MARGO_INSTANCE_H
#define AMG_MARGO_INSTANCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "margo.h"
#include "margo/config.h"
#include "margo/handle.h"
#include "margo/log.h"
#include "margo/loop.h"
#include "margo/monitor.h"
#include "margo/pools.h"
#include "margo/timers.h"

/* OPENING -> RUNNING -> ENDING (prefinalize callbacks, calls in flight end)
 * -> STOPPED (no network any more, finalize callbacks) -> ENDED */
enum amg_margo_state {
    AMG_MARGO_OPENING,
    AMG_MARGO_RUNNING,
    AMG_MARGO_ENDING,
    AMG_MARGO_STOPPED,
    AMG_MARGO_ENDED
};

/* Owned by its references; each member with a header of its own is that
 * header's, and touched by its functions alone. */
struct margo_instance {
    hg_class_t *hg_class;
    hg_context_t *hg_context;
    bool is_listening;
    bool owns_class;    /* opened here, and closed here */
    bool is_collective; /* over a communicator: all ranks end together */
    struct amg_margo_log log;
    struct amg_margo_config config; /* what was asked, with the defaults */
    struct amg_margo_pools pools;
    struct amg_margo_loop loop;
    struct amg_margo_timers timers;
    struct amg_margo_handles handles; /* kept for later calls */
    struct amg_margo_monitoring monitoring;
    _Atomic(enum amg_margo_state) state;
    /* Calls of this process that are not over, and handlers that run; what
     * ENDING waits for. */
    atomic_uint operations;
    atomic_uint handlers;
};

/* Opens the class of an instance in the place of HG_Init_opt2(). */
struct amg_margo_opener {
    /* What was asked for, before anything is made of it: may take back what
     * cannot be had, with a warning. */
    void (*adapt)(void *arg, struct amg_margo_config *config);
    /* NULL: it cannot, and has said why. */
    hg_class_t *(*open)(void *arg, const char *address, bool is_listening,
        const struct hg_init_info *hg_init);
    void *arg;
};

/* margo_init_ext() with a class that is opened by src/comm over a communicator,
 * owned by the instance, and ended with all ranks (is_collective); and that
 * without `opener`. */
margo_instance_id amg_margo_instance_open(const struct amg_margo_opener *opener,
    const char *address, int mode, const struct margo_init_info *info);

/* Runs the caller in the progress loop, as callbacks do? */
static inline bool amg_margo_is_loop(margo_instance_id mid)
{
    ABT_thread self = ABT_THREAD_NULL;

    return ABT_self_get_thread(&self) == ABT_SUCCESS &&
           self != ABT_THREAD_NULL && self == mid->loop.thread;
}

/* An operation (forward, respond, bulk transfer ...) starts, and is over. */
static inline void amg_margo_operation_begin(margo_instance_id mid)
{
    atomic_fetch_add_explicit(&mid->operations, 1u, memory_order_relaxed);
}
void amg_margo_operation_end(margo_instance_id mid);

#endif
