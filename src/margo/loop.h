/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress loop of an instance, its watch and timers, and the finalization. */
#ifndef AMG_MARGO_LOOP_H
#define AMG_MARGO_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/lock.h"
#include "core/progress.h"
#include "margo.h"
#include "margo/instance.h"

/* Counters of a loop, written only by the thread that makes the rounds of the
 * loop; independent values, relaxed. */
struct amg_margo_loop_counts {
    _Atomic(uint64_t) progress_calls;
    _Atomic(uint64_t) trigger_calls;
    atomic_bool is_asleep; /* the loop sleeps until an event */
};

/* State of a loop from round to round. */
struct amg_margo_rounds {
    margo_instance_id mid;
    struct amg_margo_loop_counts *counts;
    /* The round is a step of core/standby.c, which makes progress only while no
     * other thread does. Read by the thread that ends the sleep of the loop. */
    bool stands_by;
    bool has_turn;          /* the last turn_take() got the turn */
    unsigned tries;         /* attempts in a row that did not get the turn */
    unsigned spindown_ms;   /* no blocking for this time after an event */
    uint64_t spin_until_ns; /* no blocking before this time; 0: may block */
    unsigned idle_rounds;   /* rounds since the last event */
    bool has_skipped;       /* the last round did not poll the network */
    bool was_quiet;         /* the instance had drained before the last round */
    unsigned backoff_ms;    /* duration of the last back-off, or 0 */
    struct amg_link link;   /* among all loops of the process */
    ABT_pool pool;          /* pool of the loop; read by other loops */
};

/* The second loop, on the program's stream; see loop.c. */
struct amg_margo_second {
    ABT_pool pool;
    atomic_bool is_there; /* false: there is no such loop, or it has ended */
    atomic_bool is_busy;  /* the loop may access the context */
    atomic_bool is_dismissed; /* must end: first loop is in `pool`, or failed */
    struct amg_margo_loop_counts counts;
};

/* Functions of finalization that the loop calls. */
struct amg_margo_loop_end {
    bool (*has_drained)(margo_instance_id mid); /* called between two rounds */
    void (*ended)(margo_instance_id mid);       /* called at the loop's end */
};

/* See watch.c. */
struct amg_margo_watch {
    atomic_bool is_set;   /* a tick is to come; written under the lock */
    struct amg_lock lock; /* guards is_closed and tick */
    bool is_closed;
    struct amg_margo_tick *tick; /* NULL: not needed so far */
    /* Used only by the tick, and before a tick is set. */
    uint64_t rounds;    /* progress calls of both loops, up to the last tick */
    unsigned silent_ms; /* time that the loop was awake without a round */
};

struct amg_margo_loop {
    const struct amg_margo_loop_end *end;
    bool may_stall; /* the loop shares a stream with the program; constant */
    /* amg_bias_mark() of the OS thread that made the last round; relaxed. */
    _Atomic(uintptr_t) mark;
    struct amg_margo_watch watch;
    bool has_second; /* a second loop was started; constant */
    /* The loop yields between two rounds, so another thread may make rounds.
     * Written by the loop's stream; a hint for other threads. */
    atomic_bool is_at_rest;
    struct amg_margo_rounds rounds; /* used by the loop, or by `stands_in` */
    struct amg_margo_loop_counts counts;
    struct amg_standby standby; /* of the first loop, if there is a second */
    struct amg_margo_second second;
    /* True: a loop has the turn to run callbacks. */
    atomic_bool is_running;
    /* Used by the first loop: since when the second loop has the turn, but does
     * not run (its callback waits); 0: the second loop runs. */
    uint64_t stuck_ns;
};

/* Initializes `loops` and `wakeup` of the instance, before any loop runs. */
void amg_margo_loop_init(margo_instance_id mid);
/* Starts the first loop and, if `shares_core` and second_start() allows it, the
 * second loop. False: no thread for the first loop can be created; logged. */
bool amg_margo_loop_start(margo_instance_id mid,
    const struct amg_margo_loop_end *end, bool shares_core);
/* Joins the loops, which return by themselves. */
void amg_margo_loop_stop(margo_instance_id mid);

/* rounds.c: called by a loop before its first and after its last round. */
void amg_margo_rounds_begin(margo_instance_id mid,
    struct amg_margo_rounds *rounds, struct amg_margo_loop_counts *counts);
void amg_margo_rounds_end(struct amg_margo_rounds *rounds);
/* Makes progress once and runs callbacks; sleeps if there is nothing to do. */
void amg_margo_rounds_run(
    margo_instance_id mid, struct amg_margo_rounds *rounds);
/* Called between two rounds: lets ready threads of the stream run; a loop that
 * makes progress only when needed waits until progress is needed. */
void amg_margo_rounds_yield(
    margo_instance_id mid, struct amg_margo_rounds *rounds);
/* Has the loop nothing to do between two rounds but to let other threads run?
 * If so, the loop calls amg_margo_rounds_rest(), not amg_margo_rounds_yield();
 * during the rest another thread may stand in for the loop. */
bool amg_margo_rounds_may_rest(
    margo_instance_id mid, const struct amg_margo_rounds *rounds);
void amg_margo_rounds_rest(struct amg_margo_loop *loop);

/* The calling thread, which waits until `word` is `value`, makes rounds itself
 * if the loop is the only other ready thread of the stream. So the thread saves
 * the switches to the loop and back. False: the thread must wait. */
bool amg_margo_loop_stand_in(
    margo_instance_id mid, const atomic_uintptr_t *word, uintptr_t value);

