/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a class takes to start and to end, and how much memory, by the
 * number of its ranks.
 *
 * The first 2, 4, 8 ... of all ranks open one together, again and again; the
 * rank that takes longest counts, or that takes most memory. Memory is that of
 * the first round, after what was freed before was given back to the kernel: in
 * it, some ranks open a class for the first time. */
#include "jobs/bench/memory/scale.h"

#include <malloc.h>
#include <stdio.h>
#include <time.h>

#include "jobs/bench/base/guard.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/frame/team.h"

enum {
    BATCHES = DUEL_BATCHES_MIN,
    BATCHES_FEW = 5, /* of so many ranks, or in a quick run */
    RANKS_MANY = 8,
    NAP_MS = 2,
};

/* What rows say of the transport. */
struct words {
    char transport[64];
    char via[PAIR_NAME_CAP];
};

#define CONTROL_INIT_TEXT "MPI_Comm_dup and MPI_Barrier of the same ranks"
#define CONTROL_CONTACT_TEXT                                                   \
    "24 B to each of the same ranks and back, over the duplicate, by "         \
    "MPI_Isend and MPI_Irecv"
#define CONTROL_FINAL_TEXT   "MPI_Barrier and MPI_Comm_free of the duplicate"
#define CONTROL_PROCESS_TEXT "what the same process had before"
#define CONTROL_SEGMENT_TEXT                                                   \
    "the length of the shared mappings of the class, touched or not"

static const struct row step_rows[SCALE_STEPS] = {
    [SCALE_CONTACT] = {.op = "scale_contact",
        .unit = "us",
        .better = "lower",
        .control = CONTROL_CONTACT_TEXT},
    [SCALE_FINAL] = {.op = "scale_final",
        .unit = "us",
        .better = "lower",
        .control = CONTROL_FINAL_TEXT},
};

double scale_end(struct pair *pair, const struct duel *duel,
    const double *times_us, struct tally *tallies, double *ret_samples)
{
    double slowest[SCALE_STEPS];

    MPI_Gather(&times_us[SCALE_INIT], 1, MPI_DOUBLE, ret_samples, 1, MPI_DOUBLE,
        0, pair->comm);
    MPI_Reduce(
        times_us, slowest, SCALE_STEPS, MPI_DOUBLE, MPI_MAX, 0, pair->comm);
    if (pair->rank != 0)
        return 0.0;
    for (unsigned i = 0; i < SCALE_STEPS; i++)
        tally_add(&tallies[i], pair, slowest[i]);
    /* Of a mean time: so that the slowest one is what counts. */
    return slowest[SCALE_INIT] * duel->calls;
}

/* Rank 0: of figures in KiB. */
static void memory_row(const struct pair *pair, const struct row *like,
    const char *op, const double *figures, const char *against,
    const char *control)
{
    double ratio = figures[1] > 0.0 ? figures[0] / figures[1] : 0.0;
    struct row row = {
        .bench = like->bench,
        .op = op,
        .ranks = like->ranks,
        .peers = like->peers,
        .memory = like->memory,
        .unit = "KiB",
        .value = figures[0],
        .against = against,
        .control = control,
        .control_value = figures[1],
        .ratio = ratio,
        .better = "lower",
        .batches = 1,
        .spread = {ratio, ratio},
    };

    pair_row(pair, &row);
    rows_add(&row);
}

/* By all ranks of the pair: rank 0 gets the figures of the one that takes most.
 */
static void most_find(
    const struct pair *pair, const double *own, double *ret_most)
{
    struct {
        double value;
        int rank;
    } most = {own[0], pair->rank};
    double of_most[2] = {0.0, 0.0};

    MPI_Allreduce(
        MPI_IN_PLACE, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, pair->comm);
    for (unsigned i = 0; i < 2 && most.rank == pair->rank; i++)
        of_most[i] = own[i];
    MPI_Reduce(of_most, ret_most, 2, MPI_DOUBLE, MPI_SUM, 0, pair->comm);
}

/* By all ranks of the pair: the most that any of them takes, each beside what
 * that rank had before. */
static void memory_rows(
    const struct pair *pair, const struct scale *scale, const struct row *like)
{
    enum { RSS, PSS, OWN, SEGMENT, KINDS };
    const struct smaps *before = &scale->before;
    const struct smaps *after = &scale->after;
    double own[KINDS][2] = {
        [RSS] = {after->rss - before->rss, before->rss},
        [PSS] = {after->pss - before->pss, before->pss},
        [OWN] = {after->anonymous - before->anonymous, before->anonymous},
        [SEGMENT] = {after->shared_touched - before->shared_touched,
            after->shared_len - before->shared_len},
    };
    double most[KINDS][2];
    int is_measured = scale->is_measured;

    MPI_Allreduce(MPI_IN_PLACE, &is_measured, 1, MPI_INT, MPI_MIN, pair->comm);
    for (unsigned i = 0; i < KINDS; i++)
        most_find(pair, own[i], most[i]);
    if (pair->rank != 0)
        return;
    if (!is_measured) {
        fputs("The memory of a rank is left out: /proc/self/smaps_rollup "
              "cannot be read.\n",
            stderr);
        return;
    }
    memory_row(
        pair, like, "scale_rss", most[RSS], "process", CONTROL_PROCESS_TEXT);
    memory_row(
        pair, like, "scale_pss", most[PSS], "process", CONTROL_PROCESS_TEXT);
    memory_row(
        pair, like, "scale_own", most[OWN], "process", CONTROL_PROCESS_TEXT);
    if (most[SEGMENT][1] > 0.0)
        memory_row(pair, like, "scale_segment", most[SEGMENT], "length",
            CONTROL_SEGMENT_TEXT);
}

