/* SPDX-License-Identifier: BSD-3-Clause */
/* Time and memory of a class, from its start to its end, by the number of its
 * ranks.
 *
 * The first 2, 4, 8 ... of all ranks open a class together, again and again:
 * each opens the class and a context, calls each of its peers once, all at the
 * same time, and closes the class. The ranks meet before each of these steps;
 * the rank that takes longest, or most memory, counts. Memory is measured in
 * the first round, in which some ranks open a class for the first time, after
 * freed memory went back to the kernel. The control is the least that a program
 * does that uses MPI: it duplicates the communicator, sends each peer a
 * message, and frees the duplicate. */
#include <malloc.h>
#include <string.h>

#include "amalgam.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/frame/duel.h"
#include "jobs/bench/frame/watch.h"
#include "jobs/bench/raw/calls.h"

enum {
    BATCHES_FEW = 5, /* with RANKS_MANY or more, or in a quick run */
    RANKS_MANY = 8,
    PEERS_MAX = 64, /* peers that a rank calls, at most */
};

#define PROCESS_TEXT "what the same process had before"

/* The steps of a round; the first is the row's own figure. */
enum step { INIT, CONTACT, FINAL, STEPS };

static const struct row step_rows[] = {
    {.op = "scale_contact",
        .unit = "us",
        .better = "lower",
        .control = "24 B to each of the same ranks and back, over the "
                   "duplicate, by MPI_Isend and MPI_Irecv"},
    {.op = "scale_final",
        .unit = "us",
        .better = "lower",
        .control = "MPI_Barrier and MPI_Comm_free of the duplicate"},
};

/* State of a rank; transport and peers are equal at all ranks. */
struct scale {
    const char *transport; /* NULL: the library chooses */
    unsigned peers;        /* that each rank calls */
    bool is_measured;      /* before and after are set */
    struct smaps before;
    struct smaps after;
};

/* Collective end of a batch; `times_us`: this rank's time for each step. */
static double round_end(
    struct pair *pair, struct duel *duel, const double *times_us)
{
    double slowest[STEPS] = {0.0};

    MPI_Gather(&times_us[INIT], 1, MPI_DOUBLE, duel->samples, 1, MPI_DOUBLE, 0,
        pair->comm);
    MPI_Reduce(times_us, slowest, STEPS, MPI_DOUBLE, MPI_MAX, 0, pair->comm);
    for (unsigned i = CONTACT; i < STEPS; i++)
        duel->more[i - CONTACT] = slowest[i];
    /* duel.c divides by duel->calls: the figure is the slowest time. */
    return slowest[INIT] * duel->calls;
}

