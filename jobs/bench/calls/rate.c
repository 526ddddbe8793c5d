/* SPDX-License-Identifier: BSD-3-Clause */
/* How many null calls a second one thread makes of another, with several in
 * flight. */
#include "jobs/bench/calls/rate.h"

#include "jobs/bench/base/clock.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/calls/rate_control.h"
#include "jobs/bench/fabric/fabric.h"

enum { STEP_QUICK = 8, CALLS = 20000, CALLS_PER_WINDOW = 2000 };

/* Calls in flight; the caller's. */
struct caller {
    struct pair *pair;
    double *samples; /* NULL: nobody looks at the clock */
    double last_us;  /* how long the call took that was timed last */
    unsigned calls;
    unsigned posted;
    unsigned ended;
};

/* One place of the window. */
struct slot {
    struct caller *caller;
    hg_handle_t handle;
    double posted_us; /* 0: this call is not timed */
};

static hg_return_t call_ended(const struct hg_cb_info *info);

static void call_post(struct slot *slot)
{
    struct caller *caller = slot->caller;

    slot->posted_us = rate_is_timed(caller->posted) ? clock_now_us() : 0.0;
    caller->posted++;
    pair_check(caller->pair, HG_Forward(slot->handle, call_ended, slot, NULL),
        "HG_Forward");
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    struct slot *slot = info->arg;
    struct caller *caller = slot->caller;

    pair_check(caller->pair, info->ret, "the call");
    if (slot->posted_us > 0.0)
        caller->last_us = clock_now_us() - slot->posted_us;
    if (caller->samples != NULL)
        caller->samples[caller->ended] = caller->last_us;
    caller->ended++;
    if (caller->posted < caller->calls)
        call_post(slot);
    return HG_SUCCESS;
}

static double calls_run(struct caller *caller, struct slot *slots,
    unsigned window, unsigned calls, double *samples)
{
    double start_us = clock_now_us();

    caller->samples = samples;
    caller->calls = calls;
    caller->posted = 0;
    caller->ended = 0;
    for (unsigned i = 0; i < window && i < calls; i++)
        call_post(&slots[i]);
    while (caller->ended < calls)
        pair_turn(caller->pair);
    return clock_now_us() - start_us;
}

double rate_batch(struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct caller caller = {.pair = pair};
    struct slot slots[OPTIONS_WINDOW_MAX];
    double elapsed_us = 0.0;

    if (pair->is_caller) {
        for (unsigned i = 0; i < duel->window; i++)
            slots[i] =
                (struct slot){&caller, pair_handle(pair, pair->null_id), 0.0};
        calls_run(&caller, slots, duel->window, DUEL_WARM, NULL);
        elapsed_us =
            calls_run(&caller, slots, duel->window, duel->calls, ret_samples);
        duel->ended_us = clock_now_us();
        for (unsigned i = 0; i < duel->window; i++)
            pair_check(pair, HG_Destroy(slots[i].handle), "HG_Destroy");
        pair_stop(pair);
    } else {
        pair_serve(pair);
    }
    pair_verify_served(pair, DUEL_WARM + duel->calls);
    return elapsed_us;
}

static void window_run(struct pair *pair, unsigned window)
{
    unsigned usual = window * CALLS_PER_WINDOW;
    bool is_fabric = fabric_is_way(pair);
    struct duel duel = {
        .ours = rate_batch,
        .control = is_fabric ? fabric_rate : rate_control,
        .size = 0,
        .window = window,
        .calls = pair->options->calls,
        .batches = pair->options->batches,
        .figure = DUEL_KPS,
        .context = DUEL_CONTEXT_OURS,
    };
    struct row row = {
        .bench = "rate",
        .op = "rpc_rate",
        .memory = "host",
        .against = is_fabric ? "libfabric" : "mpi",
        .control = is_fabric ? FABRIC_RATE_TEXT : RATE_CONTROL_TEXT,
    };

    if (duel.calls == 0)
        duel.calls = usual < CALLS ? usual : CALLS;
    duel_run(pair, &duel, &row);
}

void bench_rate(struct pair *pair)
{
    unsigned step = pair->options->is_quick ? STEP_QUICK : 2;

    if (pair->options->window != 0)
        window_run(pair, pair->options->window);
    for (unsigned window = 1;
         pair->options->window == 0 && window <= OPTIONS_WINDOW_MAX;
         window *= step)
        window_run(pair, window);
    rate_threads_run(pair);
}
