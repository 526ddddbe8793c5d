/* SPDX-License-Identifier: BSD-3-Clause */
/* A measurement and its control in turn, batch after batch.
 *
 * Other load of the machine comes and goes within seconds, and so slows two
 * neighbouring batches equally. So each batch has a ratio of its own, and the
 * median of these ratios is the result, which a few disturbed batches do not
 * move. One batch of each side goes before, to warm up. */
#include "jobs/bench/frame/duel.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "amalgam_trace.h"
#include "jobs/bench/frame/watch.h"

/* Rank 0's numbers of one side of the duel. */
struct side {
    const struct duel_side *how;
    double *samples; /* of all batches */
    double *figures; /* one for each batch; then for each further row */
};

struct match {
    struct duel *duel;
    struct side sides[2];                  /* the control, ours */
    struct tries tries[1 + DUEL_MORE_MAX]; /* of each row */
};

/* The figure of a batch; the order of its samples is lost. */
static double figure_of(const struct duel *duel, double elapsed_us)
{
    switch (duel->figure) {
    case DUEL_MEAN_US:
        return elapsed_us / duel->calls;
    case DUEL_GBPS:
        return (double)duel->size * duel->calls / elapsed_us * 1e-3;
    case DUEL_KPS:
        return (double)duel->calls * (duel->each == 0 ? 1 : duel->each) /
               elapsed_us * 1e3;
    default:
        return stats_median(duel->samples, duel->calls);
    }
}

/* Each batch has bytes of its own, so that bytes of an earlier batch show. */
static void side_batch(
    struct pair *pair, struct duel *duel, struct side *side, unsigned batch)
{
    struct pair *own = side->how->pair == NULL ? pair : side->how->pair;
    double elapsed_us = 0.0;

    guard_step("batch %u of %u operations of %zu bytes, %u at once%s", batch,
        duel->calls, duel->size, duel->window,
        side->how == &duel->control ? ", of the control" : "");
    own->seed = ++pair->seed;
    duel->arg = side->how->arg;
    duel->samples = side->samples + (size_t)batch * duel->calls;
    if (side->how->enters)
        pair_enter(own);
    pair_barrier(pair);
    elapsed_us = side->how->run(own, duel);
    if (side->how->enters)
        pair_leave(own);
    if (pair->rank != 0)
        return;
    side->figures[batch] = figure_of(duel, elapsed_us);
    for (unsigned i = 0; i < duel->more_count; i++)
        side->figures[(i + 1) * duel->batches + batch] = duel->more[i];
}

static void match_measure(struct pair *pair, struct match *match)
{
    struct duel *duel = match->duel;

    if (duel->is_open)
        pair_enter(pair);
    /* The first batches run twice; the second run overwrites the first. */
    for (unsigned i = 0; i <= duel->batches; i++)
        for (unsigned side = 0; side < 2; side++)
            side_batch(pair, duel, &match->sides[side], i == 0 ? 0 : i - 1);
    if (duel->is_open)
        pair_leave(pair);
    guard_rest();
}

/* Rank 0's rows of what was measured. */
static void rows_add(struct match *match, double stolen)
{
    static const char *const units[] = {"us", "us", "GB/s", "k/s"};
    const struct duel *duel = match->duel;
    const struct side *control = &match->sides[0];
    const struct side *ours = &match->sides[1];

    for (unsigned i = 0; i <= duel->more_count; i++) {
        struct row row = {duel->op, .memory = duel->memory, .size = duel->size,
            .window = duel->window, .threads = duel->threads,
            .ranks = duel->ranks, .peers = duel->peers,
            .unit = units[duel->figure], .against = duel->against,
            .control = duel->text, .stolen = i == 0 ? stolen : 0.0,
            .better = duel->figure >= DUEL_GBPS ? "higher" : "lower"};

        figures_compare(ours->figures + i * duel->batches,
            control->figures + i * duel->batches, duel->batches, &row);
        if (i == 0)
            figures_samples(ours->samples, control->samples,
                (size_t)duel->batches * duel->calls, &row);
        /* DUEL_US: the median of all calls, not of the figures of batches. */
        if (i == 0 && duel->figure == DUEL_US) {
            row.value = row.p50_us;
            row.control_value = row.control_p50_us;
        }
        if (i > 0) {
            const struct row *more = &duel->more_rows[i - 1];

            row.op = more->op;
            row.unit = more->unit;
            row.better = more->better;
            if (more->control != NULL)
                row.control = more->control;
        }
        row.is_noisy = row_is_noisy(&row);
        tries_add(&match->tries[i], &row);
    }
}

