/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers of Margo under torture, by user-level and by other threads.
 *
 * Each accepted start fires once, unless a cancel comes before; when a cancel
 * has returned, no callback runs, and none begins before the next start. */
#include <sched.h>
#include <stdlib.h>

#include "margo-timer.h"
#include "margo_torture.h"

enum { STARTS = 4, LONG_MS = 600000, LINKS = 5 };

/* A timer, and what its callback has seen. */
struct ticker {
    struct mt *mt;
    margo_timer_t timer;
    bool is_in_loop; /* its callback must not wait */
    atomic_uint fired;
    atomic_uint running;
    atomic_uint links; /* restarts that its callback still makes */
};

static void ticker_fire(void *arg)
{
    struct ticker *ticker = arg;
    unsigned links = atomic_load(&ticker->links);

    if (atomic_fetch_add(&ticker->running, 1) > 0)
        book_finding(ticker->mt->book, "a timer's callback runs twice at once");
    if (!ticker->is_in_loop)
        (void)ABT_self_yield();
    atomic_fetch_sub(&ticker->running, 1);
    if (links > 1 && margo_timer_start(ticker->timer, 0.1) != 0)
        book_finding(ticker->mt->book, "a callback cannot start its timer");
    if (links == 1 && (margo_timer_cancel(ticker->timer) != 0 ||
                          margo_timer_destroy(ticker->timer) != 0))
        book_finding(ticker->mt->book, "a callback cannot destroy its timer");
    if (links > 0)
        atomic_fetch_sub(&ticker->links, 1);
    atomic_fetch_add(&ticker->fired, 1);
}

static struct ticker *ticker_create(struct mt *mt, struct mt_steps *steps)
{
    struct ticker *ticker = calloc(1, sizeof(*ticker));
    ABT_pool pool = ABT_POOL_NULL;

    if (ticker == NULL || margo_get_handler_pool(mt->mid, &pool) != 0)
        abort();
    ticker->mt = mt;
    ticker->is_in_loop = mt_step(steps, 3) == 0;
    if (margo_timer_create_with_pool(mt->mid, ticker_fire, ticker,
            ticker->is_in_loop ? ABT_POOL_NULL : pool, &ticker->timer) != 0)
        book_finding(mt->book, "a timer cannot be created");
    return ticker;
}

static void start(struct ticker *ticker, double ms)
{
    if (margo_timer_start(ticker->timer, ms) != 0)
        book_finding(ticker->mt->book, "an idle timer cannot be started");
}

/* Returns when the callback has run so often, and not too often. */
static void fired_wait(struct ticker *ticker, unsigned times)
{
    while (atomic_load(&ticker->fired) < times)
        margo_thread_sleep(ticker->mt->mid, 0.2);
    if (atomic_load(&ticker->fired) != times)
        book_finding(ticker->mt->book, "a timer fired %u times, and not %u",
            atomic_load(&ticker->fired), times);
}

/* Cancels; returns how often it has fired by then. */
static unsigned cancel(struct ticker *ticker, struct mt_steps *steps)
{
    margo_timer_t timers[3] = {
        MARGO_TIMER_NULL, ticker->timer, MARGO_TIMER_NULL};
    int rc = mt_step(steps, 2) == 0 ? margo_timer_cancel(ticker->timer)
                                    : margo_timer_cancel_many(3, timers);
    unsigned fired = atomic_load(&ticker->fired);

    if (rc != 0)
        book_finding(ticker->mt->book, "a timer cannot be cancelled");
    if (atomic_load(&ticker->running) != 0)
        book_finding(ticker->mt->book, "a cancelled timer's callback runs");
    if (mt_step(steps, 2) == 0)
        margo_thread_sleep(ticker->mt->mid, 0.5);
    if (atomic_load(&ticker->fired) != fired)
        book_finding(ticker->mt->book, "a cancelled timer fired");
    return fired;
}

