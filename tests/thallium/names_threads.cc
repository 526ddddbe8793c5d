/* SPDX-License-Identifier: BSD-3-Clause */
/* Every name of the C++ API for streams, pools, threads and what they wait for.
 */
#include <chrono>
#include <ctime>
#include <functional>
#include <mutex>
#include <vector>
#include "names.hpp"

namespace names
{

/* Runtime and errors */

template <typename... E> constexpr bool are_exceptions()
{
    bool all = true;

    (void)std::initializer_list<bool>{
        (all = all && std::is_base_of<tl::exception, E>::value)...};
    return all;
}

static_assert(
    are_exceptions<tl::abt_exception, tl::self_exception, tl::xstream_exception,
        tl::pool_exception, tl::scheduler_exception, tl::thread_exception,
        tl::task_exception, tl::mutex_exception, tl::rwlock_exception,
        tl::condition_variable_exception, tl::barrier_exception,
        tl::xstream_barrier_exception, tl::eventual_exception,
        tl::future_exception, tl::timer_exception>(),
    "bases");

void runtime_rows()
{
    tl::abt runtime;

    tl::abt::initialize();
    is<bool>(tl::abt::initialized());
    tl::abt::finalize();
    is<const char *>(tl::abt_error_get_name(ABT_ERR_MEM));
    is<const char *>(tl::abt_error_get_description(ABT_ERR_MEM));
}

static_assert(tl::unit_type::thread != tl::unit_type::task &&
                  tl::unit_type::xstream != tl::unit_type::other,
    "units");

void self_rows()
{
    is<tl::unit_type>(tl::self::get_unit_type());
    is<bool>(tl::self::is_primary());
    is<bool>(tl::self::on_primary_xstream());
    is<int>(tl::self::get_last_pool_id());
    tl::self::suspend();
}

/* Owners */

template <typename T> void managed_rows(tl::managed<T> &owner, const T &handle)
{
    static_assert(moves_only<tl::managed<T>>(), "move");
    static_assert(copies<T>(), "a handle copies");
    static_assert(std::is_same<decltype(*owner), T &>::value, "dereference");
    (void)handle.native_handle();
    (void)owner->native_handle();
    owner.release();
}

/* Streams */

static_assert(
    std::is_default_constructible<tl::xstream>::value &&
        !std::is_convertible<ABT_xstream, tl::xstream>::value &&
        std::is_constructible<tl::xstream, ABT_xstream>::value &&
        std::is_same<tl::xstream::native_handle_type, ABT_xstream>::value,
    "handle");
static_assert(
    tl::xstream_state::running != tl::xstream_state::terminated, "states");

void xstream_statics(const tl::pool &pool, const tl::scheduler &scheduler)
{
    using owner = tl::managed<tl::xstream>;
    using predef = tl::scheduler::predef;
    std::vector<tl::pool> pools;

    is<owner>(tl::xstream::create());
    is<owner>(tl::xstream::create(predef::deflt, pool));
    is<owner>(tl::xstream::create(predef::basic, pools.begin(), pools.end()));
    is<owner>(tl::xstream::create(scheduler));
    is<owner>(tl::xstream::create(scheduler, 1));
    is<tl::xstream>(tl::xstream::self());
    is<int>(tl::xstream::self_rank());
    is<std::size_t>(std::size_t(tl::xstream::num()));
    tl::xstream::check_events(scheduler);
    tl::xstream::exit();
}

void xstream_rows(tl::xstream &xstream, const tl::scheduler &scheduler)
{
    std::vector<int> cores;
    std::vector<tl::pool> pools;

    xstream.join();
    xstream.cancel();
    xstream.revive();
    is<int>(xstream.get_rank());
    xstream.set_rank(1);
    is<bool>(xstream.is_primary());
    is<tl::xstream_state>(xstream.state());
    is<int>(xstream.get_cpubind());
    xstream.set_cpubind(0);
    is<std::vector<int>>(xstream.get_affinity());
    xstream.set_affinity(cores.begin(), cores.end());
    xstream.set_main_sched(scheduler);
    xstream.set_main_sched(
        tl::scheduler::predef::basic, pools.begin(), pools.end());
    is<tl::scheduler>(xstream.get_main_sched());
    is<std::vector<tl::pool>>(xstream.get_main_pools());
    is<std::vector<tl::pool>>(xstream.get_main_pools(1));
    xstream.reset_scheduler_to_default();
    is<bool>(xstream == xstream);
    is<bool>(xstream != xstream);
    is<bool>(xstream.is_null());
    (void)static_cast<bool>(xstream);
    is<ABT_xstream>(xstream.native_handle());
}

/* What streams and pools make alike. */
template <typename Maker> void maker_rows(Maker &maker)
{
    auto function = [] {};
    tl::thread::attribute attribute;

    is<tl::managed<tl::thread>>(maker.make_thread(function));
    is<tl::managed<tl::thread>>(maker.make_thread(function, attribute));
    is<tl::managed<tl::task>>(maker.make_task(function));
    maker.make_thread(function, tl::anonymous());
    maker.make_thread(function, attribute, tl::anonymous());
    maker.make_task(function, tl::anonymous());
    static_assert(std::is_void<decltype(maker.make_thread(
                      function, tl::anonymous()))>::value,
        "no handle");
    static_assert(std::is_void<decltype(maker.make_task(
                      function, tl::anonymous()))>::value,
        "no handle");
}

/* Pools */

static_assert(std::is_default_constructible<tl::pool>::value &&
                  !std::is_convertible<ABT_pool, tl::pool>::value &&
                  std::is_constructible<tl::pool, ABT_pool>::value,
    "handle");

struct unit {
    explicit unit(const tl::thread &thread) : m_thread(thread)
    {
    }
    explicit unit(const tl::task &task) : m_task(task)
    {
    }
    tl::unit_type get_type() const
    {
        return tl::unit_type::thread;
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
        return false;
    }

