/* SPDX-License-Identifier: BSD-3-Clause */
/* Program of the C++ API under torture. */
#include <cstdio>
#include <cstdlib>
#include <thread>
#include "amalgam_state.h"
#include "crossings_line.h"
#include "environment.h"
#include "lines.h"
#include "margo_job.h"
#include "options.h"
#include "points.h"
#include "thallium_torture.hpp"
#include "watch.h"

namespace torture
{

process all;

namespace
{

enum { WORKERS = 5, CALLS_OF_RANK = 120 };

std::string config_of(const world &in)
{
    static const int threads[] = {0, 1, 2, -1};

    return std::string("{\"use_progress_thread\":") +
           (plan_draw(in.hash, DRAW_CONFIG, 2) ? "true" : "false") +
           ",\"rpc_thread_count\":" +
           std::to_string(threads[plan_draw(in.hash, DRAW_CONFIG + 1, 4)]) +
           "}";
}

/* The peers of an engine over a communicator, or by addresses. */
void peers_find(world &in)
{
    char text[256] = "";
    std::size_t len = 0;

    if (!all.plan.is_job) {
        std::snprintf(text, sizeof(text), "%s",
            static_cast<std::string>(in.engine.self()).c_str());
        exchange_all(all.exchange, text, sizeof(text));
    }
    for (unsigned i = 0; i < in.size; i++) {
        hg_addr_t addr = HG_ADDR_NULL;

        if (!all.plan.is_job) {
            unsigned rank = all.plan.is_self ? in.rank : i;

            in.peers.push_back(in.engine.lookup(static_cast<const char *>(
                exchange_of(all.exchange, rank, &len))));
            continue;
        }
        if (mt_job_addr(in.engine.get_margo_instance(), i, &addr) != HG_SUCCESS)
            std::abort();
        in.peers.emplace_back(in.engine, addr);
    }
}

bool world_open(world &in, unsigned index)
{
    margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    margo_logger logger = lines_logger();
    std::string config;
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    in.index = index;
    in.hash = content_mix(all.plan.hash + all.plan.round * 16 + index);
    in.rank = exchange_rank(all.exchange);
    in.size = exchange_size(all.exchange);
    in.ops = all.options.ops;
    if (getenv("AMALGAM_CREDITS") != nullptr ||
        getenv("AMALGAM_MAX_PENDING_BYTES") != nullptr ||
        getenv("AMALGAM_MAX_REQUEST_BYTES") != nullptr)
        in.ops &= ~(1u << NEST);
    config = config_of(in);
    info.json_config = config.c_str();
    info.logger = &logger;
    lines_add(config.c_str());
    mid = all.plan.is_job
              ? mt_job_open(all.options.transport, &info)
              : margo_init_ext(all.options.transport, MARGO_SERVER_MODE, &info);
    if (mid == MARGO_INSTANCE_NULL)
        return false;
    in.engine = tl::engine(mid, true);
    in.serve();
    peers_find(in);
    return true;
}

/* Waits for all ranks, and serves these meanwhile. */
void notes_wait()
{
    do /* once also where one rank is all */
        tl::thread::sleep(all.worlds[0]->engine, 0.2);
    while (!exchange_test(all.exchange));
}

void quiet_wait()
{
    struct book_sums last = {-1, -1};
    struct book_sums sum = {0, 1};

    while (sum.begun != sum.over || sum.begun != last.begun) {
        struct book_sums mine = book_sums(all.book);

        last = sum;
        sum = {0, 0};
        exchange_begin(all.exchange, &mine, sizeof(mine));
        notes_wait();
        for (unsigned i = 0; i < exchange_size(all.exchange); i++) {
            std::size_t len = 0;
            const auto *note = static_cast<const struct book_sums *>(
                exchange_of(all.exchange, i, &len));

            sum.begun += note->begun;
            sum.over += note->over;
        }
    }
}

/* Makes all calls of an engine, by user-level and other threads. */
void calls_run(std::vector<std::thread> &foreign,
    std::vector<tl::managed<tl::thread>> &threads, std::atomic<int> &running,
    world &in)
{
    tl::pool pool = in.engine.get_handler_pool();

    for (unsigned n = 0; n < WORKERS; n++) {
        auto work = [&in, &running, n] {
            in.calls(n, WORKERS);
            running--;
        };

        running++;
        if (n == 0)
            foreign.emplace_back(work);
        else
            threads.push_back(pool.make_thread(work));
    }
}

void round_calls()
{
    std::vector<std::thread> foreign;
    std::vector<tl::managed<tl::thread>> threads;
    std::vector<tl::managed<tl::thread>> beside;
    std::atomic<int> running{0};

    for (auto &in : all.worlds) {
        world &of = *in;

        for (auto act : acts)
            beside.push_back(of.engine.get_handler_pool().make_thread(
                [act, &of] { act(of); }));
        calls_run(foreign, threads, running, of);
    }
    while (running > 0)
        tl::thread::sleep(all.worlds[0]->engine, 0.2);
    for (auto &thread : foreign)
        thread.join();
    threads.clear();
    for (auto &in : all.worlds)
        in->stops = true;
    beside.clear();
    quiet_wait();
}

void world_end(world &in)
{
    in.peers.clear();
    switch (plan_draw(in.hash, DRAW_END, 3)) {
    case 0:
        in.engine.finalize_and_wait();
        break;
    case 1:
        in.engine.finalize();
        break;
    default:
        std::thread asker([&in] { in.engine.finalize(); });

        in.engine.wait_for_finalize();
        asker.join();
        break;
    }
    in.call_rpc = in.one_way_rpc = in.provided_rpc = tl::remote_procedure();
    in.engine = tl::engine();
    if (in.ends != 1)
        book_finding(
            all.book, "a finalize callback ran %u times", in.ends.load());
}

/* After the drain nothing is lent: late messages get some time. */
void home_check(world &in)
{
    enum { TRIES = 2000 };
    hg_class_t *cls = margo_get_class(in.engine.get_margo_instance());
    std::size_t left = 1;

    for (unsigned i = 0; i < TRIES && left > 0; i++) {
        left = amalgam_write_state(cls, nullptr);
        if (left > 0)
            tl::thread::sleep(in.engine, 0.5);
    }
    if (left == 0)
        return;
    book_finding(all.book, "%zu things are not at home after the drain", left);
    (void)amalgam_write_state(cls, stderr);
}

/* What the engines have under way, for the watch. */
void report(void *, FILE *out)
{
    lines_write(out);
    for (auto &in : all.worlds) {
        margo_instance_id mid = in->engine.get_margo_instance();
        bool is_over = true;

        if (margo_instance_is_finalized(mid, &is_over) != HG_SUCCESS || is_over)
            continue;
        (void)amalgam_write_state(margo_get_class(mid), out);
        (void)std::fflush(out);
        (void)margo_state_dump(mid, "-", 0, nullptr);
    }
}

unsigned origin_of(void *, std::uint64_t id)
{
    return all.worlds[engine_of(id)]->origin_of(id);
}

const char *judge_call(void *, std::uint64_t id, const struct book_fate *fate)
{
    return judge(all.worlds[engine_of(id)]->plan_of(id), *fate);
}

void visits_count()
{
    for (auto &in : all.worlds)
        for (unsigned n = all.plan.first; n < all.plan.last; n++)
            all.visits[in->plan_of(in->root(n)).kind]++;
}

/* False: this machine cannot do that. */
bool round_run(std::uint64_t seed, unsigned round)
{
    unsigned count = 0;

    all.plan =
        plan_make(&all.options, seed, exchange_size(all.exchange), round);
    count = all.options.classes != 0 ? all.options.classes
                                     : 1 + ((all.plan.hash & 6) == 0);
    watch_phase("opens");
    book_open(all.book, seed, round);
    all.worlds.clear();
    for (unsigned i = 0; i < count; i++) {
        all.worlds.emplace_back(new world());
        if (!world_open(*all.worlds[i], i))
            return false;
    }
    exchange_barrier(all.exchange);
    watch_phase("calls");
    round_calls();
    watch_phase("checks what is lent");
    for (auto &in : all.worlds)
        home_check(*in);
    visits_count();
    exchange_begin(all.exchange, nullptr, 0);
    notes_wait();
    watch_phase("ends");
    environment_look();
    for (auto &in : all.worlds)
        world_end(*in);
    if (guarded::count != 0)
        book_finding(
            all.book, "%d function objects are left", guarded::count.load());
    watch_phase("compares");
    exchange_barrier(all.exchange);
    environment_closed(all.book);
    book_compare(all.book, all.exchange, origin_of, judge_call, nullptr);
    return true;
}

bool seed_report(std::uint64_t seed)
{
    long sums[2] = {
        static_cast<long>(book_posts(all.book)), book_findings(all.book) > 0};

    exchange_sum(all.exchange, sums, 2);
    if (exchange_rank(all.exchange) == 0 && sums[1] == 0) {
        std::printf("torture: seed %llu calls %ld ok\n",
            static_cast<unsigned long long>(seed), sums[0]);
        std::fflush(stdout);
    }
    if (sums[1] != 0)
        lines_write(stderr);
    return sums[1] == 0;
}

int seeds_run()
{
    for (std::uint64_t seed = all.options.seed; seed <= all.options.seed_last;
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

} /* namespace */

} /* namespace torture */

using namespace torture;

int main(int argc, char **argv)
{
    int code = EXIT_SUCCESS;

    if (!options_read(argc, argv, &all.options))
        return OPTIONS_USAGE;
    if (all.options.rounds == 0)
        all.options.rounds = 1;
    if (all.options.calls == 0)
        all.options.calls = CALLS_OF_RANK;
    all.options.level = 3; /* MPI_THREAD_MULTIPLE */
    /* A tl::bulk whose destructor finds that a transfer is in flight waits for
     * the transfer up to that limit, and cannot tell that the memory is still
     * in use. Among many ranks on few cores a transfer takes long. */
    setenv("AMALGAM_FREE_TIMEOUT_MS", "600000", 0);
    all.exchange =
        all.options.fork > 0
            ? exchange_start_fork(all.options.fork)
            : exchange_start_mpi(static_cast<int>(all.options.level));
    if (all.exchange == nullptr)
        return OPTIONS_SKIP;
    all.book =
        book_create(exchange_rank(all.exchange), exchange_size(all.exchange),
            std::size_t(all.options.calls) * exchange_size(all.exchange) *
                ENGINES_MAX * 4);
    if (all.book == nullptr)
        exchange_abort(all.exchange);
    lines_keep();
    points_start();
    watch_start(all.book, all.exchange, all.options.limit_s, report, nullptr);
    code = seeds_run();
    watch_stop();
    crossings_line_write(
        all.exchange, all.options.transport, kind_name, all.visits, KINDS);
    all.worlds.clear();
    book_destroy(all.book);
    return exchange_stop(all.exchange, code);
}
