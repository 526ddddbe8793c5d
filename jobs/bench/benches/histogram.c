/* SPDX-License-Identifier: BSD-3-Clause */
/* Updates of a histogram a second, at random ranks, with no answer.
 *
 * Every rank keeps a part of the histogram, sends updates to the others and
 * adds theirs meanwhile. The clock stops when all have been added; then each
 * rank compares all its bins with what it computes by itself from all updates
 * of all ranks. No rank is told when its update was added, so at the end the
 * ranks sum up how many were sent and how many have come, and serve, until both
 * are the same.
 *
 * Ours are one-way calls: the library sees to it that no rank is sent more than
 * it has room for. The controls are the same messages by MPI_Isend, with
 * receives from any source that stay posted; and MPI_Accumulate, an operation
 * for each update, with a flush now and then: MPICH 4.0.2 gets slower the more
 * operations wait for one (1.0 M/s of 5,000, 0.03 M/s of 64,000, two ranks of
 * one machine). MPI has none for many random places at once but by a datatype
 * made for them, so these updates do not go in batches. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/bench/benches.h"
#include "jobs/bench/frame/pattern.h"
#include "jobs/bench/raw/calls.h"

enum {
    BINS = 4096,    /* of each rank */
    BATCH = 64,     /* updates of one message, at most */
    MESSAGES = 64,  /* that a rank may have under way */
    WEIGHTS = 1000, /* an update adds 1 to so many */
    MESSAGES_SINGLE = 5000,
    MESSAGES_BATCH = 1000,
    WARM_PART = 8,
    OVERSUBSCRIBED_PART = 8,
    FLUSH_EACH = 1024,
};

struct update {
    uint32_t bin; /* of the rank to which it goes */
    uint32_t weight;
};

/* The updates for one rank. */
struct message {
    uint32_t count;
    struct update list[BATCH];
};

struct histogram;

/* A way to send messages; begin() and end() of a batch are called by all ranks.
 */
struct way {
    void (*begin)(struct histogram *histogram);
    void (*end)(struct histogram *histogram);
    /* Sends one: there is room for one more under way. */
    void (*send)(
        struct histogram *histogram, int rank, const struct message *message);
    /* One look for news. Were there any? */
    bool (*turn)(struct histogram *histogram);
};

/* One of the messages that may be under way. */
struct message_place {
    struct histogram *histogram;
    hg_handle_t handle; /* of the way by calls */
};

/* Of the control, within a batch. */
struct by_mpi {
    struct mpi_serve serve;
    struct update in[MPI_SERVE_PLACES][BATCH];
    struct update out[MESSAGES][BATCH];
};

/* Owned by bench_histogram(). */
struct histogram {
    struct pair *team;
    unsigned batch; /* updates of a message: 1, or BATCH */
    uint64_t first; /* mix_first() of this rank */
    unsigned next;
    pthread_mutex_t lock; /* guards the next two: handlers may run in threads */
    uint64_t *bins;
    uint64_t received; /* updates */
    uint64_t sent;
    struct message *pending; /* for each rank */
    struct message_place places[MESSAGES];
    struct message_place *free[MESSAGES];
    unsigned free_count;
    hg_addr_t *addrs;
    hg_id_t add_id;
    struct by_mpi *mpi;
    MPI_Win win;
    uint64_t *win_bins;
};

/* Update `number` of the rank with that `first`, which goes to `ret_rank`. */
static struct update update_of(const struct histogram *histogram,
    uint64_t first, int rank, unsigned number, int *ret_rank)
{
    uint64_t mixed = mix64(first + number);
    int other = mix_choose(mixed, histogram->team->world->size - 1);
    uint32_t low = (uint32_t)mixed;

    *ret_rank = other < rank ? other : other + 1;
    return (struct update){low % BINS, low / BINS % WEIGHTS + 1};
}

/* The next update of this rank. */
static struct update update_next(struct histogram *histogram, int *ret_rank)
{
    return update_of(histogram, histogram->first, histogram->team->rank,
        histogram->next++, ret_rank);
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

static void message_send(
    struct histogram *histogram, const struct way *way, int rank)
{
    struct message *message = &histogram->pending[rank];