/* Runs until enough runs are quiet, the time of the run is over, or too many
 * runs were noisy. */
static void match_run(struct pair *pair, struct match *match)
{
    int is_over = 0;

    do {
        struct steal before = steal_now();

        match_measure(pair, match);
        if (pair->rank == 0) {
            rows_add(match, steal_since(&before));
            is_over = tries_are_enough(&match->tries[0]);
        }
        if (pair->options->runs == 0)
            return;
        MPI_Bcast(&is_over, 1, MPI_INT, 0, pair->comm);
    } while (!is_over && !limit_is_over(pair->comm));
}

bool duel_run(struct pair *pair, struct duel *duel)
{
    const struct options *options = pair->options;
    struct match match = {
        .duel = duel, .sides = {{.how = &duel->control}, {.how = &duel->ours}}};
    unsigned parts = duel->ranks == 0 ? 1 : duel->ranks;
    unsigned rows = 1 + duel->more_count;

    if (limit_is_over(pair->comm))
        return false;
    if (duel->batches == 0)
        duel->batches =
            options->batches != 0 ? options->batches : OPTIONS_BATCHES;
    if (duel->window == 0 && duel->ranks == 0)
        duel->window = 1;
    if (duel->ranks == 0 && options->calls != 0)
        duel->calls = options->calls;
    /* Each rank makes the same number of calls. */
    duel->calls = options_calls(options, duel->calls) / parts * parts;
    if (duel->calls == 0)
        duel->calls = parts;
    for (unsigned i = 0; i < 2; i++) {
        match.sides[i].samples = pair_alloc(
            pair, (size_t)duel->batches * duel->calls, sizeof(double));
        match.sides[i].figures =
            pair_alloc(pair, rows * duel->batches, sizeof(double));
    }
    for (unsigned i = 0; i < rows; i++)
        tries_init(&match.tries[i], options->runs);
    match_run(pair, &match);
    for (unsigned i = 0; i < rows; i++) {
        struct row row;

        tries_choose(&match.tries[i], &row);
        if (pair->rank == 0)
            pair_row(pair, &row);
    }
    for (unsigned i = 0; i < 2; i++) {
        free(match.sides[i].samples);
        free(match.sides[i].figures);
    }
    return true;
}

double duel_traced(
    struct pair *pair, struct duel *duel, int level, duel_batch_fn run)
{
    char name[] = "/tmp/amalgam_bench_XXXXXX/*";
    char *end = strchr(name, '*') - 1;
    glob_t files = {0};
    double elapsed_us = 0.0;

    *end = '\0';
    if (mkdtemp(name) == NULL)
        pair_fail(pair, "cannot create %s", name);
    CHECK(pair, amalgam_trace_start(name, level));
    MPI_Barrier(pair->comm);
    elapsed_us = run(pair, duel);
    CHECK(pair, amalgam_trace_stop());
    *end = '/';
    if (glob(name, 0, NULL, &files) == 0)
        unlink(files.gl_pathv[0]);
    globfree(&files);
    *end = '\0';
    rmdir(name);
    return elapsed_us;
}

double duel_each(struct pair *pair, struct duel *duel,
    void (*once)(struct pair *pair, void *arg), void *arg)
{
    double before_us = 0.0;
    double total_us = 0.0;

    for (unsigned i = 0; i < duel_warm(duel); i++)
        once(pair, arg);
    before_us = clock_now_us();
    for (unsigned i = 0; i < duel->calls; i++) {
        if (duel->rest_us > 0) {
            pause_us(duel->rest_us);
            before_us = clock_now_us();
        }
        once(pair, arg);
        duel->samples[i] = clock_lap_us(&before_us);
        total_us += duel->samples[i];
    }
    return total_us;
}

static void slot_post(struct flight_slot *slot)
{
    struct flight *flight = slot->flight;
    bool is_timed = flight->posted % flight->timed_every == 0;

    slot->posted_us = is_timed ? clock_now_us() : 0.0;
    flight->posted++;
    flight->post(slot);
}

void flight_start(struct flight *flight)
{
    flight->posted = flight->ended = 0;
    for (unsigned i = 0; i < flight->window && i < flight->calls; i++) {
        flight->slots[i].flight = flight;
        flight->slots[i].number = i;
        slot_post(&flight->slots[i]);
    }
}

double flight_run(struct flight *flight, uint64_t calls, double *samples)
{
    double start_us = clock_now_us();

    flight->samples = samples;
    flight->calls = calls;
    flight_start(flight);
    while (flight->ended < calls)
        flight->look(flight);
    return clock_now_us() - start_us;
}

