/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of Argobots. */
#ifndef THALLIUM_THREAD_HPP
#define THALLIUM_THREAD_HPP

#include <cstddef>
#include <margo.h>
#include <thallium/detail/abt_handle.hpp>
#include <thallium/detail/thread_attribute.hpp>

namespace thallium
{

/** What a thread does. */
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
    /** Numbers of threads. */
    using id_type = ABT_unit_id;

    /** Refers to nothing. */
    thread() = default;

    /** Refers to a thread, which somebody else frees. */
    explicit thread(ABT_thread handle) noexcept : borrowed_handle(handle)
    {
    }

    /** Waits until it has ended. */
    void join() const
    {
        TL_THREAD_ASSERT(ABT_thread_join(m_handle));
    }

    /** Asks it to end at its next switch. */
    void cancel() const
    {
        TL_THREAD_ASSERT(ABT_thread_cancel(m_handle));
    }

    /** Its number. */
    id_type id() const
    {
        ABT_unit_id result = 0;

        TL_THREAD_ASSERT(ABT_thread_get_id(m_handle, &result));
        return result;
    }

    /** What it does now. */
    thread_state state() const
    {
        ABT_thread_state result = ABT_THREAD_STATE_READY;

        TL_THREAD_ASSERT(ABT_thread_get_state(m_handle, &result));
        return static_cast<thread_state>(result);
    }

    /** The bytes of its stack. */
    std::size_t stacksize() const
    {
        std::size_t result = 0;

        TL_THREAD_ASSERT(ABT_thread_get_stacksize(m_handle, &result));
        return result;
    }

    /** What it was created with. */
    attribute get_attribute() const
    {
        ABT_thread_attr result = ABT_THREAD_ATTR_NULL;

        TL_THREAD_ASSERT(ABT_thread_get_attr(m_handle, &result));
        return attribute(result);
    }

    /** May it move to another pool? */
    void set_migratable(bool is_migratable) const
    {
        TL_THREAD_ASSERT(ABT_thread_set_migratable(
            m_handle, is_migratable ? ABT_TRUE : ABT_FALSE));
    }

    /** May it move to another pool? */
    bool is_migratable() const
    {
        ABT_bool result = ABT_FALSE;

        TL_THREAD_ASSERT(ABT_thread_is_migratable(m_handle, &result));
        return result == ABT_TRUE;
    }

    /** Is it the thread that initialized Argobots? */
    bool is_primary() const
    {
        ABT_bool result = ABT_FALSE;

        TL_THREAD_ASSERT(ABT_thread_is_primary(m_handle, &result));
        return result == ABT_TRUE;
    }

    /** Ends its self::suspend(). */
    void resume() const
    {
        TL_THREAD_ASSERT(ABT_thread_resume(m_handle));
    }

    /** Moves it to some other execution stream. */
    void migrate() const
    {
        TL_THREAD_ASSERT(ABT_thread_migrate(m_handle));
    }

    /** Moves it to a pool of an execution stream. */
    void migrate_to(const xstream &target) const;

    /** Moves it to a pool of a scheduler. */
    void migrate_to(const scheduler &target) const;

    /** Moves it to a pool. */
    void migrate_to(const pool &target) const;

    /** The pool that it was taken from, or is in. */
    pool get_last_pool() const;

    /** The number of that pool. */
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

    /** Lets others run. */
    static void yield()
    {
        TL_THREAD_ASSERT(ABT_thread_yield());
    }

    /** Lets this one run at once; it must be ready. */
    static void yield_to(const thread &other)
    {
        TL_THREAD_ASSERT(ABT_thread_yield_to(other.m_handle));
    }

    /** Blocks the calling thread for milliseconds, timed by the engine. */
    template <typename Engine>
    static void sleep(const Engine &timed_by, double milliseconds)
    {
        margo_thread_sleep(timed_by.get_margo_instance(), milliseconds);
    }
};

} /* namespace thallium */

#include <thallium/detail/abt_relations.hpp>

#endif
