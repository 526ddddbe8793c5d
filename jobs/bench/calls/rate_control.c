/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests and replies by bare non-blocking MPI calls.
 *
 * What a program would write that needs no more than this: the target keeps as
 * many receives posted as there are requests in flight, and replies to the
 * place in the window that a request names. Who has the reply knows that its
 * request has left, so its send is ended without a look of its own. */
#include "jobs/bench/calls/rate_control.h"

#include "jobs/bench/base/clock.h"

enum {
    WORDS = 3, /* 24 bytes, the length of our request and of our reply */
    TAG_REQUEST = 100,
    TAG_REPLY = 101, /* and one more for each place in the window */
};

/* NOTE(gcc 12): it takes the constant for the address of an array, and warns;
 * so it must not see what this is. */
static MPI_Status *volatile no_statuses = MPI_STATUSES_IGNORE;

/* { number, place in the window, number ^ place }: seen to be right. */
struct message {
    uint64_t words[WORDS];
};

struct side {
    struct pair *pair;
    unsigned window;
    unsigned calls;
    unsigned posted;
    unsigned ended;
    MPI_Request receives[OPTIONS_WINDOW_MAX];
    MPI_Request sends[OPTIONS_WINDOW_MAX];
    struct message in[OPTIONS_WINDOW_MAX];
    struct message out[OPTIONS_WINDOW_MAX];
    double posted_us[OPTIONS_WINDOW_MAX]; /* 0: not timed */
    double last_us; /* how long the call took that was timed last */
};

/* How many receives are finished, and which. */
static inline int receives_look(struct side *side, int *ret_indices)
{
    int count = 0;

    MPI_Testsome(
        (int)side->window, side->receives, &count, ret_indices, no_statuses);
    if (count == 0)
        pair_idle(side->pair);
    return count;
}

static void side_init(
    struct side *side, struct pair *pair, const struct duel *duel)
{
    side->pair = pair;
    side->window = duel->window;
    for (unsigned i = 0; i < OPTIONS_WINDOW_MAX; i++)
        side->receives[i] = side->sends[i] = MPI_REQUEST_NULL;
}

static void message_check(
    const struct pair *pair, const struct message *message)
{
    const uint64_t *words = message->words;

    if (words[1] >= OPTIONS_WINDOW_MAX || (words[0] ^ words[1]) != words[2])
        pair_fail(pair, "a message of the control is damaged: %llu %llu %llu",
            (unsigned long long)words[0], (unsigned long long)words[1],
            (unsigned long long)words[2]);
}

/* Rank 0: the next request, from that place of the window. */
static void request_post(struct side *side, unsigned place)
{
    struct message *out = &side->out[place];
    MPI_Comm comm = side->pair->comm;

    side->posted_us[place] = rate_is_timed(side->posted) ? clock_now_us() : 0.0;
    out->words[0] = side->posted++;
    out->words[1] = place;
    out->words[2] = out->words[0] ^ place;
    MPI_Irecv(side->in[place].words, WORDS, MPI_UINT64_T, 1,
        TAG_REPLY + (int)place, comm, &side->receives[place]);
    MPI_Isend(out->words, WORDS, MPI_UINT64_T, 1, TAG_REQUEST, comm,
        &side->sends[place]);
}

/* Rank 0: the reply to the request of that place is here. */
static void reply_take(struct side *side, unsigned place, double *samples)
{
    message_check(side->pair, &side->in[place]);
    if (side->in[place].words[0] != side->out[place].words[0])
        pair_fail(side->pair, "a reply of the control is another's");
    if (side->posted_us[place] > 0.0)
        side->last_us = clock_now_us() - side->posted_us[place];
    if (samples != NULL)
        samples[side->ended] = side->last_us;
    side->ended++;
    MPI_Wait(&side->sends[place], MPI_STATUS_IGNORE);
    if (side->posted < side->calls)
        request_post(side, place);
}

static double origin_run(struct side *side, unsigned calls, double *samples)
{
    double start_us = clock_now_us();
    int indices[OPTIONS_WINDOW_MAX];

    side->calls = calls;
    side->posted = 0;
    side->ended = 0;
    for (unsigned i = 0; i < side->window && i < calls; i++)
        request_post(side, i);
    while (side->ended < calls) {
        int count = receives_look(side, indices);

        for (int i = 0; i < count; i++)
            reply_take(side, (unsigned)indices[i], samples);
    }
    return clock_now_us() - start_us;
}

/* Rank 1: one more receive, while there is more to come. */
static void receive_post(struct side *side, unsigned i)
{
    if (side->posted == side->calls)
        return;
    side->posted++;
    MPI_Irecv(side->in[i].words, WORDS, MPI_UINT64_T, MPI_ANY_SOURCE,
        TAG_REQUEST, side->pair->comm, &side->receives[i]);
}

/* Rank 1: answers what receive `i` got, and posts it again. */
static void request_serve(struct side *side, unsigned i)
{
    unsigned place = (unsigned)side->in[i].words[1];

    message_check(side->pair, &side->in[i]);
    /* Its last reply has been received, or there were no request. */
    MPI_Wait(&side->sends[place], MPI_STATUS_IGNORE);
    side->out[place] = side->in[i];
    MPI_Isend(side->out[place].words, WORDS, MPI_UINT64_T, 0,
        TAG_REPLY + (int)place, side->pair->comm, &side->sends[place]);
    receive_post(side, i);
    side->ended++;
}

static void target_run(struct side *side, unsigned calls)
{
    int indices[OPTIONS_WINDOW_MAX];

    side->calls = calls;
    for (unsigned i = 0; i < side->window; i++)
        receive_post(side, i);
    while (side->ended < calls) {
        int count = receives_look(side, indices);

        for (int i = 0; i < count; i++)
            request_serve(side, (unsigned)indices[i]);
    }
    MPI_Waitall((int)side->window, side->sends, no_statuses);
}

double rate_control(struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct side side = {.posted = 0};
    double elapsed_us = 0.0;

    side_init(&side, pair, duel);
    if (pair->rank == 0) {
        origin_run(&side, DUEL_WARM, NULL);
        elapsed_us = origin_run(&side, duel->calls, ret_samples);
        duel->ended_us = clock_now_us();
        return elapsed_us;
    }
    target_run(&side, DUEL_WARM + duel->calls);
    return 0.0;
}
