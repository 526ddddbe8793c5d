/* SPDX-License-Identifier: BSD-3-Clause */
/* An execution stream, an OS thread that runs pools: what ABT_xstream points
 * to. */
#ifndef AMG_ULT_STREAM_H
#define AMG_ULT_STREAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abt.h"
#include "base/list.h"
#include "base/lock.h"
#include "place/cpuset.h"
#include "ult/sleeper.h"

struct amg_doze;
struct amg_sched;
struct amg_ult;
struct amg_upool;

/* What a stream is asked for; it looks between two threads. */
enum amg_stream_ask {
    AMG_STREAM_TO_END = 1,  /* at once */
    AMG_STREAM_TO_JOIN = 2, /* when its pools are empty */
    AMG_STREAM_TO_SWAP = 4, /* `next_sched` is its scheduler from now on */
    AMG_STREAM_TO_LOOK = 8, /* its scheduler is to have a round */
};

/* Its creator's until it is freed. */
struct amg_stream {
    struct amg_link link; /* on the list of all, guarded by that one's lock */
    int rank;             /* the same */
    bool is_primary;
    struct amg_sched *_Atomic sched; /* published with the begin of its thread;
                                      * changed by its own thread */
    struct amg_sched *next_sched;    /* its own thread's */
    atomic_uint asked; /* of enum amg_stream_ask; see amg_stream_ask() */
    struct amg_sleeper sleeper;
    unsigned seed; /* of the next victim to steal from; its own thread's */
    /* The rest is guarded by the lock. */
    struct amg_lock lock;
    _Atomic(ABT_xstream_state) state; /* read without it, too */
    struct amg_list joiners;          /* of struct amg_waiter */
    struct amg_cpuset cpus;           /* as asked for; none: not at all */
    int tid; /* of the OS; 0: it has not begun, or has ended */
    pthread_t thread;
    atomic_bool has_thread; /* nobody has joined it yet */
    atomic_uint begun;      /* futex word: enum in stream.c */
};

/* The calling OS thread's, or NULL. Never inlined, as amg_ult_self(). */
struct amg_stream *amg_stream_self(void);

/* The next thread that the scheduler of this stream would run, or NULL: for
 * yields and parks that go to it without a way over the scheduler. NULL also
 * where the scheduler is not one of ours, or has something else to do. */
struct amg_ult *amg_stream_next(struct amg_stream *stream);

/* The first pool of a running stream other than those that run `pool`; NULL:
 * there is none. */
struct amg_upool *amg_stream_other_pool(const struct amg_upool *pool);

/* Is the pool one of its scheduler's? By its own thread. */
bool amg_stream_serves(
    const struct amg_stream *stream, const struct amg_upool *pool);

/* Something is to be looked at by the scheduler, if it sleeps. */
void amg_stream_wake(struct amg_stream *stream);

/* Asks for it, and says who is to be rung with no lock held. */
void amg_stream_ask_claim(struct amg_stream *stream, enum amg_stream_ask ask,
    struct amg_claim *ret_claim);
/* Asks for it, and wakes it; by any thread. */
void amg_stream_ask(struct amg_stream *stream, enum amg_stream_ask ask);

/* Makes one that does not run yet, in the list of all, with the lowest rank
 * that is free, or with `rank` if that is not negative. It takes the scheduler.
 * An ABT code. */
int amg_stream_create(
    struct amg_sched *sched, int rank, struct amg_stream **ret_stream);
/* Off the list, with its scheduler if that is automatic; it does not run. */
void amg_stream_destroy(struct amg_stream *stream);

/* The same for one that could not be started: without its scheduler, unless
 * that was made for it. */
void amg_stream_discard(struct amg_stream *stream, bool is_made_for_it);

/* It has been joined, or has come to its end. */
bool amg_stream_has_ended(struct amg_stream *stream);

/* Begins its OS thread. An ABT code, and the log says why. */
int amg_stream_start(struct amg_stream *stream);
/* Waits until it has ended; not by itself. */
void amg_stream_join(struct amg_stream *stream);

/* Sleeps until something is pushed into a pool of the scheduler that it runs,
 * or is asked for; by its own thread. */
void amg_stream_sleep(struct amg_stream *stream);

/* The two halves of it, for one who sleeps in his own way; `doze` is NULL for
 * the scheduler itself. False: there is something to do, do not sleep. */
bool amg_stream_rest(struct amg_stream *stream, struct amg_doze *doze);
void amg_stream_rise(struct amg_stream *stream);

/* It has another scheduler, which it has claimed, from now on, and lets go of
 * the former one; by its own thread, or while it does not run. */
void amg_stream_sched_set(struct amg_stream *stream, struct amg_sched *sched);

/* The primary stream, for ABT_init() and ABT_finalize(); by the OS thread that
 * becomes it. Open makes the stream with its main scheduler and that one's
 * pool, and makes it the calling OS thread's; an ABT code. The loop runs the
 * main scheduler as long as there is one, also while none is to be run. Close
 * frees it when nothing runs there any more. */
int amg_stream_primary_open(struct amg_stream **ret_stream);
struct amg_upool *amg_stream_main_pool(struct amg_stream *stream);
void amg_stream_primary_loop(void *stream);
/* By the primary thread: joins and frees all streams but the primary one. */
void amg_stream_join_others(void);
void amg_stream_primary_close(struct amg_stream *stream);

#endif
