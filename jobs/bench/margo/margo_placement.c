/* SPDX-License-Identifier: BSD-3-Clause */
/* Is Margo with a progress thread, and else as it is by default, about as good
 * as the best that one can ask for?
 *
 * Two ranks that may run wherever they want call each other, both ways at once,
 * by many user-level threads, in each of the ways to share out the work: the
 * loop on the program's stream or on one of its own, which spins or sleeps,
 * without and with a stream for handlers. All of them have a short time in each
 * round, so what else happens on the machine meets them alike. */
#include "jobs/bench/margo/margo_placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_progress.h"
#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/guard.h"
#include "jobs/bench/base/pin.h"
#include "jobs/bench/frame/figures.h"
#include "jobs/bench/margo/mend.h"

enum {
    WINDOW = 64,
    SLICE_MS = 100,
    SLICE_QUICK_MS = 30,
    SLICE_SMOKE_MS = 2,
    DEFAULTS = 0,
    SAMPLES_MAX = 1024, /* of a way */
    TIMED_EVERY = 16,   /* one of so many threads is timed */
};

#define BEST_TEXT                                                              \
    "the best of the eight ways to share out Margo's work, of the same run: "  \
    "the one with the highest rate"
#define DEFAULTS_TEXT "Margo with a progress thread, and else its defaults"

#define JSON_SPIN  "\"progress_timeout_ub_msec\": 0"
#define JSON_SLEEP "\"progress_spindown_msec\": 0"
#define JSON_WAY(thread, handlers, wait)                                       \
    "{\"use_progress_thread\": " thread ", \"rpc_thread_count\": " handlers    \
    ", " wait "}"

