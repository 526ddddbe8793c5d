/* SPDX-License-Identifier: BSD-3-Clause */
/* What a program has to do at least that talks to others by MPI: it duplicates
 * the communicator, sends each peer a message, and frees it. */
#include "jobs/bench/base/clock.h"
#include "jobs/bench/frame/team.h"
#include "jobs/bench/memory/scale.h"

enum {
    WORDS = 3, /* 24 bytes, the length of our request and of our reply */
    TAG_REQUEST = 300,
    TAG_ANSWER = 301,
};

/* NOTE(gcc 12): it takes the constant for the address of an array, and warns;
 * so it must not see what this is. */
static MPI_Status *volatile all_statuses = MPI_STATUSES_IGNORE;

struct message {
    uint64_t words[WORDS]; /* from whom, to whom, the two of them */
};

/* Both what this rank asks and what it answers. */
struct exchange {
    struct pair *pair;
    MPI_Comm comm;
    int count;
    MPI_Request asked[SCALE_PEERS_MAX];
    MPI_Request answers[SCALE_PEERS_MAX];
    MPI_Request sends[2 * SCALE_PEERS_MAX];
    struct message out[2 * SCALE_PEERS_MAX];
    struct message questions[SCALE_PEERS_MAX];
    struct message in[SCALE_PEERS_MAX];
};

static void message_send(struct exchange *exchange, int place, int to, int tag)
{
    uint64_t *words = exchange->out[place].words;

    words[0] = (uint64_t)exchange->pair->rank;
    words[1] = (uint64_t)to;
    words[2] = ~(words[0] + words[1]);
    MPI_Isend(words, WORDS, MPI_UINT64_T, to, tag, exchange->comm,
        &exchange->sends[place]);
}

static void message_check(
    const struct exchange *exchange, const struct message *message, int from)
{
    const uint64_t *words = message->words;

    if (words[0] != (uint64_t)from ||
        words[1] != (uint64_t)exchange->pair->rank ||
        words[2] != ~(words[0] + words[1]))
        pair_fail(exchange->pair, "a message of the control is damaged");
}

static void exchange_start(struct exchange *exchange, const struct duel *duel)
{
    struct pair *pair = exchange->pair;

    for (int i = 0; i < exchange->count; i++) {
        int callee = scale_callee(pair, duel, (unsigned)i);
        int caller = scale_caller(pair, duel, (unsigned)i);

        exchange->sends[exchange->count + i] = MPI_REQUEST_NULL;
        MPI_Irecv(exchange->questions[i].words, WORDS, MPI_UINT64_T, caller,
            TAG_REQUEST, exchange->comm, &exchange->asked[i]);
        MPI_Irecv(exchange->in[i].words, WORDS, MPI_UINT64_T, callee,
            TAG_ANSWER, exchange->comm, &exchange->answers[i]);
        message_send(exchange, i, callee, TAG_REQUEST);
    }
}

/* Returns how many were asked for the first time. */
static int questions_answer(struct exchange *exchange, const struct duel *duel)
{
    int indices[SCALE_PEERS_MAX];
    int count = 0;

    MPI_Testsome(
        exchange->count, exchange->asked, &count, indices, all_statuses);
    for (int i = 0; i < count; i++) {
        int caller = scale_caller(exchange->pair, duel, (unsigned)indices[i]);

        message_check(exchange, &exchange->questions[indices[i]], caller);
        message_send(
            exchange, exchange->count + indices[i], caller, TAG_ANSWER);
    }
    return count > 0 ? count : 0;
}

/* Has all been answered that this rank has asked? */
static bool answers_are_here(struct exchange *exchange)
{
    int is_done = 0;

    MPI_Testall(exchange->count, exchange->answers, &is_done, all_statuses);
    return is_done != 0;
}

static void exchange_end(
    struct exchange *exchange, const struct duel *duel, int asked)
{
    int is_done = 0;

    while (asked < exchange->count) {
        int count = questions_answer(exchange, duel);

        asked += count;
        if (count == 0)
            team_idle(exchange->pair);
    }
    while (MPI_Testall(
               2 * exchange->count, exchange->sends, &is_done, all_statuses),
        !is_done)
        team_idle(exchange->pair);
    for (int i = 0; i < exchange->count; i++)
        message_check(exchange, &exchange->in[i],
            scale_callee(exchange->pair, duel, (unsigned)i));
}

static double contact(struct pair *pair, const struct duel *duel, MPI_Comm comm)
{
    struct exchange exchange = {
        .pair = pair, .comm = comm, .count = (int)scale_peers(duel)};
    double before_us = clock_now_us();
    double contact_us = 0.0;
    int asked = 0;

    exchange_start(&exchange, duel);
    while (!answers_are_here(&exchange)) {
        int count = questions_answer(&exchange, duel);

        asked += count;
        if (count == 0)
            team_idle(pair);
    }
    contact_us = clock_now_us() - before_us;
    exchange_end(&exchange, duel, asked);
    return contact_us;
}

double scale_control(struct pair *pair, struct duel *duel, double *ret_samples)
{
    struct scale *scale = duel->more;
    double times_us[SCALE_STEPS];
    double before_us = 0.0;
    MPI_Comm comm = MPI_COMM_NULL;

    pair_barrier(pair);
    before_us = clock_now_us();
    MPI_Comm_dup(pair->comm, &comm);
    MPI_Barrier(comm);
    times_us[SCALE_INIT] = clock_lap_us(&before_us);
    pair_barrier(pair);
    times_us[SCALE_CONTACT] = contact(pair, duel, comm);
    pair_barrier(pair);
    before_us = clock_now_us();
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    times_us[SCALE_FINAL] = clock_lap_us(&before_us);
    return scale_end(pair, duel, times_us, scale->control, ret_samples);
}
