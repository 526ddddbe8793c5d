/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks (tasklets) of Argobots. */
#ifndef THALLIUM_TASK_HPP
#define THALLIUM_TASK_HPP

#include <thallium/detail/abt_handle.hpp>

/** Throws task_exception: `call` returned the error `code`. */
#define TL_TASK_THROW(call, code) TL_ABT_THROW_(task_exception, #call, code)
/** Throws task_exception unless the call returns ABT_SUCCESS. */
#define TL_TASK_ASSERT(call) TL_ABT_ASSERT_(task_exception, call)

namespace thallium
{

/** A call of Argobots for a task failed. */
class task_exception : public exception
{
  public:
    using exception::exception;
};

/** State of a task. */
enum class task_state {
    ready = ABT_TASK_STATE_READY,
    running = ABT_TASK_STATE_RUNNING,
    terminated = ABT_TASK_STATE_TERMINATED
};

/**
 * Refers to a task: work that runs to its end without a stack of its own, and
 * so must not wait. make_task() of a pool or an xstream creates a task;
 * managed<task> owns a task. All functions throw task_exception.
 */
class task : public detail::borrowed_handle<ABT_task>
{
    friend class managed<task>;

    static void destroy(task &object) noexcept
    {
        detail::must_succeed(ABT_task_free(&object.m_handle), "task");
    }

  public:
    /** The type of task numbers. */
    using id_type = ABT_unit_id;

    /** Refers to nothing. */
    task() = default;

    /** Refers to a task, which somebody else frees. */
    explicit task(ABT_task handle) noexcept : borrowed_handle(handle)
    {
    }

    /** Waits until the task has ended. */
    void join() const
    {
        TL_TASK_ASSERT(ABT_task_join(m_handle));
    }

    /** Asks the task not to start. */
    void cancel() const
    {
        TL_TASK_ASSERT(ABT_task_cancel(m_handle));
    }

    /** The number (id) of the task. */
    id_type id() const
    {
        ABT_unit_id result = 0;

        TL_TASK_ASSERT(ABT_task_get_id(m_handle, &result));
        return result;
    }

    /** The current state of the task. */
    task_state state() const
    {
        ABT_task_state result = ABT_TASK_STATE_READY;

        TL_TASK_ASSERT(ABT_task_get_state(m_handle, &result));
        return static_cast<task_state>(result);
    }

    /** Sets whether the task may move to another pool. */
    void set_migratable(bool is_migratable) const
    {
        TL_TASK_ASSERT(ABT_task_set_migratable(
            m_handle, is_migratable ? ABT_TRUE : ABT_FALSE));
    }

    /** May the task move to another pool? */
    bool is_migratable() const
    {
        ABT_bool result = ABT_FALSE;

        TL_TASK_ASSERT(ABT_task_is_migratable(m_handle, &result));
        return result == ABT_TRUE;
    }

    /** The execution stream that runs or ran the task. */
    xstream get_xstream() const;

    /** The pool that the task is in, or that it was popped from last. */
    pool get_last_pool() const;

    /** The number of the pool of get_last_pool(). */
    int get_last_pool_id() const
    {
        int result = 0;

        TL_TASK_ASSERT(ABT_task_get_last_pool_id(m_handle, &result));
        return result;
    }

    /** The calling task. */
    static task self()
    {
        ABT_task result = ABT_TASK_NULL;

        TL_TASK_ASSERT(ABT_task_self(&result));
        return task(result);
    }

    /** The number of the calling task. */
    static id_type self_id()
    {
        ABT_unit_id result = 0;

        TL_TASK_ASSERT(ABT_task_self_id(&result));
        return result;
    }
};

} /* namespace thallium */

#include <thallium/detail/abt_relations.hpp>

#endif
