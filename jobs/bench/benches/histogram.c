/* SPDX-License-Identifier: BSD-3-Clause */
/* Updates of a histogram per second, at random ranks, without answers.
 *
 * Every rank keeps a part of the histogram, sends updates to the other ranks,
 * one or many in a message, and adds the updates that come meanwhile. The clock
 * stops when all updates are added; then each rank compares its bins with what
 * it computes from all updates of all ranks. A rank does not learn when its
 * update was added, so at the end the ranks sum up the sent and the received
 * updates, and serve until the two sums are equal.
 *
 * The library sends each update as a one-way call, and sends a target no more
 * than the target has room for. The control does what a program without one-way
 * calls does: it fills messages of 2 KiB, and sends them by MPI_Isend to
 * receives from any source, which stay posted. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_oneway.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/frame/pattern.h"
#include "jobs/bench/raw/calls.h"

enum {
    BINS = 4096,    /* of each rank */
    BUFFER = 256,   /* updates of a message of MPI */
    WINDOW = 64,    /* messages that a rank may have under way */
    WEIGHTS = 1000, /* an update adds from 1 to this */
    UPDATES = 100 * BUFFER,
    WARM_PART = 8,
    OVERSUBSCRIBED_PART = 8,
};

struct update {
    uint32_t bin; /* of the rank to which it goes */
    uint32_t weight;
};

/* The updates for one rank. */
struct message {
    uint32_t count;
    struct update list[BUFFER];
};

/* Owned by bench_histogram(). */
struct histogram {
    struct pair *team;
    unsigned batch; /* updates of a message */
    bool is_mpi;    /* messages go by MPI, else by calls */
    unsigned next;  /* number of the next message */
    struct flight flight;
    struct message out[WINDOW];
    pthread_mutex_t lock; /* of bins and received: handlers may be in threads */
    uint64_t bins[BINS];
    uint64_t received; /* updates */
    hg_addr_t *addrs;
    hg_id_t add_id;
    struct mpi_serve serve; /* of the control; so is `in` */
    struct message in[MPI_SERVE_PLACES];
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
    for (unsigned i = 0; i < histogram->batch; i++) {
        uint32_t low = (uint32_t)mix64(first + 1 + i);

        ret_message->list[i] =
            (struct update){low % BINS, low / BINS % WEIGHTS + 1};
    }
    return other < rank ? other : other + 1;
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

static void message_post(struct flight_slot *slot)
{
    struct histogram *histogram = slot->flight->arg;
    struct pair *team = histogram->team;
    struct message *message = &histogram->out[slot->number];
    int rank = message_make(histogram, team->rank, histogram->next++, message);

    MPI_Isend(message,
        (int)(offsetof(struct message, list) +
              message->count * sizeof(struct update)),
        MPI_BYTE, rank, MPI_SERVE_TAG, team->comm,
        &histogram->serve.requests[slot->number]);
}

static void message_left(void *arg, unsigned wait)
{
    struct histogram *histogram = arg;

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

    (void)ret_answer;
    updates_add(histogram, message->list, message->count);
}

static bool look(struct flight *flight)
{
    struct histogram *histogram = flight->arg;

    return histogram->is_mpi ? mpi_serve_turn(&histogram->serve)
                             : flight_turn(flight);
}

/* The number of updates of all ranks that have not been added yet. */
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

static void updates_send(struct histogram *histogram, unsigned count)
{
    struct pair *team = histogram->team;

    while (count-- > 0) {
        int rank = message_make(
            histogram, team->rank, histogram->next++, histogram->out);
        hg_return_t ret = HG_AGAIN;

        while ((ret = amalgam_forward_oneway(team->context,
                    histogram->addrs[rank], histogram->add_id,
                    histogram->out->list, sizeof(struct update))) == HG_AGAIN)
            flight_turn(&histogram->flight);
        CHECK(team, ret);
    }
}

/* Sends `count` messages; returns when the updates of all ranks are added. */
static void messages_run(struct histogram *histogram, unsigned count)
{
    if (!histogram->is_mpi)
        updates_send(histogram, count);
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

/* Clears the histogram; returns when all ranks can serve. */
static void batch_begin(struct histogram *histogram)
{
    static const struct mpi_serve_ops ops = {
        place_receive, place_handle, message_left};
    struct pair *team = histogram->team;

    histogram->next = 0;
    histogram->received = 0;
    memset(histogram->bins, 0, sizeof(histogram->bins));
    histogram->flight =
        (struct flight){team, .arg = histogram, .post = message_post,
            .look = look, .window = WINDOW, .timed_every = FLIGHT_TIMED_EVERY};
    if (histogram->is_mpi) {
        histogram->serve = (struct mpi_serve){.pair = team, .comm = team->comm};
        mpi_serve_open(&histogram->serve, &ops, histogram, WINDOW,
            mpi_serve_places(team, WINDOW));
        mpi_serve_meet(&histogram->serve);
    } else {
        pair_barrier_serving(team);
    }
}

/* Sends the messages that warm up, then those that are measured. A rank does
 * not see the end of its own update, so each sample is the mean time of an
 * update of one rank. */
static double batch_run(
    struct histogram *histogram, struct duel *duel, bool is_mpi)
{
    unsigned messages = duel->calls / duel->ranks;
    double elapsed_us = 0.0;

    histogram->is_mpi = is_mpi;
    histogram->batch = is_mpi ? BUFFER : 1;
    messages = (messages - 1) / histogram->batch + 1;
    batch_begin(histogram);
    messages_run(histogram, messages / WARM_PART + 1);
    elapsed_us = clock_now_us();
    messages_run(histogram, messages);
    elapsed_us = clock_now_us() - elapsed_us;
    if (is_mpi)
        mpi_serve_close(&histogram->serve);
    bins_verify(histogram);
    for (unsigned i = 0; i < duel->calls; i++)
        duel->samples[i] = elapsed_us * duel->ranks / duel->calls;
    return elapsed_us;
}

static double calls_batch(struct pair *team, struct duel *duel)
{
    (void)team;
    return batch_run(duel->arg, duel, false);
}

static double mpi_batch(struct pair *team, struct duel *duel)
{
    (void)team;
    return batch_run(duel->arg, duel, true);
}

void bench_histogram(struct pair *pair)
{
    struct pair team;
    struct histogram *histogram = NULL;
    struct duel duel = {"update", "mpi",
        "messages of 2 KiB by MPI_Isend, filled by hand",
        .size = sizeof(struct update), .window = WINDOW, .each = 1,
        .figure = DUEL_KPS, .ours = {calls_batch, .enters = true},
        .control = {mpi_batch}};

    if (!team_open(&team, pair))
        return;
    histogram = pair_alloc(&team, 1, sizeof(*histogram));
    histogram->team = &team;
    pthread_mutex_init(&histogram->lock, NULL);
    histogram->addrs = team_addrs(&team);
    histogram->add_id =
        amalgam_register_oneway(team.cls, "histogram add", update_serve);
    served = histogram;
    duel.ours.arg = duel.control.arg = histogram;
    duel.ranks = (unsigned)team.world->size;
    duel.calls = duel.ranks * (team.options->calls != 0 ? team.options->calls
                                  : team.is_oversubscribed
                                      ? UPDATES / OVERSUBSCRIBED_PART
                                      : UPDATES);
    duel_run(&team, &duel);
    team_addrs_free(&team, histogram->addrs);
    pthread_mutex_destroy(&histogram->lock);
    free(histogram);
    team_close(&team);
}