/* Makes progress in place of a loop that does not run, until the eventual is
 * set. Counts as an operation, so that the instance does not end meanwhile. */
void amg_margo_loop_drive(margo_instance_id mid, ABT_eventual eventual);

/* Does the caller run outside of the loop's pool? A waiting thread of that pool
 * leaves its stream to the loop. */
bool amg_margo_loop_is_elsewhere(margo_instance_id mid);

/* Could the calling thread wait for a loop that cannot run, because code of the
 * program occupies the loop's stream? */
static inline bool amg_margo_loop_may_stall(margo_instance_id mid)
{
    const struct amg_margo_loop *loop = mid->loop;

    return loop->may_stall &&
           atomic_load_explicit(&loop->mark, memory_order_relaxed) !=
               amg_bias_mark() &&
           amg_margo_loop_is_elsewhere(mid);
}

/* watch.c: called before a thread waits for a loop that may stall. */
void amg_margo_watch_set(margo_instance_id mid);
/* Ends the watch for good; called by any thread, once or more often. */
void amg_margo_watch_close(margo_instance_id mid);

/* finalize.c: the end of an instance. The callbacks that the program has pushed
 * for the end, in two lists, in the order in which the callbacks run. */
struct amg_margo_callbacks {
    struct amg_lock lock;   /* guards `before` and `after` */
    struct amg_list before; /* prefinalize */
    struct amg_list after;  /* finalize */
};

struct amg_margo_finalize {
    struct amg_margo_callbacks callbacks;
    /* Guards all members down to `cond`, which signals their changes. */
    ABT_mutex_memory mutex;
    unsigned closers;       /* waiting threads that may end the streams */
    bool is_drained;        /* no handler or call runs, the loop has ended */
    bool is_claimed;        /* a thread runs, or ran, the finalize callbacks */
    bool is_stopped;        /* finalize callbacks have run */
    bool is_closed;         /* no references; the class is closed */
    bool is_ending_streams; /* a thread ends streams and pools */
    ABT_cond_memory cond;
    uint64_t deadline_ns; /* of the wait for calls, then for cancelled calls */
    /* The user-level thread, or the OS thread, that runs the callbacks. This
     * thread must not wait for the finalization. Relaxed. */
    _Atomic(ABT_thread) runner;
    _Atomic(uintptr_t) runner_os;
    /* Used only by the loop, while it drains. */
    uint64_t log_ns; /* when to log next what the loop waits for */
    uint64_t wait;   /* of amg_status_wait(); written before FINALIZING */
    unsigned log_ms; /* time from the last log line to `log_ns` */
    bool was_cancelled;
};

void amg_margo_finalize_init(margo_instance_id mid);
/* For amg_margo_loop_start(). */
extern const struct amg_margo_loop_end amg_margo_finalize_of_loop;

/* Closes the class and all that depends on it, also after a failed open. */
void amg_margo_close_network(margo_instance_id mid);
/* finalize_callbacks.c: calls the prefinalize callbacks (`before`) or the
 * finalize callbacks, and removes them. */
void amg_margo_callbacks_run(margo_instance_id mid, bool before);
/* Removes all callbacks. */
void amg_margo_callbacks_fini(margo_instance_id mid);

/* A one-shot timer, embedded in a request, in a variable on the stack of a
 * waiting thread, or in a timer of the program. timer.c owns an armed timer
 * until the timer fires or is disarmed. */
struct amg_margo_timer {
    struct amg_heap_node node; /* key: amg_clock_ns() when due */
    /* Called with no lock held: by a loop, or, with `is_due` false, when the
     * instance ends before the timer is due. May free the timer. */
    void (*fire)(struct amg_margo_timer *timer, bool is_due);
    bool is_armed;
};

struct amg_margo_timers {
    struct amg_lock lock; /* guards heap, is_closed, and is_armed of timers */
    struct amg_heap heap;
    bool is_closed; /* no timer fires any more */
    /* For each loop the timer whose fire() the loop runs, or NULL; the pointer
     * is only compared. The release store of NULL pairs with the acquire loads
     * of a thread that waits for the end of fire(). */
    _Atomic(struct amg_margo_timer *) firing[AMG_MARGO_LOOP_COUNT];
};

void amg_margo_timers_init(margo_instance_id mid);
/* Refuses new timers; fires the rest as not due. Called after all rounds. */
void amg_margo_timers_fini(margo_instance_id mid);

/* Arms a timer, whose `fire` the caller has set, for the time `due_ns`. Any
 * thread. False: not armed, since the instance has ended. */
bool amg_margo_timer_arm(
    margo_instance_id mid, struct amg_margo_timer *timer, uint64_t due_ns);

/* Disarms the timer. False: the timer was not armed; a fire() that ran has
 * returned, unless the caller runs in it. True: a fire() that armed the timer
 * again may still run. Any thread; while fire() runs, the caller yields. */
bool amg_margo_timer_disarm(
    margo_instance_id mid, struct amg_margo_timer *timer);

/* Called by a loop: fires all timers that are due. */
void amg_margo_timers_fire(margo_instance_id mid, uint64_t now_ns);

/* The time `time_ms` from now by CLOCK_REALTIME, for timed waits of abt.h. */
struct timespec amg_margo_moment(unsigned time_ms);

/* The time `timeout_ms` from now by the clock of amg_clock_ns(). */
uint64_t amg_margo_timer_due_ns(double timeout_ms);

#endif
