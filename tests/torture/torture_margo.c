/* SPDX-License-Identifier: BSD-3-Clause */
/* Margo under torture: user-level and OS threads of several ranks make calls of
 * all forms to each other, while providers, pools and timers come and go.
 *
 * Each seed opens one or two instances in each process, runs its plan, ends the
 * instances, and compares the books of all ranks. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "amalgam_state.h"
#include "content.h"
#include "crossings_line.h"
#include "environment.h"
#include "exchange.h"
#include "lines.h"
#include "margo_torture.h"
#include "options.h"
#include "points.h"
#include "watch.h"

enum { MT_MAX = 2, WORKERS_MAX = 10, STREAMS_MAX = 2, DRAW_WORK = 13000 };
enum { CALLS = 150, HOME_TRIES = 2000 };

/* The process. Written by the main thread alone. */
static struct {
    struct plan_options options;
    struct plan plan;
    struct exchange *exchange;
    struct book *book;
    struct mt mts[MT_MAX];
    unsigned count;
    long visits[MT_KINDS]; /* calls that this rank made of each kind */
} all;

struct worker {
    struct mt *mt;
    unsigned first;
    unsigned step;
    ABT_thread thread;
    pthread_t foreign;
    bool is_foreign;
    atomic_bool is_over;
};

struct mt *mt_of(margo_instance_id mid)
{
    for (unsigned i = 0; i < MT_MAX; i++)
        if (all.mts[i].mid == mid)
            return &all.mts[i];
    abort();
}

int mt_main_pool(ABT_pool *ret_pool)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    int rc = ABT_xstream_self(&self);

    return rc == ABT_SUCCESS ? ABT_xstream_get_main_pools(self, 1, ret_pool)
                             : rc;
}

static void work(void *arg)
{
    struct worker *worker = arg;

    mt_calls(worker->mt, worker->first, worker->step);
    atomic_store(&worker->is_over, true);
}

static void *work_foreign(void *arg)
{
    work(arg);
    return NULL;
}

void mt_thread_join(struct mt *mt, pthread_t thread)
{
    while (pthread_tryjoin_np(thread, NULL) != 0)
        margo_thread_sleep(mt->mid, 0.2);
}

/* Waits for all ranks, and serves them meanwhile. */
static void notes_wait(void)
{
    do /* once also where one rank is all */
        margo_thread_sleep(all.mts[0].mid, 0.2);
    while (!exchange_test(all.exchange));
}

/* Returns when no rank has anything under way: two rounds of notes have the
 * same sums, and what began is over. */
static void quiet_wait(void)
{
    struct book_sums last = {-1, -1};
    struct book_sums sum = {0, 1};

    while (sum.begun != sum.over || sum.begun != last.begun) {
        struct book_sums mine = book_sums(all.book);

        last = sum;
        sum = (struct book_sums){0, 0};
        exchange_begin(all.exchange, &mine, sizeof(mine));
        notes_wait();
        for (unsigned i = 0; i < exchange_size(all.exchange); i++) {
            size_t len = 0;
            const struct book_sums *note = exchange_of(all.exchange, i, &len);

            sum.begun += note->begun;
            sum.over += note->over;
        }
    }
}

/* Streams of the program, and the pools in which its threads run. */
struct streams {
    ABT_xstream streams[STREAMS_MAX];
    ABT_pool pools[1 + STREAMS_MAX];
    unsigned count;
};

static void streams_open(struct streams *streams, unsigned count)
{
    streams->count = count;
    if (mt_main_pool(&streams->pools[0]) != ABT_SUCCESS)
        abort();
    for (unsigned i = 0; i < count; i++)
        if (ABT_xstream_create(ABT_SCHED_NULL, &streams->streams[i]) !=
                ABT_SUCCESS ||
            ABT_xstream_get_main_pools(
                streams->streams[i], 1, &streams->pools[1 + i]) != ABT_SUCCESS)
            abort();
}

static void streams_close(struct streams *streams)
{
    for (unsigned i = 0; i < streams->count; i++)
        if (ABT_xstream_join(streams->streams[i]) != ABT_SUCCESS ||
            ABT_xstream_free(&streams->streams[i]) != ABT_SUCCESS)
            abort();
}

