/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles that own nothing, and the start of work: shared by pool, xstream,
 * scheduler, thread and task.
 *
 * The headers of these five classes only declare functions that need two of
 * the classes complete; abt_relations.hpp, included last, defines these. */
#ifndef THALLIUM_DETAIL_ABT_HANDLE_HPP
#define THALLIUM_DETAIL_ABT_HANDLE_HPP

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>
#include <thallium/anonymous.hpp>
#include <thallium/detail/abt_check.hpp>
#include <thallium/detail/abt_leftovers.hpp>
#include <thallium/managed.hpp>

namespace thallium
{

class pool;
class scheduler;
class task;
class thread;
class xstream;

namespace detail
{

template <typename Pool, typename Unit, typename PoolAllocator,
    typename UnitAllocator>
struct user_pool;
template <typename Sched> struct user_sched;

/* See scheduler::predef. */
enum class sched_predef {
    deflt = ABT_SCHED_DEFAULT,
    basic = ABT_SCHED_BASIC,
    prio = ABT_SCHED_PRIO,
    randws = ABT_SCHED_RANDWS,
    basic_wait = ABT_SCHED_BASIC_WAIT
};

/* An object of Argobots that somebody else frees. */
template <typename Handle> class borrowed_handle
{
  public:
    /** The type of the object in abt.h. */
    using native_handle_type = Handle;

    /** The object's handle for calls of abt.h; its owner stays the same. */
    native_handle_type native_handle() const noexcept
    {
        return m_handle;
    }

    /** Does this refer to nothing? */
    bool is_null() const noexcept
    {
        return m_handle == Handle();
    }

    /** Does this refer to an object? */
    explicit operator bool() const noexcept
    {
        return !is_null();
    }

    /** Do the two handles refer to the same object? */
    friend bool operator==(
        const borrowed_handle &one, const borrowed_handle &other) noexcept
    {
        return one.m_handle == other.m_handle;
    }

    /** Do the two handles refer to different objects? */
    friend bool operator!=(
        const borrowed_handle &one, const borrowed_handle &other) noexcept
    {
        return !(one == other);
    }

  protected:
    Handle m_handle = Handle();

    borrowed_handle() = default;

    explicit borrowed_handle(Handle handle) noexcept : m_handle(handle)
    {
    }

    borrowed_handle(const borrowed_handle &) = default;
    borrowed_handle &operator=(const borrowed_handle &) = default;

    /* `other` refers to nothing afterwards. */
    borrowed_handle(borrowed_handle &&other) noexcept
        : m_handle(std::exchange(other.m_handle, Handle()))
    {
    }

    borrowed_handle &operator=(borrowed_handle &&other) noexcept
    {
        m_handle = std::exchange(other.m_handle, Handle());
        return *this;
    }

    ~borrowed_handle() = default;
};

/* The handle of a pool, or of a managed pool. */
template <typename T>
inline auto pool_handle_of(const T &one) -> decltype(one.native_handle())
{
    return one.native_handle();
}

template <typename T>
inline auto pool_handle_of(const managed<T> &one)
    -> decltype(one->native_handle())
{
    return one->native_handle();
}

template <typename Iterator>
inline std::vector<ABT_pool> pool_handles(
    const Iterator &begin, const Iterator &end)
{
    std::vector<ABT_pool> result;

    for (Iterator it = begin; it != end; ++it)
        result.push_back(pool_handle_of(*it));
    return result;
}

/* The function of a thread or task. Frees the argument, which start_work() has
 * allocated, before the call, because the callable may never return. */
template <typename Work> inline void run_work(void *arg) noexcept
{
    Work work(std::move(*static_cast<Work *>(arg)));

    delete static_cast<Work *>(arg);
    work();
}

/* Copies or moves the callable to the heap and calls start(function, argument),
 * which passes function and argument to Argobots. */
template <typename Exception, typename Function, typename Start>
inline void start_work(
    const char *call, Function &&function, const Start &start)
{
    using work_type = typename std::decay<Function>::type;
    std::unique_ptr<work_type> work(
        new work_type(std::forward<Function>(function)));
    int code = start(&run_work<work_type>, static_cast<void *>(work.get()));

    if (code != ABT_SUCCESS)
        throw_abt<Exception>(call, code, __FILE__, __LINE__);
    work.release();
}

} /* namespace detail */

} /* namespace thallium */

#endif
