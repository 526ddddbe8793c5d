/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches of calls: ours, and calls by plain MPI, over a communicator that the
 * library does not use. */
#include "jobs/bench/raw/calls.h"

#include <string.h>

#include "jobs/bench/frame/pattern.h"

enum {
    BACK_LEN = 8,
    TAG_TRIP = 1,
    TAG_ANSWER = 300, /* + the place in the window */
    CHECK_EVERY = 16,
};

/* A handle is used again and again, as a fast program does. The target checks
 * the bytes of the last call when the clock has stopped. */
struct trip {
    hg_handle_t handle;
    void *input;
    uint32_t wanted; /* bytes of output, which are decoded; 0: none */
};

static void call_once(struct pair *pair, void *arg)
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

/* A batch of trips by calls of `id`, with `in` bytes of input. If caller and
 * target are one process, the landing has the output. */
static double trips_run(struct pair *pair, struct duel *duel, struct trip *trip,
    hg_id_t id, size_t in)
{
    double elapsed_us = 0.0;

    if (pair->is_caller) {
        trip->handle = pair_handle(pair, id);
        elapsed_us = duel_each(pair, duel, call_once, trip);
        pair_handle_free(pair, trip->handle);
        pair_stop(pair);
    } else {
        pair_serve(pair);
    }
    if (pair->is_caller && trip->wanted > 0)
        pair_verify(pair, pair->landing, trip->wanted, "the output");
    else if (pair->is_target && in > 0)
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

    pattern_fill(pair->room, pair->room_len, pair->seed);
    MPI_Barrier(pair->comm);
    return trips_run(pair, duel, &trip, pair->echo_id, load->in);
}

double calls_flight(struct pair *pair, struct duel *duel, hg_id_t id,
    void (*post)(struct flight_slot *slot))
{
    struct flight flight = {pair, .post = post, .look = flight_turn,
        .window = duel->window, .timed_every = FLIGHT_TIMED_EVERY};
    double elapsed_us = 0.0;

    if (pair->is_caller)
        flight_handles(&flight, id);
    elapsed_us = flight_served(&flight, duel);
    if (pair->is_caller)
        flight_handles_free(&flight);
    pair_verify_served(pair, duel_warm(duel) + duel->calls);
    return elapsed_us;
}

double calls_rate(struct pair *pair, struct duel *duel)
{
    return calls_flight(pair, duel, pair->null_id, flight_null);
}

/* NOTE(gcc 12): gcc takes the constant for the address of an array, and warns;
 * volatile hides the value from gcc. */
static MPI_Status *volatile no_statuses = MPI_STATUSES_IGNORE;

unsigned mpi_serve_places(const struct pair *pair, unsigned window)
{
    unsigned most = window * (unsigned)(pair->world->size - 1);

    return most < MPI_SERVE_PLACES ? most : MPI_SERVE_PLACES;
}

void mpi_serve_open(struct mpi_serve *serve, const struct mpi_serve_ops *ops,
    void *arg, unsigned waits, unsigned places)
{
    serve->ops = ops;
    serve->arg = arg;
    serve->waits = waits;
    serve->places = places;
    for (unsigned i = 0; i < waits; i++)
        serve->requests[i] = serve->sends[i] = MPI_REQUEST_NULL;
    for (unsigned i = 0; i < places; i++) {
        serve->answers[i] = MPI_REQUEST_NULL;
        ops->receive(arg, i, &serve->requests[waits + i]);
    }
}

bool mpi_serve_turn(struct mpi_serve *serve)
{
    int indices[MPI_SERVE_WAITS + MPI_SERVE_PLACES];
    int count = 0;

    MPI_Testsome((int)(serve->waits + serve->places), serve->requests, &count,
        indices, no_statuses);
    if (count == MPI_UNDEFINED)
        count = 0;
    for (int i = 0; i < count; i++) {
        unsigned index = (unsigned)indices[i];
        unsigned place = index - serve->waits;

        if (index < serve->waits) {
            pair_wait(serve->pair, &serve->sends[index]);
            serve->ops->ended(serve->arg, index);
        } else {
            pair_wait(serve->pair, &serve->answers[place]);
            serve->ops->handle(serve->arg, place, &serve->answers[place]);
            serve->ops->receive(serve->arg, place, &serve->requests[index]);
        }
    }
    if (count == 0)
        pair_idle(serve->pair);
    return count > 0;
}

