/* SPDX-License-Identifier: BSD-3-Clause */
/* Our calls, as batches.
 *
 * A handle is used again and again, as a program in a hurry does. The target
 * checks the bytes of the last call when the clock has stopped. */
#include "jobs/bench/raw/calls.h"

#include "jobs/bench/frame/duel.h"
#include "jobs/bench/frame/pattern.h"

struct trip {
    hg_handle_t handle;
    void *input;
    uint32_t wanted; /* bytes of output, which are decoded; 0: none */
};

static void trip_once(struct pair *pair, void *arg)
{
    struct trip *trip = arg;
    struct payload output = {(uint32_t)pair->room_len, pair->landing};

    pair_call(pair, trip->handle, trip->input);
    if (trip->wanted == 0)
        return;
    CHECK(pair, HG_Get_output(trip->handle, &output));
    CHECK(pair, HG_Free_output(trip->handle, &output));
    if (output.len != trip->wanted)
        pair_fail(
            pair, "%u bytes came back instead of %u", output.len, trip->wanted);
}

/* A batch of trips by calls of `id`; the target has received `in` bytes then.
 */
static double trips_run(struct pair *pair, struct duel *duel, struct trip *trip,
    hg_id_t id, size_t in)
{
    double elapsed_us = 0.0;

    if (pair->is_caller) {
        trip->handle = pair_handle(pair, id);
        elapsed_us = duel_each(pair, duel, trip_once, trip);
        pair_handle_free(pair, trip->handle);
        pair_stop(pair);
    } else {
        pair_serve(pair);
    }
    if (pair->is_target && in > 0)
        pair_verify(pair, pair->landing, in, "the input");
    pair_verify_served(pair, duel_warm(duel) + duel->calls);
    return elapsed_us;
}

double calls_latency(struct pair *pair, struct duel *duel)
{
    struct payload payload = {(uint32_t)duel->size, pair->room};
    struct trip trip = {.input = duel->size == 0 ? NULL : &payload};

    if (pair->is_caller)
        pattern_fill(pair->room, duel->size, pair->seed);
    return trips_run(pair, duel, &trip,
        duel->size == 0 ? pair->null_id : pair->bytes_id, duel->size);
}

double calls_echo(struct pair *pair, struct duel *duel)
{
    const struct calls_echo *load = duel->arg;
    struct echo echo = {{load->in, pair->room}, load->out};
    struct trip trip = {.input = &echo, .wanted = load->out};
    double elapsed_us = 0.0;

    pattern_fill(pair->room, pair->room_len, pair->seed);
    MPI_Barrier(pair->comm);
    /* If both are one, the landing has the output. */
    elapsed_us = trips_run(
        pair, duel, &trip, pair->echo_id, load->out > 0 ? 0 : load->in);
    if (pair->is_caller && load->out > 0)
        pair_verify(pair, pair->landing, load->out, "the echo");
    else if (pair->is_target && load->in > 0)
        pair_verify(pair, pair->landing, load->in, "the echo");
    return elapsed_us;
}

double calls_rate(struct pair *pair, struct duel *duel)
{
    struct flight flight = {pair, .post = flight_null, .look = flight_turn,
        .window = duel->window, .timed_every = FLIGHT_TIMED_EVERY};
    double elapsed_us = 0.0;

    if (pair->is_caller) {
        flight_handles(&flight, pair->null_id);
        elapsed_us = flight_batch(&flight, duel);
        flight_handles_free(&flight);
        pair_stop(pair);
    } else {
        pair_serve(pair);
    }
    pair_verify_served(pair, duel_warm(duel) + duel->calls);
    return elapsed_us;
}
