/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of threads and tasks that are ready. */
#ifndef THALLIUM_POOL_HPP
#define THALLIUM_POOL_HPP

#include <cstddef>
#include <memory>
#include <thallium/detail/abt_handle.hpp>
#include <thallium/detail/thread_attribute.hpp>

/** Throws pool_exception: `call` returned the error `code`. */
#define TL_POOL_THROW(call, code) TL_ABT_THROW_(pool_exception, #call, code)
/** Throws pool_exception unless the call returns ABT_SUCCESS. */
#define TL_POOL_ASSERT(call) TL_ABT_ASSERT_(pool_exception, call)

namespace thallium
{

/** A call of Argobots for a pool failed. */
class pool_exception : public exception
{
  public:
    using exception::exception;
};

/**
 * Refers to a pool; managed<pool> owns one. All functions throw pool_exception,
 * make_thread() also thread_exception and make_task() task_exception.
 */
class pool : public detail::borrowed_handle<ABT_pool>
{
    friend class managed<pool>;

    static void destroy(pool &object) noexcept
    {
        int code = ABT_pool_free(&object.m_handle);

        if (code == ABT_ERR_POOL)
            detail::abt_leftovers::get().keep(object.m_handle);
        else
            detail::must_succeed(code, "pool");
    }

  public:
    /** Streams that may push (p) and pop (c): one (s) or several (m). */
    enum class access {
        priv = ABT_POOL_ACCESS_PRIV,
        spsc = ABT_POOL_ACCESS_SPSC,
        mpsc = ABT_POOL_ACCESS_MPSC,
        spmc = ABT_POOL_ACCESS_SPMC,
        mpmc = ABT_POOL_ACCESS_MPMC
    };

    /** The order of work; a scheduler can sleep in a pool of fifo_wait. */
    enum class kind { fifo = ABT_POOL_FIFO, fifo_wait = ABT_POOL_FIFO_WAIT };

    /** Refers to nothing. */
    pool() = default;

    /** Refers to a pool, which somebody else frees. */
    explicit pool(ABT_pool handle) noexcept : borrowed_handle(handle)
    {
    }

    /** Creates a pool. */
    static managed<pool> create(access allowed, kind order = kind::fifo)
    {
        ABT_pool result = ABT_POOL_NULL;

        TL_POOL_ASSERT(ABT_pool_create_basic(static_cast<ABT_pool_kind>(order),
            static_cast<ABT_pool_access>(allowed), ABT_FALSE, &result));
        return make_managed<pool>(result);
    }

    /**
     * Creates a pool that the program implements.
     *
     * Pool is default constructible and has get_size(), push(Unit *),
     * pop() -> Unit *, remove(Unit *) and a static access_type of type
     * pool::access; several threads call these functions. Unit is constructible
     * from thread and from task, and has get_type() -> unit_type, get_thread(),
     * get_task() and is_in_pool(). The last two parameters are the allocators
     * of Pool and Unit. None of these functions may throw.
     */
    template <typename Pool, typename Unit,
        typename PoolAllocator = std::allocator<Pool>,
        typename UnitAllocator = std::allocator<Unit>>
    static managed<pool> create();

    /** The streams that may use the pool. */
    access get_access() const
    {
        ABT_pool_access result = ABT_POOL_ACCESS_PRIV;

        TL_POOL_ASSERT(ABT_pool_get_access(m_handle, &result));
        return static_cast<access>(result);
    }

    /** The number of units of the pool, blocked units included. */
    std::size_t total_size() const
    {
        std::size_t result = 0;

        TL_POOL_ASSERT(ABT_pool_get_total_size(m_handle, &result));
        return result;
    }

    /** The number of units that are ready in the pool. */
    std::size_t size() const
    {
        std::size_t result = 0;

        TL_POOL_ASSERT(ABT_pool_get_size(m_handle, &result));
        return result;
    }

    /** The number (id) of the pool. */
    int id() const
    {
        int result = 0;

        TL_POOL_ASSERT(ABT_pool_get_id(m_handle, &result));
        return result;
    }

    /** Pops a unit of a pool that the program implements; null: no unit. */
    template <typename Unit> Unit *pop() const
    {
        ABT_unit result = ABT_UNIT_NULL;

        TL_POOL_ASSERT(ABT_pool_pop(m_handle, &result));
        return reinterpret_cast<Unit *>(result);
    }

    /** Pushes a unit into a pool that the program implements. */
    template <typename Unit> void push(Unit *unit) const
    {
        TL_POOL_ASSERT(
            ABT_pool_push(m_handle, reinterpret_cast<ABT_unit>(unit)));
    }

    /** Removes a unit from a pool that the program implements. */
    template <typename Unit> void remove(Unit *unit) const
    {
        TL_POOL_ASSERT(
            ABT_pool_remove(m_handle, reinterpret_cast<ABT_unit>(unit)));
    }

    /** For run() of a scheduler: runs a unit that was popped. */
    template <typename Unit> void run_unit(Unit *unit) const
    {
        TL_POOL_ASSERT(
            ABT_xstream_run_unit(reinterpret_cast<ABT_unit>(unit), m_handle));
    }

    /** Runs a scheduler as work of this pool. */
    void add_sched(const scheduler &one) const;

    /** Starts a thread that calls the function, which is moved or copied. */
    template <typename Function>
    managed<thread> make_thread(Function &&function) const;

    /** Starts a thread with attributes. */
    template <typename Function>
    managed<thread> make_thread(
        Function &&function, const detail::thread_attribute &attributes) const;

    /** Starts a thread without a handle; the thread frees itself. */
    template <typename Function>
    void make_thread(Function &&function, const anonymous &) const;

    /** Starts a thread with attributes and without a handle. */
    template <typename Function>
    void make_thread(Function &&function,
        const detail::thread_attribute &attributes, const anonymous &) const;

    /** Starts a task that calls the function, which is moved or copied. */
    template <typename Function>
    managed<task> make_task(Function &&function) const;

    /** Starts a task without a handle; the task frees itself. */
    template <typename Function>
    void make_task(Function &&function, const anonymous &) const;

    /** Restarts a thread that has ended, with another function. */
    template <typename Function>
    void revive_thread(thread &ended, Function &&function) const;

    /** Restarts a task that has ended, with another function. */
    template <typename Function>
    void revive_task(task &ended, Function &&function) const;
};

} /* namespace thallium */

#include <thallium/detail/abt_relations.hpp>

#endif
