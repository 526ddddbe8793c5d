/* SPDX-License-Identifier: BSD-3-Clause */
/* Instance of Margo, to which margo_instance_id points: the fields that the
 * parts of an instance share. Each part also has a struct behind a pointer;
 * only the files of the part access its struct. */
#ifndef AMG_MARGO_INSTANCE_H
#define AMG_MARGO_INSTANCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/bias.h"
#include "base/list.h"
#include "base/pool.h"
#include "core/context.h"
#include "margo-monitoring.h"
#include "margo.h"

struct amg_margo_config;
struct amg_margo_finalize;
struct amg_margo_handles;
struct amg_margo_log;
struct amg_margo_loop;
struct amg_margo_pools;
struct amg_margo_rpcs;
struct amg_margo_services;
struct amg_margo_timers;

/* OPENING -> RUNNING -> FINALIZING -> STOPPED -> CLOSED; a failed open goes
 * from OPENING to CLOSED. In a child of fork() all states become INHERITED. */
enum amg_margo_state {
    AMG_MARGO_OPENING,    /* no other thread knows the instance yet */
    AMG_MARGO_RUNNING,    /* calls are made and served */
    AMG_MARGO_FINALIZING, /* prefinalize callbacks run; calls, handlers end */
    AMG_MARGO_STOPPED, /* the loop has ended; finalize callbacks run; class and
                        * pools stay open while the instance has references */
    AMG_MARGO_CLOSED,  /* no references; only memory is left */
    AMG_MARGO_INHERITED, /* opened by the parent of this process: its threads do
                          * not run here, so nothing is left to end */
    AMG_MARGO_STATE_COUNT
};

/* References of the program keep class, context and pools open; references and
 * public calls in progress keep the memory allocated. Guarded by the lock of
 * instances.c. */
struct amg_margo_refs {
    struct amg_link link; /* among all instances */
    unsigned count;       /* references, with that of the finalization */
    unsigned callers;     /* public calls in progress */
    bool has_begun;       /* finalization has begun */
    bool is_returned;     /* finalization has dropped its reference */
    bool is_closing;      /* no references; none can be taken */
};

/* Settings of the loops, and the state of the blocking waits of the loops.
 * Other threads end these waits. */
struct amg_margo_wakeup {
    /* Settings, and requests to the loops; independent values, relaxed. */
    atomic_uint timeout_ub_ms;
    atomic_bool is_when_needed; /* the loop blocks until progress is needed */
    atomic_bool is_moving;      /* the loop yields once, to change its pool */
    /* Number of loops that block until progress is needed, or back off (see
     * rounds.c). For the memory order see amg_margo_operation_begin(). */
    atomic_uint gated;
    /* Guards `wakes`; the condition signals changes of `wakes`. */
    ABT_mutex_memory mutex;
    ABT_cond_memory cond;
    unsigned wakes;
    /* Due time of the timer that is due first. Stored under the lock of the
     * timers, read by the loop without a lock; a thread that stores an earlier
     * time wakes the loop. */
    _Atomic(uint64_t) next_timer_ns;
};

/* The user-level threads that make progress. */
enum { AMG_MARGO_LOOP, AMG_MARGO_SECOND, AMG_MARGO_LOOP_COUNT };

/* Written while the instance opens and closes, when no event happens. */
struct amg_margo_monitoring {
    const struct margo_monitor *monitor; /* `own`, or NULL */
    struct margo_monitor own;
    ABT_key current_rpc; /* the RPC that a thread serves */
};

/* The quiescence that margo_quiesce() waits for, and goes on with after a
 * time-out. */
struct amg_margo_quiet {
    bool has_begun;
    hg_return_t ret;          /* valid when `over` is set */
    ABT_eventual_memory over; /* set by the progress loop */
};

