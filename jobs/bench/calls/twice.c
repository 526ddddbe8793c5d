/* SPDX-License-Identifier: BSD-3-Clause */
/* What it costs that arguments do not fit into one message.
 *
 * Twice as much as fits, in the input, in the output, and in both, beside the
 * same call with arguments that just fit. The output is decoded by the caller,
 * as a user does, and that is part of the time. */
#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/pattern.h"
#include "jobs/bench/calls/latency.h"

enum { CALLS = 300, SLACK = 32 };

/* Bytes of payload; what the calls of one row carry. */
struct load {
    uint32_t in;
    uint32_t out;
};

struct match {
    struct load twice;
    struct load fitting;
};

static void echo_once(struct pair *pair, hg_handle_t handle, struct echo *echo)
{
    struct payload output = {(uint32_t)pair->room_len, pair->landing};

    pair_call(pair, handle, echo);
    pair_check(pair, HG_Get_output(handle, &output), "HG_Get_output");
    pair_check(pair, HG_Free_output(handle, &output), "HG_Free_output");
    if (output.len != echo->wanted)
        pair_fail(
            pair, "%u bytes came back instead of %u", output.len, echo->wanted);
}

/* The bytes of the last call: what each of the two received. */
static void batch_verify(
    struct pair *pair, const struct duel *duel, const struct load *load)
{
    uint32_t len = pair->is_target ? load->in : 0;

    if (pair->is_caller && load->out > 0)
        len = load->out;
    pair_verify(pair, pair->landing, len, "the echo");
    pair_verify_served(pair, DUEL_WARM + duel->calls);
}

static double load_batch(struct pair *pair, const struct duel *duel,
    const struct load *load, double *ret_samples)
{
    struct echo echo = {{load->in, pair->room}, load->out};
    hg_handle_t handle = HG_HANDLE_NULL;
    double start_us = 0.0;
    double before_us = 0.0;

    pattern_fill(pair->room, pair->room_len, pair->seed);
    MPI_Barrier(pair->comm);
    if (!pair->is_caller) {
        pair_serve(pair);
        batch_verify(pair, duel, load);
        return 0.0;
    }
    handle = pair_handle(pair, pair->echo_id);
    for (unsigned i = 0; i < DUEL_WARM; i++)
        echo_once(pair, handle, &echo);
    start_us = before_us = clock_now_us();
    for (unsigned i = 0; i < duel->calls; i++) {
        echo_once(pair, handle, &echo);
        ret_samples[i] = clock_lap_us(&before_us);
    }
    pair_check(pair, HG_Destroy(handle), "HG_Destroy");
    pair_stop(pair);
    batch_verify(pair, duel, load);
    return before_us - start_us;
}

static double twice_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    const struct match *match = duel->more;

    return load_batch(pair, duel, &match->twice, ret_samples);
}

static double fitting_batch(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    const struct match *match = duel->more;

    return load_batch(pair, duel, &match->fitting, ret_samples);
}

static void match_run(struct pair *pair, const char *op, struct match *match)
{
    struct duel duel = {
        .ours = twice_batch,
        .control = fitting_batch,
        .size = match->twice.in + match->twice.out,
        .window = 1,
        .calls = pair->options->calls == 0 ? CALLS : pair->options->calls,
        .batches = pair->options->batches,
        .figure = DUEL_US,
        .context = DUEL_CONTEXT_BOTH,
        .more = match,
    };
    struct row row = {
        .bench = "latency",
        .op = op,
        .memory = "host",
        .against = "fitting",
        .control = "the same call with arguments that just fit into one "
                   "message",
    };

    duel_run(pair, &duel, &row);
}

void twice_run(struct pair *pair)
{
    uint32_t in = (uint32_t)HG_Class_get_input_eager_size(pair->cls);
    uint32_t out = (uint32_t)HG_Class_get_output_eager_size(pair->cls);
    struct match in_match = {{2 * in, 0}, {in - SLACK, 0}};
    struct match out_match = {{0, 2 * out}, {0, out - SLACK}};
    struct match both_match = {{2 * in, 2 * out}, {in - SLACK, out - SLACK}};

    if (in <= SLACK || out <= SLACK)
        pair_fail(pair, "messages of %u and %u bytes are too short", in, out);
    pair_need_room(pair, 2 * (size_t)(in > out ? in : out));
    match_run(pair, "rpc_2x_in", &in_match);
    match_run(pair, "rpc_2x_out", &out_match);
    match_run(pair, "rpc_2x_both", &both_match);
}
