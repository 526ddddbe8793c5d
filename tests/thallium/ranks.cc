/* SPDX-License-Identifier: BSD-3-Clause */
/* Engines over a communicator and over half of it: each rank calls every rank
 * and itself in all ways of calls, reads and writes the memory of others, and
 * gets the documented exception for a rank that there is not, a function that
 * throws and an answer that does not come. */
#include <atomic>
#include <chrono>
#include <iostream>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>
#include <amalgam.hpp>
#include <thallium/serialization/stl/vector.hpp>

namespace tl = thallium;

#define CHECK(what)                                                            \
    do {                                                                       \
        if (!(what)) {                                                         \
            std::cerr << __FILE__ << ':' << __LINE__ << ": " #what             \
                      << " does not hold\n";                                   \
            MPI_Abort(MPI_COMM_WORLD, 1);                                      \
        }                                                                      \
    } while (0)

static tl::bulk expose(
    const tl::engine &engine, std::vector<int> &numbers, tl::bulk_mode mode)
{
    return engine.expose(
        {{numbers.data(), numbers.size() * sizeof(int)}}, mode);
}

static hg_return_t endpoint_code(const amalgam::engine &engine, int rank)
{
    try {
        (void)engine.endpoint(rank);
    } catch (const tl::margo_exception &error) {
        CHECK(std::string(error.what())
                  .find("there is no rank " + std::to_string(rank) +
                        ": the engine has ranks 0 to ") != std::string::npos);
        return error.error();
    }
    return HG_SUCCESS;
}

static void ask_all(amalgam::engine &engine, const tl::bulk &memory)
{
    for (int rank = 0; rank < engine.size(); rank++) {
        tl::endpoint peer = engine.endpoint(rank);
        std::vector<int> numbers = {rank, 1, 2};

        CHECK(engine.rank_of(peer) == rank);
        CHECK((rank == engine.rank()) == (peer == engine.self()));
        std::vector<int> got = engine.define("sum").on(peer)(numbers, memory);
        CHECK(got.size() == 3);
        CHECK(got[0] == rank + 3);      /* the sum */
        CHECK(got[1] == engine.rank()); /* the caller, as the callee sees it */
        CHECK(got[2] == 7 * engine.rank()); /* its memory */
        int id = engine.define("of_provider")
                     .on(tl::provider_handle(
                         peer, static_cast<std::uint16_t>(rank + 1)))();
        CHECK(id == rank + 1);
    }
    CHECK(endpoint_code(engine, engine.size()) == HG_INVALID_ARG);
    CHECK(endpoint_code(engine, -1) == HG_INVALID_ARG);
}

static void ask_all_at_once(amalgam::engine &engine)
{
    std::vector<tl::async_response> calls;
    std::vector<int> answers(static_cast<std::size_t>(engine.size()), 0);

    for (int rank = 0; rank < engine.size(); rank++)
        calls.push_back(
            engine.define("rank").on(engine.endpoint(rank)).async());
    while (!calls.empty()) {
        std::vector<tl::async_response>::iterator completed;
        int rank =
            tl::async_response::wait_any(calls.begin(), calls.end(), completed);

        answers.at(static_cast<std::size_t>(rank))++;
        calls.erase(completed);
    }
    CHECK(answers == std::vector<int>(answers.size(), 1));
}

/* Each rank tells all without an answer, and waits until all have told it. */
static void tell_all(amalgam::engine &engine, const std::atomic<int> &told)
{
    for (int rank = 0; rank < engine.size(); rank++)
        engine.define("tell").on(engine.endpoint(rank))(rank);
    while (told.load() < engine.size())
        tl::thread::yield();
}

static void write_to_me(amalgam::engine &engine)
{
    for (int rank = 0; rank < engine.size(); rank++) {
        std::vector<int> memory(10000, -1);
        tl::bulk mine = expose(engine, memory, tl::bulk_mode::write_only);

        engine.define("write").on(engine.endpoint(rank))(mine);
        CHECK(memory == std::vector<int>(memory.size(), rank));
    }
}

