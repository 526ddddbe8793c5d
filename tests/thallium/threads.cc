/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams, pools, threads and tasks: handles, owners, and where work runs. */
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thallium/abt.hpp>
#include <thallium/eventual.hpp>
#include <thallium/pool.hpp>
#include <thallium/scheduler.hpp>
#include <thallium/self.hpp>
#include <thallium/task.hpp>
#include <thallium/thread.hpp>
#include <thallium/xstream.hpp>
#include <type_traits>
#include <vector>

namespace tl = thallium;

static_assert(std::is_copy_constructible<tl::pool>::value &&
                  std::is_copy_constructible<tl::xstream>::value &&
                  std::is_copy_constructible<tl::thread>::value &&
                  !std::is_copy_constructible<tl::managed<tl::pool>>::value &&
                  !std::is_copy_constructible<tl::thread::attribute>::value &&
                  !std::is_convertible<ABT_pool, tl::pool>::value,
    "handles are copied, owners are moved");

TEST_CASE("abt counts its initializations")
{
    CHECK(!tl::abt::initialized());
    {
        tl::abt scope;

        CHECK(tl::abt::initialized());
        tl::abt::initialize();
        tl::abt::finalize();
        CHECK(tl::abt::initialized());
    }
    CHECK(!tl::abt::initialized());
    CHECK_THROWS_AS(tl::abt::finalize(), tl::abt_exception);
}

TEST_CASE("the caller knows itself")
{
    CHECK_THROWS_AS(tl::self::is_primary(), tl::self_exception);
    tl::abt scope;
    tl::unit_type in_task = tl::unit_type::other;
    bool is_primary = true, on_primary = false;

    CHECK(tl::self::get_unit_type() == tl::unit_type::thread);
    CHECK(tl::self::is_primary());
    CHECK(tl::thread::self().is_primary());
    CHECK(tl::xstream::self().is_primary());
    CHECK(tl::xstream::self_rank() == tl::xstream::self().get_rank());
    CHECK(tl::xstream::num() == 1);
    CHECK(tl::thread::self().id() == tl::thread::self_id());
    CHECK(tl::self::get_last_pool_id() ==
          tl::xstream::self().get_main_pools()[0].id());
    tl::xstream::self()
        .make_task([&]() {
            in_task = tl::self::get_unit_type();
            is_primary = tl::self::is_primary();
            on_primary = tl::self::on_primary_xstream();
        })
        ->join();
    CHECK(in_task == tl::unit_type::task);
    CHECK(!is_primary);
    CHECK(on_primary);
}

TEST_CASE("null handles")
{
    tl::pool no_pool;

    CHECK(no_pool.is_null());
    CHECK(!no_pool);
    CHECK(no_pool == tl::pool());
    CHECK_THROWS_AS(no_pool.size(), tl::pool_exception);
    CHECK_THROWS_AS(tl::xstream().join(), tl::xstream_exception);
    CHECK_THROWS_AS(tl::scheduler().num_pools(), tl::scheduler_exception);
    CHECK_THROWS_AS(tl::thread().join(), tl::thread_exception);
    CHECK_THROWS_AS(tl::task().join(), tl::task_exception);
    CHECK_THROWS_AS(no_pool.make_thread([]() {}), tl::thread_exception);
    CHECK_THROWS_AS(no_pool.make_task([]() {}), tl::task_exception);
    tl::managed<tl::thread> owns_nothing;
    CHECK(owns_nothing->is_null());
}

TEST_CASE("a handle that was moved from is null")
{
    tl::abt scope;
    tl::xstream self = tl::xstream::self();
    tl::scheduler scheduler = self.get_main_sched();
    tl::pool pool = self.get_main_pools()[0];
    tl::managed<tl::thread> thread = self.make_thread([]() {});
    tl::managed<tl::task> task = self.make_task([]() {});

    auto moves = [](auto from) {
        auto kept = from;
        auto to = std::move(from);
        decltype(to) assigned;

        CHECK(from.is_null());
        CHECK(to == kept);
        assigned = std::move(to);
        CHECK(to.is_null());
        CHECK(assigned == kept);
    };
    moves(self);
    moves(scheduler);
    moves(pool);
    moves(*thread);
    moves(*task);
}

