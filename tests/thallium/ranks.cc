/* SPDX-License-Identifier: BSD-3-Clause */
/* Engines over a communicator and over half of it: each rank calls every rank
 * and itself, reads the memory of others, and gets the documented exception
 * for a rank that there is not. */
#include <iostream>
#include <numeric>
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

static hg_return_t endpoint_code(const amalgam::engine &engine, int rank)
{
    try {
        (void)engine.endpoint(rank);
    } catch (const tl::margo_exception &error) {
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

static void run(MPI_Comm comm, const char *config)
{
    amalgam::engine engine(comm, nullptr, std::string(config));
    int rank = 0;
    int size = 0;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK(engine.rank() == rank && engine.size() == size);
    std::vector<int> mine(100, 7 * rank);
    tl::bulk memory = engine.expose(
        {{mine.data(), mine.size() * sizeof(int)}}, tl::bulk_mode::read_only);

    engine.define("sum", [&engine](const tl::request &req,
                             const std::vector<int> &numbers,
                             const tl::bulk &theirs) {
        std::vector<int> copy(100, -1);
        tl::bulk local =
            engine.expose({{copy.data(), copy.size() * sizeof(int)}},
                tl::bulk_mode::write_only);

        theirs.on(req.get_endpoint()) >> local;
        req.respond(
            std::vector<int>{std::accumulate(numbers.begin(), numbers.end(), 0),
                engine.rank_of(req.get_endpoint()), copy.back()});
    });
    engine.define(
        "of_provider",
        [rank](const tl::request &req) { req.respond(rank + 1); },
        static_cast<std::uint16_t>(rank + 1));
    MPI_Barrier(comm); /* all have defined theirs */
    ask_all(engine, memory);
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
    MPI_Finalize();
    return 0;
}
