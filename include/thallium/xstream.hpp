/* SPDX-License-Identifier: BSD-3-Clause */
/* Execution streams: OS threads that run the work of pools. */
#ifndef THALLIUM_XSTREAM_HPP
#define THALLIUM_XSTREAM_HPP

#include <vector>
#include <thallium/detail/abt_handle.hpp>
#include <thallium/detail/thread_attribute.hpp>

/** Throws xstream_exception: `call` returned the error `code`. */
#define TL_XSTREAM_THROW(call, code)                                           \
    TL_ABT_THROW_(xstream_exception, #call, code)
/** Throws xstream_exception unless the call returns ABT_SUCCESS. */
#define TL_XSTREAM_ASSERT(call) TL_ABT_ASSERT_(xstream_exception, call)

namespace thallium
{

/** A call of Argobots for an execution stream failed. */
class xstream_exception : public exception
{
  public:
    using exception::exception;
};

/** State of an execution stream. */
enum class xstream_state {
    running = ABT_XSTREAM_STATE_RUNNING,
    terminated = ABT_XSTREAM_STATE_TERMINATED
};

/**
 * Refers to an execution stream; managed<xstream> owns one. All functions throw
 * xstream_exception, make_thread() also thread_exception and make_task()
 * task_exception.
 */
class xstream : public detail::borrowed_handle<ABT_xstream>
{
    friend class managed<xstream>;

    static void destroy(xstream &object) noexcept
    {
        detail::must_succeed(ABT_xstream_free(&object.m_handle), "xstream");
    }

    static managed<xstream> create_of(
        detail::sched_predef which, std::vector<ABT_pool> pools)
    {
        ABT_xstream result = ABT_XSTREAM_NULL;

        TL_XSTREAM_ASSERT(
            ABT_xstream_create_basic(static_cast<ABT_sched_predef>(which),
                static_cast<int>(pools.size()), pools.data(),
                ABT_SCHED_CONFIG_NULL, &result));
        return make_managed<xstream>(result);
    }

  public:
    /** Refers to nothing. */
    xstream() = default;

    /** Refers to an execution stream, which somebody else frees. */
    explicit xstream(ABT_xstream handle) noexcept : borrowed_handle(handle)
    {
    }

    /** Starts a stream with a scheduler and a pool of its own. */
    static managed<xstream> create()
    {
        ABT_xstream result = ABT_XSTREAM_NULL;

        TL_XSTREAM_ASSERT(ABT_xstream_create(ABT_SCHED_NULL, &result));
        return make_managed<xstream>(result);
    }

    /** Starts a stream that runs a pool. */
    static managed<xstream> create(detail::sched_predef which, const pool &one);

    /** Starts a stream that runs several pools, or managed pools. */
    template <typename Iterator>
    static managed<xstream> create(
        detail::sched_predef which, const Iterator &begin, const Iterator &end)
    {
        return create_of(which, detail::pool_handles(begin, end));
    }

    /** Starts a stream with this scheduler, which must outlive the stream. */
    static managed<xstream> create(const scheduler &one);

    /** Starts a stream with a scheduler and a rank that no other stream has. */
    static managed<xstream> create(const scheduler &one, int rank);

    /** Waits until the pools are empty and the stream has ended. */
    void join() const
    {
        TL_XSTREAM_ASSERT(ABT_xstream_join(m_handle));
    }

    /** Asks the stream to end, even with work left in its pools. */
    void cancel() const
    {
        TL_XSTREAM_ASSERT(ABT_xstream_cancel(m_handle));
    }

    /** Starts the stream once more after join(). */
    void revive() const
    {
        TL_XSTREAM_ASSERT(ABT_xstream_revive(m_handle));
    }

    /** The rank (number) of the stream. */
    int get_rank() const
    {
        int result = 0;

        TL_XSTREAM_ASSERT(ABT_xstream_get_rank(m_handle, &result));
        return result;
    }

    /** Sets a rank that no other stream has. */
    void set_rank(int rank) const
    {
        TL_XSTREAM_ASSERT(ABT_xstream_set_rank(m_handle, rank));
    }

    /** Is this the stream that initialized Argobots? */
    bool is_primary() const
    {
        ABT_bool result = ABT_FALSE;

        TL_XSTREAM_ASSERT(ABT_xstream_is_primary(m_handle, &result));
        return result == ABT_TRUE;
    }

    /** The current state of the stream. */
    xstream_state state() const
    {
        ABT_xstream_state result = ABT_XSTREAM_STATE_RUNNING;

        TL_XSTREAM_ASSERT(ABT_xstream_get_state(m_handle, &result));
        return static_cast<xstream_state>(result);
    }

    /** The processor that the stream is bound to. */
    int get_cpubind() const
    {
        int result = 0;

        TL_XSTREAM_ASSERT(ABT_xstream_get_cpubind(m_handle, &result));
        return result;
    }

    /** Binds the stream to a processor. */
    void set_cpubind(int cpu) const
    {
        TL_XSTREAM_ASSERT(ABT_xstream_set_cpubind(m_handle, cpu));
    }

    /** The processors that the stream may run on. */
    std::vector<int> get_affinity() const
    {
        int count = 0;

        TL_XSTREAM_ASSERT(
            ABT_xstream_get_affinity(m_handle, 0, nullptr, &count));
        std::vector<int> result(static_cast<std::size_t>(count));
        TL_XSTREAM_ASSERT(
            ABT_xstream_get_affinity(m_handle, count, result.data(), &count));
        return result;
    }

    /** Binds the stream to several processors. */
    template <typename Iterator>
    void set_affinity(const Iterator &begin, const Iterator &end) const
    {
        std::vector<int> cpus(begin, end);

        TL_XSTREAM_ASSERT(ABT_xstream_set_affinity(
            m_handle, static_cast<int>(cpus.size()), cpus.data()));
    }

    /** Sets another scheduler, which must outlive the stream. */
    void set_main_sched(const scheduler &one) const;

    /** Sets a predefined scheduler with pools, or managed pools. */
    template <typename Iterator>
    void set_main_sched(detail::sched_predef which, const Iterator &begin,
        const Iterator &end) const
    {
        std::vector<ABT_pool> pools = detail::pool_handles(begin, end);

        TL_XSTREAM_ASSERT(ABT_xstream_set_main_sched_basic(m_handle,
            static_cast<ABT_sched_predef>(which),
            static_cast<int>(pools.size()), pools.data()));
    }

    /** The main scheduler of the stream. */
    scheduler get_main_sched() const;

    /** The first max pools of the main scheduler; -1: all pools. */
    std::vector<pool> get_main_pools(int max = -1) const;

    /** Sets a new default scheduler with a pool of its own. */
    void reset_scheduler_to_default() const
    {
        TL_XSTREAM_ASSERT(ABT_xstream_set_main_sched(m_handle, ABT_SCHED_NULL));
    }

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

    /** Ends the calling stream, as cancel() does. */
    static void exit()
    {
        TL_XSTREAM_ASSERT(ABT_xstream_exit());
    }

    /** The calling stream. */
    static xstream self()
    {
        ABT_xstream result = ABT_XSTREAM_NULL;

        TL_XSTREAM_ASSERT(ABT_xstream_self(&result));
        return xstream(result);
    }

    /** The rank of the calling stream. */
    static int self_rank()
    {
        int result = 0;

        TL_XSTREAM_ASSERT(ABT_xstream_self_rank(&result));
        return result;
    }

    /** The number of streams that exist. */
    static int num()
    {
        int result = 0;

        TL_XSTREAM_ASSERT(ABT_xstream_get_num(&result));
        return result;
    }

    /** For run() of a scheduler, as Argobots requires; does nothing here. */
    static void check_events(const scheduler &caller);
};

} /* namespace thallium */

#include <thallium/detail/abt_relations.hpp>

#endif