static void worker_start(struct worker *worker, ABT_pool pool)
{
    int rc = worker->is_foreign
                 ? pthread_create(&worker->foreign, NULL, work_foreign, worker)
                 : ABT_thread_create(pool, work, worker, ABT_THREAD_ATTR_NULL,
                       &worker->thread);

    if (rc != 0)
        abort();
}

/* Makes all calls of this process. */
static void calls_run(void)
{
    struct mt_steps steps = {.hash = all.plan.hash + DRAW_WORK};
    struct worker workers[MT_MAX * WORKERS_MAX];
    struct streams streams;
    unsigned drawn = 1 + mt_step(&steps, 6);
    unsigned each = all.options.threads == 0   ? drawn
                    : all.options.threads <= 6 ? all.options.threads
                                               : 6;
    unsigned foreign = mt_step(&steps, 3);
    unsigned count = 0;

    streams_open(&streams, mt_step(&steps, STREAMS_MAX + 1));
    for (unsigned i = 0; i < all.count; i++) {
        mt_beside_start(&all.mts[i]);
        for (unsigned n = 0; n < each + foreign; n++, count++) {
            workers[count] = (struct worker){.mt = &all.mts[i],
                .first = n,
                .step = each + foreign,
                .is_foreign = n >= each};
            worker_start(&workers[count],
                streams.pools[mt_step(&steps, streams.count + 1)]);
        }
    }
    for (unsigned i = 0; i < count; i++)
        if (workers[i].is_foreign)
            mt_thread_join(workers[i].mt, workers[i].foreign);
        else
            (void)ABT_thread_free(&workers[i].thread);
    for (unsigned i = 0; i < all.count; i++)
        mt_beside_stop(&all.mts[i]);
    watch_phase("waits until nothing is under way");
    quiet_wait();
    streams_close(&streams);
}

/* After the drain nothing is lent: give late messages some time. */
static void home_check(struct mt *mt)
{
    size_t left = 1;

    for (unsigned i = 0; i < HOME_TRIES && left > 0; i++) {
        left = amalgam_write_state(margo_get_class(mt->mid), NULL);
        if (left > 0)
            margo_thread_sleep(mt->mid, 0.5);
    }
    if (left == 0)
        return;
    book_finding(mt->book, "%zu things are not at home after the drain", left);
    (void)amalgam_write_state(margo_get_class(mt->mid), stderr);
}

static void mt_make(struct mt *mt, unsigned index)
{
    const struct plan *plan = &all.plan;
    bool is_narrow = getenv("AMALGAM_CREDITS") != NULL ||
                     getenv("AMALGAM_MAX_PENDING_BYTES") != NULL ||
                     getenv("AMALGAM_MAX_REQUEST_BYTES") != NULL;

    memset(mt, 0, sizeof(*mt));
    mt->index = index;
    mt->plan = plan;
    mt->book = all.book;
    mt->hash = content_mix(plan->hash + plan->round * 16 + index);
    mt->rank = exchange_rank(all.exchange);
    mt->size = exchange_size(all.exchange);
    mt->ops = all.options.ops;
    if (all.options.ops == UINT32_MAX && (mt->hash & 1) != 0)
        mt->ops = (uint32_t)(mt->hash >> 8) | 1u << MT_ECHO;
    /* Calls that wait for each other would need all credits. */
    if (is_narrow)
        mt->ops &= ~(1u << MT_NEST);
    mt->ways = all.options.ways;
    mt->handlers = all.options.handlers;
    mt->len_max = plan->len_max;
}

/* What the instances have under way, for the watch. */
static void report(void *arg, FILE *out)
{
    (void)arg;
    lines_write(out);
    for (unsigned i = 0; i < all.count; i++) {
        margo_instance_id mid = all.mts[i].mid;
        bool is_over = true;

        if (margo_instance_is_finalized(mid, &is_over) != HG_SUCCESS || is_over)
            continue;
        (void)amalgam_write_state(margo_get_class(mid), out);
        (void)fflush(out);
        (void)margo_state_dump(mid, "-", 0, NULL);
    }
}

