/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of the raw control over libfabric: a round trip, and a window.
 *
 * What a program would write that needs no more than this. Receives are posted
 * before what they wait for is asked for, and short messages are injected. */
#include <string.h>

#include "jobs/bench/base/clock.h"
#include "jobs/bench/base/pattern.h"
#include "jobs/bench/calls/rate_control.h"
#include "jobs/bench/fabric/fabric_end.h"

enum {
    BACK_LEN = 8,
    TAG_PING = 2,
    TAG_PONG = 3,
    TAG_REQUEST = 100,
    TAG_REPLY = 101, /* and one more for each place in the window */
};

/* Rank 1: there is room for the next ping. */
static void ping_await(struct fabric *fabric, size_t len)
{
    fabric_receive(fabric, &fabric->lanes[0].receive, fabric->landing.base, len,
        &fabric->landing, TAG_PING);
}

/* Rank 0's round trip. */
static void ping(struct fabric *fabric, size_t len)
{
    struct fabric_lane *lane = &fabric->lanes[0];

    fabric_receive(
        fabric, &lane->receive, &lane->in, BACK_LEN, &fabric->own, TAG_PONG);
    fabric_send(
        fabric, &lane->send, fabric->room.base, len, &fabric->room, TAG_PING);
    (void)fabric_take(fabric);
    fabric_settle(fabric, &lane->send);
}

/* Rank 1's `calls` round trips, the first of which is awaited. */
static void pongs(struct fabric *fabric, size_t len, unsigned calls)
{
    struct fabric_lane *lane = &fabric->lanes[0];

    for (unsigned i = 0; i < calls; i++) {
        (void)fabric_take(fabric);
        fabric_settle(fabric, &lane->send);
        if (i + 1 < calls)
            ping_await(fabric, len);
        fabric_send(
            fabric, &lane->send, &lane->out, BACK_LEN, &fabric->own, TAG_PONG);
    }
    fabric_settle(fabric, &lane->send);
}

static struct fabric *fabric_with_room(struct pair *pair)
{
    struct fabric *fabric = fabric_get(pair);

    fabric_know(fabric, &fabric->room, pair->room, pair->room_len);
    fabric_know(fabric, &fabric->landing, pair->landing, pair->room_len);
    return fabric;
}

double fabric_pingpong(
    struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct fabric *fabric = fabric_with_room(pair);
    size_t len = duel->size == 0 ? BACK_LEN : duel->size;
    double start_us = 0.0;
    double before_us = 0.0;

    pattern_fill(pair->room, len, pair->seed);
    if (pair->rank == 1)
        ping_await(fabric, len);
    MPI_Barrier(pair->comm);
    if (pair->rank == 1) {
        pongs(fabric, len, DUEL_WARM + duel->calls);
        pair_verify(pair, pair->landing, len, "the ping");
        return 0.0;
    }
    for (unsigned i = 0; i < DUEL_WARM; i++)
        ping(fabric, len);
    start_us = before_us = clock_now_us();
    for (unsigned i = 0; i < duel->calls; i++) {
        ping(fabric, len);
        ret_samples[i] = clock_lap_us(&before_us);
    }
    return before_us - start_us;
}

void fabric_pingpong_plain(struct pair *pair, unsigned calls)
{
    struct fabric *fabric = fabric_with_room(pair);

    if (pair->rank == 1)
        ping_await(fabric, BACK_LEN);
    MPI_Barrier(pair->comm);
    if (pair->rank == 1)
        pongs(fabric, BACK_LEN, calls);
    for (unsigned i = 0; pair->rank == 0 && i < calls; i++)
        ping(fabric, BACK_LEN);
}

/* One side of the window. */
struct side {
    struct fabric *fabric;
    unsigned calls;
    unsigned posted;
    unsigned ended;
    double last_us; /* how long the call took that was timed last */
};

static void message_check(
    const struct pair *pair, const struct fabric_message *message)
{
    const uint64_t *words = message->words;

    if (words[1] >= OPTIONS_WINDOW_MAX || (words[0] ^ words[1]) != words[2])
        pair_fail(pair, "a message of the control is damaged: %llu %llu %llu",
            (unsigned long long)words[0], (unsigned long long)words[1],
            (unsigned long long)words[2]);
}

