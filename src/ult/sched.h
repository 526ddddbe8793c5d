/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedulers, which choose the next thread, and execution streams (xstreams),
 * which run them: their life, blocking and wake-up. */
#ifndef AMG_ULT_SCHED_H
#define AMG_ULT_SCHED_H

#include <pthread.h>

#include "affinity/cpuset.h"
#include "ult/ready_pool.h"

/* Requests to a scheduler, which checks them between two threads. */
enum amg_sched_ask {
    AMG_SCHED_TO_EXIT = 1,   /* returns at once */
    AMG_SCHED_TO_FINISH = 2, /* returns when its pools are empty */
};

/* A scheduler, behind ABT_sched. Owned by its creator; an automatic one by its
 * xstream. Only the xstream that runs it changes the fields without a comment
 * on threads. */
struct amg_sched {
    ABT_sched_predef kind;
    bool is_users; /* its run function is the program's */
    bool is_automatic;
    ABT_sched_def def;                   /* of the program's own */
    atomic_uint asked;                   /* of enum amg_sched_ask */
    atomic_bool is_used;                 /* an xstream or a pool uses it */
    struct amg_xstream *_Atomic xstream; /* runs it, or will */
    void *data;
    int next;      /* the pool whose turn it is */
    unsigned seed; /* of the next victim to steal from; not 0 */
    int count;     /* of pools; does not change */
    struct amg_ready_pool **pools;
    /* Its only pool, if both are built-in; else NULL. */
    struct amg_ready_pool *only;
    struct amg_watch *watches; /* one for each pool, for when it sleeps */
};

/* As ABT_sched_create_basic(), or if `def` is not NULL ABT_sched_create(), with
 * the same codes; the caller calls def->init afterwards. */
int amg_sched_create(ABT_sched_predef kind, const ABT_sched_def *def, int count,
    ABT_pool *pools, bool is_automatic, struct amg_sched **ret_sched);
/* Frees a scheduler that is not in use, with its automatic pools. Threads of
 * these move to `successor`, see amg_ready_pool_unref(). */
void amg_sched_destroy(
    struct amg_sched *sched, struct amg_ready_pool *successor);
/* Frees a scheduler whose creation failed afterwards: the pools that the
 * program gave for that (an entry may be ABT_POOL_NULL; NULL: none) stay the
 * program's, automatic ones too. */
void amg_sched_undo(struct amg_sched *sched, const ABT_pool *given);

/* The next thread to run, or NULL. Called by the xstream of the scheduler. */
struct amg_ult *amg_sched_pop(struct amg_sched *sched);

bool amg_sched_has(
    const struct amg_sched *sched, const struct amg_ready_pool *pool);

/* Requests to an xstream, which checks them between two threads. */
enum amg_xstream_ask {
    AMG_XSTREAM_TO_END = 1,  /* at once */
    AMG_XSTREAM_TO_JOIN = 2, /* when its pools are empty */
    AMG_XSTREAM_TO_SWAP = 4, /* `next_sched` is its scheduler from now on */
    AMG_XSTREAM_TO_LOOK = 8, /* its scheduler is to have a round */
};

/* An execution stream, an OS thread that runs pools, behind ABT_xstream. Its
 * creator owns it until it is freed. */
struct amg_xstream {
    struct amg_link link; /* on the list of all, guarded by that one's lock */
    int rank;             /* the same */
    bool is_primary;
    struct amg_sched *_Atomic sched; /* published with the begin of its thread;
                                      * changed by its own thread */
    struct amg_sched *next_sched;    /* its own thread's */
    atomic_uint asked; /* of enum amg_xstream_ask; see amg_xstream_ask() */
    struct amg_sleeper sleeper;
    /* The rest is guarded by the lock. */
    struct amg_lock lock;
    _Atomic(ABT_xstream_state) state; /* read without it, too */
    struct amg_list joiners;          /* of struct amg_waiter */
    struct amg_cpuset cpus;           /* as requested; none: not bound */
    int tid; /* of the OS; 0: it has not begun, or has ended */
    pthread_t thread;
    atomic_bool has_thread; /* not joined yet */
    atomic_uint begun;      /* futex word: enum in xstream.c */
};

/* Is the scheduler requested to return? */
bool amg_sched_is_to_stop(const struct amg_sched *sched);

/* Number of threads that are ready in its pools; takes no lock. */
size_t amg_sched_size(const struct amg_sched *sched);

/* Acquire: pairs with amg_xstream_sched_set(), so that its pools are visible.
 */
static inline struct amg_sched *amg_xstream_sched(
    const struct amg_xstream *xstream)
{
    return atomic_load_explicit(&xstream->sched, memory_order_acquire);
}

