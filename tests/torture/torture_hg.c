/* SPDX-License-Identifier: BSD-3-Clause */
/* Torture of the HG API: calls of all kinds between all ranks, by a plan that
 * follows from a seed, with a book of every call.
 *
 * All ranks post their calls, in several threads; at some points they stop to
 * make MPI calls of their own, or until the class is quiet. Then they wait
 * until nothing is under way, look whether all is at home in the library,
 * close, and compare their books. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "amalgam_group.h"
#include "counters.h"
#include "crossings.h"
#include "environment.h"
#include "faults.h"
#include "job.h"
#include "later.h"
#include "options.h"
#include "origin.h"
#include "turn.h"
#include "watch.h"

enum {
    LATE_MS = 300,
    STILL_LOOKS = 100,
    ROWS_PER_CALL = 4,
    SALT_TURNS = 2000,
    SALT_LEVEL = 2100,
    SALT_ROUNDS = 2200,
    SALT_QUIESCE = 2300,
};

/* A thread that posts every n-th call of its rank. */
struct poster {
    struct world *world;
    unsigned number;
    atomic_uint window; /* its calls under way */
    atomic_bool is_done;
    pthread_t thread;
};

/* Makes progress until all ranks have called it; returns with their notes. */
static void meet(struct world *world, const void *mine, size_t len)
{
    exchange_begin(world->exchange, mine, len);
    do
        turn(world);
    while (!exchange_test(world->exchange));
}

static void post(struct poster *poster, unsigned index)
{
    struct world *world = poster->world;
    const struct plan *plan = &world->plan;
    uint64_t id = plan_root(plan, world->rank, index);
    struct plan_call call = plan_call(plan, id);

    while (atomic_load(&poster->window) >= plan->window ||
           (call.waits && atomic_load(&world->chains) >= plan->chains))
        turn_await(world);
    (void)origin_post(world, id, &poster->window, NULL);
    if (plan_draw(call.hash, SALT_TURNS, 4) == 0)
        turn(world);
}

static void post_range(struct poster *poster, unsigned first, unsigned last)
{
    unsigned threads = poster->world->plan.threads;

    for (unsigned index = first; index < last; index++)
        if (index % threads == poster->number)
            post(poster, index);
}

static void answers_await(struct poster *poster)
{
    while (atomic_load(&poster->window) > 0)
        turn_await(poster->world);
}

static void *poster_run(void *arg)
{
    struct poster *poster = arg;
    const struct plan *plan = &poster->world->plan;

    post_range(poster, plan->first, plan_last(plan, poster->world->rank));
    answers_await(poster);
    atomic_store(&poster->is_done, true);
    return NULL;
}

/* What all ranks together have under way, or not at home. */
struct rest {
    struct book_sums sums;
    long left;
    long kept; /* answers that may be left, as the log says */
};

static struct rest rest_sum(struct world *world)
{
    struct rest mine = {book_sums(world->book),
        (long)(world_state(world, NULL) + later_count()), faults_kept()};
    struct rest sum = {{0, 0}, 0, 0};

    meet(world, &mine, sizeof(mine));
    for (unsigned rank = 0; rank < world->plan.ranks; rank++) {
        size_t len = 0;
        const struct rest *theirs = exchange_of(world->exchange, rank, &len);

        sum.sums.begun += theirs->sums.begun;
        sum.sums.over += theirs->sums.over;
        sum.left += theirs->left;
        sum.kept += theirs->kept;
    }
    return sum;
}

static void quiesced(hg_return_t ret, void *arg)
{
    atomic_store((atomic_int *)arg, (int)ret);
}

/* By either form, and always in turns, as this thread gives late answers. */
static void class_quiesce(struct world *world, unsigned index)
{
    struct world_class *cls = &world->classes[index];
    atomic_int ret = HG_TIMEOUT;
    hg_return_t rc = HG_SUCCESS;
    bool waits = world->plan.is_job && plan_draw(world->plan.hash + index,
                                           SALT_QUIESCE + world->rank, 2) == 0;

    if (cls->cls == NULL)
        return;
    if (!waits)
        rc = amalgam_quiesce_start(cls->cls, quiesced, &ret);
    EXPECT_OK(world, rc);
    while (rc == HG_SUCCESS && atomic_load(&ret) == HG_TIMEOUT) {
        turn(world);
        if (waits)
            atomic_store(&ret, (int)job_quiesce(cls));
    }
    EXPECT_OK(world, (hg_return_t)atomic_load(&ret));
}

/* All ranks wait for quiescence: then nothing is under way at the first look.
 * Of two classes each is quiet for itself only. */