/* Starts, cancels, and destroys one timer. */
static void one(struct mt *mt, struct mt_steps *steps)
{
    struct ticker *ticker = ticker_create(mt, steps);
    unsigned due = 0;

    for (unsigned i = 0; i < STARTS; i++) {
        unsigned before = due;

        if (mt_step(steps, 4) == 0) {
            start(ticker, LONG_MS);
            if (margo_timer_start(ticker->timer, 1) == 0)
                book_finding(mt->book, "a timer was started twice");
            if (cancel(ticker, steps) != before)
                book_finding(mt->book, "a timer of minutes fired");
            continue;
        }
        start(ticker, 0.1 * mt_step(steps, 20));
        due++;
        if (mt_step(steps, 2) == 0) {
            for (unsigned n = mt_step(steps, 10); n > 0; n--)
                margo_thread_sleep(mt->mid, 0.1);
            due = cancel(ticker, steps);
            if (due > before + 1)
                book_finding(mt->book, "a timer fired twice for a start");
        } else {
            fired_wait(ticker, due);
        }
    }
    if (mt_step(steps, 2) == 0) {
        start(ticker, 0.1 * mt_step(steps, 20));
        due++;
    }
    if (margo_timer_destroy(ticker->timer) != 0)
        book_finding(mt->book, "a timer cannot be destroyed");
    fired_wait(ticker, due); /* also one that was destroyed before */
    while (atomic_load(&ticker->running) != 0)
        (void)sched_yield();
    free(ticker);
}

/* Its callback starts it again, and destroys it in the end. */
static void chain(struct mt *mt, struct mt_steps *steps)
{
    struct ticker *ticker = ticker_create(mt, steps);

    atomic_store(&ticker->links, LINKS);
    start(ticker, 0);
    fired_wait(ticker, LINKS);
    free(ticker);
}

/* Timers that several threads start and cancel as they like. */
static void shared(struct mt_shared_timer *timer, struct mt_steps *steps)
{
    if (mt_step(steps, 2) != 0) {
        if (margo_timer_start(timer->timer, 0.1 * mt_step(steps, 10)) == 0)
            atomic_fetch_add(&timer->starts, 1);
    } else if (margo_timer_cancel(timer->timer) != 0) {
        book_finding(timer->mt->book, "a shared timer cannot be cancelled");
    }
}

static void shared_fire(void *arg)
{
    struct mt_shared_timer *timer = arg;

    if (atomic_fetch_add(&timer->running, 1) > 0)
        book_finding(timer->mt->book, "a shared timer's callback runs twice");
    (void)ABT_self_yield();
    atomic_fetch_sub(&timer->running, 1);
    atomic_fetch_add(&timer->fired, 1);
}

void mt_shared_timer_open(struct mt *mt, struct mt_shared_timer *timer)
{
    timer->mt = mt;
    if (margo_timer_create(mt->mid, shared_fire, timer, &timer->timer) != 0)
        book_finding(mt->book, "a timer cannot be created");
}

void mt_shared_timer_close(struct mt_shared_timer *timer)
{
    struct mt *mt = timer->mt;

    if (margo_timer_cancel(timer->timer) != 0 ||
        margo_timer_destroy(timer->timer) != 0)
        book_finding(mt->book, "a shared timer cannot be destroyed");
    if (atomic_load(&timer->running) != 0 ||
        atomic_load(&timer->fired) > atomic_load(&timer->starts))
        book_finding(mt->book,
            "a shared timer was started %u times, and fired %u times",
            atomic_load(&timer->starts), atomic_load(&timer->fired));
}

void mt_timers(
    struct mt *mt, struct mt_steps *steps, struct mt_shared_timer *timer)
{
    switch (mt_step(steps, 4)) {
    case 0:
        chain(mt, steps);
        break;
    case 1:
        shared(timer, steps);
        break;
    default:
        one(mt, steps);
        break;
    }
}