static void class_run(struct pair *pair, const char *transport, unsigned ranks)
{
    struct scale scale = {.transport = transport};
    const struct options *options = pair->options;
    struct duel duel = {
        .ours = scale_round,
        .control = scale_control,
        .calls = ranks,
        .ranks = ranks,
        .batches = options->batches,
        .figure = DUEL_MEAN_US,
        .context = DUEL_CONTEXT_OWN,
        .more = &scale,
    };
    struct row row = {
        .bench = "scale",
        .op = "scale_init",
        .memory = "host",
        .against = "mpi",
        .peers = scale_peers(&duel) - 1,
        .control = CONTROL_INIT_TEXT,
    };

    if (duel.batches == 0)
        duel.batches = ranks < RANKS_MANY ? BATCHES : BATCHES_FEW;
    if (options->is_quick && duel.batches > BATCHES_FEW)
        duel.batches = BATCHES_FEW;
    malloc_trim(0);
    if (!duel_run(pair, &duel, &row))
        return;
    for (unsigned i = SCALE_CONTACT; i < SCALE_STEPS && pair->rank == 0; i++)
        tally_row(pair, &scale.ours[i], &scale.control[i], &row, &step_rows[i]);
    memory_rows(pair, &scale, &row);
    for (unsigned i = 0; i < SCALE_STEPS; i++) {
        tally_fini(&scale.ours[i]);
        tally_fini(&scale.control[i]);
    }
}

/* Until all have come, asleep: others may still measure. */
static void all_await(const struct pair *pair)
{
    struct timespec nap = {0, NAP_MS * 1000000L};
    MPI_Request request;
    int is_over = 0;

    MPI_Ibarrier(pair->world->comm, &request);
    while (MPI_Test(&request, &is_over, MPI_STATUS_IGNORE), !is_over)
        nanosleep(&nap, NULL);
}

/* Of the first so many ranks. False at the others. */
static bool part_join(
    const struct pair *pair, unsigned ranks, struct pair *ret_part)
{
    MPI_Comm comm = MPI_COMM_NULL;

    MPI_Comm_split(pair->world->comm,
        pair->world->rank < (int)ranks ? 0 : MPI_UNDEFINED, pair->world->rank,
        &comm);
    if (comm == MPI_COMM_NULL)
        return false;
    team_join(ret_part, pair, comm);
    return true;
}

/* By all ranks; those that took part leave it. */
static void part_leave(const struct pair *pair, struct pair *part)
{
    if (part != NULL) {
        MPI_Comm_free(&part->comm);
        team_leave(part);
    }
    guard_rest();
    all_await(pair);
}

/* What carries a call from rank 0 to rank 1. */
static void via_learn(const struct pair *pair, struct words *ret_words)
{
    struct pair two;
    bool takes_part = part_join(pair, 2, &two);

    if (takes_part) {
        if (!pair_open_ranks(&two, two.comm, pair->options->transport))
            pair_fail(pair, "no class for scale");
        pair_meet(&two);
        snprintf(ret_words->transport, sizeof(ret_words->transport), "%s",
            two.transport);
        snprintf(ret_words->via, sizeof(ret_words->via), "%s", two.via);
        pair_close(&two);
    }
    part_leave(pair, takes_part ? &two : NULL);
}

static void part_run(
    const struct pair *pair, const struct words *words, unsigned ranks)
{
    struct pair part;
    bool takes_part = part_join(pair, ranks, &part);

    if (takes_part) {
        part.transport = words->transport;
        snprintf(part.via, sizeof(part.via), "%s", words->via);
        class_run(&part, pair->options->transport, ranks);
    }
    part_leave(pair, takes_part ? &part : NULL);
}

void bench_scale(struct pair *pair)
{
    const struct options *options = pair->options;
    bool is_short = options->is_quick || options->is_smoke;
    unsigned all = (unsigned)pair->world->size;
    struct words words = {{0}, {0}};

    if (!team_is_possible(pair, "scale"))
        return;
    via_learn(pair, &words);
    for (unsigned ranks = 2; ranks < all; ranks = is_short ? all : 2 * ranks)
        part_run(pair, &words, ranks);
    part_run(pair, &words, all);
}
