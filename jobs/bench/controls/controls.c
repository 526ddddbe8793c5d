/* SPDX-License-Identifier: BSD-3-Clause */
/* A row of what this machine gives, and what stands beside it. */
#include "jobs/bench/controls/controls.h"

#include "jobs/bench/bulk/bulk_move.h"
#include "jobs/bench/bulk/bulk_near.h"
#include "jobs/bench/calls/control.h"
#include "jobs/bench/calls/rate_control.h"

enum {
    KIB = 1024,
    MIB = 1024 * KIB,
    TRIP_SIZE_MAX = 4 * MIB,
    WINDOW_LEN_MAX = 16 * MIB, /* more at once tells nothing new */
    RATE_CALLS = 200,          /* for each place of the window */
    RATE_CALLS_MIN = 1000,
};

const struct controls_step controls_short[] = {
    {8, CONTROLS_SMOKE}, {4 * KIB, CONTROLS_FULL}, {0, CONTROLS_FULL}};
const struct controls_step controls_long[] = {{64 * KIB, CONTROLS_SMOKE},
    {MIB, CONTROLS_QUICK}, {16 * MIB, CONTROLS_FULL}, {0, CONTROLS_FULL}};

/* duel->more of all rows. */
struct match {
    struct controls *controls;
    const struct controls_row *row;
};

static double ours_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    const struct match *match = duel->more;
    struct duel inner = *duel;

    inner.more = match->row->more;
    return match->row->batch(pair, &inner, ret_samples);
}

double controls_copy(struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct controls *controls = duel->more;
    struct duel inner = *duel;

    inner.more = &controls->copy;
    inner.window = 1;
    controls->alone.seed = pair->seed;
    return bulk_copy(&controls->alone, &inner, ret_samples);
}

#define COPY_TEXT                                                              \
    "memcpy of that size by rank 0, between two buffers of its own"
static double copy_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    const struct match *match = duel->more;
    struct duel inner = *duel;

    inner.more = match->controls;
    return controls_copy(pair, &inner, ret_samples);
}

/* Indexed by enum controls_beside. */
static const struct {
    const char *against;
    const char *control;
    duel_batch_fn batch;
    enum duel_figure figure;
} besides[] = {
    [CONTROLS_TRIP] = {"mpi", CONTROL_PINGPONG_TEXT, control_pingpong, DUEL_US},
    [CONTROLS_TRIPS] = {"mpi", CONTROL_PINGPONG_TEXT, control_pingpong,
        DUEL_KPS},
    [CONTROLS_REQUEST] = {"mpi_request", RATE_CONTROL_TEXT, rate_control,
        DUEL_KPS},
    [CONTROLS_COPY] = {"memcpy", COPY_TEXT, copy_batch, DUEL_GBPS},
};

static unsigned calls_of(
    const struct pair *pair, const struct controls_row *row)
{
    unsigned calls = row->window * RATE_CALLS;

    if (row->beside == CONTROLS_TRIP || row->beside == CONTROLS_COPY)
        return bulk_calls(pair, row->size, row->window);
    if (pair->options->calls != 0)
        return pair->options->calls;
    return calls < RATE_CALLS_MIN ? RATE_CALLS_MIN : calls;
}

/* There is no bandwidth of nothing, and no patience for all round trips. */
static bool row_fits(const struct pair *pair, const struct controls_row *row)
{
    if (row->beside == CONTROLS_COPY && row->size == 0)
        return false;
    if (row->beside == CONTROLS_TRIP && row->size > TRIP_SIZE_MAX)
        return false;
    return row->window * row->size <= pair->room_len;
}

void controls_row_run(struct controls *controls, const struct controls_row *row)
{
    struct pair *pair = &controls->pair;
    struct match match = {controls, row};
    struct duel duel = {
        .ours = ours_batch,
        .control = besides[row->beside].batch,
        .size = row->size,
        .window = row->window,
        .calls = calls_of(pair, row),
        .batches = pair->options->batches,
        .figure = besides[row->beside].figure,
        .context = DUEL_CONTEXT_OWN,
        .more = &match,
    };
    struct row result = {
        .bench = "controls",
        .op = row->op,
        .memory = "host",
        .against = besides[row->beside].against,
        .control = besides[row->beside].control,
    };

    if (row_fits(pair, row))
        duel_run(pair, &duel, &result);
}

/* Is the step asked for? */
static bool has_step(
    const struct options *options, const struct controls_step *step)
{
    if (options->is_smoke)
        return step->level == CONTROLS_SMOKE;
    return step->level != CONTROLS_FULL || !options->is_quick;
}

static void windows_run(struct controls *controls, struct controls_row *row,
    const struct controls_step *windows)
{
    const struct options *options = controls->pair.options;

    if (windows == NULL) {
        controls_row_run(controls, row);
    } else if (options->window != 0) {
        row->window = options->window;
        controls_row_run(controls, row);
    } else {
        for (; windows->number != 0; windows++) {
            row->window = (unsigned)windows->number;
            if (has_step(options, windows) &&
                (row->window == 1 || row->window * row->size <= WINDOW_LEN_MAX))
                controls_row_run(controls, row);
        }
    }
}

void controls_rows_run(struct controls *controls,
    const struct controls_row *row, const struct controls_step *sizes,
    const struct controls_step *windows)
{
    const struct options *options = controls->pair.options;
    struct controls_row now = *row;

    if (sizes == NULL) {
        windows_run(controls, &now, windows);
    } else if (options->size != NULL) {
        now.size = *options->size;
        windows_run(controls, &now, windows);
    } else {
        for (; sizes->number != 0; sizes++) {
            now.size = sizes->number;
            if (has_step(options, sizes))
                windows_run(controls, &now, windows);
        }
    }
}
