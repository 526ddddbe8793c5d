/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedulers, which choose the next thread, and execution streams (xstreams),
 * which run threads: their life, blocking and wake-up. */
#ifndef AMG_ULT_SCHED_H
#define AMG_ULT_SCHED_H

#include <pthread.h>

#include "affinity/cpuset.h"
#include "ult/ready_pool.h"

/* Requests to a scheduler, which checks for them before it runs a thread. */
enum amg_sched_ask {
    AMG_SCHED_TO_EXIT = 1,   /* to return at once */
    AMG_SCHED_TO_FINISH = 2, /* to return when all its pools are empty */
};

/* A scheduler, behind ABT_sched. Owned by its creator, or, if automatic, by the
 * xstream or thread that runs it. Only the xstream that runs the scheduler
 * changes its fields, except the atomic fields and `data`. */
struct amg_sched {
    ABT_sched_predef kind;
    bool is_users; /* runs a function of the program */
    bool is_automatic;
    ABT_sched_def def;                   /* if `is_users` */
    atomic_uint asked;                   /* requests: enum amg_sched_ask */
    atomic_bool is_used;                 /* by an xstream or a pool's thread */
    struct amg_xstream *_Atomic xstream; /* runs the scheduler, or will */
    void *data;
    int next;      /* index of the pool to pop from next */
    unsigned seed; /* random state that chooses the pool to steal from; not 0 */
    int count;     /* of pools; does not change */
    struct amg_ready_pool **pools;
    /* The only pool, if scheduler and pool are built-in; else NULL. */
    struct amg_ready_pool *only;
    struct amg_watch *watches; /* a watch per pool, for sleeping */
};

/* Creates a scheduler for ABT_sched_create_basic(), or, if `def` is not NULL,
 * for ABT_sched_create(). Returns an ABT code. The caller calls def->init. */
int amg_sched_create(ABT_sched_predef kind, const ABT_sched_def *def, int count,
    ABT_pool *pools, bool is_automatic, struct amg_sched **ret_sched);
/* Frees a scheduler that is not in use, and automatic pools that no other
 * scheduler uses: threads of these move to `successor`, see ready_pool.h. */
void amg_sched_destroy(
    struct amg_sched *sched, struct amg_ready_pool *successor);
/* Frees a scheduler after an error in a later step of a public create function.
 * The pools `given` by the program (NULL: none; an entry may be ABT_POOL_NULL)
 * stay the program's, also automatic pools. */
void amg_sched_undo(struct amg_sched *sched, const ABT_pool *given);

/* Stores `sched` in `*ret_sched`, or a new default scheduler if `sched` is
 * ABT_SCHED_NULL. Returns an ABT code. */
int amg_sched_default(ABT_sched sched, struct amg_sched **ret_sched);

/* Marks the scheduler as used; false: the scheduler is in use already. */
bool amg_sched_take(struct amg_sched *sched);
/* Undoes amg_sched_take(), and destroys the scheduler if `is_destroyed`. */
void amg_sched_release(struct amg_sched *sched, bool is_destroyed,
    struct amg_ready_pool *successor);

/* The next thread to run, or NULL. Called by the xstream of the scheduler. */
struct amg_ult *amg_sched_pop(struct amg_sched *sched);

bool amg_sched_has(
    const struct amg_sched *sched, const struct amg_ready_pool *pool);

/* Requests to an xstream, which checks for them before it runs a thread. */
enum amg_xstream_ask {
    AMG_XSTREAM_TO_END = 1,  /* to end at once */
    AMG_XSTREAM_TO_JOIN = 2, /* to end when all its pools are empty */
    AMG_XSTREAM_TO_SWAP = 4, /* to replace the scheduler by `next_sched` */
    AMG_XSTREAM_TO_LOOK = 8, /* to take main(), and to check `sched->asked` */
};

/* An execution stream, an OS thread that runs pools, behind ABT_xstream; owned
 * by its creator. */
struct amg_xstream {
    struct amg_link link; /* in the list of xstreams, under that list's lock */
    int rank;             /* under the lock of the list */
    bool is_primary;
    struct amg_sched *_Atomic sched; /* changed by the xstream's OS thread, or
                                      * while that thread does not run */
    struct amg_sched *next_sched;    /* used by the xstream's OS thread alone */
    atomic_uint asked; /* requests: enum amg_xstream_ask; any thread sets */
    struct amg_sleeper sleeper;
    /* Guards state, joiners, cpus and tid. */
    struct amg_lock lock;
    _Atomic(ABT_xstream_state) state; /* read without the lock, too */
    struct amg_list joiners;          /* of struct amg_waiter */
    struct amg_cpuset cpus;           /* binding to set; empty: do not bind */
    int tid; /* the OS thread's id; 0: not begun yet, or ended */
    pthread_t thread;
    atomic_bool has_thread; /* `thread` was started, and is not joined yet */
    atomic_uint begun;      /* futex word: BEGIN_WAITS, ... in xstream.c */
};