TEST_CASE("streams run a pool of the program")
{
    tl::abt scope;
    tl::managed<tl::pool> pool = tl::pool::create(tl::pool::access::mpmc);
    std::vector<tl::managed<tl::xstream>> streams;
    std::vector<tl::managed<tl::thread>> threads;
    std::atomic<int> count{0};

    CHECK(pool->get_access() == tl::pool::access::mpmc);
    for (int i = 0; i < 2; i++)
        streams.push_back(
            tl::xstream::create(tl::scheduler::predef::basic_wait, *pool));
    CHECK(tl::xstream::num() == 3);
    CHECK(*streams[0] != *streams[1]);
    CHECK(streams[0]->get_main_pools()[0] == *pool);
    CHECK(streams[0]->get_main_pools(0).empty());
    CHECK(streams[0]->get_main_sched().get_pool(0) == *pool);
    for (int i = 0; i < 20; i++)
        threads.push_back(pool->make_thread([&count]() {
            tl::thread::yield();
            count++;
        }));
    for (auto &thread : threads)
        thread->join();
    CHECK(count == 20);
    CHECK(threads[0]->state() == tl::thread_state::terminated);
    for (auto &stream : streams)
        stream->join();
    CHECK(streams[0]->state() == tl::xstream_state::terminated);
    streams[0]->revive();
    CHECK(streams[0]->state() == tl::xstream_state::running);
    pool->make_thread([&count]() { count++; })->join();
    CHECK(count == 21);
    /* Locals end in reverse order; also when the pool ends first: */
    pool = tl::managed<tl::pool>();
}

TEST_CASE("an owner is moved, and gives up by release")
{
    tl::abt scope;
    tl::managed<tl::pool> one = tl::pool::create(tl::pool::access::mpmc);
    const tl::pool handle = *one;
    tl::managed<tl::pool> two(std::move(one));

    CHECK(one->is_null());
    CHECK(*two == handle);
    one = std::move(two);
    CHECK(*one == handle);
    tl::pool given = one.release();
    CHECK(one->is_null());
    CHECK(given == handle);
    ABT_pool native = given.native_handle();
    CHECK(ABT_pool_free(&native) == ABT_SUCCESS);
    one = tl::make_managed<tl::pool>();
    CHECK(one->is_null());
}

TEST_CASE("callables are moved, copied and freed")
{
    tl::abt scope;
    tl::pool pool = tl::xstream::self().get_main_pools()[0];
    auto shared = std::make_shared<int>(0);
    auto adds = [shared]() { ++*shared; };
    auto only = std::unique_ptr<int>(new int(5));
    int seen = 0;

    {
        auto thread = pool.make_thread(adds);
        auto task = pool.make_task(adds);
        auto moved = tl::xstream::self().make_thread(
            [&seen, value = std::move(only)]() { seen = *value; });
        thread->join();
        task->join();
        moved->join();
        CHECK(task->state() == tl::task_state::terminated);
        CHECK(task->get_xstream() == tl::xstream::self());
        CHECK(task->get_last_pool_id() == pool.id());
        CHECK(thread->get_last_pool() == pool);
    }
    CHECK(*shared == 2);
    CHECK(shared.use_count() == 2);
    CHECK(seen == 5);
    pool.make_thread(adds, tl::anonymous());
    pool.make_task(adds, tl::anonymous());
    tl::xstream::self().make_thread(adds, tl::anonymous());
    tl::xstream::self().make_task(adds, tl::anonymous());
    while (*shared != 6 || shared.use_count() != 2)
        tl::thread::yield();
    CHECK(pool.total_size() == 0);
}