static void all_quiesce(struct world *world)
{
    struct rest now;

    if (!world->plan.quiesces)
        return;
    watch_phase("waits for quiescence");
    for (unsigned i = 0; i < world->plan.classes; i++)
        class_quiesce(world, i);
    now = rest_sum(world);
    if (world->rank == 0 && world->plan.classes == 1 &&
        world->options.faults == 0 && now.sums.begun != now.sums.over)
        book_finding(world->book, "after quiescence %ld of %ld are under way",
            now.sums.begun - now.sums.over, now.sums.begun);
}

/* The main thread: between two phases all ranks stop to post. */
static void phases_run(struct poster *poster)
{
    struct world *world = poster->world;
    const struct plan *plan = &world->plan;
    unsigned last = plan_last(plan, world->rank);
    unsigned count = last - plan->first;
    unsigned from = plan->first;

    for (unsigned phase = 0; phase <= plan->phases; phase++) {
        unsigned to = plan->first + count * (phase + 1) / (plan->phases + 1);

        watch_phase("posts");
        if (phase == plan->phases / 2)
            world_register_late(world);
        if (phase == (plan->phases + 1) / 2)
            world_leave_context(world);
        post_range(poster, from, to);
        from = to;
        if (phase == plan->phases)
            break;
        watch_phase("between two phases");
        meet(world, NULL, 0);
        if (plan->threads == 1)
            all_quiesce(world);
        if (plan->is_job)
            job_between(world, phase);
    }
    watch_phase("waits for answers");
    answers_await(poster);
}

static void posters_run(struct world *world)
{
    unsigned threads = world->plan.threads;
    struct poster *posters = calloc(threads, sizeof(*posters));

    if (posters == NULL)
        abort();
    for (unsigned i = 0; i < threads; i++) {
        posters[i].world = world;
        posters[i].number = i;
        if (i > 0 && pthread_create(&posters[i].thread, NULL, poster_run,
                         &posters[i]) != 0)
            abort();
    }
    phases_run(&posters[0]);
    for (unsigned i = 1; i < threads; i++) {
        while (!atomic_load(&posters[i].is_done))
            turn(world);
        pthread_join(posters[i].thread, NULL);
    }
    free(posters);
}

/* Nothing is under way if the sums are equal, and were so before: what began
 * and ended between the looks at two ranks changes one of them. A one-way call
 * that a fault took is never over: then many looks see no change. */
static void quiet_await(struct world *world)
{
    struct rest before = {{-1, -1}, -1, 0};
    struct rest now = rest_sum(world);
    unsigned still = 0;

    watch_phase("waits until nothing is under way");
    while ((now.sums.begun != now.sums.over && still < STILL_LOOKS) ||
           before.sums.begun != now.sums.begun ||
           before.sums.over != now.sums.over) {
        before = now;
        now = rest_sum(world);
        still = world->options.faults > 0 && now.left == before.left &&
                        before.sums.begun == now.sums.begun &&
                        before.sums.over == now.sums.over
                    ? still + 1
                    : 0;
    }
}

/* No call is under way, and no handle is kept: credits and buffers return, also
 * those of cancelled calls. */
static void home_await(struct world *world)
{
    long before = -1;
    unsigned still = 0;
    struct rest now;

    watch_phase("waits until all is at home");
    do {
        now = rest_sum(world);
        still = now.kept > 0 && now.left == before ? still + 1 : 0;
        before = now.left;
    } while (now.left != 0 && still < STILL_LOOKS);
}

/* Answers that are late leave before the class ends; from now on handlers
 * answer at once, and no handle is kept. */
static void later_end(struct world *world)
{
    later_close();
    while (later_count() > 0)
        turn(world);
    atomic_store(&world->is_closing, true);
    while (atomic_load(&world->open) > 0)
        turn(world);
    origin_finish(world);
}

static void burst_post(struct world *world)
{
    const struct plan *plan = &world->plan;

    for (unsigned i = 0; i < plan->burst; i++)
        (void)origin_post(
            world, plan_root(plan, world->rank, plan->calls + i), NULL, NULL);
}

static void round_end(struct world *world)
{
    const struct plan *plan = &world->plan;
    bool is_quiet = plan->end != PLAN_END_EARLY && plan->end != PLAN_END_LATE;
    uint64_t until_ns = world_now_ns();

    if (is_quiet) {
        all_quiesce(world);
        quiet_await(world);
    } else if (plan->end == PLAN_END_LATE && world->rank == plan->end_rank) {
        until_ns += LATE_MS * 1000000ull;
    }
    while (world_now_ns() < until_ns)
        turn(world);
    watch_phase("ends what is late");
    later_end(world);
    if (is_quiet) {
        home_await(world);
        counters_compare(world);
    }
    if (plan->end == PLAN_END_AT_ONCE)
        burst_post(world);
    watch_phase("closes");
    faults_disarm();
    environment_look();
    world_close(world);
}