    while (histogram->free_count == 0)
        way->turn(histogram);
    way->send(histogram, rank, message);
    histogram->sent += message->count;
    message->count = 0;
}

/* The number of updates of all ranks that have not been added yet. */
static uint64_t missing_count(
    struct histogram *histogram, const struct way *way)
{
    uint64_t own[2] = {histogram->sent, 0};
    uint64_t all[2] = {0, 0};
    MPI_Request request;
    int is_over = 0;

    pthread_mutex_lock(&histogram->lock);
    own[1] = histogram->received;
    pthread_mutex_unlock(&histogram->lock);
    MPI_Iallreduce(
        own, all, 2, MPI_UINT64_T, MPI_SUM, histogram->team->comm, &request);
    while (!is_over)
        if (!way->turn(histogram))
            MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
    return all[0] - all[1];
}

/* Sends updates up to `last`; returns when those of all ranks were added. */
static void messages_run(
    struct histogram *histogram, const struct way *way, unsigned last)
{
    while (histogram->next < last) {
        int rank = 0;
        struct update update = update_next(histogram, &rank);
        struct message *message = &histogram->pending[rank];

        message->list[message->count++] = update;
        if (message->count == histogram->batch)
            message_send(histogram, way, rank);
    }
    for (int rank = 0; rank < histogram->team->world->size; rank++)
        if (histogram->pending[rank].count > 0)
            message_send(histogram, way, rank);
    while (histogram->free_count < MESSAGES)
        way->turn(histogram);
    while (missing_count(histogram, way) > 0)
        way->turn(histogram);
}

static hg_return_t procs_message(hg_proc_t proc, void *data)
{
    struct message *message = data;
    hg_return_t ret = hg_proc_uint32_t(proc, &message->count);

    if (ret == HG_SUCCESS && message->count > BATCH)
        ret = HG_OVERFLOW;
    return ret != HG_SUCCESS ? ret
                             : hg_proc_raw(proc, message->list,
                                   message->count * sizeof(message->list[0]));
}

static hg_return_t add_serve(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct histogram *histogram = HG_Registered_data(info->hg_class, info->id);
    struct message message;

    CHECK(histogram->team, HG_Get_input(handle, &message));
    HG_Free_input(handle, &message);
    updates_add(histogram, message.list, message.count);
    return HG_Destroy(handle);
}

static hg_return_t call_left(const struct hg_cb_info *info)
{
    struct message_place *place = info->arg;
    struct histogram *histogram = place->histogram;

    pair_check(histogram->team, info->ret, "the one-way call");
    histogram->free[histogram->free_count++] = place;
    return HG_SUCCESS;
}

static void call_send(
    struct histogram *histogram, int rank, const struct message *message)
{
    struct message_place *place = histogram->free[--histogram->free_count];

    CHECK(histogram->team, HG_Reset(place->handle, histogram->addrs[rank], 0));
    CHECK(histogram->team,
        HG_Forward(place->handle, call_left, place, (void *)message));
}

static bool calls_turn(struct histogram *histogram)
{
    return pair_turn(histogram->team);
}

static void calls_begin(struct histogram *histogram)
{
    struct pair *team = histogram->team;

    for (unsigned i = 0; i < MESSAGES; i++)
        CHECK(team,
            HG_Create(team->context, histogram->addrs[team->rank == 0 ? 1 : 0],
                histogram->add_id, &histogram->places[i].handle));
    pair_barrier_serving(team);
}

static void calls_end(struct histogram *histogram)
{
    for (unsigned i = 0; i < MESSAGES; i++)
        pair_handle_free(histogram->team, histogram->places[i].handle);
}

static const struct way by_calls = {
    calls_begin, calls_end, call_send, calls_turn};

static void place_receive(void *arg, unsigned place, MPI_Request *ret_request)
{
    struct histogram *histogram = arg;

    MPI_Irecv(histogram->mpi->in[place],
        (int)(histogram->batch * sizeof(struct update)), MPI_BYTE,
        MPI_ANY_SOURCE, MPI_SERVE_TAG, histogram->team->comm, ret_request);
}

static void place_handle(void *arg, unsigned place, const MPI_Status *status,
    MPI_Request *ret_answer)
{
    struct histogram *histogram = arg;
    int len = 0;

    (void)ret_answer;
    MPI_Get_count(status, MPI_BYTE, &len);
    updates_add(histogram, histogram->mpi->in[place],
        (unsigned)len / sizeof(struct update));
}

static void message_left(void *arg, unsigned wait)
{
    struct histogram *histogram = arg;

    histogram->free[histogram->free_count++] = &histogram->places[wait];
}

static void mpi_send(
    struct histogram *histogram, int rank, const struct message *message)
{
    struct by_mpi *mpi = histogram->mpi;
    size_t len = message->count * sizeof(struct update);
    ptrdiff_t place =
        histogram->free[--histogram->free_count] - histogram->places;