/* A call that fails is over for its caller, and the next one succeeds. */
static void fail_at_all(amalgam::engine &engine)
{
    for (int rank = 0; rank < engine.size(); rank++) {
        tl::endpoint peer = engine.endpoint(rank);
        hg_return_t code = HG_SUCCESS;
        bool is_late = false;

        try {
            engine.define("throw").on(peer)();
        } catch (const tl::margo_exception &error) {
            code = error.error();
        }
        CHECK(code == HG_CANCELED);
        /* A call of its own process cannot be cancelled. */
        if (rank == engine.rank())
            continue;
        try {
            engine.define("keep").on(peer).timed(std::chrono::milliseconds(20));
        } catch (const tl::timeout &) {
            is_late = true;
        }
        CHECK(is_late);
        int answer = engine.define("rank").on(peer)();
        CHECK(answer == rank);
    }
}

/* Requests that nobody answers. */
struct kept_requests {
    tl::mutex mutex;
    std::vector<tl::request> requests;
};

static void define_all(
    amalgam::engine &engine, std::atomic<int> &told, kept_requests &kept)
{
    engine.define("rank",
        [&engine](const tl::request &req) { req.respond(engine.rank()); });
    engine
        .define("tell", [&engine, &told](const tl::request &,
                            int rank) { told += rank == engine.rank(); })
        .disable_response();
    engine.define("write", [&engine](const tl::request &req, tl::bulk &theirs) {
        std::vector<int> values(10000, engine.rank());
        tl::bulk mine = expose(engine, values, tl::bulk_mode::read_only);

        theirs.on(req.get_endpoint()) << mine;
        req.respond();
    });
    engine.define("throw", [](const tl::request &) {
        throw std::runtime_error("as the test wants it");
    });
    engine.define("keep", [&kept](const tl::request &req) {
        std::lock_guard<tl::mutex> guard(kept.mutex);

        kept.requests.push_back(req);
    });
}

static void run(MPI_Comm comm, const char *config)
{
    kept_requests kept; /* outlives the engine */
    std::atomic<int> told{0};
    amalgam::engine engine(comm, nullptr, std::string(config));
    int rank = 0;
    int size = 0;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK(engine.rank() == rank && engine.size() == size);
    std::vector<int> mine(100, 7 * rank);
    tl::bulk memory = expose(engine, mine, tl::bulk_mode::read_only);

    engine.define("sum", [&engine](const tl::request &req,
                             const std::vector<int> &numbers,
                             const tl::bulk &theirs) {
        std::vector<int> copy(100, -1);
        tl::bulk local = expose(engine, copy, tl::bulk_mode::write_only);

        theirs.on(req.get_endpoint()) >> local;
        req.respond(
            std::vector<int>{std::accumulate(numbers.begin(), numbers.end(), 0),
                engine.rank_of(req.get_endpoint()), copy.back()});
    });
    engine.define(
        "of_provider",
        [rank](const tl::request &req) { req.respond(rank + 1); },
        static_cast<std::uint16_t>(rank + 1));
    define_all(engine, told, kept);
    MPI_Barrier(comm); /* all have defined theirs */
    ask_all(engine, memory);
    ask_all_at_once(engine);
    tell_all(engine, told);
    write_to_me(engine);
    fail_at_all(engine);
    engine.finalize();
}

/* Rank 0 answers in MPI_Barrier(), where all others come after a call of it. */
static void call_rank_in_mpi()
{
    amalgam::engine engine(MPI_COMM_WORLD, nullptr, amalgam::always_served);
    tl::remote_procedure rpc = engine.define(
        "in_mpi", [](const tl::request &req, int x) { req.respond(x + 1); });

    MPI_Barrier(MPI_COMM_WORLD); /* all have defined it */
    if (engine.rank() != 0)
        CHECK(rpc.on(engine.endpoint(0))(1).as<int>() == 2);
    MPI_Barrier(MPI_COMM_WORLD);
    engine.finalize();
}

int main(int argc, char **argv)
{
    MPI_Comm half = MPI_COMM_NULL;
    int level = 0;
    int rank = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (const char *config :
        {"{}", "{\"use_progress_thread\":true,\"rpc_thread_count\":1}"}) {
        run(MPI_COMM_WORLD, config);
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
        run(half, config);
        MPI_Comm_free(&half);
    }
    if (level == MPI_THREAD_MULTIPLE)
        call_rank_in_mpi();
    MPI_Finalize();
    return 0;
}