/* False: this machine cannot. */
static bool round_run(struct world *world, uint64_t seed, unsigned round)
{
    world->plan =
        plan_make(&world->options, seed, exchange_size(world->exchange), round);
    /* Calls through leaders are in no order with others. */
    world->checks_order =
        world->plan.threads == 1 && getenv("AMALGAM_AGGREGATE") == NULL;
    book_open(world->book, seed, round);
    atomic_store(&world->is_closing, false);
    later_open();
    watch_phase("opens");
    faults_open();
    if (!world_open(world))
        return false;
    if (world->plan.is_threaded)
        later_thread_start();
    faults_arm(world);
    posters_run(world);
    round_end(world);
    later_thread_stop();
    watch_phase("compares");
    exchange_barrier(world->exchange);
    environment_closed(world->book);
    faults_closed(world);
    book_compare(
        world->book, world->exchange, origin_rank, origin_judge, world);
    faults_compare(world);
    return true;
}

static unsigned rounds_of(const struct plan_options *options, uint64_t seed)
{
    if (options->rounds > 0)
        return options->rounds;
    return plan_draw(seed, SALT_ROUNDS, 4) == 0 ? 2 : 1;
}

static int seed_run(struct world *world, uint64_t seed)
{
    unsigned rounds = rounds_of(&world->options, seed);
    long sums[2] = {0, 0};

    job_seed(seed);
    for (unsigned round = 0; round < rounds; round++) {
        if (!round_run(world, seed, round))
            return OPTIONS_SKIP;
        sums[0] += (long)book_posts(world->book);
    }
    environment_rounds(world->book, rounds);
    sums[1] = book_findings(world->book);
    exchange_sum(world->exchange, sums, 2);
    if (sums[1] > 0)
        return EXIT_FAILURE;
    if (world->rank == 0) {
        printf("torture: seed %" PRIu64 " calls %ld ok\n", seed, sums[0]);
        fflush(stdout);
    }
    return EXIT_SUCCESS;
}

static void report(void *arg, FILE *out)
{
    struct world *world = arg;
    struct book_sums sums = book_sums(world->book);

    fprintf(out,
        "torture: rank %u: begun %ld, over %ld, open %u, later %zu, waiting "
        "roots %u\n",
        world->rank, sums.begun, sums.over, atomic_load(&world->open),
        later_count(), atomic_load(&world->chains));
    (void)world_state(world, out);
}

static void level_choose(struct plan_options *options)
{
    static const unsigned levels[] = {3, 3, 3, 2, 1, 0};

    if (options->level == PLAN_LEVEL_ANY)
        options->level = levels[plan_draw(options->seed, SALT_LEVEL, 6)];
}

static size_t rows_of(const struct plan_options *options, unsigned ranks)
{
    struct plan plan = plan_make(options, options->seed, ranks, 0);

    return (size_t)(plan.calls + 200) * ROWS_PER_CALL * (ranks + 1);
}

int main(int argc, char **argv)
{
    struct world *world = calloc(1, sizeof(*world));
    int code = EXIT_SUCCESS;

    if (world == NULL || !options_read(argc, argv, &world->options))
        return OPTIONS_USAGE;
    level_choose(&world->options);
    /* Cancelled and freed memory is warned of. */
    if (getenv("HG_LOG_LEVEL") == NULL)
        HG_Set_log_level("error");
    world->exchange = world->options.fork > 0
                          ? exchange_start_fork(world->options.fork)
                          : exchange_start_mpi((int)world->options.level);
    if (world->exchange == NULL)
        return OPTIONS_SKIP;
    if (world->options.faults > 0 && !faults_start())
        exchange_abort(world->exchange);
    world->rank = exchange_rank(world->exchange);
    world->book = book_create(world->rank, exchange_size(world->exchange),
        rows_of(&world->options, exchange_size(world->exchange)));
    if (world->book == NULL)
        abort();
    if (world->options.faults > 0)
        book_lossy(world->book);
    watch_start(
        world->book, world->exchange, world->options.limit_s, report, world);
    for (uint64_t seed = world->options.seed;
         code == EXIT_SUCCESS && seed <= world->options.seed_last; seed++)
        code = seed_run(world, seed);
    crossings_write(world->exchange, world->options.transport);
    watch_stop();
    code = exchange_stop(world->exchange, code);
    book_destroy(world->book);
    free(world);
    return code;
}
