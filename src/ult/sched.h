/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedulers, which choose the next thread, and execution streams (xstreams),
 * which run threads: their life, blocking and wake-up. */
#ifndef AMG_ULT_SCHED_H
#define AMG_ULT_SCHED_H

#include <pthread.h>

#include "affinity/cpuset.h"
#include "ult/ready_pool.h"

/* Requests to a scheduler, which checks them between two threads. */
enum amg_sched_ask {
    AMG_SCHED_TO_EXIT = 1,   /* to return at once */
    AMG_SCHED_TO_FINISH = 2, /* to return when its pools are empty */
};

/* A scheduler, behind ABT_sched. Owned by its creator; an automatic scheduler
 * by its xstream. Fields whose comments name no other threads are changed only
 * by the xstream that runs the scheduler. */
struct amg_sched {
    ABT_sched_predef kind;
    bool is_users; /* runs a function of the program */
    bool is_automatic;
    ABT_sched_def def;                   /* if `is_users` */
    atomic_uint asked;                   /* of enum amg_sched_ask */
    atomic_bool is_used;                 /* an xstream or a pool uses it */
    struct amg_xstream *_Atomic xstream; /* runs the scheduler, or will */
    void *data;
    int next;      /* the pool whose turn it is */
    unsigned seed; /* of the next victim to steal from; not 0 */
    int count;     /* of pools; does not change */
    struct amg_ready_pool **pools;
    /* The only pool, if pool and scheduler are built-in; else NULL. */
    struct amg_ready_pool *only;
    struct amg_watch *watches; /* per pool, for the sleep of the xstream */
};

/* Creates a scheduler for ABT_sched_create_basic(), or if `def` is not NULL for
 * ABT_sched_create(), whose codes it returns. The caller calls def->init. */
int amg_sched_create(ABT_sched_predef kind, const ABT_sched_def *def, int count,
    ABT_pool *pools, bool is_automatic, struct amg_sched **ret_sched);
/* Frees a scheduler that is not in use, with its automatic pools. Their threads
 * move to `successor`, see amg_ready_pool_unref(). */
void amg_sched_destroy(
    struct amg_sched *sched, struct amg_ready_pool *successor);
/* Frees a scheduler after a later error of its creation. The pools `given` by
 * the program (NULL: none; an entry may be ABT_POOL_NULL) stay the program's,
 * also automatic pools. */
void amg_sched_undo(struct amg_sched *sched, const ABT_pool *given);

/* The scheduler that the caller gave, or a new default scheduler. An ABT
 * code. */
int amg_sched_default(ABT_sched sched, struct amg_sched **ret_sched);

/* Marks the scheduler as used; false: the scheduler is in use. */
bool amg_sched_take(struct amg_sched *sched);
/* Undoes amg_sched_take(), and destroys the scheduler if `is_destroyed`. */
void amg_sched_release(struct amg_sched *sched, bool is_destroyed,
    struct amg_ready_pool *successor);

/* The next thread to run, or NULL. Called by the xstream of the scheduler. */
struct amg_ult *amg_sched_pop(struct amg_sched *sched);

bool amg_sched_has(
    const struct amg_sched *sched, const struct amg_ready_pool *pool);

/* Requests to an xstream, which checks them between two threads. */
enum amg_xstream_ask {
    AMG_XSTREAM_TO_END = 1,  /* at once */
    AMG_XSTREAM_TO_JOIN = 2, /* when its pools are empty */
    AMG_XSTREAM_TO_SWAP = 4, /* `next_sched` is its scheduler from now on */
    AMG_XSTREAM_TO_LOOK = 8, /* the scheduler has to check requests */
};

/* An execution stream, an OS thread that runs pools, behind ABT_xstream. Its
 * creator owns it until it is freed. */
struct amg_xstream {
    struct amg_link link; /* on the list of xstreams, under its lock */
    int rank;             /* under the lock of the list */
    bool is_primary;
    struct amg_sched *_Atomic sched; /* published with the begin of its thread;
                                      * changed by its own thread */
    struct amg_sched *next_sched;    /* of its own thread alone */
    atomic_uint asked; /* of enum amg_xstream_ask; see amg_xstream_ask() */
    struct amg_sleeper sleeper;
    /* The lock guards the other fields. */
    struct amg_lock lock;
    _Atomic(ABT_xstream_state) state; /* read without the lock, too */
    struct amg_list joiners;          /* of struct amg_waiter */
    struct amg_cpuset cpus;           /* to bind to; empty: not bound */
    int tid; /* of the OS; 0: the thread has not begun, or has ended */
    pthread_t thread;
    atomic_bool has_thread; /* not joined yet */
    atomic_uint begun;      /* futex word: enum in xstream.c */
};