/* Of enum amg_xstream_ask. */
static inline unsigned amg_xstream_asked(const struct amg_xstream *xstream)
{
    return atomic_load_explicit(&xstream->asked, memory_order_acquire);
}

/* Has its scheduler something else to do than to run threads? Not merely since
 * the xstream is joined. */
static inline bool amg_xstream_is_asked(const struct amg_xstream *xstream)
{
    return (amg_xstream_asked(xstream) & ~(unsigned)AMG_XSTREAM_TO_JOIN) != 0;
}

/* Pops the next thread that the scheduler of this xstream would run, so that a
 * thread that yields or parks switches directly to it. NULL: no thread is
 * ready, the scheduler is user-defined, or it has a request to serve first. */
struct amg_ult *amg_xstream_next(struct amg_xstream *xstream);

/* Does its built-in scheduler have that pool, and nothing to run but the one
 * thread that is ready there? */
bool amg_xstream_runs_next(
    const struct amg_xstream *xstream, const struct amg_ready_pool *pool);

/* Sets a request to the xstream, and returns the sleeper to wake with no lock
 * held. */
void amg_xstream_ask_claim(struct amg_xstream *xstream,
    enum amg_xstream_ask ask, struct amg_claim *ret_claim);
/* Sets the request, and wakes the xstream; by any thread. */
void amg_xstream_ask(struct amg_xstream *xstream, enum amg_xstream_ask ask);

/* Blocks until a push into a pool of its scheduler, or a request. Called by its
 * own OS thread. */
void amg_xstream_sleep(struct amg_xstream *xstream);

/* For a user-level thread that blocks its whole xstream in a call of another
 * module, such as a progress loop that blocks on descriptors: from begin to end
 * a push into one of the pools of its xstream wakes it. False: a thread is
 * ready there already, or the xstream has a request; nothing was armed, do not
 * block. */
bool amg_block_begin(struct amg_block *block);

/* After a begin that returned true. Waits for wake-ups that are in progress. */
void amg_block_end(struct amg_block *block);

/* Is a thread other than the caller ready in the pools of its xstream, or has
 * its scheduler a request? Takes no lock. False if the caller is no user-level
 * thread. */
bool amg_block_has_ready(void);

/* Takes a thread out of the only pool of the caller's xstream, which no other
 * one runs. False: that is not possible, or others are ready there, too. */
bool amg_block_take(struct amg_ult *other);

/* Is the xstream of the caller requested to end, while another xstream runs its
 * pool? Then the caller should block for a moment, to continue there. */
bool amg_block_must_migrate(void);

/* Creates an xstream that does not run yet, in the list of all, with the lowest
 * free rank, or with `rank` if that is not negative. It uses the scheduler from
 * then on. Returns an ABT code. */
int amg_xstream_create(
    struct amg_sched *sched, int rank, struct amg_xstream **ret_stream);
/* Takes it off the list, and frees it, with its scheduler if that is automatic;
 * it does not run. */
void amg_xstream_destroy(struct amg_xstream *xstream);

/* The same for one that could not be started: without its scheduler, unless
 * that was made for it. */
void amg_xstream_discard(struct amg_xstream *xstream, bool is_made_for_it);

/* Has it been joined, or ended? */
bool amg_xstream_has_ended(struct amg_xstream *xstream);

/* Starts its OS thread. Returns an ABT code; an error is logged. */
int amg_xstream_start(struct amg_xstream *xstream);
/* Waits until it has ended. Not called by the xstream itself. */
void amg_xstream_join(struct amg_xstream *xstream);

/* Replaces its scheduler by another one, which the caller has marked as used,
 * and releases the former. Called by its own OS thread, or while it does not
 * run. */
void amg_xstream_sched_set(
    struct amg_xstream *xstream, struct amg_sched *sched);

/* Runs its scheduler, and those that replace it. */
void amg_xstream_run(struct amg_xstream *xstream);

/* Called by a scheduler in each round: serves requests to the xstream. True:
 * the scheduler has to return. */
bool amg_sched_has_to_stop(struct amg_sched *sched);

/* False: another xstream has that rank. */
bool amg_xstreams_rank_set(struct amg_xstream *xstream, int rank);
int amg_xstreams_rank(struct amg_xstream *xstream);

int amg_xstreams_count(void);

/* In a child of fork(): all have ended, and are listed no longer. */
void amg_xstreams_inherit(void);

/* Calls a function for each xstream in order of ranks; it must not create or
 * free xstreams. It ends the loop by true, which is then returned. */
bool amg_xstreams_each(
    bool (*visit)(struct amg_xstream *xstream, void *arg), void *arg);

#endif