/* Freed after its last reference; see `refs`. */
struct margo_instance {
    hg_class_t *hg_class;
    hg_context_t *hg_context;
    bool is_listening;
    bool owns_class;       /* opened here, so closed here */
    bool owns_context;     /* created here, so destroyed here */
    bool is_collective;    /* all ranks of the job finalize together */
    bool is_abandoned;     /* calls or handlers did not end in time: the memory
                            * is never freed */
    unsigned max_handlers; /* further requests wait; 0: no limit; constant */
    /* Written by amg_margo_instance_set_state(), and in a child of fork(). The
     * release store pairs with the acquire load of amg_margo_state_of(). */
    _Atomic(enum amg_margo_state) state;
    /* Prefinalize callbacks have run: the loop ends when calls and handlers
     * have ended. The release store pairs with the acquire load of the loop. */
    atomic_bool is_draining;
    /* Lock with a bias to the thread that starts and ends most calls. As long
     * as the lock has an owner (base/bias.h), the lock guards the counts and
     * the states of requests. Once the lock is shared, threads change counts
     * and states by atomic instructions, without the lock. */
    struct amg_bias biased_lock;
    /* Unfinished calls, answers and transfers of the instance, and its running
     * handlers; finalization waits until both are 0. Read by any thread. */
    atomic_uint operations;
    atomic_uint handlers;
    ABT_thread loops[AMG_MARGO_LOOP_COUNT];
    /* The thread that makes rounds in place of the loop, or NULL; see
     * amg_margo_loop_stand_in(). */
    _Atomic(ABT_thread) stands_in;
    struct amg_margo_wakeup wakeup;
    struct amg_margo_monitoring monitoring;
    struct amg_pool requests; /* of struct margo_request_struct */
    struct amg_margo_quiet quiet;
    struct amg_margo_refs refs;
    /* Parts, which init.c allocates with the instance. */
    struct amg_margo_log *log;
    struct amg_margo_config *config; /* the configuration, with defaults */
    struct amg_margo_pools *pools;
    struct amg_margo_loop *loop;
    struct amg_margo_timers *timers;
    struct amg_margo_handles *handles; /* cached handles, queued requests */
    struct amg_margo_rpcs *rpcs;
    struct amg_margo_services *services;
    struct amg_margo_finalize *finalize;
};

/* Notifies the monitor: AMG_MARGO_NOTIFY(mid, forward, MARGO_MONITOR_FN_START,
 * &args); costs a test if there is no monitor. Called with no lock held. A
 * thread that waits for a request may free the request when woken. So callers
 * notify the end of an operation before they wake that thread. */
#define AMG_MARGO_NOTIFY(mid, event, kind, args)                               \
    do {                                                                       \
        const struct margo_monitor *monitor_ = (mid)->monitoring.monitor;      \
        if (__builtin_expect(monitor_ != NULL, 0) &&                           \
            monitor_->on_##event != NULL)                                      \
            monitor_->on_##event(                                              \
                monitor_->uargs, ABT_get_wtime(), (kind), (args));             \
    } while (0)

/* Notifies the monitor before and after a call, whose result is in the `ret` of
 * `args`: AMG_MARGO_NOTIFY_CALL(mid, destroy, &args, HG_Destroy(handle)). */
#define AMG_MARGO_NOTIFY_CALL(mid, event, args, call)                          \
    do {                                                                       \
        AMG_MARGO_NOTIFY(mid, event, MARGO_MONITOR_FN_START, args);            \
        (args)->ret = (call);                                                  \
        AMG_MARGO_NOTIFY(mid, event, MARGO_MONITOR_FN_END, args);              \
    } while (0)

/* Is there a monitor? If not, callers skip event arguments that cost time. */
#define AMG_MARGO_HAS_MONITOR(mid) ((mid)->monitoring.monitor != NULL)

/* Functions that open the class of an instance in place of margo_init_ext(). */
struct amg_margo_opener {
    /* Called before the configuration is used. Resets settings that are not
     * possible with the class, and warns. */
    void (*adapt)(void *arg, struct amg_margo_config *config);
    /* Opens the class. NULL: failed, logged. */
    hg_class_t *(*open)(void *arg, const char *address, bool is_listening,
        const struct hg_init_info *hg_init);
    void *arg;
};