  private:
    tl::thread m_thread;
    tl::task m_task;
};

struct own_pool {
    static constexpr tl::pool::access access_type = tl::pool::access::mpmc;

    std::size_t get_size() const
    {
        return 0;
    }
    void push(unit *)
    {
    }
    unit *pop()
    {
        return nullptr;
    }
    void remove(unit *)
    {
    }
};

void pool_rows(tl::pool &pool, const tl::scheduler &scheduler,
    tl::thread &thread, tl::task &task)
{
    using access = tl::pool::access;
    using kind = tl::pool::kind;
    using owner = tl::managed<tl::pool>;
    auto function = [] {};
    unit *mine = nullptr;

    is<owner>(tl::pool::create(access::priv));
    is<owner>(tl::pool::create(access::spsc, kind::fifo));
    is<owner>(tl::pool::create(access::mpsc, kind::fifo_wait));
    is<owner>(tl::pool::create(access::spmc));
    is<owner>(tl::pool::create(access::mpmc));
    is<owner>(tl::pool::create<own_pool, unit>());
    is<access>(pool.get_access());
    is<std::size_t>(pool.total_size());
    is<std::size_t>(pool.size());
    is<int>(pool.id());
    is<bool>(pool.is_null());
    (void)static_cast<bool>(pool);
    is<bool>(pool == pool);
    is<bool>(pool != pool);
    is<ABT_pool>(pool.native_handle());
    is<unit *>(pool.pop<unit>());
    pool.push(mine);
    pool.remove(mine);
    pool.run_unit(mine);
    pool.add_sched(scheduler);
    pool.revive_thread(thread, function);
    pool.revive_task(task, function);
}

/* Schedulers */

static_assert(std::is_default_constructible<tl::scheduler>::value &&
                  !std::is_convertible<ABT_sched, tl::scheduler>::value &&
                  std::is_constructible<tl::scheduler, ABT_sched>::value,
    "handle");
static_assert(tl::scheduler::type::ult != tl::scheduler::type::task, "types");

class own_scheduler : public tl::scheduler
{
  public:
    using tl::scheduler::scheduler;
    void run()
    {
    }
    tl::pool get_migr_pool() const
    {
        return tl::pool();
    }
};

void scheduler_rows(tl::scheduler &scheduler, const tl::pool &pool)
{
    using predef = tl::scheduler::predef;
    using owner = tl::managed<tl::scheduler>;
    std::vector<tl::pool> pools;

    is<owner>(tl::scheduler::create(predef::deflt, pool));
    is<owner>(tl::scheduler::create(predef::prio, pool));
    is<owner>(
        tl::scheduler::create(predef::randws, pools.begin(), pools.end()));
    is<owner>(
        tl::scheduler::create(predef::basic_wait, pools.begin(), pools.end()));
    (void)tl::scheduler::create<own_scheduler>(pool);
    (void)tl::scheduler::create<own_scheduler>(pools.begin(), pools.end());
    (void)static_cast<std::size_t>(scheduler.num_pools());
    is<tl::pool>(scheduler.get_pool(0));
    is<std::size_t>(scheduler.total_size());
    is<std::size_t>(scheduler.size());
    is<bool>(scheduler.has_to_stop());
    scheduler.exit();
    scheduler.finish();
    is<bool>(scheduler.is_null());
    (void)static_cast<bool>(scheduler);
    is<ABT_sched>(scheduler.native_handle());
}

/* Threads and tasks */

static_assert(std::is_default_constructible<tl::thread>::value &&
                  !std::is_convertible<ABT_thread, tl::thread>::value &&
                  std::is_constructible<tl::thread, ABT_thread>::value,
    "handle");
static_assert(moves_only<tl::thread::attribute>(), "move");
static_assert(tl::thread_state::ready != tl::thread_state::running &&
                  tl::thread_state::blocked != tl::thread_state::terminated &&
                  tl::task_state::ready != tl::task_state::running &&
                  tl::task_state::ready != tl::task_state::terminated,
    "states");

void thread_rows(const tl::engine &engine, const tl::xstream &xstream,
    const tl::scheduler &scheduler, const tl::pool &pool)
{
    tl::thread thread = tl::thread::self();

    thread.join();
    thread.cancel();
    (void)static_cast<std::uint64_t>(thread.id());
    is<tl::thread_state>(thread.state());
    is<std::size_t>(thread.stacksize());
    is<tl::thread::attribute>(thread.get_attribute());
    thread.set_migratable(true);
    is<bool>(thread.is_migratable());
    is<bool>(thread.is_primary());
    thread.resume();
    thread.migrate();
    thread.migrate_to(xstream);
    thread.migrate_to(scheduler);
    thread.migrate_to(pool);
    is<tl::pool>(thread.get_last_pool());
    is<int>(thread.get_last_pool_id());
    is<bool>(thread == thread);
    is<ABT_thread>(thread.native_handle());
    (void)static_cast<std::uint64_t>(tl::thread::self_id());
    tl::thread::exit();
    tl::thread::yield();
    tl::thread::yield_to(thread);
    tl::thread::sleep(engine, 1.5);
}

void attribute_rows(tl::thread::attribute &attribute, void *stack)
{
    attribute.set_stack(stack, 65536);
    is<void *>(attribute.get_stack_address());
    is<std::size_t>(attribute.get_stack_size());
    attribute.set_migratable(true);
    is<ABT_thread_attr>(attribute.native_handle());
}

void task_rows()
{
    tl::task task = tl::task::self();

    task.join();
    task.cancel();
    (void)static_cast<std::uint64_t>(task.id());
    is<tl::task_state>(task.state());
    task.set_migratable(true);
    is<bool>(task.is_migratable());
    is<tl::xstream>(task.get_xstream());
    is<tl::pool>(task.get_last_pool());
    is<int>(task.get_last_pool_id());
    is<bool>(task == task);
    (void)task.native_handle();
    (void)static_cast<std::uint64_t>(tl::task::self_id());
}

void templates(tl::xstream &xstream, tl::pool &pool,
    tl::managed<tl::xstream> &xstreams, tl::managed<tl::pool> &pools,
    tl::managed<tl::scheduler> &schedulers, tl::managed<tl::thread> &threads,
    tl::managed<tl::task> &tasks)
{
    maker_rows(xstream);
    maker_rows(pool);
    managed_rows(xstreams, *xstreams);
    managed_rows(pools, *pools);
    managed_rows(schedulers, *schedulers);
    managed_rows(threads, *threads);
    managed_rows(tasks, *tasks);
    is<tl::managed<tl::pool>>(
        tl::make_managed<tl::pool>(pools->native_handle()));
}

/* What threads wait for */

static_assert(
    moves_only<tl::mutex>() && moves_only<tl::recursive_mutex>() &&
        moves_only<tl::rwlock>() && moves_only<tl::condition_variable>() &&
        moves_only<tl::barrier>() && moves_only<tl::xstream_barrier>() &&
        moves_only<tl::eventual<int>>() && moves_only<tl::eventual<void>>() &&
        moves_only<tl::future<int>>() && copies<tl::timer>(),
    "move");
static_assert(std::has_virtual_destructor<tl::mutex>::value &&
                  std::is_base_of<tl::mutex, tl::recursive_mutex>::value,
    "mutex");

template <typename T, typename Native> void native_rows(T &object)
{
    static_assert(
        std::is_same<typename T::native_handle_type, Native>::value, "type");
    is<Native>(object.native_handle());
}

void lock_rows(tl::rwlock &rwlock)
{
    tl::mutex mutex;
    tl::mutex recursive(true);
    tl::recursive_mutex also_recursive;
    std::unique_lock<tl::mutex> unique(mutex);
    std::lock_guard<tl::mutex> guard(recursive);

    mutex.lock();
    mutex.lock_low();
    mutex.spin_lock();
    is<bool>(mutex.try_lock());
    mutex.unlock();
    mutex.unlock_se();
    rwlock.rdlock();
    rwlock.wrlock();
    rwlock.unlock();
    native_rows<tl::mutex, ABT_mutex>(mutex);
    native_rows<tl::rwlock, ABT_rwlock>(rwlock);
}

void condition_rows(
    tl::condition_variable &condition, std::unique_lock<tl::mutex> &lock)
{
    using clock = std::chrono::system_clock;
    timespec when = {};

    condition.wait(lock);
    condition.wait(lock, [] { return true; });
    condition.notify_one();
    condition.notify_all();
    is<bool>(condition.wait_until(lock, &when));
    is<bool>(condition.wait_until(lock, clock::now()));
    is<bool>(condition.wait_for(lock, std::chrono::milliseconds(1)));
    native_rows<tl::condition_variable, ABT_cond>(condition);
}

void barrier_rows()
{
    tl::barrier barrier(2);
    tl::xstream_barrier streams(2);

    barrier.wait();
    barrier.reinit(3);
    is<std::uint32_t>(barrier.get_num_waiters());
    streams.wait();
    native_rows<tl::barrier, ABT_barrier>(barrier);
    native_rows<tl::xstream_barrier, ABT_xstream_barrier>(streams);
}

void eventual_rows()
{
    tl::eventual<std::string> text;
    tl::eventual<void> nothing;
    const std::string constant;

    text.set_value(constant);
    text.set_value(std::string());
    is<std::string>(text.wait());
    static_assert(
        std::is_rvalue_reference<decltype(std::move(text).wait())>::value,
        "moves");
    is<bool>(text.test());
    text.reset();
    nothing.set_value();
    nothing.wait();
    is<bool>(nothing.test());
    nothing.reset();
    native_rows<tl::eventual<std::string>, ABT_eventual>(text);
    native_rows<tl::eventual<void>, ABT_eventual>(nothing);
}

void future_rows(int *value)
{
    tl::future<int> future(2);
    tl::future<int> calls(
        2, [](const std::vector<int *> &values) { (void)values.size(); });

    future.set(value);
    future.wait();
    is<bool>(calls.test());
    (void)static_cast<bool>(future);
    native_rows<tl::future<int>, ABT_future>(future);
}

void timer_rows()
{
    tl::timer timer;

    timer.start();
    timer.stop();
    is<double>(timer.read());
    is<double>(static_cast<double>(timer));
    static_assert(!std::is_convertible<tl::timer, double>::value, "explicit");
    is<double>(tl::timer::wtime());
    is<double>(tl::timer::overhead());
    native_rows<tl::timer, ABT_timer>(timer);
}

/* Helpers that are visible */

struct callable {
    int operator()(double, char) const
    {
        return 0;
    }
};

static_assert(std::is_same<tl::unwrap_decay_t<std::reference_wrapper<int>>,
                  int &>::value &&
                  std::is_same<tl::unwrap_decay_t<const int &>, int>::value,
    "unwrap");
static_assert(tl::is_std_function_object<std::function<void()>>::value &&
                  !tl::is_std_function_object<callable>::value,
    "function");
static_assert(
    std::is_same<tl::unwrap_refwrapper<std::reference_wrapper<int>>::type,
        int &>::value,
    "unwrap");
static_assert(
    std::is_same<tl::remove_class<decltype(&callable::operator())>::type,
        int(double, char)>::value &&
        std::is_same<tl::strip_function_object<callable>::type,
            int(double, char)>::value &&
        std::is_same<tl::function_signature<callable>::type,
            std::function<int(double, char)>>::value,
    "signature");

int apply_rows(const callable &function)
{
    return tl::apply_function_to_tuple(function, std::make_tuple(2.5, 'x'));
}

} /* namespace names */

int main()
{
    return 0;
}
