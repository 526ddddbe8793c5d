/* SPDX-License-Identifier: BSD-3-Clause */
/* Updates and questions to random ranks per second, as one-way calls.
 *
 * Every rank keeps a part of a table. `histogram`: ranks send updates to other
 * ranks, one or many in a message, and add the updates that come meanwhile. The
 * clock stops when all updates are added; then each rank compares its bins with
 * what it computes from all updates of all ranks. A rank does not learn when
 * its update was added, so at the end the ranks sum up the sent and the
 * received updates, and serve until the two sums are equal. `gather`: ranks ask
 * for values of the table, and verify all values at the end.
 *
 * The library sends each update, question and answer as a one-way call, and
 * sends a target no more than the target has room for. The control does what a
 * program without one-way calls does: it fills messages of 2 KiB, and sends
 * them by MPI_Isend to receives from any source, which stay posted; a message
 * of questions is answered by one message. On several nodes, a further row
 * compares calls through the leaders of nodes (AMALGAM_AGGREGATE=node) with
 * such calls that go directly. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_oneway.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/frame/pattern.h"
#include "jobs/bench/raw/calls.h"

enum {
    BINS = 4096,      /* of each rank */
    BUFFER = 256,     /* updates of a message of MPI */
    WINDOW = 64,      /* messages that a rank may have under way */
    QUESTIONS = 1024, /* calls that a rank may have unanswered */
    WEIGHTS = 1000,   /* an update adds from 1 to this */
    UPDATES = 100 * BUFFER,
    WARM_PART = 8,
    OVERSUBSCRIBED_PART = 8,
    TAG_ANSWER = 300, /* + the place in the window */
};

struct update {
    uint32_t bin;    /* of the rank to which it goes */
    uint32_t weight; /* of a question by a call: its number */
};

/* The updates for one rank, or the questions to it. */
struct message {
    uint32_t count;
    uint32_t origin;
    uint32_t place; /* in the window of the origin */
    struct update list[BUFFER];
};

/* By a call. */
struct answer {
    uint64_t value;
    uint32_t number; /* of the question */
    int rank;        /* that asked */
};

/* Owned by table_run(). */
struct histogram {
    struct pair *team;
    bool asks;      /* values are asked for, else bins are updated */
    unsigned batch; /* updates of a message */
    bool is_mpi;    /* messages go by MPI, else by calls */
    unsigned next;  /* number of the next message */
    struct flight flight;
    struct message out[WINDOW];
    pthread_mutex_t lock; /* of bins and received: handlers may be in threads */
    uint64_t bins[BINS];
    uint64_t received; /* updates, or answers */
    hg_addr_t *addrs;
    hg_id_t send_id; /* of updates, or questions */
    hg_id_t answer_id;
    uint64_t *values; /* answers, by the number of the question */
    unsigned values_cap;
    struct answer *owed; /* a ring of answers that are not sent yet */
    unsigned owed_cap;
    unsigned owed_made;
    unsigned owed_sent;
    struct mpi_serve serve; /* of the control, as all that follows */
    struct message in[MPI_SERVE_PLACES];
    uint64_t said[MPI_SERVE_PLACES][BUFFER];
    uint64_t heard[WINDOW][BUFFER];
    unsigned numbers[WINDOW]; /* of the messages under way */
};

static struct histogram *served; /* the histogram that calls add to */

/* The finaliser of SplitMix64 (S. Vigna, prng.di.unimi.it), a bijection:
 * numbers that look random, and are equal at every rank. */
static uint64_t mix64(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* Makes message `number` of a rank. Returns the rank that it goes to. */
static int message_make(const struct histogram *histogram, int rank,
    unsigned number, struct message *ret_message)
{
    uint64_t first = ((uint64_t)histogram->team->seed << 48 |
                         (uint64_t)(unsigned)rank << 32) +
                     (uint64_t)number * (BUFFER + 1);
    int other = (int)((mix64(first) >> 32) %
                      (unsigned)(histogram->team->world->size - 1));

    ret_message->count = histogram->batch;
    ret_message->origin = (uint32_t)rank;
    for (unsigned i = 0; i < histogram->batch; i++) {
        uint32_t low = (uint32_t)mix64(first + 1 + i);

        ret_message->list[i] =
            (struct update){low % BINS, low / BINS % WEIGHTS + 1};
    }
    return other < rank ? other : other + 1;
}

/* The value of a bin that ranks ask for. */
static uint64_t value_of(
    const struct histogram *histogram, int rank, unsigned bin)
{
    return mix64((uint64_t)histogram->team->seed << 48 |
                 (uint64_t)(unsigned)rank << 32 | bin);
}

/* At the target: adds what has come. */
static void updates_add(
    struct histogram *histogram, const struct update *list, unsigned count)
{
    pthread_mutex_lock(&histogram->lock);
    for (unsigned i = 0; i < count; i++) {
        if (list[i].bin >= BINS)
            pair_fail(histogram->team, "there is no bin %u", list[i].bin);
        histogram->bins[list[i].bin] += list[i].weight;
    }
    histogram->received += count;
    pthread_mutex_unlock(&histogram->lock);
}

static void update_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    struct histogram *histogram = served;

    (void)hg_class;
    (void)from_rank;
    updates_add(histogram, arg, (unsigned)(len / sizeof(struct update)));
}