static const struct way {
    const char *op;
    struct mend_how how;
} ways[] = {
    [DEFAULTS] = {"defaults", {"{\"use_progress_thread\": true}", 0, 0}},
    {"m_caller_spin",
        {JSON_WAY("false", "0", JSON_SPIN), AMALGAM_WAIT_SPIN, 0}},
    {"m_caller_sp1", {JSON_WAY("false", "1", JSON_SPIN), AMALGAM_WAIT_SPIN, 0}},
    {"m_caller_slp",
        {JSON_WAY("false", "0", JSON_SLEEP), AMALGAM_WAIT_SLEEP, 0}},
    {"m_caller_sl1",
        {JSON_WAY("false", "1", JSON_SLEEP), AMALGAM_WAIT_SLEEP, 0}},
    {"m_thread_spin", {JSON_WAY("true", "0", JSON_SPIN), AMALGAM_WAIT_SPIN, 0}},
    {"m_thread_sp1", {JSON_WAY("true", "1", JSON_SPIN), AMALGAM_WAIT_SPIN, 0}},
    {"m_thread_slp",
        {JSON_WAY("true", "0", JSON_SLEEP), AMALGAM_WAIT_SLEEP, 0}},
    {"m_thread_sl1",
        {JSON_WAY("true", "1", JSON_SLEEP), AMALGAM_WAIT_SLEEP, 0}},
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* All rounds. */
struct match {
    struct pair *pair;
    unsigned rounds;
    unsigned window;
    double *kps[WAYS]; /* of both ranks together, in each round */
    double samples_us[WAYS][SAMPLES_MAX];
    unsigned sample_counts[WAYS];
};

/* The threads of one slice. */
struct load {
    struct mend *mend;
    struct match *match;
    unsigned way;
    atomic_bool is_late; /* no more calls are made */
    atomic_ullong calls;
};

struct caller {
    struct load *load;
    bool is_timed;
    ABT_thread thread;
};

/* The last ones that there is room for; by one thread of a stream at a time. */
static void sample_add(struct load *load, double sample_us)
{
    struct match *match = load->match;
    unsigned at = match->sample_counts[load->way]++ % SAMPLES_MAX;

    match->samples_us[load->way][at] = sample_us;
}

static void caller_run(void *arg)
{
    struct caller *caller = arg;
    struct load *load = caller->load;
    hg_handle_t handle = mend_handle(load->mend, load->mend->null_id);
    unsigned calls = 0;

    while (!atomic_load_explicit(&load->is_late, memory_order_relaxed)) {
        double before_us = caller->is_timed ? clock_now_us() : 0.0;

        mend_call(load->mend, handle, NULL);
        calls++;
        if (caller->is_timed)
            sample_add(load, clock_now_us() - before_us);
    }
    margo_destroy(handle);
    atomic_fetch_add(&load->calls, calls);
}

/* Calls for a slice of time; how many thousands a second. */
static double load_run(struct load *load, unsigned window, unsigned time_ms)
{
    struct caller callers[OPTIONS_WINDOW_MAX];
    double start_us = clock_now_us();

    for (unsigned i = 0; i < window; i++) {
        callers[i] = (struct caller){load, i == 0, ABT_THREAD_NULL};
        if (ABT_thread_create(load->mend->pool, caller_run, &callers[i],
                ABT_THREAD_ATTR_NULL, &callers[i].thread) != ABT_SUCCESS)
            pair_check(load->match->pair, HG_NOMEM, "ABT_thread_create");
    }
    margo_thread_sleep(load->mend->mid, time_ms);
    atomic_store(&load->is_late, true);
    for (unsigned i = 0; i < window; i++)
        ABT_thread_free(&callers[i].thread);
    return (double)atomic_load(&load->calls) / (clock_now_us() - start_us) *
           1e3;
}

static void way_run(struct match *match, unsigned way, unsigned round)
{
    struct pair *pair = match->pair;
    struct mend mend;
    struct load load = {.mend = &mend, .match = match, .way = way};
    double mine = 0.0;
    double both = 0.0;

    mend_open(&mend, pair, &ways[way].how);
    guard_step("round %u of %s", round, ways[way].op);
    MPI_Barrier(pair->comm);
    mine = load_run(&load, match->window,
        options_pick(pair->options, SLICE_MS, SLICE_QUICK_MS, SLICE_SMOKE_MS));
    mend_stop(&mend);
    mend_serve(&mend);
    MPI_Allreduce(&mine, &both, 1, MPI_DOUBLE, MPI_SUM, pair->comm);
    match->kps[way][round] = both;
    mend_close(&mend);
}

static double median_of(const struct match *match, unsigned way)
{
    return figures_median(match->pair, match->kps[way], match->rounds);
}

static unsigned best_of(const struct match *match)
{
    unsigned best = DEFAULTS + 1;

    for (unsigned i = best + 1; i < WAYS; i++)
        if (median_of(match, i) > median_of(match, best))
            best = i;
    return best;
}

static void row_add(struct match *match, unsigned way, unsigned against)
{
    struct row row = {
        .bench = "margo",
        .op = ways[way].op,
        .window = match->window,
        .memory = "host",
        .unit = "k/s",
        .value = median_of(match, way),
        .against = ways[against].op,
        .control = way == DEFAULTS ? BEST_TEXT : DEFAULTS_TEXT,
        .control_value = median_of(match, against),
        .better = "higher",
        .batches = match->rounds,
    };
    double *samples = match->samples_us[way];
    unsigned count = match->sample_counts[way];

    if (count > SAMPLES_MAX)
        count = SAMPLES_MAX;
    pair_row(match->pair, &row);
    snprintf(match->pair->cores, sizeof(match->pair->cores), "shared");
    row.cores = "shared";
    figures_compare(
        match->pair, match->kps[way], match->kps[against], match->rounds, &row);
    figures_samples(samples, count, &row);
    rows_add(&row);
}

static struct match *match_create(struct pair *pair)
{
    struct match *match = calloc(1, sizeof(*match));

    if (match == NULL)
        pair_check(pair, HG_NOMEM, "memory for the samples");
    match->pair = pair;
    match->rounds =
        pair->options->batches == 0 ? DUEL_BATCHES_MIN : pair->options->batches;
    match->window = pair->options->window == 0 ? WINDOW : pair->options->window;
    for (unsigned i = 0; i < WAYS; i++) {
        match->kps[i] = calloc(match->rounds, sizeof(double));
        if (match->kps[i] == NULL)
            pair_check(pair, HG_NOMEM, "memory for the samples");
    }
    return match;
}

static void match_free(struct match *match)
{
    for (unsigned i = 0; i < WAYS; i++)
        free(match->kps[i]);
    free(match);
}

void margo_placement_run(struct pair *pair)
{
    struct match *match = match_create(pair);
    struct pin pinned;

    pin_lift(pair->pin, &pinned);
    for (unsigned round = 0; round < match->rounds; round++)
        for (unsigned way = 0; way < WAYS; way++)
            way_run(match, way, round);
    guard_rest();
    for (unsigned way = 0; pair->rank == 0 && way < WAYS; way++)
        row_add(match, way, way == DEFAULTS ? best_of(match) : DEFAULTS);
    match_free(match);
    pin_restore(&pinned);
}
