/* SPDX-License-Identifier: BSD-3-Clause */
/* A measurement and its control, in turn, batch after batch.
 *
 * What else happens on the machine comes and goes within seconds, and meets
 * two neighbouring batches alike. So each batch has a ratio of its own, and the
 * median of these is the result: it stays where it is when a few batches were
 * disturbed. One batch of each goes before, to warm up.
 *
 * Where the control is MPI the library has a context only during its own
 * batches; see control.c. */
#include "jobs/bench/frame/duel.h"

#include <stdlib.h>

#include "jobs/bench/base/guard.h"
#include "jobs/bench/base/meter.h"
#include "jobs/bench/base/stats.h"
#include "jobs/bench/frame/figures.h"
#include "jobs/bench/frame/limit.h"
#include "jobs/bench/frame/repeat.h"

/* Rank 0's numbers of one side of the duel. */
struct side {
    duel_batch_fn run;
    double *samples; /* of all batches */
    double *figures; /* one for each batch */
};

static void side_init(struct pair *pair, struct side *side, duel_batch_fn run,
    const struct duel *duel)
{
    size_t count = (size_t)duel->batches * duel->calls;

    side->run = run;
    side->samples = calloc(count, sizeof(double));
    side->figures = calloc(duel->batches, sizeof(double));
    if (side->samples == NULL || side->figures == NULL)
        pair_check(pair, HG_NOMEM, "memory for the samples");
}

static void side_fini(struct side *side)
{
    free(side->samples);
    free(side->figures);
}

/* The figure of a batch; the order of its samples is lost. */
static double figure_of(
    const struct duel *duel, double *samples, double elapsed_us)
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
        return stats_median(samples, duel->calls);
    }
}

/* Each batch has bytes of its own: those of an earlier one are found out. */
static void side_batch(struct pair *pair, struct duel *duel, struct side *side,
    unsigned batch, bool with_context)
{
    double *samples = side->samples + (size_t)batch * duel->calls;
    double elapsed_us = 0.0;

    guard_step("batch %u of %u operations of %zu bytes, %u at once%s", batch,
        duel->calls, duel->size, duel->window,
        side->run == duel->control ? ", of the control" : "");
    pair->seed++;
    if (with_context)
        pair_enter(pair);
    pair_barrier(pair);
    elapsed_us = side->run(pair, duel, samples);
    if (with_context)
        pair_leave(pair);
    if (pair->rank == 0)
        side->figures[batch] = figure_of(duel, samples, elapsed_us);
}

static void turn_run(struct pair *pair, struct duel *duel, struct side *ours,
    struct side *control, unsigned batch)
{
    side_batch(pair, duel, control, batch, false);
    side_batch(pair, duel, ours, batch, duel->context == DUEL_CONTEXT_OURS);
}

/* The median over the calls, or over the figures of the batches. Sorts. */
static double side_value(const struct duel *duel, struct side *side)
{
    if (duel->figure != DUEL_US)
        return stats_median(side->figures, duel->batches);
    return stats_median(side->samples, (size_t)duel->batches * duel->calls);
}

static const char *const units[] = {[DUEL_US] = "us",
    [DUEL_MEAN_US] = "us",
    [DUEL_GBPS] = "GB/s",
    [DUEL_KPS] = "k/s"};

static void row_fill(struct row *row, const struct pair *pair,
    const struct duel *duel, struct side *ours, struct side *control)
{
    size_t count = (size_t)duel->batches * duel->calls;

    /* First the ratios: they need the figures in the order of the batches. */
    figures_compare(pair, ours->figures, control->figures, duel->batches, row);

    row->size = duel->size;
    row->window = duel->window;
    row->ranks = duel->ranks;
    row->batches = duel->batches;
    row->unit = units[duel->figure];
    row->better = duel->figure == DUEL_GBPS || duel->figure == DUEL_KPS
                      ? "higher"
                      : "lower";
    row->value = side_value(duel, ours);
    row->control_value = side_value(duel, control);
    row->control_spread = stats_spread(control->figures, duel->batches);
    stats_sort(control->samples, count);
    row->control_p50_us = stats_quantile(control->samples, count, 0.5);
    row->control_p99_us = stats_quantile(control->samples, count, 0.99);
    figures_samples(ours->samples, count, row);
}

/* As many as this run makes, the same number by each rank. */
static void calls_set(const struct pair *pair, struct duel *duel)
{
    duel->calls = options_calls(pair->options, duel->calls);
    if (duel->ranks == 0)
        return;
    if (duel->calls < duel->ranks)
        duel->calls = duel->ranks;
    duel->calls -= duel->calls % duel->ranks;
}

static void batches_run(struct pair *pair, struct duel *duel, struct side *ours,
    struct side *control)
{
    if (duel->context == DUEL_CONTEXT_BOTH)
        pair_enter(pair);
    turn_run(pair, duel, ours, control, 0);
    for (unsigned i = 0; i < duel->batches; i++) {
        meter_tick(i, duel->batches);
        turn_run(pair, duel, ours, control, i);
    }
    if (duel->context == DUEL_CONTEXT_BOTH)
        pair_leave(pair);
    guard_rest();
}

/* What one run of a duel needs. */
struct bout {
    const struct pair *pair;
    struct duel *duel;
    struct side *ours;
    struct side *control;
};

static void bout_measure(struct pair *pair, void *arg)
{
    struct bout *bout = arg;

    batches_run(pair, bout->duel, bout->ours, bout->control);
}

static void bout_fill(struct row *row, void *arg)
{
    struct bout *bout = arg;

    row_fill(row, bout->pair, bout->duel, bout->ours, bout->control);
}

bool duel_run(struct pair *pair, struct duel *duel, struct row *row)
{
    struct side ours;
    struct side control;
    struct bout bout = {
        .pair = pair, .duel = duel, .ours = &ours, .control = &control};

    if (limit_is_over(pair->comm))
        return false;
    if (duel->batches == 0)
        duel->batches = DUEL_BATCHES;
    calls_set(pair, duel);
    pair_row(pair, row);
    meter_begin("%s: %s, %zu B, %u at once, beside %s", row->bench, row->op,
        duel->size, duel->window, row->against);
    side_init(pair, &ours, duel->ours, duel);
    side_init(pair, &control, duel->control, duel);
    repeat_run(pair, bout_measure, bout_fill, &bout, row);
    if (pair->rank == 0)
        rows_add(row);
    side_fini(&control);
    side_fini(&ours);
    return true;
}