void mpi_serve_meet(struct mpi_serve *serve)
{
    MPI_Request request;
    int is_over = 0;

    MPI_Ibarrier(serve->comm, &request);
    while (!is_over)
        if (!mpi_serve_turn(serve))
            MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
}

void mpi_serve_close(struct mpi_serve *serve)
{
    for (unsigned i = 0; i < serve->places; i++) {
        MPI_Request *request = &serve->requests[serve->waits + i];

        MPI_Cancel(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
        pair_wait(serve->pair, &serve->answers[i]);
    }
}

static uint64_t head_sum(const struct head *head)
{
    return ~(head->number + ((uint64_t)head->origin << 32) + head->place);
}

void head_write(
    const struct pair *pair, uint64_t number, unsigned place, void *ret_buf)
{
    struct head head = {(uint32_t)pair->rank, place, number, 0};

    head.sum = head_sum(&head);
    memcpy(ret_buf, &head, sizeof(head));
}

void head_fill(const struct pair *pair, void *ret_buf, size_t len)
{
    if (len > HEAD_LEN)
        pattern_fill(
            (unsigned char *)ret_buf + HEAD_LEN, len - HEAD_LEN, pair->seed);
}

struct head head_check(const struct pair *pair, const void *buf, size_t len)
{
    struct head head;

    memcpy(&head, buf, sizeof(head));
    if (len < HEAD_LEN || head.sum != head_sum(&head))
        pair_fail(pair,
            "a request of %zu bytes begins with others than were "
            "sent",
            len);
    if (len > HEAD_LEN && head.number % CHECK_EVERY == 0)
        pair_verify(pair, (const unsigned char *)buf + HEAD_LEN, len - HEAD_LEN,
            "a request");
    return head;
}

static void request_receive(void *arg, unsigned place, MPI_Request *ret_request)
{
    struct mpi_calls *calls = arg;

    MPI_Irecv(calls->landing + place * calls->len, (int)calls->len, MPI_BYTE,
        MPI_ANY_SOURCE, MPI_SERVE_TAG, calls->serve.comm, ret_request);
}

static void request_handle(void *arg, unsigned place, MPI_Request *ret_answer)
{
    struct mpi_calls *calls = arg;
    struct head *head = &calls->said[place];

    *head = head_check(
        calls->serve.pair, calls->landing + place * calls->len, calls->len);
    calls->served[0]++;
    calls->served[1] += head->number;
    MPI_Isend(head, HEAD_LEN, MPI_BYTE, (int)head->origin,
        TAG_ANSWER + (int)head->place, calls->serve.comm, ret_answer);
}

static void answer_take(void *arg, unsigned wait)
{
    struct mpi_calls *calls = arg;

    if (memcmp(&calls->heard[wait], calls->room + wait * calls->len,
            HEAD_LEN) != 0)
        pair_fail(calls->serve.pair, "an answer of the control is another's");
    flight_ended(&calls->flight.slots[wait]);
}

static const struct mpi_serve_ops calls_ops = {
    .receive = request_receive,
    .handle = request_handle,
    .ended = answer_take,
};

static void request_post(struct flight_slot *slot)
{
    struct mpi_calls *calls = slot->flight->arg;
    unsigned char *request = calls->room + slot->number * calls->len;
    int to = 1;
    int size = 0;

    if (calls->is_ring) {
        MPI_Comm_size(calls->serve.comm, &size);
        to = (calls->serve.pair->rank + 1 + (int)slot->number) % size;
    }
    head_write(calls->serve.pair, calls->asked[0], slot->number, request);
    calls->asked[1] += calls->asked[0]++;
    MPI_Irecv(&calls->heard[slot->number], HEAD_LEN, MPI_BYTE, to,
        TAG_ANSWER + (int)slot->number, calls->serve.comm,
        &calls->serve.requests[slot->number]);
    MPI_Isend(request, (int)calls->len, MPI_BYTE, to, MPI_SERVE_TAG,
        calls->serve.comm, &calls->serve.sends[slot->number]);
}

static bool calls_look(struct flight *flight)
{
    struct mpi_calls *calls = flight->arg;

    return mpi_serve_turn(&calls->serve);
}

void mpi_calls_open(struct mpi_calls *calls, struct pair *pair, MPI_Comm comm,
    size_t len, unsigned window, unsigned places)
{
    memset(calls, 0, sizeof(*calls));
    calls->len = len;
    calls->room = len == HEAD_LEN ? (void *)calls->short_room : pair->room;
    calls->landing =
        len == HEAD_LEN ? (void *)calls->short_landing : pair->landing;
    calls->flight = (struct flight){pair, .arg = calls, .post = request_post,
        .look = calls_look, .window = window,
        .timed_every = FLIGHT_TIMED_EVERY};
    for (unsigned i = 0; i < window; i++)
        head_fill(pair, calls->room + i * len, len);
    calls->serve.pair = pair;
    calls->serve.comm = comm;
    mpi_serve_open(&calls->serve, &calls_ops, calls, window, places);
}

void served_verify(const struct pair *pair, MPI_Comm comm,
    const uint64_t asked[2], const uint64_t served[2])
{
    uint64_t sums[4] = {asked[0], asked[1], served[0], served[1]};

    MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_UINT64_T, MPI_SUM, comm);
    if (sums[0] != sums[2] || sums[1] != sums[3])
        pair_fail(pair, "%llu requests came instead of %llu",
            (unsigned long long)sums[2], (unsigned long long)sums[0]);
}

