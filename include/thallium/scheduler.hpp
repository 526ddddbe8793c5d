/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedulers, which take work units from pools and run them. */
#ifndef THALLIUM_SCHEDULER_HPP
#define THALLIUM_SCHEDULER_HPP

#include <cstddef>
#include <thallium/detail/abt_handle.hpp>

/** Throws scheduler_exception: `call` returned the error `code`. */
#define TL_SCHEDULER_THROW(call, code)                                         \
    TL_ABT_THROW_(scheduler_exception, #call, code)
/** Throws scheduler_exception unless the call returns ABT_SUCCESS. */
#define TL_SCHEDULER_ASSERT(call) TL_ABT_ASSERT_(scheduler_exception, call)

namespace thallium
{

/** A call of Argobots for a scheduler failed. */
class scheduler_exception : public exception
{
  public:
    using exception::exception;
};

/**
 * Refers to a scheduler; managed<scheduler> owns one. All functions throw
 * scheduler_exception. Programs derive their own schedulers from this class.
 */
class scheduler : public detail::borrowed_handle<ABT_sched>
{
    friend class managed<scheduler>;

    static void destroy(scheduler &object) noexcept
    {
        int code = ABT_sched_free(&object.m_handle);

        if (code == ABT_ERR_SCHED)
            detail::abt_leftovers::get().keep(object.m_handle);
        else
            detail::must_succeed(code, "scheduler");
    }

    static managed<scheduler> create_of(
        detail::sched_predef which, std::vector<ABT_pool> pools);

    static managed<scheduler> create_of(
        ABT_sched_def definition, std::vector<ABT_pool> pools)
    {
        ABT_sched result = ABT_SCHED_NULL;

        TL_SCHEDULER_ASSERT(
            ABT_sched_create(&definition, static_cast<int>(pools.size()),
                pools.data(), ABT_SCHED_CONFIG_NULL, &result));
        return make_managed<scheduler>(result);
    }

  public:
    /** The predefined schedulers of Argobots. */
    using predef = detail::sched_predef;

    /** Kind of the work unit of a scheduler that is pushed to a pool. */
    enum class type { ult = ABT_SCHED_TYPE_ULT, task = ABT_SCHED_TYPE_TASK };

    /** Refers to nothing. */
    scheduler() = default;

    /** Refers to a scheduler, which somebody else frees. */
    explicit scheduler(ABT_sched handle) noexcept : borrowed_handle(handle)
    {
    }

    /** Creates a scheduler of one pool. */
    static managed<scheduler> create(predef which, const pool &one);

    /** Creates a scheduler of several pools, or managed pools. */
    template <typename Iterator>
    static managed<scheduler> create(
        predef which, const Iterator &begin, const Iterator &end)
    {
        return create_of(which, detail::pool_handles(begin, end));
    }

    /**
     * Creates a scheduler that the program implements. Sched derives from
     * scheduler, is constructible from ABT_sched, which it passes to scheduler,
     * and has run() and get_migr_pool() -> pool; run() returns when
     * has_to_stop() is true, and calls xstream::check_events() now and then.
     */
    template <typename Sched> static managed<scheduler> create(const pool &one);

    /** Creates a Sched for several pools, or managed pools. */
    template <typename Sched, typename Iterator>
    static managed<scheduler> create(
        const Iterator &begin, const Iterator &end);

    /** The number of pools of the scheduler. */
    int num_pools() const
    {
        int result = 0;

        TL_SCHEDULER_ASSERT(ABT_sched_get_num_pools(m_handle, &result));
        return result;
    }

    /** The pool at an index, from 0. */
    pool get_pool(int index) const;

    /** The number of units of all pools, blocked units included. */
    std::size_t total_size() const
    {
        std::size_t result = 0;

        TL_SCHEDULER_ASSERT(ABT_sched_get_total_size(m_handle, &result));
        return result;
    }

    /** The number of units that are ready in all pools. */
    std::size_t size() const
    {
        std::size_t result = 0;

        TL_SCHEDULER_ASSERT(ABT_sched_get_size(m_handle, &result));
        return result;
    }

    /** Must run() return now? */
    bool has_to_stop() const
    {
        ABT_bool result = ABT_FALSE;

        TL_SCHEDULER_ASSERT(ABT_sched_has_to_stop(m_handle, &result));
        return result == ABT_TRUE;
    }

    /** Asks the scheduler to end at once. */
    void exit() const
    {
        TL_SCHEDULER_ASSERT(ABT_sched_exit(m_handle));
    }

    /** Asks the scheduler to end when its pools are empty. */
    void finish() const
    {
        TL_SCHEDULER_ASSERT(ABT_sched_finish(m_handle));
    }
};

} /* namespace thallium */

#include <thallium/detail/abt_relations.hpp>

#endif