/* init.c: margo_init_ext() with a class that `opener` opens (src/mpi_api: over
 * a communicator); the instance owns the class, and ends together with all
 * ranks (is_collective). `opener` NULL: margo_init_ext() itself. */
margo_instance_id amg_margo_instance_open(const struct amg_margo_opener *opener,
    const char *address, int mode, const struct margo_init_info *info);
/* Limit of unanswered calls to another instance; 0: as AMALGAM_CREDITS says. */
uint32_t amg_margo_credits(void);

/* monitor.c: creates the monitor that init info, configuration or environment
 * requests; called after the class was opened. False: refused, or no memory;
 * logged. */
bool amg_margo_monitoring_open(
    margo_instance_id mid, const struct margo_init_info *info);
/* Called after the last event, before the pools are freed. Accepts a monitor
 * that was never opened. */
void amg_margo_monitoring_close(margo_instance_id mid);

static inline enum amg_margo_state amg_margo_state_of(margo_instance_id mid)
{
    return atomic_load_explicit(&mid->state, memory_order_acquire);
}

static inline bool amg_margo_is_inherited(margo_instance_id mid)
{
    return amg_margo_state_of(mid) == AMG_MARGO_INHERITED;
}

/* Refuses a call with an inherited instance; logs only the first refusal. */
static inline hg_return_t amg_margo_refusal(
    const char *call, margo_instance_id mid)
{
    (void)amg_contract_not_ours(call, "instance", mid, true);
    return amg_refusal();
}

/* Ends a blocking wait of the loops, so that a loop checks for an earlier timer
 * and for finalization. Called by any thread. */
void amg_margo_wake(margo_instance_id mid);

/* instances.c: enter() calls ABT_init() for an instance, leave() counts another
 * ABT_finalize() as due, finalize() makes the calls that are due. Only the
 * primary thread may make the last ABT_finalize(): if another thread ends the
 * last instance, the primary thread makes that call later. enter() is false if
 * ABT_init() failed, logged; `ret_is_first`: ABT_init() was not called yet. */
bool amg_margo_runtime_enter(bool *ret_is_first);
void amg_margo_runtime_leave(void);
void amg_margo_runtime_finalize(void);

/* Registers the instance, with one reference, and sets it RUNNING. */
void amg_margo_instance_opened(margo_instance_id mid);
void amg_margo_instance_set_state(
    margo_instance_id mid, enum amg_margo_state next);

/* Begin a public call: keep the memory of the instance until
 * amg_margo_instance_leave(). False: the instance is closed, or never existed;
 * enter_or_log() logs this error. enter_or_log() also returns false, without a
 * log line, for an instance of the parent of this process. */
bool amg_margo_instance_enter(margo_instance_id mid);
bool amg_margo_instance_enter_or_log(margo_instance_id mid, const char *caller);
/* Called at the end of a public call. */
void amg_margo_instance_leave(margo_instance_id mid);

/* Drops a reference that is not the program's last, so that nothing ends. True
 * also for an inherited instance. False: no reference was dropped. */
bool amg_margo_instance_unref_many(margo_instance_id mid);
/* Drops a reference. The last reference passes to the finalization, which the
 * caller has to begin if `ret_begins`. False: nothing was dropped, because the
 * only reference, if any, is that of the finalization. */
bool amg_margo_instance_unref(margo_instance_id mid, bool *ret_begins);

/* Records that the finalization has begun, and that it owns a reference. */
void amg_margo_refs_finalize(margo_instance_id mid);
/* Drops the reference of the finalization. */
void amg_margo_refs_finalized(margo_instance_id mid);
/* Are there no references? If so, no thread can take a reference any more.
 * `ret_is_mine`: the caller is the first, and has to close the instance. */
bool amg_margo_refs_close(margo_instance_id mid, bool *ret_is_mine);

/* Frees the memory of a closed instance without users. */
void amg_margo_instance_free(margo_instance_id mid);

/* The calling user-level thread, or ABT_THREAD_NULL. */
static inline ABT_thread amg_margo_self(void)
{
    ABT_thread self = ABT_THREAD_NULL;

    return ABT_self_get_thread(&self) == ABT_SUCCESS ? self : ABT_THREAD_NULL;
}