static unsigned origin_of(void *arg, uint64_t id)
{
    (void)arg;
    return mt_id_origin(&all.mts[mt_id_instance(id) % MT_MAX], id);
}

static const char *judge(void *arg, uint64_t id, const struct book_fate *fate)
{
    (void)arg;
    return mt_plan_judge(&all.mts[mt_id_instance(id) % MT_MAX], id, fate);
}

static void visits_count(void)
{
    for (unsigned i = 0; i < all.count; i++)
        for (unsigned n = all.plan.first; n < all.plan.last; n++) {
            const struct mt *mt = &all.mts[i];
            struct mt_plan plan;

            mt_plan_make(mt, mt_id_root(mt->index, mt->rank, n), &plan);
            all.visits[plan.kind]++;
        }
}

/* False: this machine cannot do that. */
static bool round_run(uint64_t seed, unsigned round)
{
    all.plan =
        plan_make(&all.options, seed, exchange_size(all.exchange), round);
    all.count = all.options.classes != 0   ? all.options.classes
                : (all.plan.hash & 6) == 0 ? MT_MAX
                                           : 1;
    watch_phase("opens");
    book_open(all.book, seed, round);
    for (unsigned i = 0; i < all.count; i++) {
        mt_make(&all.mts[i], i);
        if (!mt_open(&all.mts[i], all.exchange, all.options.transport))
            return false;
    }
    exchange_barrier(all.exchange);
    watch_phase("calls");
    calls_run();
    watch_phase("checks what is lent");
    for (unsigned i = 0; i < all.count; i++)
        home_check(&all.mts[i]);
    visits_count();
    exchange_begin(all.exchange, NULL, 0);
    notes_wait();
    watch_phase("ends");
    environment_look();
    for (unsigned i = 0; i < all.count; i++)
        mt_end(&all.mts[i]);
    watch_phase("compares");
    exchange_barrier(all.exchange);
    environment_closed(all.book);
    book_compare(all.book, all.exchange, origin_of, judge, NULL);
    return true;
}

/* Calls of all ranks in the last round; true: no rank has a finding. */
static bool seed_report(uint64_t seed)
{
    long sums[2] = {(long)book_posts(all.book), book_findings(all.book) > 0};

    exchange_sum(all.exchange, sums, 2);
    if (exchange_rank(all.exchange) == 0 && sums[1] == 0) {
        printf("torture: seed %llu calls %ld ok\n", (unsigned long long)seed,
            sums[0]);
        fflush(stdout);
    }
    if (sums[1] != 0)
        lines_write(stderr);
    return sums[1] == 0;
}

static int seeds_run(void)
{
    for (uint64_t seed = all.options.seed; seed <= all.options.seed_last;
         seed++) {
        for (unsigned round = 0; round < all.options.rounds; round++)
            if (!round_run(seed, round))
                return OPTIONS_SKIP;
        environment_rounds(all.book, all.options.rounds);
        if (!seed_report(seed))
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    int code = EXIT_SUCCESS;

    if (!options_read(argc, argv, &all.options))
        return OPTIONS_USAGE;
    if (all.options.rounds == 0)
        all.options.rounds = 1;
    if (all.options.calls == 0)
        all.options.calls = CALLS;
    all.options.level = 3;
    all.exchange = all.options.fork > 0
                       ? exchange_start_fork(all.options.fork)
                       : exchange_start_mpi((int)all.options.level);
    if (all.exchange == NULL)
        return OPTIONS_SKIP;
    all.book = book_create(exchange_rank(all.exchange),
        exchange_size(all.exchange),
        (size_t)all.options.calls * exchange_size(all.exchange) * MT_MAX * 4);
    if (all.book == NULL)
        exchange_abort(all.exchange);
    lines_keep();
    points_start();
    watch_start(all.book, all.exchange, all.options.limit_s, report, NULL);
    code = seeds_run();
    watch_stop();
    crossings_line_write(all.exchange, all.options.transport, mt_kind_name,
        all.visits, MT_KINDS);
    book_destroy(all.book);
    return exchange_stop(all.exchange, code);
}