double flight_batch(struct flight *flight, struct duel *duel)
{
    double elapsed_us = 0.0;

    flight_run(flight, duel_warm(duel), NULL);
    elapsed_us = flight_run(flight, duel->calls, duel->samples);
    duel->ended_us = clock_now_us();
    return elapsed_us;
}

void flight_stop(struct flight *flight)
{
    flight->calls = flight->posted;
    while (flight->ended < flight->posted)
        flight->look(flight);
}

void flight_ended(struct flight_slot *slot)
{
    struct flight *flight = slot->flight;

    if (slot->posted_us > 0.0) {
        flight->last_us = clock_now_us() - slot->posted_us;
        if (flight->timed != NULL)
            flight->timed(flight, flight->last_us);
    }
    if (flight->samples != NULL)
        flight->samples[flight->ended] = flight->last_us;
    flight->ended++;
    if (flight->posted < flight->calls)
        slot_post(slot);
}

hg_return_t flight_call_ended(const struct hg_cb_info *info)
{
    struct flight_slot *slot = info->arg;

    pair_check(slot->flight->pair, info->ret, "the operation");
    flight_ended(slot);
    return HG_SUCCESS;
}

bool flight_turn(struct flight *flight)
{
    return pair_turn(flight->pair);
}

void flight_handles(struct flight *flight, hg_id_t id)
{
    for (unsigned i = 0; i < flight->window; i++)
        flight->slots[i].handle = pair_handle(flight->pair, id);
}

void flight_handles_free(struct flight *flight)
{
    for (unsigned i = 0; i < flight->window; i++)
        pair_handle_free(flight->pair, flight->slots[i].handle);
}

void flight_null(struct flight_slot *slot)
{
    CHECK(slot->flight->pair,
        HG_Forward(slot->handle, flight_call_ended, slot, NULL));
}

double flight_served(struct flight *flight, struct duel *duel)
{
    struct pair *pair = flight->pair;
    double elapsed_us = 0.0;

    if (pair->is_caller) {
        elapsed_us = flight_batch(flight, duel);
        pair_stop(pair);
    } else {
        pair_serve(pair);
    }
    return elapsed_us;
}

enum {
    SLICE_US = 100000,
    SLICE_QUICK_US = 30000,
    SLICE_SMOKE_US = 2000,
    WAYS_WINDOW = 64,
};

/* The figures of one way. */
struct way {
    double kps[OPTIONS_BATCHES_MAX]; /* of all ranks together, in each round */
    struct ways_slice calls;
};

static void way_row(const struct pair *pair, const struct ways *ways,
    struct way *all, unsigned number, unsigned against, struct row row)
{
    struct ways_slice *calls = &all[number].calls;
    unsigned count =
        calls->sample_count < WAYS_SAMPLES ? calls->sample_count : WAYS_SAMPLES;

    row.op = ways->ops[number];
    row.against = ways->ops[against];
    row.control = number == 0 ? ways->best_text : ways->chosen_text;
    figures_compare(all[number].kps, all[against].kps, row.batches, &row);
    figures_samples(calls->samples_us, NULL, count, &row);
    pair_row(pair, &row);
}

void ways_run(struct pair *pair, const struct ways *ways)
{
    const struct options *options = pair->options;
    struct way *all = pair_alloc(pair, WAYS_MAX, sizeof(*all));
    struct row row = {.unit = "k/s",
        .better = "higher",
        .window = options->window == 0 ? WAYS_WINDOW : options->window,
        .batches =
            options->batches == 0 ? OPTIONS_BATCHES_MIN : options->batches};
    unsigned us =
        options_pick(options, SLICE_US, SLICE_QUICK_US, SLICE_SMOKE_US);
    unsigned best = 1;
    unsigned count = 0;

    while (count < WAYS_MAX && ways->ops[count] != NULL)
        count++;
    for (unsigned i = 0; i < row.batches * count; i++) {
        unsigned number = i % count;
        struct ways_slice *calls = &all[number].calls;

        guard_step("round %u of %s", i / count, ways->ops[number]);
        ways->slice(pair, number, row.window, us, calls);
        MPI_Allreduce(&calls->kps, &all[number].kps[i / count], 1, MPI_DOUBLE,
            MPI_SUM, pair->comm);
    }
    guard_rest();
    for (unsigned number = 2; number < count; number++) {
        struct row both;

        figures_compare(all[number].kps, all[best].kps, row.batches, &both);
        if (both.value > both.control_value)
            best = number;
    }
    for (unsigned number = 0; number < count; number++)
        way_row(pair, ways, all, number, number == 0 ? best : 0, row);
    free(all);
}