/* Has the scheduler to return now? A join or finish waits for empty pools. */
bool amg_sched_is_to_stop(const struct amg_sched *sched);

/* Number of threads that are ready in the scheduler's pools; no lock. */
size_t amg_sched_size(const struct amg_sched *sched);

/* The xstream's scheduler. Acquire: pairs with amg_xstream_set_sched(), so that
 * the pools of the scheduler are visible. */
static inline struct amg_sched *amg_xstream_sched(
    const struct amg_xstream *xstream)
{
    return atomic_load_explicit(&xstream->sched, memory_order_acquire);
}

/* Replaces the scheduler by `sched`, which the caller has marked as used, and
 * releases the former scheduler. Called by the xstream's own OS thread, or
 * while the xstream does not run. */
void amg_xstream_set_sched(
    struct amg_xstream *xstream, struct amg_sched *sched);

/* Requests that are pending: bits of enum amg_xstream_ask. */
static inline unsigned amg_xstream_asked(const struct amg_xstream *xstream)
{
    return atomic_load_explicit(&xstream->asked, memory_order_acquire);
}

/* Has the xstream a request that its scheduler serves at once? A join does not
 * count. */
static inline bool amg_xstream_is_asked(const struct amg_xstream *xstream)
{
    return (amg_xstream_asked(xstream) & ~(unsigned)AMG_XSTREAM_TO_JOIN) != 0;
}

/* Pops the thread that the xstream's scheduler would run next; a thread that
 * yields or parks switches directly to the popped thread. NULL: no thread is
 * ready, the scheduler is user-defined, or it or the xstream has a request. */
struct amg_ult *amg_xstream_next(struct amg_xstream *xstream);

/* Does the xstream's built-in scheduler have `pool`, and is only one thread
 * ready in all its pools? */
bool amg_xstream_runs_next(
    const struct amg_xstream *xstream, const struct amg_ready_pool *pool);

/* Sets a request to the xstream, and claims its sleeper: the caller passes
 * `*ret_claim` to amg_sleeper_wake() once the caller holds no lock. */
void amg_xstream_ask_claim(struct amg_xstream *xstream,
    enum amg_xstream_ask ask, struct amg_claim *ret_claim);
/* Sets a request, and wakes the xstream. Called by any thread. */
void amg_xstream_ask(struct amg_xstream *xstream, enum amg_xstream_ask ask);

/* Spins for a moment, then blocks until a push into a pool of the xstream's
 * scheduler, or a request. Called by the xstream's own OS thread. */
void amg_xstream_sleep(struct amg_xstream *xstream);

/* For a user-level thread that blocks its whole xstream in a call of another
 * module, such as a progress loop on descriptors. Until amg_block_end(), a push
 * into the xstream's pools, or a request to the xstream, calls block->wake().
 * False: the caller must not block, as a thread is ready in these pools, a
 * request other than a join is pending, or amg_block_must_migrate() is true. */
bool amg_block_begin(struct amg_block *block);

/* Called if amg_block_begin() was true. Waits for a wake() in progress. */
void amg_block_end(struct amg_block *block);

/* Is a thread ready in the pools of the caller's xstream, or has the xstream a
 * request other than a join? False if the caller is on no xstream. */
bool amg_block_has_ready(void);

/* Removes `other` from the only pool of the caller's xstream, if no request is
 * pending, no other scheduler uses the pool, and no other thread is ready. */
bool amg_block_take(struct amg_ult *other);

/* Is the caller's xstream being joined, while other xstreams run the caller's
 * pool? If so, the caller should park, to continue on another xstream. */
bool amg_block_must_migrate(void);

/* Creates an xstream with scheduler `sched`, and adds the xstream to the list,
 * but starts no OS thread. A negative `rank` stands for the lowest free rank.
 * Returns an ABT code. */
int amg_xstream_create(
    struct amg_sched *sched, int rank, struct amg_xstream **ret_stream);
/* Takes an xstream, which does not run, off the list, and frees the xstream,
 * and its scheduler if automatic. */
void amg_xstream_destroy(struct amg_xstream *xstream);

/* Has the xstream ended, or never begun? */
static inline bool amg_xstream_has_ended(const struct amg_xstream *xstream)
{
    return atomic_load_explicit(&xstream->state, memory_order_acquire) ==
           ABT_XSTREAM_STATE_TERMINATED;
}

/* Waits until the xstream has ended. Not called by the xstream itself. */
void amg_xstream_join(struct amg_xstream *xstream);

/* Runs the xstream's scheduler, and each scheduler that replaces it. */
void amg_xstream_run(struct amg_xstream *xstream);

/* Called in a child of fork(): marks all xstreams as ended, clears the list. */
void amg_xstreams_inherit(void);

/* Calls `visit` for each xstream in order of ranks, until `visit` returns true;
 * returns the last result. `visit` must not create or free xstreams. */
bool amg_xstreams_each(
    bool (*visit)(struct amg_xstream *xstream, void *arg), void *arg);

#endif