    memcpy(mpi->out[place], message->list, len);
    MPI_Isend(mpi->out[place], (int)len, MPI_BYTE, rank, MPI_SERVE_TAG,
        histogram->team->comm, &mpi->serve.requests[place]);
}

static bool mpi_turn(struct histogram *histogram)
{
    return mpi_serve_turn(&histogram->mpi->serve);
}

static void mpi_begin(struct histogram *histogram)
{
    static const struct mpi_serve_ops ops = {
        place_receive, place_handle, message_left};
    struct pair *team = histogram->team;

    histogram->mpi = pair_alloc(team, 1, sizeof(*histogram->mpi));
    histogram->mpi->serve.comm = team->comm;
    histogram->mpi->serve.needs_statuses = true;
    mpi_serve_open(&histogram->mpi->serve, team, &ops, histogram, MESSAGES,
        mpi_serve_places(team, MESSAGES));
    mpi_serve_meet(&histogram->mpi->serve);
}

static void mpi_end(struct histogram *histogram)
{
    mpi_serve_close(&histogram->mpi->serve);
    free(histogram->mpi);
}

static const struct way by_messages = {mpi_begin, mpi_end, mpi_send, mpi_turn};

/* By MPI_Accumulate, as messages_run(). */
static void window_run(struct histogram *histogram, unsigned last)
{
    /* Stays as it is while operations are under way. */
    static uint64_t weights[WEIGHTS + 1];

    for (unsigned i = 0; i <= WEIGHTS; i++)
        weights[i] = i;
    while (histogram->next < last) {
        int rank = 0;
        struct update update = update_next(histogram, &rank);

        MPI_Accumulate(&weights[update.weight], 1, MPI_UINT64_T, rank,
            (MPI_Aint)update.bin, 1, MPI_UINT64_T, MPI_SUM, histogram->win);
        if (histogram->next % FLUSH_EACH == 0)
            MPI_Win_flush_all(histogram->win);
    }
    MPI_Win_flush_all(histogram->win);
    pair_barrier(histogram->team);
}

/* Ends the job when a bin is not what the updates of the batch make of it. */
static void bins_verify(
    const struct histogram *histogram, const uint64_t *bins, unsigned updates)
{
    const struct pair *team = histogram->team;
    uint64_t *wanted = pair_alloc(team, BINS, sizeof(*wanted));

    for (int rank = 0; rank < team->world->size; rank++)
        for (unsigned i = 0; i < updates; i++) {
            int to = 0;
            struct update update =
                update_of(histogram, mix_first(team->seed, rank), rank, i, &to);

            if (to == team->rank)
                wanted[update.bin] += update.weight;
        }
    for (unsigned i = 0; i < BINS; i++)
        if (bins[i] != wanted[i])
            pair_fail(team, "bin %u has %llu instead of %llu", i,
                (unsigned long long)bins[i], (unsigned long long)wanted[i]);
    free(wanted);
}

/* One side of a row. */
struct half {
    struct histogram *histogram;
    const struct way *way; /* NULL: the window */
};

/* The updates that warm up, and those that count; how long these took. */
static double updates_run(
    const struct half *half, unsigned warm, unsigned updates)
{
    struct histogram *histogram = half->histogram;
    double elapsed_us = 0.0;

    for (unsigned turn = 0; turn < 2; turn++) {
        unsigned last = turn == 0 ? warm : warm + updates;

        elapsed_us = clock_now_us();
        if (half->way != NULL)
            messages_run(histogram, half->way, last);
        else
            window_run(histogram, last);
    }
    return clock_now_us() - elapsed_us;
}

/* No rank sees the end of an update of its own; so each sample is the mean of
 * the batch, for a message of one rank. */
static double half_batch(struct pair *team, struct duel *duel)
{
    const struct half *half = duel->arg;
    struct histogram *histogram = half->histogram;
    uint64_t *bins = half->way == NULL ? histogram->win_bins : histogram->bins;
    unsigned updates = duel->calls / duel->ranks * histogram->batch;
    unsigned warm = updates / WARM_PART + 1;
    double elapsed_us = 0.0;

    histogram->first = mix_first(team->seed, team->rank);
    histogram->next = 0;
    histogram->sent = 0;
    histogram->received = 0;
    memset(bins, 0, BINS * sizeof(*bins));
    histogram->free_count = MESSAGES;
    for (unsigned i = 0; i < MESSAGES; i++)
        histogram->free[i] = &histogram->places[i];
    MPI_Win_sync(histogram->win);
    if (half->way != NULL)
        half->way->begin(histogram);
    else
        pair_barrier(team);
    elapsed_us = updates_run(half, warm, updates);
    if (half->way != NULL)
        half->way->end(histogram);
    MPI_Win_sync(histogram->win);
    bins_verify(histogram, bins, warm + updates);
    for (unsigned i = 0; i < duel->calls; i++)
        duel->samples[i] = elapsed_us * duel->ranks / duel->calls;
    return elapsed_us;
}

static void row_run(struct histogram *histogram, const char *op, unsigned batch,
    const struct way *control)
{
    struct pair *team = histogram->team;
    unsigned asked = team->options->calls;
    unsigned calls = batch == 1 ? MESSAGES_SINGLE : MESSAGES_BATCH;
    unsigned ranks = (unsigned)team->world->size;
    struct half both[] = {{histogram, &by_calls}, {histogram, control}};
    struct duel duel = {op, control != NULL ? "mpi" : "win",
        control != NULL
            ? "the same messages by MPI_Isend, receives from any source stay "
              "posted"
            : "MPI_Accumulate of each update, with a flush now and then, in a "
              "window of MPI_Win_allocate",
        .size = batch * sizeof(struct update), .window = MESSAGES,
        .ranks = ranks, .each = batch, .figure = DUEL_KPS,
        .ours = {half_batch, &both[0], .enters = true},
        .control = {half_batch, &both[1]}};

    if (team->is_oversubscribed)
        calls /= OVERSUBSCRIBED_PART;
    duel.calls = (asked == 0 ? calls : asked) * ranks;
    histogram->batch = batch;
    duel_run(team, &duel, NULL);
}

void bench_histogram(struct pair *pair)
{
    struct pair team;
    struct histogram histogram = {.team = &team};
    MPI_Info info = MPI_INFO_NULL;

    if (!team_open(&team, pair))
        return;
    pthread_mutex_init(&histogram.lock, NULL);
    for (unsigned i = 0; i < MESSAGES; i++)
        histogram.places[i].histogram = &histogram;
    histogram.bins = pair_alloc(&team, BINS, sizeof(*histogram.bins));
    histogram.pending =
        pair_alloc(&team, (size_t)team.world->size, sizeof(*histogram.pending));
    histogram.addrs = team_addrs(&team);
    histogram.add_id = HG_Register_name(
        team.cls, "histogram add", procs_message, NULL, add_serve);
    HG_Register_data(team.cls, histogram.add_id, &histogram, NULL);
    CHECK(&team,
        HG_Registered_disable_response(team.cls, histogram.add_id, HG_TRUE));
    MPI_Info_create(&info);
    MPI_Info_set(info, "accumulate_ops", "same_op");
    MPI_Win_allocate(BINS * sizeof(uint64_t), sizeof(uint64_t), info, team.comm,
        &histogram.win_bins, &histogram.win);
    MPI_Info_free(&info);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, histogram.win);
    row_run(&histogram, "update", 1, &by_messages);
    row_run(&histogram, "update", 1, NULL);
    row_run(&histogram, "update_64", BATCH, &by_messages);
    MPI_Win_unlock_all(histogram.win);
    MPI_Win_free(&histogram.win);
    team_addrs_free(&team, histogram.addrs);
    free(histogram.pending);
    free(histogram.bins);
    pthread_mutex_destroy(&histogram.lock);
    team_close(&team);
}
