/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a call takes to a rank that sleeps, by one that has slept.
 *
 * Who sleeps at the target is its progress thread, or the program in
 * HG_Progress(). Who called looks for the answer as the library likes it, or
 * sleeps at once (wake_asleep). After a short pause the kernel's own wake-up is
 * the measure; after a long one what may be expected of a medium that nobody
 * can sleep on, so that who waits looks now and then. */
#include <stdio.h>
#include <stdlib.h>

#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/guard.h"
#include "jobs/bench/base/pause.h"
#include "jobs/bench/base/pin.h"
#include "jobs/bench/base/stats.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/calls/event.h"
#include "jobs/bench/calls/served.h"
#include "jobs/bench/frame/figures.h"
#include "jobs/bench/frame/repeat.h"

enum {
    CALLS = 100,
    IDLE_US = 2000,
    LONG_CALLS = 20,
    LONG_CALLS_QUICK = 5,
    LONG_US = 1000000,
    LONG_QUICK_US = 500000,
    LONG_SMOKE_US = 10000,
    LONG_STEP_US = 370, /* more of a pause each time: no call keeps in step */
    NAP_US = 5000,      /* the longest of the library's */
};

#define LONG_TEXT                                                              \
    "a sleep of 5 ms, the longest nap there is, by rank 0 after each call; "   \
    "the 99th percentile of both"

struct wake {
    struct served served;
    struct event_pair events;
};

static double ours_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct wake *wake = duel->more;

    if (pair->rank == 0)
        return served_calls(&wake->served, duel, IDLE_US, ret_samples);
    served_wait(&wake->served);
    return 0.0;
}

static double events_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct wake *wake = duel->more;

    return event_batch(pair, duel, &wake->events, IDLE_US, ret_samples);
}

static void short_row(struct wake *wake, const char *op)
{
    struct pair *pair = &wake->served.pair;
    struct duel duel = {
        .ours = ours_batch,
        .control = events_batch,
        .window = 1,
        .calls = pair->options->calls == 0 ? CALLS : pair->options->calls,
        .batches = pair->options->batches,
        .figure = DUEL_US,
        .context = DUEL_CONTEXT_BOTH,
        .more = wake,
    };
    struct row row = {
        .bench = "wake",
        .op = op,
        .memory = "host",
        .against = "eventfd",
        .control = EVENT_TEXT,
    };

    duel_run(pair, &duel, &row);
}

/* One call after each pause; rank 0 writes how long each took, and each nap. */
static void long_calls(
    struct served *served, unsigned count, double *samples, double *naps)
{
    struct pair *pair = &served->pair;
    unsigned idle_us =
        options_pick(pair->options, LONG_US, LONG_QUICK_US, LONG_SMOKE_US);
    hg_handle_t handle = HG_HANDLE_NULL;

    served_meet(served);
    for (unsigned i = 0; i < count; i++) {
        double start_us = 0.0;

        guard_step("call %u after %u us of rest", i, idle_us);
        if (pair->rank == 1) {
            served_wait(served);
            continue;
        }
        handle = pair_handle(pair, served->null_id);
        pause_us(idle_us + i * LONG_STEP_US);
        start_us = clock_now_us();
        served_call(served, handle);
        samples[i] = clock_now_us() - start_us;
        pair_check(pair, HG_Destroy(handle), "HG_Destroy");
        served_stop(served);
        start_us = clock_now_us();
        pause_us(NAP_US);
        naps[i] = clock_now_us() - start_us;
    }
}

/* The calls after long pauses, and their naps. */
struct rest {
    struct served *served;
    unsigned count;
    double *samples;
    double *naps;
};

static void rest_measure(struct pair *pair, void *arg)
{
    struct rest *rest = arg;

    pair_enter(pair);
    long_calls(rest->served, rest->count, rest->samples, rest->naps);
    pair_leave(pair);
    guard_rest();
}

static void rest_fill(struct row *row, void *arg)
{
    struct rest *rest = arg;
    unsigned count = rest->count;
    double *samples = rest->samples;

    figures_samples(samples, count, row);
    stats_sort(rest->naps, count);
    row->value = row->p99_us;
    row->control_value = stats_quantile(rest->naps, count, 0.99);
    row->ratio = row->value / row->control_value;
    row->spread[0] = stats_quantile(samples, count, 0.25) / row->control_value;
    row->spread[1] = stats_quantile(samples, count, 0.75) / row->control_value;
}

static void long_row(struct wake *wake, const char *op)
{
    struct pair *pair = &wake->served.pair;
    const struct options *options = pair->options;
    struct rest rest = {
        .served = &wake->served,
        .count = options->calls != 0
                     ? options->calls
                     : options_pick(options, LONG_CALLS, LONG_CALLS_QUICK, 1),
    };
    struct row row = {
        .bench = "wake",
        .op = op,
        .window = 1,
        .memory = "host",
        .unit = "us",
        .against = "nap",
        .control = LONG_TEXT,
        .better = "lower",
        .batches = rest.count,
    };

    rest.samples = calloc(rest.count, sizeof(*rest.samples));
    rest.naps = calloc(rest.count, sizeof(*rest.naps));
    if (rest.samples == NULL || rest.naps == NULL)
        pair_check(pair, HG_NOMEM, "memory for the samples");
    pair_row(pair, &row);
    repeat_run(pair, rest_measure, rest_fill, &rest, &row);
    if (pair->rank == 0)
        rows_add(&row);
    free(rest.naps);
    free(rest.samples);
}

/* A call after a short pause, and after a long one. */
static void rows_run(
    struct wake *wake, const char *short_op, const char *long_op)
{
    if (wake->served.pair.is_one_machine)
        short_row(wake, short_op);
    if (long_op != NULL)
        long_row(wake, long_op);
}

/* Rank 1 has a thread on the core of its program, which is not there. */
static void target_by_thread(struct served *served, enum amalgam_wait wait)
{
    if (served->pair.rank == 0)
        served_by_caller(served, wait);
    else
        served_by_thread(served, wait, pin_core());
}

void bench_wake(struct pair *pair)
{
    struct wake wake;

    if (!pair_is_of_two(pair, "wake"))
        return;
    served_open(&wake.served, pair);
    if (pair->is_one_machine)
        event_open(&wake.served.pair, &wake.events);
    served_by_caller(&wake.served, AMALGAM_WAIT_AUTO);
    rows_run(&wake, "wake_caller", "rest_caller");
    target_by_thread(&wake.served, AMALGAM_WAIT_AUTO);
    rows_run(&wake, "wake_thread", "rest_thread");
    target_by_thread(&wake.served, AMALGAM_WAIT_SLEEP);
    rows_run(&wake, "wake_asleep", NULL);
    if (pair->is_one_machine)
        event_close(&wake.events);
    served_close(&wake.served);
}
