/* SPDX-License-Identifier: BSD-3-Clause */
/* An instance: what margo_instance_id points to. */
#ifndef AMG_MARGO_INSTANCE_H
#define AMG_MARGO_INSTANCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bias.h"
#include "base/list.h"
#include "base/pool.h"
#include "margo.h"
#include "margo/config.h"
#include "margo/ending.h"
#include "margo/handler.h"
#include "margo/identity.h"
#include "margo/handle.h"
#include "margo/log.h"
#include "margo/deputy.h"
#include "margo/loop.h"
#include "margo/monitor.h"
#include "margo/pools.h"
#include "margo/rpc.h"
#include "margo/timer.h"

/* Owned by its references; each member with a header of its own is that
 * header's, and touched by its functions alone. */
struct margo_instance {
    hg_class_t *hg_class;
    hg_context_t *hg_context;
    bool is_listening;
    bool owns_class;    /* opened here, and closed here */
    bool owns_context;  /* the same */
    bool is_collective; /* over a communicator: all ranks end together */
    struct amg_margo_log log;
    struct amg_margo_config config; /* what was asked, with the defaults */
    struct amg_margo_pools pools;
    struct amg_margo_loop loop;
    struct amg_margo_deputy deputy;
    struct amg_margo_timers timers;
    struct amg_margo_handles handles; /* kept for later calls */
    struct amg_pool requests;         /* of struct margo_request_struct */
    struct amg_margo_monitoring monitoring;
    struct amg_margo_rpcs rpcs;
    struct amg_margo_identities identities;
    struct amg_margo_dispatch dispatch;
    struct amg_margo_ending ending;
    struct amg_margo_life life;
    /* Only amg_margo_set_state() writes it. Its release store pairs with the
     * acquire load of who looks whether it has ended. */
    _Atomic(enum amg_margo_state) state;
    atomic_bool allows_shutdown; /* by other processes; a lone flag */
    /* Of the thread that makes and ends most calls: guards the counts, and the
     * states of requests, as long as it has an owner. From then on these are
     * changed by locked instructions, and without it. */
    struct amg_bias usual;
    /* Calls of this process that are not over, and handlers that run; what
     * ENDING waits for. Read by anyone. */
    atomic_uint operations;
    atomic_uint handlers;
};

/* How many calls one instance may have unanswered at another; 0: as
 * AMALGAM_CREDITS says. */
uint32_t amg_margo_credits(void);

/* Opens the class of an instance in the place of margo_init_ext(). */
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
/* Frees the memory of one that is closed and that nobody asks for any more. */
void amg_margo_instance_free(margo_instance_id mid);

/* Runs the caller in a progress loop, as callbacks do? */
static inline bool amg_margo_is_loop(margo_instance_id mid)
{
    ABT_thread self = ABT_THREAD_NULL;

    return ABT_self_get_thread(&self) == ABT_SUCCESS &&
           self != ABT_THREAD_NULL &&
           (self == mid->loop.thread || self == mid->deputy.thread);
}

/* Changes one of the counts. Sequentially consistent where it is shared, and
 * the last access to an instance that ends; where it is not, whoever wants to
 * be sure of both takes the lock: see amg_margo_counts_settle(). */
static inline void amg_margo_count(
    margo_instance_id mid, atomic_uint *count, unsigned change)
{
    if (AMG_LIKELY(amg_bias_take_owned(&mid->usual))) {
        atomic_store_explicit(count,
            atomic_load_explicit(count, memory_order_relaxed) + change,
            memory_order_release);
        amg_bias_give(&mid->usual);
    } else {
        atomic_fetch_add_explicit(count, change, memory_order_seq_cst);
    }
}

/* Who changed a count before is through with the instance, and who changes one
 * later sees what the caller did before. */
static inline void amg_margo_counts_settle(margo_instance_id mid)
{
    if (amg_bias_take_owned(&mid->usual))
        amg_bias_give(&mid->usual);
}

/* An operation (forward, respond, bulk transfer ...) starts, and is over. */
static inline void amg_margo_operation_begin(margo_instance_id mid)
{
    /* The gate looks at the count after it was shut: one of both sees the
     * other. */
    amg_margo_count(mid, &mid->operations, 1u);
    if (atomic_load_explicit(&mid->loop.is_gated, memory_order_seq_cst))
        amg_margo_loop_kick(mid);
}
static inline void amg_margo_operation_end(margo_instance_id mid)
{
    /* The last access to an instance that ends, whose loop looks often then. */
    amg_margo_count(mid, &mid->operations, -1u);
}

#endif
