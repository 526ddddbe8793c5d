/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks, barriers, eventuals, futures and timers between threads. */
#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thallium/abt.hpp>
#include <thallium/barrier.hpp>
#include <thallium/condition_variable.hpp>
#include <thallium/eventual.hpp>
#include <thallium/future.hpp>
#include <thallium/recursive_mutex.hpp>
#include <thallium/rwlock.hpp>
#include <thallium/thread.hpp>
#include <thallium/timer.hpp>
#include <thallium/xstream.hpp>
#include <thallium/xstream_barrier.hpp>
#include <type_traits>
#include <vector>

namespace tl = thallium;

template <typename T> constexpr bool is_move_only()
{
    return !std::is_copy_constructible<T>::value &&
           std::is_nothrow_move_constructible<T>::value &&
           std::is_nothrow_move_assignable<T>::value;
}

static_assert(
    is_move_only<tl::mutex>() && is_move_only<tl::recursive_mutex>() &&
        is_move_only<tl::rwlock>() && is_move_only<tl::condition_variable>() &&
        is_move_only<tl::barrier>() && is_move_only<tl::xstream_barrier>() &&
        is_move_only<tl::eventual<int>>() &&
        is_move_only<tl::eventual<void>>() && is_move_only<tl::future<int>>() &&
        std::is_copy_constructible<tl::timer>::value,
    "all but timers are only moved");

/* Two streams beside the caller's, and threads on both. */
struct streams {
    tl::abt scope;
    tl::managed<tl::xstream> one = tl::xstream::create();
    tl::managed<tl::xstream> two = tl::xstream::create();
    std::vector<tl::managed<tl::thread>> threads;

    template <typename F> void start(int count, F f)
    {
        for (int i = 0; i < count; i++)
            threads.push_back((i % 2 == 0 ? one : two)->make_thread(f));
    }

    void join()
    {
        for (auto &thread : threads)
            thread->join();
        threads.clear();
    }
};

TEST_CASE_FIXTURE(streams, "a mutex lets one thread in")
{
    tl::mutex mutex;
    int count = 0;

    start(8, [&]() {
        for (int i = 0; i < 100; i++) {
            std::lock_guard<tl::mutex> guard(mutex);

            count++;
        }
        mutex.lock_low();
        count++;
        mutex.unlock_se();
        mutex.spin_lock();
        count++;
        mutex.unlock();
    });
    join();
    CHECK(count == 8 * 102);
    CHECK(mutex.try_lock());
    CHECK(!mutex.try_lock());
    tl::mutex moved(std::move(mutex));
    CHECK(mutex.native_handle() == ABT_MUTEX_NULL);
    moved.unlock();
    CHECK_THROWS_AS(mutex.lock(), tl::mutex_exception);
}

TEST_CASE_FIXTURE(streams, "a recursive mutex is locked again by its holder")
{
    tl::recursive_mutex mutex;
    tl::mutex same(true);

    for (tl::mutex *each : std::vector<tl::mutex *>{&mutex, &same}) {
        std::lock_guard<tl::mutex> guard(*each);
        bool is_taken = true;

        each->lock();
        start(1, [&]() { is_taken = each->try_lock(); });
        join();
        CHECK(!is_taken);
        each->unlock();
    }
}

TEST_CASE_FIXTURE(streams, "readers share, a writer does not")
{
    tl::rwlock lock;
    tl::barrier both(2);
    int value = 0;

    /* Both readers hold it at once, or the barrier would not end. */
    start(2, [&]() {
        lock.rdlock();
        both.wait();
        lock.unlock();
    });
    join();
    start(4, [&]() {
        for (int i = 0; i < 50; i++) {
            lock.wrlock();
            value++;
            lock.unlock();
        }
    });
    join();
    CHECK(value == 200);
}

TEST_CASE_FIXTURE(streams, "a condition is waited for")
{
    tl::mutex mutex;
    tl::condition_variable changed;
    int ready = 0, turn = 0;

    start(4, [&]() {
        std::unique_lock<tl::mutex> lock(mutex);

        ready++;
        changed.notify_all();
        changed.wait(lock, [&]() { return turn > 0; });
        turn++;
        changed.notify_one();
    });
    {
        std::unique_lock<tl::mutex> lock(mutex);

        while (ready < 4)
            changed.wait(lock);
        turn = 1;
        changed.notify_all();
    }
    join();
    CHECK(turn == 5);
}