void mpi_calls_close(struct mpi_calls *calls)
{
    mpi_serve_meet(&calls->serve);
    mpi_serve_close(&calls->serve);
    served_verify(
        calls->serve.pair, calls->serve.comm, calls->asked, calls->served);
}

/* A round trip; both ranks call the function. */
static void trip_once(struct pair *pair, void *arg)
{
    const struct calls_echo *lens = arg;

    if (pair->rank == 0) {
        MPI_Send(pair->room, (int)lens->in, MPI_BYTE, 1, TAG_TRIP, pair->comm);
        MPI_Recv(pair->landing, (int)lens->out, MPI_BYTE, 1, TAG_TRIP,
            pair->comm, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(pair->landing, (int)lens->in, MPI_BYTE, 0, TAG_TRIP,
            pair->comm, MPI_STATUS_IGNORE);
        MPI_Send(pair->room, (int)lens->out, MPI_BYTE, 0, TAG_TRIP, pair->comm);
    }
}

static double mpi_batch(
    struct pair *pair, struct duel *duel, struct calls_echo *lens)
{
    double elapsed_us = 0.0;

    pattern_fill(
        pair->room, lens->in > lens->out ? lens->in : lens->out, pair->seed);
    elapsed_us = duel_each(pair, duel, trip_once, lens);
    pair_verify(pair, pair->landing, pair->rank == 1 ? lens->in : lens->out,
        "the message of the control");
    return elapsed_us;
}

double mpi_echo(struct pair *pair, struct duel *duel)
{
    return mpi_batch(pair, duel, duel->arg);
}

double mpi_trip(struct pair *pair, struct duel *duel)
{
    struct calls_echo lens = {
        duel->size == 0 ? BACK_LEN : (uint32_t)duel->size, BACK_LEN};

    return mpi_batch(pair, duel, &lens);
}

void mpi_trips(struct pair *pair, unsigned calls)
{
    struct calls_echo lens = {BACK_LEN, BACK_LEN};

    for (unsigned i = 0; i < calls; i++)
        trip_once(pair, &lens);
}

double mpi_rate(struct pair *pair, struct duel *duel)
{
    struct mpi_calls calls;
    double elapsed_us = 0.0;

    mpi_calls_open(&calls, pair, pair->comm, HEAD_LEN,
        pair->rank == 0 ? duel->window : 0, pair->rank == 1 ? duel->window : 0);
    pair_barrier(pair);
    if (pair->rank == 0)
        elapsed_us = flight_batch(&calls.flight, duel);
    while (pair->rank == 1 && calls.served[0] < duel_warm(duel) + duel->calls)
        mpi_serve_turn(&calls.serve);
    mpi_calls_close(&calls);
    return elapsed_us;
}