/* Sends answers while there is room for them. Was one sent? */
static bool answers_send(struct histogram *histogram)
{
    hg_return_t ret = HG_SUCCESS;
    bool was_sent = false;

    pthread_mutex_lock(&histogram->lock);
    while (histogram->owed_sent != histogram->owed_made) {
        const struct answer *answer =
            &histogram->owed[histogram->owed_sent % histogram->owed_cap];

        ret = amalgam_forward_oneway(histogram->team->context,
            histogram->addrs[answer->rank], histogram->answer_id, answer,
            sizeof(*answer));
        if (ret == HG_AGAIN)
            break;
        CHECK(histogram->team, ret);
        histogram->owed_sent++;
        was_sent = true;
    }
    pthread_mutex_unlock(&histogram->lock);
    return was_sent;
}

static void question_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    struct histogram *histogram = served;
    const struct update *question = arg;

    (void)hg_class;
    if (len != sizeof(*question) || question->bin >= BINS)
        pair_fail(histogram->team, "a question of %zu bytes is wrong", len);
    pthread_mutex_lock(&histogram->lock);
    histogram->owed[histogram->owed_made++ % histogram->owed_cap] =
        (struct answer){
            histogram->bins[question->bin], question->weight, from_rank};
    pthread_mutex_unlock(&histogram->lock);
    answers_send(histogram);
}

static void answer_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    struct histogram *histogram = served;
    const struct answer *answer = arg;

    (void)hg_class;
    (void)from_rank;
    if (len != sizeof(*answer) || answer->number >= histogram->values_cap)
        pair_fail(histogram->team, "an answer of %zu bytes is wrong", len);
    pthread_mutex_lock(&histogram->lock);
    histogram->values[answer->number] = answer->value;
    histogram->received++;
    pthread_mutex_unlock(&histogram->lock);
}

static void message_post(struct flight_slot *slot)
{
    struct histogram *histogram = slot->flight->arg;
    struct pair *team = histogram->team;
    struct message *message = &histogram->out[slot->number];
    struct mpi_serve *serve = &histogram->serve;
    MPI_Request *request = &serve->requests[slot->number];
    int rank = message_make(histogram, team->rank, histogram->next, message);

    message->place = slot->number;
    histogram->numbers[slot->number] = histogram->next++;
    if (histogram->asks) {
        MPI_Irecv(histogram->heard[slot->number], BUFFER, MPI_UINT64_T, rank,
            TAG_ANSWER + (int)slot->number, team->comm, request);
        request = &serve->sends[slot->number];
    }
    MPI_Isend(message,
        (int)(offsetof(struct message, list) +
              message->count * sizeof(struct update)),
        MPI_BYTE, rank, MPI_SERVE_TAG, team->comm, request);
}

/* A message has left, or is answered. */
static void message_ended(void *arg, unsigned wait)
{
    struct histogram *histogram = arg;

    if (histogram->asks) {
        memcpy(&histogram->values[histogram->numbers[wait] * BUFFER],
            histogram->heard[wait], sizeof(histogram->heard[wait]));
        histogram->received += BUFFER;
    }
    flight_ended(&histogram->flight.slots[wait]);
}

static void place_receive(void *arg, unsigned place, MPI_Request *ret_request)
{
    struct histogram *histogram = arg;

    MPI_Irecv(&histogram->in[place], sizeof(histogram->in[place]), MPI_BYTE,
        MPI_ANY_SOURCE, MPI_SERVE_TAG, histogram->team->comm, ret_request);
}

static void place_handle(void *arg, unsigned place, MPI_Request *ret_answer)
{
    struct histogram *histogram = arg;
    const struct message *message = &histogram->in[place];

    if (!histogram->asks) {
        updates_add(histogram, message->list, message->count);
        return;
    }
    for (unsigned i = 0; i < message->count; i++)
        histogram->said[place][i] = histogram->bins[message->list[i].bin];
    MPI_Isend(histogram->said[place], BUFFER, MPI_UINT64_T,
        (int)message->origin, TAG_ANSWER + (int)message->place,
        histogram->team->comm, ret_answer);
}

static bool look(struct flight *flight)
{
    struct histogram *histogram = flight->arg;

    if (histogram->is_mpi)
        return mpi_serve_turn(&histogram->serve);
    return answers_send(histogram) || flight_turn(flight);
}