TEST_CASE("a thread has attributes, and ends by exit")
{
    tl::abt scope;
    tl::pool pool = tl::xstream::self().get_main_pools()[0];
    tl::thread::attribute attributes;
    bool has_returned = false;
    int steps = 0;

    attributes.set_stack(nullptr, 256 * 1024);
    attributes.set_migratable(false);
    CHECK(attributes.get_stack_size() == 256 * 1024);
    CHECK(attributes.get_stack_address() == nullptr);
    auto thread = pool.make_thread(
        [&]() {
            steps++;
            tl::thread::exit();
            has_returned = true;
        },
        attributes);
    CHECK(thread->stacksize() == 256 * 1024);
    CHECK(thread->get_attribute().get_stack_size() == 256 * 1024);
    CHECK(!thread->is_migratable());
    thread->set_migratable(true);
    CHECK(thread->is_migratable());
    CHECK(thread->state() == tl::thread_state::ready);
    thread->join();
    CHECK(steps == 1);
    CHECK(!has_returned);
    pool.revive_thread(*thread, [&]() { steps += 10; });
    thread->join();
    CHECK(steps == 11);
    auto task = pool.make_task([&]() { steps += 100; });
    task->join();
    pool.revive_task(*task, [&]() { steps += 1000; });
    task->join();
    CHECK(steps == 1111);
    bool is_done = false;
    pool.make_thread([&]() { is_done = true; }, attributes, tl::anonymous());
    while (!is_done)
        tl::thread::yield();
}

TEST_CASE("a suspended thread is resumed")
{
    tl::abt scope;
    int step = 0;
    auto thread = tl::xstream::self().make_thread([&]() {
        step = 1;
        tl::self::suspend();
        step = 2;
    });

    tl::thread::yield_to(*thread);
    CHECK(step == 1);
    CHECK(thread->state() == tl::thread_state::blocked);
    thread->resume();
    thread->join();
    CHECK(step == 2);
}

TEST_CASE("a thread moves to a pool and a stream")
{
    tl::abt scope;
    tl::managed<tl::xstream> other = tl::xstream::create();
    tl::eventual<void> may_end;
    std::atomic<bool> is_moved{false};
    auto thread = tl::xstream::self().make_thread([&]() {
        while (tl::xstream::self_rank() != other->get_rank())
            tl::thread::yield();
        is_moved = true;
    });

    thread->migrate_to(other->get_main_pools()[0]);
    thread->join();
    CHECK(is_moved);
    CHECK(thread->get_last_pool() == other->get_main_pools()[0]);
    int rank = -1;
    other->make_thread([&]() { rank = tl::xstream::self_rank(); })->join();
    CHECK(rank == other->get_rank());
    other->make_task([&]() { rank += 100; })->join();
    CHECK(rank == other->get_rank() + 100);
}

TEST_CASE("streams have numbers, processors and schedulers")
{
    tl::abt scope;
    std::vector<tl::managed<tl::pool>> pools;

    pools.push_back(
        tl::pool::create(tl::pool::access::mpmc, tl::pool::kind::fifo_wait));
    pools.push_back(tl::pool::create(tl::pool::access::mpmc));
    {
        tl::managed<tl::scheduler> scheduler = tl::scheduler::create(
            tl::scheduler::predef::prio, pools.begin(), pools.end());

        CHECK(scheduler->num_pools() == 2);
        CHECK(scheduler->get_pool(1) == *pools[1]);
        CHECK(scheduler->size() == 0);
        CHECK(scheduler->total_size() == 0);
        tl::managed<tl::xstream> stream = tl::xstream::create(*scheduler, 7);
        CHECK(stream->get_rank() == 7);
        CHECK(stream->get_main_sched() == *scheduler);
        CHECK(stream->get_main_pools().size() == 2);
        CHECK(stream->get_main_pools(1).size() == 1);
        CHECK(!stream->is_primary());
        CHECK_THROWS_AS(
            tl::xstream::create(*scheduler, 7), tl::xstream_exception);
        pools[1]->make_thread([]() {})->join();
        std::vector<int> cpus = stream->get_affinity();
        if (!cpus.empty()) {
            stream->set_affinity(cpus.begin(), cpus.end());
            CHECK(stream->get_affinity() == cpus);
        }
        stream->join();
    }
    {
        tl::managed<tl::xstream> stream = tl::xstream::create(
            tl::scheduler::predef::deflt, pools.begin(), pools.end());

        CHECK(stream->get_main_pools().size() == 2);
        pools[0]->make_task([]() {})->join();
    }
    /* Also a scheduler may end before its stream. */
    tl::managed<tl::scheduler> scheduler =
        tl::scheduler::create(tl::scheduler::predef::basic, *pools[0]);
    tl::managed<tl::xstream> stream = tl::xstream::create(*scheduler);
    pools[0]->make_thread([]() {})->join();
    scheduler = tl::managed<tl::scheduler>();
}