/* Is the scheduler requested to return? */
bool amg_sched_is_to_stop(const struct amg_sched *sched);

/* Number of threads that are ready in the scheduler's pools; no lock. */
size_t amg_sched_size(const struct amg_sched *sched);

/* The current scheduler. Acquire: pairs with amg_xstream_set_sched(), so that
 * the pools of the scheduler are visible. */
static inline struct amg_sched *amg_xstream_sched(
    const struct amg_xstream *xstream)
{
    return atomic_load_explicit(&xstream->sched, memory_order_acquire);
}

/* Replaces the scheduler by `sched`, which the caller has marked as used, and
 * releases the former. Called by the xstream's own OS thread, or while the
 * xstream does not run. */
void amg_xstream_set_sched(
    struct amg_xstream *xstream, struct amg_sched *sched);

/* Requests: bits of enum amg_xstream_ask. */
static inline unsigned amg_xstream_asked(const struct amg_xstream *xstream)
{
    return atomic_load_explicit(&xstream->asked, memory_order_acquire);
}

/* Has the xstream's scheduler a request to serve? A join alone does not
 * count. */
static inline bool amg_xstream_is_asked(const struct amg_xstream *xstream)
{
    return (amg_xstream_asked(xstream) & ~(unsigned)AMG_XSTREAM_TO_JOIN) != 0;
}

/* Pops the next thread that the scheduler of this xstream would run, so that a
 * thread that yields or parks switches directly to it. NULL: no thread is
 * ready, the scheduler is user-defined, or has a request. */
struct amg_ult *amg_xstream_next(struct amg_xstream *xstream);

/* Does the xstream's built-in scheduler have `pool`, and is only one thread
 * ready in all its pools? */
bool amg_xstream_runs_next(
    const struct amg_xstream *xstream, const struct amg_ready_pool *pool);

/* Sets a request to the xstream, and returns the sleeper to wake with no lock
 * held. */
void amg_xstream_ask_claim(struct amg_xstream *xstream,
    enum amg_xstream_ask ask, struct amg_claim *ret_claim);
/* Sets the request, and wakes the xstream; by any thread. */
void amg_xstream_ask(struct amg_xstream *xstream, enum amg_xstream_ask ask);

/* Spins for a moment, then blocks until a push into a pool of the xstream's
 * scheduler, or a request.
 * Called by the xstream's own OS thread. */
void amg_xstream_sleep(struct amg_xstream *xstream);

/* For a user-level thread that blocks its whole xstream in a call of another
 * module, such as a progress loop that blocks on descriptors: from begin to end
 * a push into a pool of the xstream calls block->wake(). False: a thread is
 * ready there already, or the xstream has a request; nothing was armed, do not
 * block. */
bool amg_block_begin(struct amg_block *block);

/* After a begin that returned true. Waits for wake-ups that are in progress. */
void amg_block_end(struct amg_block *block);

/* Is a thread ready in the pools of the caller's xstream, or has its scheduler
 * a request? Takes no lock. False if the caller is not on an xstream. */
bool amg_block_has_ready(void);

/* Takes a thread out of the only pool of the caller's xstream, which no other
 * xstream runs. False: not possible, or more threads are ready there. */
bool amg_block_take(struct amg_ult *other);

/* Is the caller's xstream being joined, while another xstream runs the caller's
 * pool? Then the caller should block for a moment, to continue there. */
bool amg_block_must_migrate(void);

/* Creates an xstream that does not run yet, lists it, with the lowest free
 * rank, or with `rank` if that is not negative, and gives it the scheduler.
 * Returns an ABT code. */
int amg_xstream_create(
    struct amg_sched *sched, int rank, struct amg_xstream **ret_stream);
/* Takes an xstream that does not run off the list, and frees it, with its
 * scheduler if that is automatic. */
void amg_xstream_destroy(struct amg_xstream *xstream);

/* Has the xstream ended, or never begun? */
static inline bool amg_xstream_has_ended(const struct amg_xstream *xstream)
{
    return atomic_load_explicit(&xstream->state, memory_order_acquire) ==
           ABT_XSTREAM_STATE_TERMINATED;
}

/* Waits until the xstream has ended. Not called by the xstream itself. */
void amg_xstream_join(struct amg_xstream *xstream);

/* Runs the xstream's scheduler, and later schedulers that replace it. */
void amg_xstream_run(struct amg_xstream *xstream);

/* In a child of fork(): all xstreams have ended, and leave the list. */
void amg_xstreams_inherit(void);

/* Calls a function for each xstream in order of ranks. The function must not
 * create or free xstreams; true from it ends the loop, and is returned. */
bool amg_xstreams_each(
    bool (*visit)(struct amg_xstream *xstream, void *arg), void *arg);

#endif