/* The number of updates of all ranks that have not been added yet, or of
 * questions that have not been answered. */
static uint64_t missing_count(struct histogram *histogram)
{
    uint64_t own[2] = {(uint64_t)histogram->next * histogram->batch, 0};
    uint64_t all[2] = {0, 0};
    MPI_Request request;
    int is_over = 0;

    pthread_mutex_lock(&histogram->lock);
    own[1] = histogram->received;
    pthread_mutex_unlock(&histogram->lock);
    MPI_Iallreduce(
        own, all, 2, MPI_UINT64_T, MPI_SUM, histogram->team->comm, &request);
    while (!is_over)
        if (!look(&histogram->flight))
            MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
    return all[0] - all[1];
}

static bool may_send(struct histogram *histogram)
{
    bool may = true;

    if (!histogram->asks)
        return true;
    pthread_mutex_lock(&histogram->lock);
    may = histogram->next - histogram->received < QUESTIONS;
    pthread_mutex_unlock(&histogram->lock);
    return may;
}

static void calls_send(struct histogram *histogram, unsigned count)
{
    struct pair *team = histogram->team;

    while (count-- > 0) {
        unsigned number = histogram->next;
        int rank = message_make(histogram, team->rank, number, histogram->out);
        hg_return_t ret = HG_AGAIN;

        while (!may_send(histogram))
            look(&histogram->flight);
        if (histogram->asks)
            histogram->out->list[0].weight = number;
        histogram->next++;
        while ((ret = amalgam_forward_oneway(team->context,
                    histogram->addrs[rank], histogram->send_id,
                    histogram->out->list, sizeof(struct update))) == HG_AGAIN)
            look(&histogram->flight);
        CHECK(team, ret);
    }
}

/* Sends `count` messages; returns when the updates of all ranks are added, or
 * their questions answered. */
static void messages_run(struct histogram *histogram, unsigned count)
{
    if (!histogram->is_mpi)
        calls_send(histogram, count);
    else
        flight_run(&histogram->flight, count, NULL);
    while (missing_count(histogram) > 0)
        look(&histogram->flight);
}

/* Ends the job if a bin is not the sum of its updates since batch_begin(). */
static void bins_verify(const struct histogram *histogram)
{
    const struct pair *team = histogram->team;
    uint64_t *wanted = pair_alloc(team, BINS, sizeof(*wanted));

    for (int rank = 0; rank < team->world->size; rank++)
        for (unsigned i = 0; i < histogram->next; i++) {
            struct message message;

            if (message_make(histogram, rank, i, &message) != team->rank)
                continue;
            for (unsigned j = 0; j < message.count; j++)
                wanted[message.list[j].bin] += message.list[j].weight;
        }
    for (unsigned i = 0; i < BINS; i++)
        if (histogram->bins[i] != wanted[i])
            pair_fail(team, "bin %u has %llu instead of %llu", i,
                (unsigned long long)histogram->bins[i],
                (unsigned long long)wanted[i]);
    free(wanted);
}

/* Ends the job if an answer since batch_begin() is wrong. */
static void values_verify(const struct histogram *histogram)
{
    const struct pair *team = histogram->team;

    for (unsigned i = 0; i < histogram->next; i++) {
        struct message message;
        int rank = message_make(histogram, team->rank, i, &message);

        for (unsigned j = 0; j < message.count; j++)
            if (histogram->values[i * message.count + j] !=
                value_of(histogram, rank, message.list[j].bin))
                pair_fail(team, "bin %u of rank %d has another value",
                    message.list[j].bin, rank);
    }
}

/* Clears or fills the bins; returns when all ranks can serve. */
static void batch_begin(struct histogram *histogram, unsigned messages)
{
    static const struct mpi_serve_ops ops = {
        place_receive, place_handle, message_ended};
    struct pair *team = histogram->team;

    histogram->next = 0;
    histogram->received = 0;
    histogram->owed_made = histogram->owed_sent = 0;
    histogram->values_cap = messages * histogram->batch;
    histogram->values =
        pair_alloc(team, histogram->values_cap, sizeof(*histogram->values));
    for (unsigned i = 0; i < BINS; i++)
        histogram->bins[i] =
            histogram->asks ? value_of(histogram, team->rank, i) : 0;
    histogram->flight =
        (struct flight){team, .arg = histogram, .post = message_post,
            .look = look, .window = WINDOW, .timed_every = FLIGHT_TIMED_EVERY};
    if (histogram->is_mpi) {
        histogram->serve = (struct mpi_serve){.pair = team, .comm = team->comm};
        mpi_serve_open(&histogram->serve, &ops, histogram, WINDOW,
            mpi_serve_places(team, WINDOW));
        mpi_serve_meet(&histogram->serve);
    } else {
        histogram->addrs = team_addrs(team);
        pair_barrier_serving(team);
    }
}

