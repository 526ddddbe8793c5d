/* SPDX-License-Identifier: BSD-3-Clause */
/* A row: a measurement and its control in turn, batch after batch. */
#include "jobs/bench/frame/duel.h"

#include <stdlib.h>

#include "jobs/bench/frame/watch.h"

/* Rank 0's numbers of one side of the duel. */
struct side {
    const struct duel_side *how;
    double *samples; /* of all batches */
    double *figures; /* one for each batch */
    double *more[DUEL_MORE_MAX];
};

struct match {
    struct duel *duel;
    struct side ours;
    struct side control;
};

static void side_init(struct pair *pair, struct side *side,
    const struct duel_side *how, const struct duel *duel)
{
    side->how = how;
    side->samples =
        pair_alloc(pair, (size_t)duel->batches * duel->calls, sizeof(double));
    side->figures = pair_alloc(pair, duel->batches, sizeof(double));
    for (unsigned i = 0; i < duel->more_count; i++)
        side->more[i] = pair_alloc(pair, duel->batches, sizeof(double));
}

static void side_fini(struct side *side, const struct duel *duel)
{
    free(side->samples);
    free(side->figures);
    for (unsigned i = 0; i < duel->more_count; i++)
        free(side->more[i]);
}

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

/* Each batch has bytes of its own, so those of an earlier one are noticed. */
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
        side->more[i][batch] = duel->more[i];
}

static void match_measure(struct pair *pair, void *arg)
{
    struct match *match = arg;
    struct duel *duel = match->duel;

    if (duel->is_open)
        pair_enter(pair);
    /* The first turn is run twice: what it came to at first is lost. */
    for (unsigned i = 0; i <= duel->batches; i++) {
        unsigned batch = i == 0 ? 0 : i - 1;

        side_batch(pair, duel, &match->control, batch);
        side_batch(pair, duel, &match->ours, batch);
    }
    if (duel->is_open)
        pair_leave(pair);
    guard_rest();
}

static bool is_rate(const struct duel *duel)
{
    return duel->figure == DUEL_GBPS || duel->figure == DUEL_KPS;
}

static void match_fill(struct row *rows, void *arg)
{
    static const char *const units[] = {[DUEL_US] = "us",
        [DUEL_MEAN_US] = "us",
        [DUEL_GBPS] = "GB/s",
        [DUEL_KPS] = "k/s"};
    struct match *match = arg;
    struct duel *duel = match->duel;
    struct row like = {duel->op, .memory = duel->memory, .size = duel->size,
        .window = duel->window, .threads = duel->threads, .ranks = duel->ranks,
        .peers = duel->peers, .unit = units[duel->figure],
        .against = duel->against, .control = duel->text,
        .better = is_rate(duel) ? "higher" : "lower"};
    size_t count = (size_t)duel->batches * duel->calls;

    rows[0] = like;
    (void)figures_compare(
        match->ours.figures, match->control.figures, duel->batches, &rows[0]);
    figures_samples(
        match->ours.samples, match->control.samples, count, &rows[0]);
    /* The median over the calls; else over the figures of the batches. */
    if (duel->figure == DUEL_US) {
        rows[0].value = rows[0].p50_us;
        rows[0].control_value = rows[0].control_p50_us;
    }
    for (unsigned i = 0; i < duel->more_count; i++) {
        const struct row *more = &duel->more_rows[i];

        rows[i + 1] = like;
        rows[i + 1].op = more->op;
        rows[i + 1].unit = more->unit;
        rows[i + 1].better = more->better;
        if (more->control != NULL)
            rows[i + 1].control = more->control;
        (void)figures_compare(match->ours.more[i], match->control.more[i],
            duel->batches, &rows[i + 1]);
    }
}

void duel_repeat(struct pair *pair,
    void (*measure)(struct pair *pair, void *arg),
    void (*fill)(struct row *rows, void *arg), void *arg, struct row *rows,
    unsigned count)
{
    struct tries tries[1 + DUEL_MORE_MAX];
    unsigned runs = pair->options->runs;
    int is_over = 0;

    for (unsigned i = 0; i < count; i++)
        if (!tries_init(&tries[i], runs))
            pair_fail(pair, "no memory for %u runs", runs);
    while (!is_over) {
        struct steal before = steal_now();

        measure(pair, arg);
        if (pair->rank == 0) {
            double stolen = steal_since(&before);

            fill(rows, arg);
            for (unsigned i = 0; i < count; i++) {
                rows[i].stolen = i == 0 ? stolen : 0.0;
                rows[i].is_noisy = row_is_noisy(&rows[i]);
                tries_add(&tries[i], &rows[i]);
            }
            is_over = tries_are_enough(&tries[0]);
        }
        if (runs == 0)
            break;
        MPI_Bcast(&is_over, 1, MPI_INT, 0, pair->comm);
        if (!is_over && limit_is_over(pair->comm))
            break;
    }
    for (unsigned i = 0; i < count; i++)
        tries_choose(&tries[i], &rows[i]);
}

/* As many as this run makes, the same number by each rank. */
static void calls_set(const struct pair *pair, struct duel *duel)
{
    if (duel->ranks == 0 && pair->options->calls != 0)
        duel->calls = pair->options->calls;
    duel->calls = options_calls(pair->options, duel->calls);
    if (duel->ranks == 0)
        return;
    if (duel->calls < duel->ranks)
        duel->calls = duel->ranks;
    duel->calls -= duel->calls % duel->ranks;
}

bool duel_run(struct pair *pair, struct duel *duel, double *ret_ratio)
{
    struct row rows[1 + DUEL_MORE_MAX] = {{.ratio = 0.0}};
    struct match match = {.duel = duel};

    if (limit_is_over(pair->comm))
        return false;
    if (duel->batches == 0)
        duel->batches = pair->options->batches != 0 ? pair->options->batches
                                                    : OPTIONS_BATCHES;
    if (duel->window == 0 && duel->ranks == 0)
        duel->window = 1;
    calls_set(pair, duel);
    side_init(pair, &match.ours, &duel->ours, duel);
    side_init(pair, &match.control, &duel->control, duel);
    duel_repeat(
        pair, match_measure, match_fill, &match, rows, 1 + duel->more_count);
    for (unsigned i = 0; i <= duel->more_count && pair->rank == 0; i++)
        pair_row(pair, &rows[i]);
    side_fini(&match.control, duel);
    side_fini(&match.ours, duel);
    if (ret_ratio != NULL)
        *ret_ratio = rows[0].ratio;
    return true;
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
