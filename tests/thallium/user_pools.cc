/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools and schedulers that are classes of the program. */
#include <doctest/doctest.h>

#include <atomic>
#include <list>
#include <memory>
#include <thallium/abt.hpp>
#include <thallium/mutex.hpp>
#include <thallium/pool.hpp>
#include <thallium/scheduler.hpp>
#include <thallium/task.hpp>
#include <thallium/thread.hpp>
#include <thallium/xstream.hpp>
#include <vector>

namespace tl = thallium;

namespace
{

std::atomic<int> units{0}, pools{0}, schedulers{0}, runs{0}, allocations{0};

class unit
{
    tl::thread m_thread;
    tl::task m_task;
    tl::unit_type m_type;

  public:
    bool is_here = false;

    unit(const tl::thread &thread)
        : m_thread(thread), m_type(tl::unit_type::thread)
    {
        units++;
    }

    unit(const tl::task &task) : m_task(task), m_type(tl::unit_type::task)
    {
        units++;
    }

    ~unit()
    {
        units--;
    }

    tl::unit_type get_type() const
    {
        return m_type;
    }

    const tl::thread &get_thread() const
    {
        return m_thread;
    }

    const tl::task &get_task() const
    {
        return m_task;
    }

    bool is_in_pool() const
    {
        return is_here;
    }
};

/* The newest unit first. */
class stack_of_units
{
    mutable tl::mutex m_mutex;
    std::list<unit *> m_units;

  public:
    static constexpr tl::pool::access access_type = tl::pool::access::mpmc;

    stack_of_units()
    {
        pools++;
    }

    ~stack_of_units()
    {
        pools--;
    }

    std::size_t get_size() const
    {
        std::lock_guard<tl::mutex> guard(m_mutex);

        return m_units.size();
    }

    void push(unit *one)
    {
        std::lock_guard<tl::mutex> guard(m_mutex);

        one->is_here = true;
        m_units.push_back(one);
    }

    unit *pop()
    {
        std::lock_guard<tl::mutex> guard(m_mutex);
        unit *one = nullptr;

        if (m_units.empty())
            return nullptr;
        one = m_units.back();
        m_units.pop_back();
        one->is_here = false;
        return one;
    }

    void remove(unit *one)
    {
        std::lock_guard<tl::mutex> guard(m_mutex);

        one->is_here = false;
        m_units.remove(one);
    }
};

template <typename T> struct counting : std::allocator<T> {
    template <typename U> struct rebind {
        using other = counting<U>;
    };

    T *allocate(std::size_t count)
    {
        allocations++;
        return std::allocator<T>().allocate(count);
    }

    void deallocate(T *object, std::size_t count)
    {
        allocations--;
        std::allocator<T>().deallocate(object, count);
    }
};

/* As programs write it, by private inheritance. */
class own_scheduler : private tl::scheduler
{
  public:
    template <typename... Args>
    own_scheduler(Args &&...args) : tl::scheduler(std::forward<Args>(args)...)
    {
        schedulers++;
    }

    ~own_scheduler()
    {
        schedulers--;
    }

    void run()
    {
        while (true) {
            for (int i = 0; i < num_pools(); i++) {
                unit *one = get_pool(i).pop<unit>();

                if (one != nullptr) {
                    runs++;
                    get_pool(i).run_unit(one);
                }
            }
            if (has_to_stop())
                break;
            tl::xstream::check_events(*this);
        }
    }

    tl::pool get_migr_pool() const
    {
        return get_pool(0);
    }
};

} // namespace

TEST_CASE("a pool of the program decides the order")
{
    {
        tl::abt scope;
        auto pool = tl::pool::create<stack_of_units, unit,
            counting<stack_of_units>, counting<unit>>();
        std::vector<int> order;

        CHECK(pools == 1);
        CHECK(pool->get_access() == tl::pool::access::mpmc);
        {
            auto one = pool->make_thread([&]() { order.push_back(1); });
            auto two = pool->make_task([&]() { order.push_back(2); });
            auto three = pool->make_thread([&]() { order.push_back(3); });

            CHECK(units == 3);
            CHECK(allocations == 4);
            CHECK(pool->size() == 3);
            unit *newest = pool->pop<unit>();
            REQUIRE(newest != nullptr);
            CHECK(newest->get_thread() == *three);
            CHECK(pool->size() == 2);
            pool->push(newest);
            CHECK(newest->is_in_pool());
            auto stream =
                tl::xstream::create(tl::scheduler::predef::basic, *pool);
            one->join();
            two->join();
            three->join();
            stream->join();
        }
        CHECK(order == std::vector<int>{3, 2, 1});
        CHECK(units == 0);
        CHECK(pool->pop<unit>() == nullptr);
    }
    CHECK(pools == 0);
    CHECK(allocations == 0);
}

TEST_CASE("a scheduler of the program runs units of its pools")
{
    {
        tl::abt scope;
        std::vector<tl::managed<tl::pool>> all;
        std::atomic<int> count{0};

        for (int i = 0; i < 2; i++)
            all.push_back(tl::pool::create<stack_of_units, unit>());
        {
            auto scheduler =
                tl::scheduler::create<own_scheduler>(all.begin(), all.end());
            auto single = tl::scheduler::create<own_scheduler>(*all[1]);
            auto stream = tl::xstream::create(*scheduler);
            auto second = tl::xstream::create(*single);
            std::vector<tl::managed<tl::thread>> threads;

            CHECK(schedulers == 2);
            for (int i = 0; i < 10; i++)
                threads.push_back(all[i % 2]->make_thread([&count]() {
                    tl::thread::yield();
                    count++;
                }));
            for (auto &thread : threads)
                thread->join();
            CHECK(count == 10);
            CHECK(runs >= 20);
            stream->join();
            second->join();
        }
        CHECK(schedulers == 0);
    }
    CHECK(pools == 0);
    CHECK(units == 0);
}