static void batch_end(struct histogram *histogram)
{
    if (histogram->is_mpi)
        mpi_serve_close(&histogram->serve);
    else
        team_addrs_free(histogram->team, histogram->addrs);
    if (histogram->asks)
        values_verify(histogram);
    else
        bins_verify(histogram);
    free(histogram->values);
}

/* Sends the messages that warm up, then those that are measured. A rank does
 * not see the end of its own update, so each sample is the mean time of an
 * update of one rank. */
static double batch_run(struct pair *team, struct duel *duel, bool is_mpi)
{
    struct histogram *histogram = duel->arg;
    unsigned messages = duel->calls / duel->ranks;
    unsigned warm = 0;
    double elapsed_us = 0.0;

    histogram->team = team;
    histogram->is_mpi = is_mpi;
    histogram->batch = is_mpi ? BUFFER : 1;
    messages = (messages - 1) / histogram->batch + 1;
    warm = messages / WARM_PART + 1;
    batch_begin(histogram, warm + messages);
    messages_run(histogram, warm);
    elapsed_us = clock_now_us();
    messages_run(histogram, messages);
    elapsed_us = clock_now_us() - elapsed_us;
    batch_end(histogram);
    for (unsigned i = 0; i < duel->calls; i++)
        duel->samples[i] = elapsed_us * duel->ranks / duel->calls;
    return elapsed_us;
}

static double calls_batch(struct pair *team, struct duel *duel)
{
    return batch_run(team, duel, false);
}

static double mpi_batch(struct pair *team, struct duel *duel)
{
    return batch_run(team, duel, true);
}

static void calls_register(struct histogram *histogram, hg_class_t *cls)
{
    histogram->send_id = amalgam_register_oneway(
        cls, "table send", histogram->asks ? question_serve : update_serve);
    histogram->answer_id =
        amalgam_register_oneway(cls, "table answer", answer_serve);
}

/* Compares calls through the leaders of nodes with direct ones, by a second
 * class of all ranks, in MPI's order: leaders need nodes that are ranges of
 * ranks. */
static void leaders_run(struct pair *team, struct duel duel)
{
    struct pair leaders;

    pair_copy(team, &leaders);
    leaders.is_oversubscribed = team->is_oversubscribed;
    leaders.comm = MPI_COMM_WORLD;
    MPI_Comm_rank(leaders.comm, &leaders.rank);
    setenv("AMALGAM_AGGREGATE", "node", 1);
    if (!pair_open_class(&leaders, team->options->transport, true))
        pair_fail(team, "no class for the calls through leaders");
    unsetenv("AMALGAM_AGGREGATE");
    calls_register(duel.ours.arg, leaders.cls);
    duel.op = ((struct histogram *)duel.ours.arg)->asks ? "gather_leaders"
                                                        : "update_leaders";
    duel.against = "direct";
    duel.text = "the same calls directly from rank to rank";
    duel.control = duel.ours;
    duel.ours.pair = &leaders;
    duel_run(team, &duel);
    pair_close(&leaders);
}

static void table_run(struct pair *pair, bool asks)
{
    struct pair team;
    struct histogram *histogram = NULL;
    struct duel duel = {asks ? "gather" : "update", "mpi",
        asks ? "questions in messages of 2 KiB by MPI_Isend, and messages of "
               "their answers, filled by hand"
             : "messages of 2 KiB by MPI_Isend, filled by hand",
        .size = sizeof(struct update), .window = WINDOW, .each = 1,
        .figure = DUEL_KPS, .ours = {calls_batch, .enters = true},
        .control = {mpi_batch}};

    if (!team_open(&team, pair))
        return;
    histogram = pair_alloc(&team, 1, sizeof(*histogram));
    histogram->team = &team;
    histogram->asks = asks;
    pthread_mutex_init(&histogram->lock, NULL);
    duel.ranks = (unsigned)team.world->size;
    histogram->owed_cap = QUESTIONS * duel.ranks;
    histogram->owed =
        pair_alloc(&team, histogram->owed_cap, sizeof(*histogram->owed));
    calls_register(histogram, team.cls);
    served = histogram;
    duel.ours.arg = duel.control.arg = histogram;
    duel.calls = duel.ranks * (team.options->calls != 0 ? team.options->calls
                                  : team.is_oversubscribed
                                      ? UPDATES / OVERSUBSCRIBED_PART
                                      : UPDATES);
    duel_run(&team, &duel);
    if (team.world->nodes > 1 && team.world->nodes < team.world->size)
        leaders_run(&team, duel);
    pthread_mutex_destroy(&histogram->lock);
    free(histogram->owed);
    free(histogram);
    team_close(&team);
}

void bench_histogram(struct pair *pair)
{
    table_run(pair, false);
}

void bench_gather(struct pair *pair)
{
    table_run(pair, true);
}
