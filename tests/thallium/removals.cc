/* SPDX-License-Identifier: BSD-3-Clause */
/* RPCs and callbacks that one thread removes while another one finalizes the
 * engine, calls them, or defines them again. Freed memory is overwritten
 * (MALLOC_PERTURB_), so that its use is noticed. */
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include "engines.hpp"

namespace
{

enum { THREADS = 4, ENDS = 150, RPCS = 300, ROUNDS = 150 };

/* A function of an RPC, with something on the heap. */
class adder
{
    std::shared_ptr<int> m_more = std::make_shared<int>(1);

  public:
    void operator()(const tl::request &req, int x) const
    {
        req.respond(x + *m_more);
    }
};

/* Ends an engine while a thread runs `remove`, which begins a little later in
 * each round. */
template <typename F> void end_during(tl::engine &engine, int round, F remove)
{
    std::atomic<bool> begins{false};
    std::thread remover([&] {
        while (!begins) {
        }
        double start = tl::timer::wtime();

        while (tl::timer::wtime() < start + round % 40 * 1e-5) {
        }
        remove();
    });

    begins = true;
    engine.finalize();
    remover.join();
}

/* Defines an RPC, calls it, and removes it now and then, while other threads do
 * the same with that name. */
void define_and_call(two_engines &two, std::atomic<int> &answers)
{
    for (int i = 0; i < ROUNDS; i++)
        try {
            tl::remote_procedure rpc = two.server.define("same", adder());

            if (two.client.define("same").on(two.peer)(i).as<int>() == i + 1)
                answers++;
            if (i % 5 == 0)
                rpc.deregister();
        } catch (const tl::margo_exception &) { /* it was just removed */
        }
}

} /* namespace */

TEST_CASE("RPCs are removed while the engine ends")
{
    for (int round = 0; round < ENDS; round++) {
        tl::engine engine(transport, THALLIUM_SERVER_MODE, true, 1);
        std::vector<tl::auto_remote_procedure> rpcs;

        for (int i = 0; i < RPCS; i++)
            rpcs.emplace_back(engine.define("r" + std::to_string(i), adder()));
        if (round % 2 != 0)
            std::reverse(rpcs.begin(), rpcs.end());
        end_during(engine, round, [&] { rpcs.clear(); });
    }
}

TEST_CASE("callbacks of the end are found and removed while it comes")
{
    int owner = 0;
    std::atomic<int> calls{0};

    for (int round = 0; round < ENDS; round++) {
        tl::engine engine(transport, THALLIUM_SERVER_MODE, true, 1);
        std::shared_ptr<int> one = std::make_shared<int>(1);

        for (int i = 0; i < RPCS; i++)
            engine.push_finalize_callback(
                &owner, [one, &calls] { calls += *one; });
        end_during(engine, round, [&] {
            while (engine.top_finalize_callback(&owner) != nullptr) {
                std::function<void()> callback =
                    engine.pop_finalize_callback(&owner);

                if (callback != nullptr)
                    callback();
            }
        });
    }
    CHECK(calls == ENDS * RPCS); /* each once, by one of both */
}

TEST_CASE("a function may remove its RPC when another one takes its place")
{
    two_engines two;
    tl::remote_procedure rpc = two.server.define("replaced", adder());
    std::shared_ptr<void> removes(
        nullptr, [rpc](void *) mutable { rpc.deregister(); });

    two.server.define(
        "replaced", [removes](const tl::request &req) { req.respond(); });
    removes.reset();
    two.server.define("replaced", adder()); /* ends the one before */
    two.client.set_log_level(tl::logger::level::critical);
    CHECK(thrown_code([&] { two.client.define("replaced").on(two.peer)(1); }) ==
          HG_NOENTRY);
}

TEST_CASE("threads define, call and remove an RPC of one name")
{
    two_engines two;
    std::atomic<int> answers{0};
    std::vector<std::thread> threads;

    HG_Set_log_level("none");
    two.server.set_log_level(tl::logger::level::critical);
    two.client.set_log_level(tl::logger::level::critical);
    for (int i = 0; i < THREADS; i++)
        threads.emplace_back([&] { define_and_call(two, answers); });
    for (std::thread &thread : threads)
        thread.join();
    CHECK(answers > 0);
    two.server.define("same", adder());
    CHECK(two.client.define("same").on(two.peer)(4).as<int>() == 5);
}
