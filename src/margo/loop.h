/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress loop of an instance, the public calls about it, and the timers that
 * the loop fires. */
#ifndef AMG_MARGO_LOOP_H
#define AMG_MARGO_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/lock.h"
#include "margo.h"
#include "margo/instance.h"

/* Counters of a loop. Written only by it; independent values, relaxed. */
struct amg_margo_loop_counts {
    _Atomic(uint64_t) progress_calls;
    _Atomic(uint64_t) trigger_calls;
    atomic_bool is_asleep; /* in HG_Progress(), where any event wakes it */
};

/* State of a loop from round to round. */
struct amg_margo_rounds {
    struct amg_margo_loop_counts *counts;
    atomic_bool *is_asleep; /* set while it blocks; or NULL */
    unsigned spindown_ms;   /* time without blocking after an event; 0: none */
    uint64_t spin_until_ns; /* 0: blocking is not delayed */
    unsigned idle_rounds;   /* rounds since the last event */
    bool was_quiet;         /* the instance had drained before the last round */
    unsigned backoff_ms;    /* duration of its last back-off; or 0 */
    struct amg_link link;   /* among all loops of the process */
    ABT_pool pool;          /* its pool at the last check for other loops */
};

struct amg_margo_standby {
    ABT_pool pool;             /* its own; NULL: there is no standby loop */
    atomic_bool is_there;      /* false for good when it has ended */
    atomic_bool is_busy;       /* may touch the context */
    atomic_bool is_dismissed;  /* the loop runs in its pool */
    atomic_bool is_asleep;     /* blocked; any event ends that */
    atomic_bool is_taken_over; /* the standby loop makes progress itself, */
    atomic_bool is_in_round;   /* and does so just now */
    struct amg_margo_loop_counts counts;
};

/* Functions of finalization that the loop calls. */
struct amg_margo_loop_end {
    bool (*has_drained)(margo_instance_id mid); /* called between two rounds */
    void (*ended)(margo_instance_id mid);       /* called at its end */
};

/* See watch.c. */
struct amg_margo_watch {
    atomic_bool is_set;   /* there is a next tick; written under the lock */
    struct amg_lock lock; /* guards the two below */
    bool is_closed;
    struct amg_margo_tick *tick; /* NULL: not needed so far */
    /* Used only by the tick, and before it is set. */
    uint64_t rounds;    /* of the loop, at the last tick */
    unsigned silent_ms; /* without rounds by then */
};

struct amg_margo_loop {
    const struct amg_margo_loop_end *end;
    bool may_stall; /* it shares a stream with the program; constant */
    /* amg_bias_mark() of the OS thread that made the last round. An independent
     * value, relaxed. */
    _Atomic(uintptr_t) mark;
    struct amg_margo_watch watch;
    bool has_standby; /* the progress stream shares its core; constant */
    /* It yields between two rounds: another thread may make them. Written by
     * its stream; others read it as a hint. */
    atomic_bool is_at_rest;
    struct amg_margo_rounds rounds; /* of the loop, and who stands in for it */
    struct amg_margo_loop_counts counts;
    struct amg_margo_standby standby;
};

/* Called before any loop runs. */
void amg_margo_loop_init(margo_instance_id mid);
/* `shares_core`: starts a standby loop as well, if the program has a pool for
 * it. False: no thread, logged. */
bool amg_margo_loop_start(margo_instance_id mid,
    const struct amg_margo_loop_end *end, bool shares_core);
/* Joins the loops, which return by themselves. */
void amg_margo_loop_stop(margo_instance_id mid);

/* The rounds of both loops: called first and last. */
void amg_margo_rounds_begin(margo_instance_id mid,
    struct amg_margo_rounds *rounds, struct amg_margo_loop_counts *counts);
void amg_margo_rounds_end(struct amg_margo_rounds *rounds);
/* Runs ready threads, or blocks until there is something to do. */
void amg_margo_rounds_run(
    margo_instance_id mid, struct amg_margo_rounds *rounds);
/* Called between two rounds: lets ready threads of the stream run; a loop that
 * makes progress only when needed waits until it is. */
void amg_margo_rounds_yield(
    margo_instance_id mid, struct amg_margo_rounds *rounds);

/* The calling thread, which waits until `word` has that value, makes the rounds
 * itself if the loop is the only other thread that is ready in its stream: that
 * saves the switch to the loop and the one back. False: it has to wait in
 * another way. */
bool amg_margo_loop_stand_in(
    margo_instance_id mid, const atomic_uintptr_t *word, uintptr_t value);

/* Is the caller no thread of the loop's pool? A thread of that pool leaves its
 * stream to the loop when it waits. */
bool amg_margo_loop_is_elsewhere(margo_instance_id mid);

/* May the calling thread wait for a loop that does not run, since the program
 * keeps its stream? */
static inline bool amg_margo_loop_may_stall(margo_instance_id mid)
{
    const struct amg_margo_loop *loop = mid->loop;

    return loop->may_stall &&
           atomic_load_explicit(&loop->mark, memory_order_relaxed) !=
               amg_bias_mark() &&
           amg_margo_loop_is_elsewhere(mid);
}