TEST_CASE_FIXTURE(streams, "a timed wait tells that the time came")
{
    using std::chrono::milliseconds;
    tl::mutex mutex;
    tl::condition_variable never;
    std::unique_lock<tl::mutex> lock(mutex);
    const auto begin = std::chrono::steady_clock::now();
    const timespec past = {1, 0};

    CHECK(!never.wait_for(lock, milliseconds(5)));
    CHECK(std::chrono::steady_clock::now() - begin >= milliseconds(5));
    CHECK(!never.wait_for(lock, std::chrono::seconds(-1)));
    CHECK(!never.wait_until(
        lock, std::chrono::system_clock::now() + milliseconds(1)));
    CHECK(!never.wait_until(lock, &past));
    CHECK(lock.owns_lock());
    bool is_set = false;
    start(1, [&]() {
        std::lock_guard<tl::mutex> guard(mutex);

        is_set = true;
        never.notify_one();
    });
    while (!is_set)
        CHECK(never.wait_for(lock, std::chrono::hours::max()));
    lock.unlock();
    join();
}

TEST_CASE_FIXTURE(streams, "a barrier ends when all have come")
{
    tl::barrier barrier(3);
    tl::mutex mutex;
    int before = 0;
    bool all_came = true;

    CHECK(barrier.get_num_waiters() == 3);
    for (int round = 1; round <= 3; round++) {
        start(3, [&, round]() {
            mutex.lock();
            before++;
            mutex.unlock();
            barrier.wait();
            std::lock_guard<tl::mutex> guard(mutex);
            all_came = all_came && before == 3 * round;
        });
        join();
    }
    CHECK(all_came);
    barrier.reinit(1);
    barrier.wait();
    CHECK(barrier.get_num_waiters() == 1);
}

TEST_CASE_FIXTURE(streams, "a barrier of streams")
{
    tl::xstream_barrier barrier(2);

    start(2, [&]() {
        for (int i = 0; i < 10; i++)
            barrier.wait();
    });
    join();
    tl::xstream_barrier moved(std::move(barrier));
    CHECK_THROWS_AS(barrier.wait(), tl::xstream_barrier_exception);
}

TEST_CASE_FIXTURE(streams, "an eventual gives its value to all")
{
    tl::eventual<std::string> text;
    tl::eventual<void> event;
    tl::mutex mutex;
    int same = 0;

    CHECK(!text.test());
    start(4, [&]() {
        event.wait();
        bool is_same = text.wait() == "a text that is too long for the string";
        std::lock_guard<tl::mutex> guard(mutex);
        same += is_same ? 1 : 0;
    });
    event.set_value();
    text.set_value("a text that is too long for the string");
    join();
    CHECK(same == 4);
    CHECK(event.test());
    CHECK_THROWS_AS(text.set_value("another"), tl::eventual_exception);
    CHECK_THROWS_AS(event.set_value(), tl::eventual_exception);
    tl::eventual<std::string> moved(std::move(text));
    CHECK(moved.wait().size() == 38);
    moved.reset();
    event.reset();
    CHECK(!moved.test());
    CHECK(!event.test());
    moved.set_value("again");
    std::string out = std::move(moved).wait();
    CHECK(out == "again");
}

TEST_CASE_FIXTURE(streams, "an eventual holds what can only be moved")
{
    struct no_default {
        explicit no_default(int i) : value(i)
        {
        }
        int value;
    };
    tl::eventual<no_default> number;

    number.set_value(no_default(3));
    CHECK(number.wait().value == 3);
    tl::eventual<std::shared_ptr<int>> shared;
    auto one = std::make_shared<int>(1);
    shared.set_value(one);
    shared = tl::eventual<std::shared_ptr<int>>();
    CHECK(one.use_count() == 1);
    CHECK(!shared.test());
}

TEST_CASE_FIXTURE(streams, "a future has all values")
{
    std::vector<int> numbers = {1, 2, 3, 4};
    std::vector<const int *> got;
    tl::future<int> future(4);
    tl::future<const int> calls(
        4, [&got](const std::vector<const int *> &all) { got = all; });
    tl::mutex mutex;
    std::size_t next = 0;

    CHECK(!future);
    start(3, [&]() {
        std::lock_guard<tl::mutex> guard(mutex);

        future.set(&numbers[next]);
        calls.set(&numbers[next++]);
    });
    join();
    CHECK(!future.test());
    CHECK(!calls.test());
    CHECK(got.empty());
    tl::future<const int> moved(std::move(calls));
    future.set(&numbers[3]);
    moved.set(&numbers[3]);
    future.wait();
    moved.wait();
    CHECK(future.test());
    CHECK(static_cast<bool>(moved));
    REQUIRE(got.size() == 4);
    for (std::size_t i = 0; i < 4; i++)
        CHECK(got[i] == &numbers[i]);
    CHECK_THROWS_AS(future.set(&numbers[0]), tl::future_exception);
}

TEST_CASE("a timer measures")
{
    tl::abt scope;
    tl::timer timer;
    const double begin = tl::timer::wtime();

    timer.start();
    while (tl::timer::wtime() - begin < 0.002)
        ;
    timer.stop();
    CHECK(timer.read() >= 0.0015);
    CHECK(static_cast<double>(timer) == timer.read());
    tl::timer copy(timer);
    CHECK(copy.read() == timer.read());
    copy = tl::timer();
    timer = copy;
    CHECK(tl::timer::overhead() >= 0);
}
