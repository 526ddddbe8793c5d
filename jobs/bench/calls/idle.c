/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of a core a rank takes that waits for calls and gets none.
 *
 * Both ranks have called, and so know each other. Then the program of both
 * waits in HG_Progress(), or elsewhere while a progress thread waits for it;
 * after a second without news all threads of the process are counted. */
#include <time.h>

#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/guard.h"
#include "jobs/bench/base/pause.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/calls/served.h"

enum {
    REST_MS = 1000,
    REST_QUICK_MS = 500,
    IDLE_MS = 3000,
    IDLE_QUICK_MS = 1000,
    IDLE_SMOKE_MS = 200,
    US_PER_MS = 1000,
    PERCENT = 100,
};

#define CONTROL_TEXT "one core, as who spins takes it"

static double cpu_us(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e6 + (double)used.tv_nsec * 1e-3;
}

/* In HG_Progress() so long. */
static void wait_there(struct pair *pair, unsigned ms)
{
    double end_us = clock_now_us() + (double)ms * US_PER_MS;

    while (clock_now_us() < end_us) {
        pair->wait_ms = (unsigned)((end_us - clock_now_us()) / US_PER_MS) + 1;
        pair_turn(pair);
    }
    pair->wait_ms = SERVED_WAIT_MS;
}

/* There, or where the library knows nothing of it. */
static void form_wait(struct served *served, unsigned ms)
{
    if (served->has_thread)
        pause_us(ms * US_PER_MS);
    else
        wait_there(&served->pair, ms);
}

/* Waits so long; returns the share of a core that it took, in percent. */
static double idle_share(struct served *served, unsigned idle_ms)
{
    double start_us = clock_now_us();
    double before_us = cpu_us();

    form_wait(served, idle_ms);
    return (cpu_us() - before_us) / (clock_now_us() - start_us) * PERCENT;
}

static void row_add(const struct pair *pair, const char *op, double share)
{
    struct row row = {
        .bench = "idle",
        .op = op,
        .memory = "host",
        .unit = "%",
        .value = share,
        .against = "spinning",
        .control = CONTROL_TEXT,
        .control_value = PERCENT,
        .ratio = share / PERCENT,
        .better = "lower",
        .batches = 1,
        .spread = {share / PERCENT, share / PERCENT},
    };

    if (pair->rank != 0)
        return;
    pair_row(pair, &row);
    rows_add(&row);
}

static void form_run(
    struct served *served, enum amalgam_progress progress, const char *op)
{
    struct amalgam_progress_options options =
        AMALGAM_PROGRESS_OPTIONS_INITIALIZER;
    struct pair *pair = &served->pair;
    const struct options *asked = pair->options;
    unsigned idle_ms =
        options_pick(asked, IDLE_MS, IDLE_QUICK_MS, IDLE_SMOKE_MS);
    double share = 0.0;

    options.progress = progress;
    served_set(served, &options);
    pair_enter(pair);
    served_meet(served);
    guard_step("waiting for %u ms", idle_ms);
    form_wait(
        served, options_pick(asked, REST_MS, REST_QUICK_MS, IDLE_SMOKE_MS));
    share = idle_share(served, idle_ms);
    guard_rest();
    pair_leave(pair);
    MPI_Allreduce(MPI_IN_PLACE, &share, 1, MPI_DOUBLE, MPI_MAX, pair->comm);
    row_add(pair, op, share);
}

void bench_idle(struct pair *pair)
{
    struct served served;

    served_open(&served, pair);
    form_run(&served, AMALGAM_PROGRESS_CALLER, "idle_cpu");
    form_run(&served, AMALGAM_PROGRESS_THREAD, "idle_thread");
    served_close(&served);
}