/* watch.c: called before such a thread waits for the loop. */
void amg_margo_watch_set(margo_instance_id mid);
/* Ends the watch for good; any thread, again, too. */
void amg_margo_watch_close(margo_instance_id mid);

/* standby_loop.c, where the progress stream shares its core. */
void amg_margo_standby_start(margo_instance_id mid);
void amg_margo_standby_join(margo_instance_id mid);
/* Called by the loop, when the instance ends: may the standby loop access the
 * context? */
bool amg_margo_standby_is_busy(const struct amg_margo_standby *standby);
/* Called by the loop, the watcher, before each round: returns when it must make
 * the round; and after it. */
void amg_margo_watcher_wait(
    margo_instance_id mid, struct amg_margo_rounds *rounds);
void amg_margo_watcher_leave(struct amg_margo_standby *standby);

/* finalize.c: the end of an instance, whose steps that file lists. Callbacks of
 * the program, in two lists, in the order in which they are run. */
struct amg_margo_callbacks {
    struct amg_lock lock;   /* guards both */
    struct amg_list before; /* prefinalize */
    struct amg_list after;  /* finalize */
};

struct amg_margo_finalize {
    struct amg_margo_callbacks callbacks;
    /* Guards all up to `cond`, which signals changes. */
    ABT_mutex_memory mutex;
    unsigned closers; /* threads that wait for or perform the finalization */
    bool is_drained;  /* no handler or call runs, the loop has ended */
    bool is_claimed;  /* a thread stops it */
    bool is_stopped;  /* finalize callbacks have run */
    bool is_closed;   /* no references; the class is closed, too */
    bool is_ending_streams; /* a thread ends streams and pools */
    ABT_cond_memory cond;
    uint64_t deadline_ns; /* set before it drains; then calls are abandoned */
    /* The thread that is running callbacks, which must not wait for the
     * finalization: a user-level thread, else an OS thread. Independent values,
     * relaxed. */
    _Atomic(ABT_thread) runner;
    _Atomic(uintptr_t) runner_os;
    /* Used only by the loop, while it drains. */
    uint64_t log_ns; /* when to log what it waits for, */
    unsigned log_ms; /* and the time waited by then */
    bool was_cancelled;
};

void amg_margo_finalize_init(margo_instance_id mid);
/* May the calling thread wait for the end of the instance? */
bool amg_margo_may_wait(margo_instance_id mid);
/* For amg_margo_loop_start(). */
extern const struct amg_margo_loop_end amg_margo_finalize_of_loop;

/* init.c: closes the class and all that depends on it, also after a failed
 * open.
 */
void amg_margo_close_network(margo_instance_id mid);
/* Frees the memory of a closed instance without users. */
void amg_margo_instance_free(margo_instance_id mid);

/* finalize_callbacks.c: runs the callbacks of a list, each of which may push
 * and pop others. */
void amg_margo_callbacks_run(margo_instance_id mid, bool before);
/* Frees the remaining entries. */
void amg_margo_callbacks_fini(margo_instance_id mid);

/* A one-shot timer. It lies in its owner: a request, the stack of a sleeping
 * thread, a timer of the program. From arm until it fires, or is disarmed,
 * timer.c owns it. */
struct amg_margo_timer {
    struct amg_heap_node node; /* its key: amg_clock_ns() when it is due */
    /* Called by a loop, with no lock held; `is_due` is false if the instance
     * ends before. The timer may be freed when this returns. */
    void (*fire)(struct amg_margo_timer *timer, bool is_due);
    bool is_armed;
};

struct amg_margo_timers {
    struct amg_lock lock; /* guards the heap, is_closed, and is_armed of each */
    struct amg_heap heap;
    bool is_closed; /* no timer fires any more */
    /* The timer whose fire() each loop runs now; compared only. The release
     * stores (NULL) pair with the acquire loads of a thread that waits for
     * that. */
    _Atomic(struct amg_margo_timer *) firing[AMG_MARGO_LOOP_COUNT];
};

void amg_margo_timers_init(margo_instance_id mid);
/* Fires the remaining ones as not due, and accepts no more. The loop has
 * stopped. */
void amg_margo_timers_fini(margo_instance_id mid);

/* Arms a timer whose `fire` is set to fire at `due_ns`. Any thread. False: the
 * instance has ended, no timer fires. */
bool amg_margo_timer_arm(
    margo_instance_id mid, struct amg_margo_timer *timer, uint64_t due_ns);

/* Disarms it. False: it was not armed, or has fired, and its function has
 * returned, unless the caller runs in it. Any thread; a user-level thread
 * leaves its stream to others while it waits. */
bool amg_margo_timer_disarm(
    margo_instance_id mid, struct amg_margo_timer *timer);

/* Called by the loop: fires all that are due. */
void amg_margo_timers_fire(margo_instance_id mid, uint64_t now_ns);

/* `time_ms` from now, of CLOCK_REALTIME, for timed waits of abt.h. */
struct timespec amg_margo_moment(unsigned time_ms);

/* `timeout_ms` from now, of amg_clock_ns(). */
uint64_t amg_margo_timer_due_ns(double timeout_ms);

#endif
