/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that sleep: on one core, idle for long, and woken by a call.
 *
 * onecore: two ranks share one core, so a rank that spins takes the time that
 * the other one needs to answer. Both wait inside HG_Progress(); the control is
 * the kernel's time to wake the two in turn. The class is opened on that core,
 * as the library may then choose how to wait.
 *
 * idle: one call goes first. Then the program of each rank waits in
 * HG_Progress(), or outside the library while a progress thread waits; after a
 * quiet second the CPU time of all threads of the process is measured.
 *
 * wake: at the target the progress thread sleeps, or the program in
 * HG_Progress(); the caller waits as the library does by default, or sleeps at
 * once (wake_asleep). After a short pause the control is the kernel's own
 * wake-up; after a long pause it is a nap of 5 ms: if a process cannot sleep on
 * its medium, it naps at most so long between two polls. */
#include <stdio.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/frame/watch.h"
#include "jobs/bench/raw/calls.h"
#include "jobs/bench/raw/wakeup.h"

enum {
    US_PER_MS = 1000,
    ONECORE_CALLS = 1000,
    REST_MS = 1000,
    REST_QUICK_MS = 500,
    IDLE_MS = 3000,
    IDLE_QUICK_MS = 1000,
    IDLE_SMOKE_MS = 200,
    PERCENT = 100,
    WAKE_CALLS = 100,
    WAKE_WARM = 20,
    WAKE_REST_US = 2000,
    LONG_CALLS = 15,
    LONG_CALLS_QUICK = 5,
    LONG_US = 1000000,
    LONG_QUICK_US = 500000,
    LONG_SMOKE_US = 10000,
    LONG_STEP_US = 370,
    NAP_US = 5000, /* the longest nap of the library */
};

void bench_onecore(struct pair *pair)
{
    struct pair one;
    struct wakeup events;
    struct pin pin;
    int core = -1;
    struct duel duel = {"rpc_onecore", "eventfd", EVENT_TEXT,
        .calls = ONECORE_CALLS, .warm = DUEL_WARM, .figure = DUEL_KPS,
        .is_open = true, .ours = {calls_latency},
        .control = {wakeup_batch, &events}};

    if (!pair_is_of_two(pair, NULL))
        return;
    if (!pin_set_together(&pin, pair->comm, &core)) {
        pair_say(pair, "onecore is left out: the ranks have no core in common");
        return;
    }
    pair_open_like(&one, pair, 0, PAIR_WAIT_MS);
    snprintf(one.cores, sizeof(one.cores), "%d %d", core, core);
    wakeup_open(&one, &events);
    duel_run(&one, &duel);
    wakeup_close(&events);
    pair_close(&one);
    pin_restore(&pin);
}

/* Waits in HG_Progress() or, beside a progress thread, in nanosleep(). */
static void idle_wait(struct pair *pair, unsigned ms)
{
    double end_us = clock_now_us() + (double)ms * US_PER_MS;

    if (pair->has_thread)
        pause_us(ms * US_PER_MS);
    while (!pair->has_thread && clock_now_us() < end_us) {
        pair->wait_ms = (unsigned)((end_us - clock_now_us()) / US_PER_MS) + 1;
        pair_turn(pair);
    }
    pair->wait_ms = PAIR_WAIT_MS;
}

static double cpu_us(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e6 + (double)used.tv_nsec * 1e-3;
}

static void idle_row(struct pair *pair, const char *op)
{
    const struct options *options = pair->options;
    unsigned idle_ms =
        options_pick(options, IDLE_MS, IDLE_QUICK_MS, IDLE_SMOKE_MS);
    double start_us = 0.0;
    double before_us = 0.0;
    struct row row = {op, .unit = "%", .against = "spinning",
        .control = "one core, which a rank takes that spins",
        .control_value = PERCENT};

    pair_enter(pair);
    pair_greet(pair);
    guard_step("waiting for %u ms", idle_ms);
    idle_wait(
        pair, options_pick(options, REST_MS, REST_QUICK_MS, IDLE_SMOKE_MS));
    start_us = clock_now_us();
    before_us = cpu_us();
    idle_wait(pair, idle_ms);
    row.value = (cpu_us() - before_us) / (clock_now_us() - start_us) * PERCENT;
    guard_rest();
    pair_leave(pair);
    MPI_Allreduce(MPI_IN_PLACE, &row.value, 1, MPI_DOUBLE, MPI_MAX, pair->comm);
    pair_value(pair, &row);
}