static hg_return_t call_serve(hg_handle_t handle)
{
    struct pair *pair = HG_Class_get_data(HG_Get_info(handle)->hg_class);

    pair_count_served(pair);
    CHECK(pair, HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

/* Calls each peer, and serves until all ranks are served. Returns the time
 * until this rank has its answers. */
static double peers_call(struct pair *pair, unsigned count, hg_id_t id,
    hg_addr_t *ret_addrs, struct flight *flight)
{
    double before_us = clock_now_us();
    int size = 0;

    MPI_Comm_size(pair->comm, &size);
    for (unsigned i = 0; i < count; i++) {
        CHECK(pair, amalgam_addr_rank(pair->cls,
                        (pair->rank + (int)i + 1) % size, &ret_addrs[i]));
        CHECK(pair, HG_Create(pair->context, ret_addrs[i], id,
                        &flight->slots[i].handle));
    }
    flight_run(flight, count, NULL);
    before_us = clock_now_us() - before_us;
    while (pair->served < count)
        pair_turn(pair);
    pair_barrier_serving(pair);
    if (pair->served != count)
        pair_fail(pair, "%llu first calls came instead of %u",
            (unsigned long long)pair->served, count);
    return before_us;
}

static double class_round(struct pair *pair, struct duel *duel)
{
    struct scale *scale = duel->arg;
    hg_addr_t addrs[PEERS_MAX];
    struct flight flight = {pair, .post = flight_null, .look = flight_turn,
        .window = scale->peers, .timed_every = 1};
    double times_us[STEPS];
    double before_us = 0.0;
    hg_id_t id = 0;
    bool is_first = !scale->is_measured;

    if (is_first)
        scale->is_measured = smaps_read(&scale->before);
    atomic_store(&pair->served, 0);
    pair_barrier(pair);
    before_us = clock_now_us();
    pair->cls = amalgam_init(pair->comm, scale->transport, NULL);
    if (pair->cls == NULL)
        pair_fail(pair, "no class of %u ranks", duel->ranks);
    HG_Class_set_data(pair->cls, pair, NULL);
    id = HG_Register_name(pair->cls, "bench scale", NULL, NULL, call_serve);
    pair->context = HG_Context_create(pair->cls);
    if (pair->context == NULL)
        pair_fail(pair, "HG_Context_create() failed");
    times_us[INIT] = clock_lap_us(&before_us);
    pair_barrier_serving(pair);
    times_us[CONTACT] = peers_call(pair, scale->peers, id, addrs, &flight);
    if (is_first && scale->is_measured)
        scale->is_measured = smaps_read(&scale->after);
    flight_handles_free(&flight);
    for (unsigned i = 0; i < scale->peers; i++)
        CHECK(pair, HG_Addr_free(pair->cls, addrs[i]));
    pair_barrier_serving(pair);
    before_us = clock_now_us();
    CHECK(pair, amalgam_finalize(pair->cls));
    times_us[FINAL] = clock_lap_us(&before_us);
    return round_end(pair, duel, times_us);
}

static double control_round(struct pair *pair, struct duel *duel)
{
    const struct scale *scale = duel->arg;
    struct mpi_calls calls;
    double times_us[STEPS];
    double before_us = 0.0;
    MPI_Comm comm = MPI_COMM_NULL;

    pair_barrier(pair);
    before_us = clock_now_us();
    MPI_Comm_dup(pair->comm, &comm);
    MPI_Barrier(comm);
    times_us[INIT] = clock_lap_us(&before_us);
    pair_barrier(pair);
    before_us = clock_now_us();
    mpi_calls_open(&calls, pair, comm, HEAD_LEN, scale->peers, scale->peers);
    calls.is_ring = true;
    flight_run(&calls.flight, scale->peers, NULL);
    times_us[CONTACT] = clock_lap_us(&before_us);
    mpi_calls_close(&calls);
    pair_barrier(pair);
    before_us = clock_now_us();
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    times_us[FINAL] = clock_lap_us(&before_us);
    return round_end(pair, duel, times_us);
}

/* By all ranks of the pair: rows of the rank with the most memory, in KiB. */
static void memory_rows(
    struct pair *pair, const struct scale *scale, const struct duel *duel)
{
    const struct smaps *before = &scale->before;
    const struct smaps *after = &scale->after;
    int is_measured = scale->is_measured;
    const struct {
        const char *op;
        double both[2]; /* the figure, and its control */
        const char *against;
        const char *control;
    } figures[] = {
        {"scale_rss", {after->rss - before->rss, before->rss}, "process",
            PROCESS_TEXT},
        {"scale_own", {after->anonymous - before->anonymous, before->anonymous},
            "process", PROCESS_TEXT},
        {"scale_segment",
            {after->shared_touched - before->shared_touched,
                after->shared_len - before->shared_len},
            "length",
            "the length of the shared mappings of the class, touched or not"},
    };

    MPI_Allreduce(MPI_IN_PLACE, &is_measured, 1, MPI_INT, MPI_MIN, pair->comm);
    if (!is_measured)
        pair_say(pair, "the memory of a rank is left out: "
                       "/proc/self/smaps_rollup cannot be read");
    for (unsigned i = 0; i < 3 && is_measured; i++) {
        struct {
            double value;
            int rank;
        } most = {figures[i].both[0], pair->rank};
        double both[2] = {figures[i].both[0], figures[i].both[1]};
        struct row row = {figures[i].op, .ranks = duel->ranks,
            .peers = duel->peers, .unit = "KiB", .against = figures[i].against,
            .control = figures[i].control};

        MPI_Allreduce(
            MPI_IN_PLACE, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, pair->comm);
        MPI_Bcast(both, 2, MPI_DOUBLE, most.rank, pair->comm);
        row.value = both[0];
        row.control_value = both[1];
        if (both[1] > 0.0)
            pair_value(pair, &row);
    }
}

static void class_run(struct pair *pair, unsigned ranks, void *arg)
{
    const struct options *options = pair->options;
    const struct pair *named = arg;
    struct scale scale = {.transport = options->transport,
        .peers = ranks - 1 < PEERS_MAX ? ranks - 1 : PEERS_MAX};
    struct duel duel = {"scale_init", "mpi",
        "MPI_Comm_dup and MPI_Barrier of the same ranks", .calls = ranks,
        .ranks = ranks, .peers = scale.peers - 1, .batches = options->batches,
        .figure = DUEL_MEAN_US, .ours = {class_round, &scale},
        .control = {control_round, &scale}, .more_rows = step_rows,
        .more_count = STEPS - CONTACT};

    pair->transport = named->transport;
    memcpy(pair->via, named->via, sizeof(pair->via));
    if (duel.batches == 0)
        duel.batches = ranks < RANKS_MANY ? OPTIONS_BATCHES_MIN : BATCHES_FEW;
    if (options->is_quick && duel.batches > BATCHES_FEW)
        duel.batches = BATCHES_FEW;
    malloc_trim(0);
    if (duel_run(pair, &duel))
        memory_rows(pair, &scale, &duel);
}

/* Opens one class to learn how rows name the transport, and what carries a
 * call. */
static void names_find(struct pair *part, unsigned ranks, void *arg)
{
    struct pair *named = arg;

    (void)ranks;
    if (!pair_open_class(part, part->options->transport, true))
        pair_fail(part, "no class for scale");
    pair_meet(part);
    *named = *part;
    pair_close(part);
}

void bench_scale(struct pair *pair)
{
    bool is_short = pair->options->is_quick || pair->options->is_smoke;
    unsigned all = (unsigned)pair->world->size;
    struct pair named = {.rank = 0};

    if (!team_is_possible(pair))
        return;
    team_part(pair, 2, names_find, &named);
    for (unsigned ranks = 2; ranks < all; ranks = is_short ? all : 2 * ranks)
        team_part(pair, ranks, class_run, &named);
    team_part(pair, all, class_run, &named);
}
