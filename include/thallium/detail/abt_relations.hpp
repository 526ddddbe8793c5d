/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of pool, xstream, scheduler, thread and task that need another of
 * these five classes as a complete type. */
#ifndef THALLIUM_DETAIL_ABT_RELATIONS_HPP
#define THALLIUM_DETAIL_ABT_RELATIONS_HPP

#include <thallium/pool.hpp>
#include <thallium/scheduler.hpp>
#include <thallium/task.hpp>
#include <thallium/thread.hpp>
#include <thallium/xstream.hpp>
#include <thallium/detail/user_pool.hpp>
#include <thallium/detail/user_sched.hpp>

namespace thallium
{

inline void thread::migrate_to(const xstream &target) const
{
    TL_THREAD_ASSERT(
        ABT_thread_migrate_to_xstream(m_handle, target.native_handle()));
}

inline void thread::migrate_to(const scheduler &target) const
{
    TL_THREAD_ASSERT(
        ABT_thread_migrate_to_sched(m_handle, target.native_handle()));
}

inline void thread::migrate_to(const pool &target) const
{
    TL_THREAD_ASSERT(
        ABT_thread_migrate_to_pool(m_handle, target.native_handle()));
}

inline pool thread::get_last_pool() const
{
    ABT_pool result = ABT_POOL_NULL;

    TL_THREAD_ASSERT(ABT_thread_get_last_pool(m_handle, &result));
    return pool(result);
}

inline xstream task::get_xstream() const
{
    ABT_xstream result = ABT_XSTREAM_NULL;

    TL_TASK_ASSERT(ABT_task_get_xstream(m_handle, &result));
    return xstream(result);
}

inline pool task::get_last_pool() const
{
    ABT_pool result = ABT_POOL_NULL;

    TL_TASK_ASSERT(ABT_task_get_last_pool(m_handle, &result));
    return pool(result);
}

inline void pool::add_sched(const scheduler &one) const
{
    TL_POOL_ASSERT(ABT_pool_add_sched(m_handle, one.native_handle()));
}

template <typename Pool, typename Unit, typename PoolAllocator,
    typename UnitAllocator>
inline managed<pool> pool::create()
{
    ABT_pool_def definition = detail::user_pool<Pool, Unit, PoolAllocator,
        UnitAllocator>::definition();
    ABT_pool result = ABT_POOL_NULL;

    TL_POOL_ASSERT(ABT_pool_create(&definition, ABT_POOL_CONFIG_NULL, &result));
    return make_managed<pool>(result);
}

template <typename Function>
inline managed<thread> pool::make_thread(Function &&function) const
{
    ABT_thread result = ABT_THREAD_NULL;

    detail::start_work<thread_exception>("ABT_thread_create",
        std::forward<Function>(function), [&](void (*work)(void *), void *arg) {
            return ABT_thread_create(
                m_handle, work, arg, ABT_THREAD_ATTR_NULL, &result);
        });
    return make_managed<thread>(result);
}

template <typename Function>
inline managed<thread> pool::make_thread(
    Function &&function, const detail::thread_attribute &attributes) const
{
    ABT_thread result = ABT_THREAD_NULL;

    detail::start_work<thread_exception>("ABT_thread_create",
        std::forward<Function>(function), [&](void (*work)(void *), void *arg) {
            return ABT_thread_create(
                m_handle, work, arg, attributes.native_handle(), &result);
        });
    return make_managed<thread>(result);
}

template <typename Function>
inline void pool::make_thread(Function &&function, const anonymous &) const
{
    detail::start_work<thread_exception>("ABT_thread_create",
        std::forward<Function>(function), [&](void (*work)(void *), void *arg) {
            return ABT_thread_create(
                m_handle, work, arg, ABT_THREAD_ATTR_NULL, nullptr);
        });
}

template <typename Function>
inline void pool::make_thread(Function &&function,
    const detail::thread_attribute &attributes, const anonymous &) const
{
    detail::start_work<thread_exception>("ABT_thread_create",
        std::forward<Function>(function), [&](void (*work)(void *), void *arg) {
            return ABT_thread_create(
                m_handle, work, arg, attributes.native_handle(), nullptr);
        });
}

template <typename Function>
inline managed<task> pool::make_task(Function &&function) const
{
    ABT_task result = ABT_TASK_NULL;

    detail::start_work<task_exception>("ABT_task_create",
        std::forward<Function>(function), [&](void (*work)(void *), void *arg) {
            return ABT_task_create(m_handle, work, arg, &result);
        });
    return make_managed<task>(result);
}

template <typename Function>
inline void pool::make_task(Function &&function, const anonymous &) const
{
    detail::start_work<task_exception>("ABT_task_create",
        std::forward<Function>(function), [&](void (*work)(void *), void *arg) {
            return ABT_task_create(m_handle, work, arg, nullptr);
        });
}

template <typename Function>
inline void pool::revive_thread(thread &ended, Function &&function) const
{
    ABT_thread handle = ended.native_handle();

    detail::start_work<thread_exception>("ABT_thread_revive",
        std::forward<Function>(function), [&](void (*work)(void *), void *arg) {
            return ABT_thread_revive(m_handle, work, arg, &handle);
        });
    ended = thread(handle);
}

template <typename Function>
inline void pool::revive_task(task &ended, Function &&function) const
{
    ABT_task handle = ended.native_handle();

    detail::start_work<task_exception>("ABT_task_revive",
        std::forward<Function>(function), [&](void (*work)(void *), void *arg) {
            return ABT_task_revive(m_handle, work, arg, &handle);
        });
    ended = task(handle);
}

template <typename Function>
inline managed<thread> xstream::make_thread(Function &&function) const
{
    ABT_thread result = ABT_THREAD_NULL;

    detail::start_work<thread_exception>("ABT_thread_create_on_xstream",
        std::forward<Function>(function), [&](void (*work)(void *), void *arg) {
            return ABT_thread_create_on_xstream(
                m_handle, work, arg, ABT_THREAD_ATTR_NULL, &result);
        });
    return make_managed<thread>(result);
}

template <typename Function>
inline managed<thread> xstream::make_thread(
    Function &&function, const detail::thread_attribute &attributes) const
{
    ABT_thread result = ABT_THREAD_NULL;

    detail::start_work<thread_exception>("ABT_thread_create_on_xstream",
        std::forward<Function>(function), [&](void (*work)(void *), void *arg) {
            return ABT_thread_create_on_xstream(
                m_handle, work, arg, attributes.native_handle(), &result);
        });
    return make_managed<thread>(result);
}

template <typename Function>
inline void xstream::make_thread(Function &&function, const anonymous &) const
{
    detail::start_work<thread_exception>("ABT_thread_create_on_xstream",
        std::forward<Function>(function), [&](void (*work)(void *), void *arg) {
            return ABT_thread_create_on_xstream(
                m_handle, work, arg, ABT_THREAD_ATTR_NULL, nullptr);
        });
}

template <typename Function>
inline void xstream::make_thread(Function &&function,
    const detail::thread_attribute &attributes, const anonymous &) const
{
    detail::start_work<thread_exception>("ABT_thread_create_on_xstream",
        std::forward<Function>(function), [&](void (*work)(void *), void *arg) {
            return ABT_thread_create_on_xstream(
                m_handle, work, arg, attributes.native_handle(), nullptr);
        });
}

template <typename Function>
inline managed<task> xstream::make_task(Function &&function) const
{
    ABT_task result = ABT_TASK_NULL;

    detail::start_work<task_exception>("ABT_task_create_on_xstream",
        std::forward<Function>(function), [&](void (*work)(void *), void *arg) {
            return ABT_task_create_on_xstream(m_handle, work, arg, &result);
        });
    return make_managed<task>(result);
}

template <typename Function>
inline void xstream::make_task(Function &&function, const anonymous &) const
{
    detail::start_work<task_exception>("ABT_task_create_on_xstream",
        std::forward<Function>(function), [&](void (*work)(void *), void *arg) {
            return ABT_task_create_on_xstream(m_handle, work, arg, nullptr);
        });
}

inline managed<xstream> xstream::create(
    detail::sched_predef which, const pool &one)
{
    return create_of(which, {one.native_handle()});
}

inline managed<xstream> xstream::create(const scheduler &one)
{
    ABT_xstream result = ABT_XSTREAM_NULL;

    TL_XSTREAM_ASSERT(ABT_xstream_create(one.native_handle(), &result));
    return make_managed<xstream>(result);
}

inline managed<xstream> xstream::create(const scheduler &one, int rank)
{
    ABT_xstream result = ABT_XSTREAM_NULL;

    TL_XSTREAM_ASSERT(
        ABT_xstream_create_with_rank(one.native_handle(), rank, &result));
    return make_managed<xstream>(result);
}

inline void xstream::set_main_sched(const scheduler &one) const
{
    TL_XSTREAM_ASSERT(
        ABT_xstream_set_main_sched(m_handle, one.native_handle()));
}

inline scheduler xstream::get_main_sched() const
{
    ABT_sched result = ABT_SCHED_NULL;

    TL_XSTREAM_ASSERT(ABT_xstream_get_main_sched(m_handle, &result));
    return scheduler(result);
}

inline std::vector<pool> xstream::get_main_pools(int max) const
{
    int count = get_main_sched().num_pools();
    std::vector<pool> result;

    if (max >= 0 && max < count)
        count = max;
    if (count == 0) /* ABT_xstream_get_main_pools() refuses 0 */
        return result;
    std::vector<ABT_pool> pools(static_cast<std::size_t>(count));
    TL_XSTREAM_ASSERT(
        ABT_xstream_get_main_pools(m_handle, count, pools.data()));
    for (ABT_pool one : pools)
        result.emplace_back(one);
    return result;
}

inline void xstream::check_events(const scheduler &caller)
{
    TL_XSTREAM_ASSERT(ABT_xstream_check_events(caller.native_handle()));
}

inline managed<scheduler> scheduler::create_of(
    predef which, std::vector<ABT_pool> pools)
{
    ABT_sched_config config = ABT_SCHED_CONFIG_NULL;
    ABT_sched result = ABT_SCHED_NULL;

    /* An automatic scheduler would be freed by its stream, too. */
    TL_SCHEDULER_ASSERT(ABT_sched_config_create(
        &config, ABT_sched_config_automatic, 0, ABT_sched_config_var_end));
    int code = ABT_sched_create_basic(static_cast<ABT_sched_predef>(which),
        static_cast<int>(pools.size()), pools.data(), config, &result);
    ABT_sched_config_free(&config);
    if (code != ABT_SUCCESS)
        TL_SCHEDULER_THROW(ABT_sched_create_basic, code);
    return make_managed<scheduler>(result);
}

inline managed<scheduler> scheduler::create(predef which, const pool &one)
{
    return create_of(which, {one.native_handle()});
}

template <typename Sched>
inline managed<scheduler> scheduler::create(const pool &one)
{
    return create_of(
        detail::user_sched<Sched>::definition(), {one.native_handle()});
}

template <typename Sched, typename Iterator>
inline managed<scheduler> scheduler::create(
    const Iterator &begin, const Iterator &end)
{
    return create_of(detail::user_sched<Sched>::definition(),
        detail::pool_handles(begin, end));
}

inline pool scheduler::get_pool(int index) const
{
    ABT_pool result = ABT_POOL_NULL;

    TL_SCHEDULER_ASSERT(ABT_sched_get_pools(m_handle, 1, index, &result));
    return pool(result);
}

} /* namespace thallium */

#endif
