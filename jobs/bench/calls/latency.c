/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a call takes, from 0 bytes to 64 KiB of input.
 *
 * The handle is used again and again, as a program in a hurry does; the reply
 * is empty. Sizes beyond one message are measured as a user gets them: the
 * target pulls such an input before it serves the call. */
#include "jobs/bench/calls/latency.h"

#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/pattern.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/calls/control.h"
#include "jobs/bench/fabric/fabric.h"

enum { SIZE_MIN = 8, SIZE_END = 65536 };

/* The target checks the bytes of the last call, when the clock has stopped. */
static void batch_verify(struct pair *pair, const struct duel *duel)
{
    if (pair->is_target && duel->size > 0)
        pair_verify(pair, pair->landing, duel->size, "the input");
    pair_verify_served(pair, DUEL_WARM + duel->calls);
}

double latency_batch(struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct payload payload = {(uint32_t)duel->size, pair->room};
    void *input = duel->size == 0 ? NULL : &payload;
    hg_handle_t handle = HG_HANDLE_NULL;
    double start_us = 0.0;
    double before_us = 0.0;

    if (!pair->is_caller) {
        pair_serve(pair);
        batch_verify(pair, duel);
        return 0.0;
    }
    pattern_fill(pair->room, duel->size, pair->seed);
    handle =
        pair_handle(pair, duel->size == 0 ? pair->null_id : pair->bytes_id);
    for (unsigned i = 0; i < DUEL_WARM; i++)
        pair_call(pair, handle, input);
    start_us = before_us = clock_now_us();
    for (unsigned i = 0; i < duel->calls; i++) {
        pair_call(pair, handle, input);
        ret_samples[i] = clock_lap_us(&before_us);
    }
    pair_check(pair, HG_Destroy(handle), "HG_Destroy");
    pair_stop(pair);
    batch_verify(pair, duel);
    return before_us - start_us;
}

static void size_run(struct pair *pair, size_t size)
{
    bool is_fabric = fabric_is_way(pair);
    struct duel duel = {
        .ours = latency_batch,
        .control = is_fabric ? fabric_pingpong : control_pingpong,
        .size = size,
        .window = 1,
        .calls =
            pair->options->calls == 0 ? LATENCY_CALLS : pair->options->calls,
        .batches = pair->options->batches,
        .figure = DUEL_US,
        .context = DUEL_CONTEXT_OURS,
    };
    struct row row = {
        .bench = "latency",
        .op = "rpc",
        .memory = "host",
        .against = is_fabric ? "libfabric" : "mpi",
        .control = is_fabric ? FABRIC_PINGPONG_TEXT : CONTROL_PINGPONG_TEXT,
    };

    duel_run(pair, &duel, &row);
}

void bench_latency(struct pair *pair)
{
    const unsigned *only = pair->options->size;
    unsigned i = 0;

    pair_need_room(
        pair, only != NULL && *only > SIZE_END ? *only : (size_t)SIZE_END);
    if (only != NULL) {
        size_run(pair, *only);
        return;
    }
    size_run(pair, 0);
    for (size_t size = SIZE_MIN; size <= SIZE_END; size *= 2)
        if (options_takes(pair->options, i++))
            size_run(pair, size);
    twice_run(pair);
}
