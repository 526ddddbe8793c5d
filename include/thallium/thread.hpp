/* SPDX-License-Identifier: BSD-3-Clause */
/* User-level threads of Argobots. */
#ifndef THALLIUM_THREAD_HPP
#define THALLIUM_THREAD_HPP

#include <cstddef>
#include <margo.h>
#include <thallium/detail/abt_handle.hpp>
#include <thallium/detail/thread_attribute.hpp>

namespace thallium
{

/** State of a thread. */
enum class thread_state {
    ready = ABT_THREAD_STATE_READY,
    running = ABT_THREAD_STATE_RUNNING,
    blocked = ABT_THREAD_STATE_BLOCKED,
    terminated = ABT_THREAD_STATE_TERMINATED
};

/**
 * Refers to a thread with a stack, which make_thread() of a pool or an xstream
 * creates; managed<thread> owns one. All functions throw thread_exception.
 */
class thread : public detail::borrowed_handle<ABT_thread>
{
    friend class managed<thread>;

    static void destroy(thread &object) noexcept
    {
        detail::must_succeed(ABT_thread_free(&object.m_handle), "thread");
    }

  public:
    /** The attributes of a new thread. */
    using attribute = detail::thread_attribute;
    /** The type of thread numbers. */
    using id_type = ABT_unit_id;

    /** Refers to nothing. */
    thread() = default;

    /** Refers to a thread, which somebody else frees. */
    explicit thread(ABT_thread handle) noexcept : borrowed_handle(handle)
    {
    }

    /** Waits until the thread has ended. */
    void join() const
    {
        TL_THREAD_ASSERT(ABT_thread_join(m_handle));
    }

    /** Asks the thread to end at its next switch. */
    void cancel() const
    {
        TL_THREAD_ASSERT(ABT_thread_cancel(m_handle));
    }

    /** The number (id) of the thread. */
    id_type id() const
    {
        ABT_unit_id result = 0;

        TL_THREAD_ASSERT(ABT_thread_get_id(m_handle, &result));
        return result;
    }

    /** The current state of the thread. */
    thread_state state() const
    {
        ABT_thread_state result = ABT_THREAD_STATE_READY;

        TL_THREAD_ASSERT(ABT_thread_get_state(m_handle, &result));
        return static_cast<thread_state>(result);
    }

    /** The size of the stack in bytes. */
    std::size_t stacksize() const
    {
        std::size_t result = 0;

        TL_THREAD_ASSERT(ABT_thread_get_stacksize(m_handle, &result));
        return result;
    }

    /** The attributes that the thread was created with. */
    attribute get_attribute() const
    {
        ABT_thread_attr result = ABT_THREAD_ATTR_NULL;

        TL_THREAD_ASSERT(ABT_thread_get_attr(m_handle, &result));
        return attribute(result);
    }

    /** Sets whether the thread may move to another pool. */
    void set_migratable(bool is_migratable) const
    {
        TL_THREAD_ASSERT(ABT_thread_set_migratable(
            m_handle, is_migratable ? ABT_TRUE : ABT_FALSE));
    }

    /** May the thread move to another pool? */
    bool is_migratable() const
    {
        ABT_bool result = ABT_FALSE;

        TL_THREAD_ASSERT(ABT_thread_is_migratable(m_handle, &result));
        return result == ABT_TRUE;
    }

    /** Is this the thread that initialized Argobots? */
    bool is_primary() const
    {
        ABT_bool result = ABT_FALSE;

        TL_THREAD_ASSERT(ABT_thread_is_primary(m_handle, &result));
        return result == ABT_TRUE;
    }

    /** Ends the self::suspend() of this thread. */
    void resume() const
    {
        TL_THREAD_ASSERT(ABT_thread_resume(m_handle));
    }

    /** Asks the thread to move to some other execution stream. */
    void migrate() const
    {
        TL_THREAD_ASSERT(ABT_thread_migrate(m_handle));
    }

    /** Asks the thread to move to a pool of an execution stream. */
    void migrate_to(const xstream &target) const;

    /** Asks the thread to move to a pool of a scheduler. */
    void migrate_to(const scheduler &target) const;

    /** Asks the thread to move to a pool. */
    void migrate_to(const pool &target) const;

    /** The pool that the thread is in, or that it was popped from last. */
    pool get_last_pool() const;

    /** The number of the pool of get_last_pool(). */
    int get_last_pool_id() const
    {
        int result = 0;

        TL_THREAD_ASSERT(ABT_thread_get_last_pool_id(m_handle, &result));
        return result;
    }

    /** The calling thread. */
    static thread self()
    {
        ABT_thread result = ABT_THREAD_NULL;

        TL_THREAD_ASSERT(ABT_thread_self(&result));
        return thread(result);
    }

    /** The number of the calling thread. */
    static id_type self_id()
    {
        ABT_unit_id result = 0;

        TL_THREAD_ASSERT(ABT_thread_self_id(&result));
        return result;
    }

    /** Ends the calling thread; local variables are not destroyed. */
    static void exit()
    {
        TL_THREAD_ASSERT(ABT_thread_exit());
    }

    /** Lets other work of the stream run. */
    static void yield()
    {
        TL_THREAD_ASSERT(ABT_thread_yield());
    }

    /** Lets `other` run at once, which must be ready. */
    static void yield_to(const thread &other)
    {
        TL_THREAD_ASSERT(ABT_thread_yield_to(other.m_handle));
    }

    /** Blocks the calling thread; the engine's loop ends the sleep. */
    template <typename Engine>
    static void sleep(const Engine &timed_by, double milliseconds)
    {
        margo_thread_sleep(timed_by.get_margo_instance(), milliseconds);
    }
};

} /* namespace thallium */

#include <thallium/detail/abt_relations.hpp>

#endif