static void lane_receive(
    struct fabric *fabric, struct fabric_lane *lane, uint64_t tag)
{
    fabric_receive(
        fabric, &lane->receive, &lane->in, sizeof(lane->in), &fabric->own, tag);
}

static void lane_send(
    struct fabric *fabric, struct fabric_lane *lane, uint64_t tag)
{
    fabric_send(
        fabric, &lane->send, &lane->out, sizeof(lane->out), &fabric->own, tag);
}

/* Rank 0: the next request, from that place of the window. */
static void request_post(struct side *side, unsigned place)
{
    struct fabric_lane *lane = &side->fabric->lanes[place];

    lane->posted_us = rate_is_timed(side->posted) ? clock_now_us() : 0.0;
    fabric_settle(side->fabric, &lane->send);
    lane->out.words[0] = side->posted++;
    lane->out.words[1] = place;
    lane->out.words[2] = lane->out.words[0] ^ place;
    lane_receive(side->fabric, lane, TAG_REPLY + place);
    lane_send(side->fabric, lane, TAG_REQUEST);
}

/* Rank 0: the reply to the request of that place is here. */
static void reply_take(struct side *side, unsigned place, double *samples)
{
    struct fabric_lane *lane = &side->fabric->lanes[place];

    message_check(side->fabric->pair, &lane->in);
    if (lane->in.words[0] != lane->out.words[0])
        pair_fail(side->fabric->pair, "a reply of the control is another's");
    if (lane->posted_us > 0.0)
        side->last_us = clock_now_us() - lane->posted_us;
    if (samples != NULL)
        samples[side->ended] = side->last_us;
    side->ended++;
    if (side->posted < side->calls)
        request_post(side, place);
}

static double origin_run(
    struct side *side, unsigned window, unsigned calls, double *samples)
{
    double start_us = clock_now_us();

    side->calls = calls;
    side->posted = 0;
    side->ended = 0;
    for (unsigned i = 0; i < window && i < calls; i++)
        request_post(side, i);
    while (side->ended < calls)
        reply_take(side, fabric_take(side->fabric)->place, samples);
    return clock_now_us() - start_us;
}

/* Rank 1: one more receive, while there is more to come. */
static void request_await(struct side *side, struct fabric_lane *lane)
{
    if (side->posted == side->calls)
        return;
    side->posted++;
    lane_receive(side->fabric, lane, TAG_REQUEST);
}

/* Rank 1: answers what that lane got, at the place that it names. */
static void request_serve(struct side *side, struct fabric_lane *lane)
{
    unsigned place = (unsigned)lane->in.words[1];
    struct fabric_lane *out = &side->fabric->lanes[place];

    message_check(side->fabric->pair, &lane->in);
    fabric_settle(side->fabric, &out->send);
    out->out = lane->in;
    request_await(side, lane);
    lane_send(side->fabric, out, TAG_REPLY + place);
    side->ended++;
}

static void target_run(struct side *side)
{
    struct fabric *fabric = side->fabric;

    while (side->ended < side->calls)
        request_serve(side, &fabric->lanes[fabric_take(fabric)->place]);
    for (unsigned i = 0; i < OPTIONS_WINDOW_MAX; i++)
        fabric_settle(fabric, &fabric->lanes[i].send);
}

double fabric_rate(struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct side side = {
        .fabric = fabric_get(pair), .calls = DUEL_WARM + duel->calls};
    double elapsed_us = 0.0;

    for (unsigned i = 0; pair->rank == 1 && i < duel->window; i++)
        request_await(&side, &side.fabric->lanes[i]);
    pair_barrier(pair);
    if (pair->rank == 0) {
        origin_run(&side, duel->window, DUEL_WARM, NULL);
        elapsed_us = origin_run(&side, duel->window, duel->calls, ret_samples);
        duel->ended_us = clock_now_us();
        return elapsed_us;
    }
    target_run(&side);
    return 0.0;
}