/* Is the caller a tasklet? A tasklet has no stack to leave, so cannot wait. */
static inline bool amg_margo_is_tasklet(void)
{
    ABT_unit_type type = ABT_UNIT_TYPE_EXT;

    return ABT_self_get_type(&type) == ABT_SUCCESS &&
           type == ABT_UNIT_TYPE_TASK;
}

/* Does `thread` make the rounds of the loop? */
static inline bool amg_margo_runs_loop(margo_instance_id mid, ABT_thread thread)
{
    return thread == mid->loops[AMG_MARGO_LOOP] ||
           thread ==
               atomic_load_explicit(&mid->stands_in, memory_order_relaxed);
}

static inline bool amg_margo_thread_is_loop(
    margo_instance_id mid, ABT_thread thread)
{
    return amg_margo_runs_loop(mid, thread) ||
           thread == mid->loops[AMG_MARGO_SECOND];
}

/* Does the caller run in a progress loop, as callbacks do? */
static inline bool amg_margo_is_loop(margo_instance_id mid)
{
    ABT_thread self = amg_margo_self();

    return self != ABT_THREAD_NULL && amg_margo_thread_is_loop(mid, self);
}

/* Changes a count; the caller holds the lock, which has an owner. */
static inline void amg_margo_count_owned(atomic_uint *count, unsigned change)
{
    atomic_store_explicit(count,
        atomic_load_explicit(count, memory_order_relaxed) + change,
        memory_order_release);
}

/* Changes a count; may be the caller's last access to an instance that ends.
 * The change is sequentially consistent only if the lock is shared; a thread
 * that needs this order in any case calls amg_margo_counts_sync(). */
static inline void amg_margo_count(
    margo_instance_id mid, atomic_uint *count, unsigned change)
{
    if (AMG_LIKELY(amg_bias_lock_own(&mid->biased_lock))) {
        amg_margo_count_owned(count, change);
        amg_bias_unlock_own(&mid->biased_lock);
    } else if (amg_bias_lock_owned(&mid->biased_lock)) {
        amg_margo_count_owned(count, change);
        amg_bias_unlock(&mid->biased_lock);
    } else {
        atomic_fetch_add_explicit(count, change, memory_order_seq_cst);
    }
}

/* Count a handler, here and for the quiescence of the class (rpc/quiet.c).
 * Another thread may free the instance after its last handler has ended, so
 * the end cannot wake the loop: the loop polls the count. */
static inline void amg_margo_handler_begin(margo_instance_id mid)
{
    amg_counters_add(&mid->hg_context->counters, AMG_COUNT_RUNS_BEGUN);
    amg_margo_count(mid, &mid->handlers, 1u);
}

static inline void amg_margo_handler_end(margo_instance_id mid)
{
    amg_counters_add(&mid->hg_context->counters, AMG_COUNT_RUNS_ENDED);
    amg_margo_count(mid, &mid->handlers, -1u);
}

/* Waits for a thread that is changing a count; a thread that changes a count
 * later sees all earlier stores of the caller. */
static inline void amg_margo_counts_sync(margo_instance_id mid)
{
    if (amg_bias_lock_owned(&mid->biased_lock))
        amg_bias_unlock(&mid->biased_lock);
}

/* Called when an operation (forward, respond, bulk transfer ...) starts and
 * ends. */
static inline void amg_margo_operation_begin(margo_instance_id mid)
{
    /* A loop adds to `gated`, calls amg_margo_counts_sync(), and then reads the
     * count. So the loop sees the operation, or this thread sees `gated`. */
    amg_margo_count(mid, &mid->operations, 1u);
    if (atomic_load_explicit(&mid->wakeup.gated, memory_order_seq_cst) > 0)
        amg_margo_wake(mid);
}
static inline void amg_margo_operation_end(margo_instance_id mid)
{
    /* Does not wake the loop, as the instance may be freed after the count. The
     * loop of an instance that drains polls every millisecond. */
    amg_margo_count(mid, &mid->operations, -1u);
}

#endif
