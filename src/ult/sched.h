/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedulers, which choose the next thread, and execution streams (xstreams),
 * which run them: their life, blocking and wake-up. */
#ifndef AMG_ULT_SCHED_H
#define AMG_ULT_SCHED_H

#include <pthread.h>

#include "affinity/cpuset.h"
#include "ult/ready_pool.h"
#include "ult/sleeper.h"

/* Requests to a scheduler, which checks them between two threads. */
enum amg_sched_ask {
    AMG_SCHED_TO_EXIT = 1,   /* returns at once */
    AMG_SCHED_TO_FINISH = 2, /* returns when its pools are empty */
};

/* A scheduler, behind ABT_sched. Its creator's; an automatic one is its
 * xstream's. Only the xstream that runs it changes the fields without a comment
 * on threads. */
struct amg_sched {
    ABT_sched_predef kind;
    bool is_users; /* its run function is the program's */
    bool is_automatic;
    ABT_sched_def def;                   /* of the program's own */
    atomic_uint asked;                   /* of enum amg_sched_ask */
    atomic_bool is_used;                 /* an xstream or a pool has it */
    struct amg_xstream *_Atomic xstream; /* that runs it, or will */
    void *data;
    int next;      /* the pool whose turn it is */
    unsigned seed; /* of the next victim to steal from; not 0 */
    int count;     /* of pools; does not change */
    struct amg_ready_pool **pools;
    struct amg_watch *watches; /* one for each pool, for when it sleeps */
};

/* As ABT_sched_create_basic(), with the same codes. */
int amg_sched_create(ABT_sched_predef kind, int count, ABT_pool *pools,
    bool is_automatic, struct amg_sched **ret_sched);
/* The same for one of the program's; def->init is yet to be called. */
int amg_sched_create_users(const ABT_sched_def *def, int count, ABT_pool *pools,
    bool is_automatic, struct amg_sched **ret_sched);
/* With its pools, as far as they are automatic; it is not in use. Threads that
 * these still have go to `successor`, see amg_ready_pool_unref(). */
void amg_sched_destroy(
    struct amg_sched *sched, struct amg_ready_pool *successor);

/* The next thread to run, or NULL; by its xstream. */
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
 * creator's until it is freed. */
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
    struct amg_cpuset cpus;           /* as asked for; none: not at all */
    int tid; /* of the OS; 0: it has not begun, or has ended */
    pthread_t thread;
    atomic_bool has_thread; /* not joined yet */
    atomic_uint begun;      /* futex word: enum in xstream.c */
};

/* Is it to return? */
bool amg_sched_is_to_stop(const struct amg_sched *sched);

/* Threads that are ready in its pools; no lock. */
size_t amg_sched_size(const struct amg_sched *sched);

/* Acquire: its pools are found, see amg_xstream_sched_set(). */
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

/* The next thread that the scheduler of this xstream would run, or NULL: for
 * yields and parks that go to it without a way over the scheduler. NULL also
 * where the scheduler is not one of ours, or has something else to do. */
struct amg_ult *amg_xstream_next(struct amg_xstream *xstream);

/* Does its scheduler, one of ours, have that pool, and nothing else to run but
 * the one thread that is ready there? */
bool amg_xstream_runs_next(
    const struct amg_xstream *xstream, const struct amg_ready_pool *pool);

/* Sets a request to the xstream, and returns the sleeper to wake with no lock
 * held. */
void amg_xstream_ask_claim(struct amg_xstream *xstream,
    enum amg_xstream_ask ask, struct amg_claim *ret_claim);
/* Sets the request, and wakes the xstream; by any thread. */
void amg_xstream_ask(struct amg_xstream *xstream, enum amg_xstream_ask ask);

/* Blocks until a push into a pool of its scheduler, or a request; by its own
 * thread. */
void amg_xstream_sleep(struct amg_xstream *xstream);

/* For a user-level thread that blocks its whole xstream in a call of another
 * module, such as a progress loop that blocks on descriptors: from begin to end
 * a push into one of the pools of its xstream wakes it. False: a thread is
 * ready there already, or the xstream has a request; nothing was armed, do not
 * block. */
bool amg_block_begin(struct amg_block *block);

/* After a begin that returned true. Waits for wake-ups that are in progress. */
void amg_block_end(struct amg_block *block);

/* How many threads other than the caller are ready in the pools of its xstream,
 * and one more when its scheduler has something to look at; no lock. 0 for a
 * caller that is no user-level thread. */
unsigned amg_block_ready_count(void);

/* Is the xstream of the caller asked to end, and does another one run its pool?
 * It should block for a moment then, to go on there. */
bool amg_block_must_migrate(void);

/* Makes an xstream that does not run yet, in the list of all, with the lowest
 * rank that is free, or with `rank` if that is not negative. It takes the
 * scheduler. An ABT code. */
int amg_xstream_create(
    struct amg_sched *sched, int rank, struct amg_xstream **ret_stream);
/* Takes it off the list, and frees it, with its scheduler if that is automatic;
 * it does not run. */
void amg_xstream_destroy(struct amg_xstream *xstream);

/* The same for one that could not be started: without its scheduler, unless
 * that was made for it. */
void amg_xstream_discard(struct amg_xstream *xstream, bool is_made_for_it);

/* It has been joined, or has come to its end. */
bool amg_xstream_has_ended(struct amg_xstream *xstream);

/* Begins its OS thread. An ABT code, and the log says why. */
int amg_xstream_start(struct amg_xstream *xstream);
/* Waits until it has ended; not by itself. */
void amg_xstream_join(struct amg_xstream *xstream);

/* It has another scheduler, which it has claimed, from now on, and lets go of
 * the former one; by its own thread, or while it does not run. */
void amg_xstream_sched_set(
    struct amg_xstream *xstream, struct amg_sched *sched);

/* Runs its scheduler, or those it is given one after the other. */
void amg_xstream_run(struct amg_xstream *xstream);

/* By a scheduler in each round: does what the xstream is asked for; true: it is
 * to return. */
bool amg_sched_has_to_stop(struct amg_sched *sched);

/* False: another one has it. */
bool amg_xstreams_rank_set(struct amg_xstream *xstream, int rank);
int amg_xstreams_rank(struct amg_xstream *xstream);

int amg_xstreams_count(void);

/* Calls a function for each, by rank, which must not make or free xstreams;
 * true ends it, and is returned. */
bool amg_xstreams_each(
    bool (*visit)(struct amg_xstream *xstream, void *arg), void *arg);

#endif
