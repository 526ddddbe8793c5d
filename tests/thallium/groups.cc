/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of C++ to groups: of all ranks, of a list, of an MPI group; answers
 * that are numbers, and vectors of strings, are folded by functions of the
 * program. The exception names the ranks whose handlers have thrown, or were
 * late. A procedure without a reduction gives no answer. A quiescence waits for
 * handlers. */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>
#include <amalgam.hpp>
#include <thallium/serialization/stl/string.hpp>
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

using names = std::vector<std::string>;

struct calls {
    tl::remote_procedure add;
    tl::remote_procedure name;
    tl::remote_procedure note;
    tl::remote_procedure block;
};

static std::atomic<int> noted{0};
static tl::eventual<void> *released;

static calls define(amalgam::engine &engine)
{
    calls all;
    int rank = engine.rank();

    all.add = engine.define(
        "add", [rank](const tl::request &request, double number, int thrower) {
            if (rank == thrower)
                throw std::runtime_error("odd");
            request.respond(number + rank);
        });
    all.add.reduce<double>(
        [](const double &from, double &inout) { inout += from; });
    all.name = engine.define(
        "name", [rank](const tl::request &request, const std::string &word) {
            request.respond(names{word + std::to_string(rank)});
        });
    all.name.reduce<names>([](const names &from, names &inout) {
        inout.insert(inout.end(), from.begin(), from.end());
    });
    all.note = engine.define("note", [](const tl::request &request) {
        noted++;
        request.respond();
    });
    all.block =
        engine.define("block", [rank](const tl::request &request, int blocked) {
            if (rank == blocked)
                released->wait();
            request.respond();
        });
    return all;
}

/* Returns when all ranks are here; serves them meanwhile. */
static void meet(const amalgam::engine &engine)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (flag == 0) {
        tl::thread::sleep(engine, 1.0);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
}

static void answers_check(amalgam::engine &engine, const calls &all,
    const amalgam::group &group, std::vector<int> ranks)
{
    double sum = 0;
    names wanted;

    std::sort(ranks.begin(), ranks.end());
    for (int rank : ranks) {
        sum += 0.5 + rank;
        wanted.push_back("a longer word than fits into a string " +
                         std::to_string(engine.rank()) + "." +
                         std::to_string(rank));
    }
    double got = all.add.on(group)(0.5, -1);
    CHECK(got == sum);
    got = all.add.on(group).timed(std::chrono::minutes(1), 0.5, -1);
    CHECK(got == sum);
    names called = all.name.on(group)("a longer word than fits into a string " +
                                      std::to_string(engine.rank()) + ".");
    std::sort(called.begin(), called.end());
    std::sort(wanted.begin(), wanted.end());
    CHECK(called == wanted);
}

static void failures_check(amalgam::engine &engine, const calls &all)
{
    amalgam::group group = amalgam::group::all();
    int last = engine.size() - 1;

    try {
        all.add.on(group)(0.5, last);
        CHECK(!"a call to a handler that throws returns");
    } catch (const amalgam::group_exception &error) {
        CHECK(error.ranks() == std::vector<int>{last});
        CHECK(error.codes() == std::vector<hg_return_t>{HG_CANCELED});
        CHECK(error.error() == HG_CANCELED);
    }
    try {
        all.block.on(group).timed(std::chrono::milliseconds(200), last);
        CHECK(!"a call to a rank that does not answer returns");
    } catch (const tl::margo_exception &error) {
        const auto &named =
            dynamic_cast<const amalgam::group_exception &>(error);

        CHECK(error.error() == HG_TIMEOUT && !named.ranks().empty());
        CHECK(named.ranks().back() == last);
        CHECK(named.codes().back() == HG_TIMEOUT);
    }
    try {
        (void)amalgam::group(engine, {0, 0});
        CHECK(!"a group with a rank twice is made");
    } catch (const tl::margo_exception &error) {
        CHECK(error.error() == HG_INVALID_ARG);
    }
    try {
        (void)tl::remote_procedure().on(group);
        CHECK(!"no procedure is bound");
    } catch (const tl::exception &) {
    }
    try {
        int nothing = all.note.on(group)();
        CHECK(nothing != nothing);
    } catch (const tl::margo_exception &) {
    }
}

/* A quiescence waits for a handler, and goes on after a time-out. */
static void quiesce_check(amalgam::engine &engine, const calls &all)
{
    int last = engine.size() - 1;
    auto response = all.block.on(engine.endpoint(last)).async(last);

    CHECK(!engine.quiesce(std::chrono::milliseconds(2)));
    meet(engine);
    released->set_value();
    engine.quiesce();
    CHECK(response.received());
    response.wait();
    CHECK(engine.quiesce(std::chrono::minutes(1)));
    try {
        amalgam::engine().quiesce();
        CHECK(!"no engine quiesces");
    } catch (const tl::exception &) {
    }
}

static void all_check(amalgam::engine &engine)
{
    calls all = define(engine);
    int size = engine.size();
    std::vector<int> every;
    std::vector<int> odd;
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;

    meet(engine);
    for (int rank = size - 1; rank >= 0; rank--)
        every.push_back(rank);
    for (int rank = 1; rank < size; rank += 2)
        odd.push_back(rank);
    answers_check(engine, all, amalgam::group::all(), every);
    answers_check(engine, all, amalgam::group(engine, every), every);
    answers_check(engine, all, amalgam::group(engine, {size - 1}), {size - 1});
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(odd.size()), odd.data(), &some);
    {
        amalgam::group group(engine, some);
        amalgam::group copy = group;

        CHECK(copy.native_handle() == group.native_handle());
        if (!odd.empty())
            answers_check(engine, all, copy, odd);
    }
    if (some != MPI_GROUP_EMPTY)
        MPI_Group_free(&some);
    MPI_Group_free(&world);
    failures_check(engine, all);
    quiesce_check(engine, all);
    CHECK(noted == size);
}

int main(int argc, char **argv)
{
    int level = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    CHECK(level == MPI_THREAD_MULTIPLE);
    HG_Set_log_level("none"); /* failures are logged */
    {
        amalgam::engine engine(MPI_COMM_WORLD);
        tl::eventual<void> eventual;

        released = &eventual;
        all_check(engine);
        engine.finalize();
    }
    MPI_Finalize();
    return 0;
}
