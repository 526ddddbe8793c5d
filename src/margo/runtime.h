/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the runtime of user-level threads beyond abt.h:
 * runtime_amalgam.c implements them for src/ult, runtime_argobots.c for
 * Argobots, as far as possible. */
#ifndef AMG_MARGO_RUNTIME_H
#define AMG_MARGO_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bias.h"
#include "margo.h"

/* The runtime's kind of pool for an enum amg_margo_pool_kind, or the nearest
 * kind. False: the runtime lacks that kind. */
bool amg_margo_runtime_pool_kind(int kind, ABT_pool_kind *ret_kind);

/* Is another thread ready in the caller's stream? */
bool amg_margo_runtime_has_ready(void);

/* Lets the ready threads of the caller's stream run first. */
void amg_margo_runtime_yield(void);

/* If only `thread` is ready in the only pool of the caller's stream, and no
 * other stream runs the pool, takes `thread` out; give() pushes it back. */
bool amg_margo_runtime_take(ABT_thread thread);
void amg_margo_runtime_give(ABT_thread thread);

/* Must the loop leave its stream, which is to end, for another stream? */
bool amg_margo_runtime_must_migrate(void);

/* A sleep of the loop's stream. */
struct amg_margo_sleep {
    hg_return_t (*sleep)(void *arg, unsigned timeout_ms); /* 0: only polls */
    void (*wake)(void *arg); /* ends the sleep, also before it begins */
    void *arg;
};

/* Sleeps up to `timeout_ms`. A thread that becomes ready for the stream ends
 * the sleep, if amg_margo_runtime_ends_sleeps(). */
hg_return_t amg_margo_runtime_sleep(
    const struct amg_margo_sleep *sleep, unsigned timeout_ms);
bool amg_margo_runtime_ends_sleeps(void);

/* Logs where threads are blocked. */
void amg_margo_runtime_log_blocked(void);

/* The calling thread, as an ABT_thread, if the thread can park; else NULL. */
void *amg_margo_runtime_self(void);

/* Parks the calling thread, which holds the lock, until another thread unparks
 * it, once. Releases the lock when the calling thread has left its stack. */
void amg_margo_runtime_park(void *self, struct amg_bias *lock);
void amg_margo_runtime_unpark(void *self);

/* May a thread that an eventual wakes free the eventual immediately? */
bool amg_margo_runtime_frees_eventuals(void);

/* Waits for an eventual until the deadline (amg_clock_ns()). False: the
 * deadline has passed. The caller is no tasklet. */
bool amg_margo_runtime_eventual_wait(
    ABT_eventual eventual, uint64_t deadline_ns);

/* Creates a timed call of fn(arg) by a thread of the runtime; fn() must not
 * block. NULL: no memory, or the runtime has no such thread. */
struct amg_margo_tick *amg_margo_runtime_tick_create(
    void (*fn)(void *arg), void *arg);
/* Sets the time of the next call; also called by fn(). False: no call comes. */
bool amg_margo_runtime_tick_set(
    struct amg_margo_tick *tick, uint64_t deadline_ns);
/* Cancels or awaits the call, and frees the tick. Accepts NULL; not in fn(). */
void amg_margo_runtime_tick_destroy(struct amg_margo_tick *tick);

#endif