void bench_idle(struct pair *pair)
{
    struct pair idle;

    if (!pair_is_of_two(pair, NULL))
        return;
    pair_open_like(&idle, pair, 0, PAIR_WAIT_MS);
    pair_by_caller(&idle, AMALGAM_WAIT_AUTO);
    idle_row(&idle, "idle_cpu");
    pair_by_thread(&idle, AMALGAM_WAIT_AUTO, -1);
    idle_row(&idle, "idle_thread");
    pair_close(&idle);
}

static void wake_row(struct pair *pair, struct wakeup *events, const char *op)
{
    struct duel duel = {op, "eventfd", EVENT_TEXT, .calls = WAKE_CALLS,
        .warm = WAKE_WARM, .rest_us = WAKE_REST_US, .figure = DUEL_US,
        .is_open = true, .ours = {calls_latency},
        .control = {wakeup_batch, events}};

    if (pair->is_one_machine)
        duel_run(pair, &duel);
}

/* duel.c divides by duel->calls: the figure is the 99th percentile. */
static double slow_time(struct duel *duel)
{
    stats_sort(duel->samples, duel->calls);
    return stats_quantile(duel->samples, duel->calls, 0.99) * duel->calls;
}

/* Calls after long pauses, each a bit longer, so that calls do not stay in step
 * with the naps of the other rank. */
static double rest_batch(struct pair *pair, struct duel *duel)
{
    unsigned idle_us =
        options_pick(pair->options, LONG_US, LONG_QUICK_US, LONG_SMOKE_US);
    hg_handle_t handle = HG_HANDLE_NULL;

    if (pair->rank == 1) {
        pair_await_stop(pair);
        return 0.0;
    }
    handle = pair_handle(pair, pair->null_id);
    for (unsigned i = 0; i < duel->calls; i++) {
        double before_us = 0.0;

        pause_us(idle_us + i * LONG_STEP_US);
        before_us = clock_now_us();
        pair_call(pair, handle, NULL);
        duel->samples[i] = clock_lap_us(&before_us);
    }
    pair_handle_free(pair, handle);
    pair_stop(pair);
    return slow_time(duel);
}

static void nap_once(struct pair *pair, void *arg)
{
    (void)pair;
    (void)arg;
    pause_us(NAP_US);
}

static double nap_batch(struct pair *pair, struct duel *duel)
{
    duel_each(pair, duel, nap_once, NULL);
    return slow_time(duel);
}

static void rest_row(struct pair *pair, const char *op)
{
    struct duel duel = {op, "nap",
        "a sleep of 5 ms, the longest nap there is; the 99th percentile of "
        "both",
        .calls = options_pick(pair->options, LONG_CALLS, LONG_CALLS_QUICK, 1),
        .batches = 1, .figure = DUEL_MEAN_US, .is_open = true,
        .ours = {rest_batch}, .control = {nap_batch}};

    duel_run(pair, &duel);
}

/* Rank 1 serves by a thread on the core of its program, which is asleep. */
static void target_by_thread(struct pair *pair, enum amalgam_wait wait)
{
    if (pair->rank == 0)
        pair_by_caller(pair, wait);
    else
        pair_by_thread(pair, wait, pin_core());
}

void bench_wake(struct pair *pair)
{
    struct pair sleeper;
    struct wakeup events;

    if (!pair_is_of_two(pair, NULL))
        return;
    pair_open_like(&sleeper, pair, 0, PAIR_WAIT_MS);
    if (pair->is_one_machine)
        wakeup_open(pair, &events);
    pair_by_caller(&sleeper, AMALGAM_WAIT_AUTO);
    wake_row(&sleeper, &events, "wake_caller");
    rest_row(&sleeper, "rest_caller");
    target_by_thread(&sleeper, AMALGAM_WAIT_AUTO);
    wake_row(&sleeper, &events, "wake_thread");
    rest_row(&sleeper, "rest_thread");
    target_by_thread(&sleeper, AMALGAM_WAIT_SLEEP);
    wake_row(&sleeper, &events, "wake_asleep");
    if (pair->is_one_machine)
        wakeup_close(&events);
    pair_close(&sleeper);
}
