/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes on beside the calls of the C++ API under torture. */
#include <mutex>
#include "thallium_torture.hpp"

namespace torture
{

namespace
{

/* Steps of a thread that makes no calls of the plan. */
class steps
{
    std::uint64_t m_hash;
    unsigned m_count = 0;

  public:
    steps(const world &of, unsigned thread)
        : m_hash(of.hash + DRAW_BESIDE + thread * 64 + of.rank)
    {
    }

    unsigned operator()(unsigned n)
    {
        return plan_draw(m_hash, m_count++, n);
    }
};

/* Functions come, are replaced, and go, while others call these. */
void pass_functions(world &in)
{
    steps next(in, 1);
    std::vector<tl::auto_remote_procedure> rpcs(PASSINGS);

    while (!in.stops) {
        unsigned passing = next(PASSINGS);

        if (next(3) == 0)
            rpcs[passing].deregister();
        else
            rpcs[passing] = tl::auto_remote_procedure(
                in.engine.define(passing_name(in.rank, passing), serves(in)));
        tl::thread::sleep(in.engine, 0.1 * next(30));
    }
}

/* Threads that fill and empty a buffer, on a stream that is made for them. */
void crowd(world &in)
{
    enum { THREADS = 4, ITEMS = 20, ROOM = 2 };
    steps next(in, 2);

    while (!in.stops) {
        tl::managed<tl::pool> pool =
            tl::pool::create(tl::pool::access::mpmc, tl::pool::kind::fifo_wait);
        tl::managed<tl::xstream> stream =
            tl::xstream::create(tl::scheduler::predef::basic_wait, *pool);
        tl::pool pools[2] = {*pool, in.engine.get_handler_pool()};
        std::vector<tl::managed<tl::thread>> threads;
        tl::mutex mutex;
        tl::condition_variable changed;
        int held = 0, taken = 0;

        for (unsigned i = 0; i < 2 * THREADS; i++)
            threads.push_back(pools[next(2)].make_thread([&, i] {
                for (int n = 0; n < ITEMS; n++) {
                    std::unique_lock<tl::mutex> lock(mutex);

                    changed.wait(lock,
                        [&] { return i % 2 == 0 ? held < ROOM : held > 0; });
                    held += i % 2 == 0 ? 1 : -1;
                    taken += static_cast<int>(i % 2);
                    changed.notify_all();
                }
            }));
        threads.clear();
        if (held != 0 || taken != THREADS * ITEMS)
            book_finding(
                all.book, "%d items are held, %d were taken", held, taken);
        tl::thread::sleep(in.engine, 0.5 * next(10));
    }
}

/* Timed callbacks that are cancelled, and destroyed while these run. */
void tick(world &in)
{
    steps next(in, 3);

    while (!in.stops) {
        std::atomic<int> fired{0};
        std::atomic<bool> is_gone{false};
        int starts = 0;

        {
            tl::timed_callback timer = in.engine.create_timed_callback([&] {
                if (is_gone)
                    book_finding(all.book, "a timed callback fired too late");
                fired++;
            });

            for (unsigned i = next(5); i > 0; i--) {
                timer.start(0.1 * next(10));
                starts++;
                tl::thread::sleep(in.engine, 0.1 * next(10));
                timer.cancel();
            }
            if (next(2) == 0) {
                timer.start(0.1 * next(10));
                starts++;
            }
        }
        is_gone = true;
        if (fired > starts)
            book_finding(all.book, "a timed callback fired %d times of %d",
                fired.load(), starts);
    }
}

} /* namespace */

void (*const acts[ACTS])(world &) = {pass_functions, crowd, tick};

} /* namespace torture */
