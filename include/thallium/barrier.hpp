/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers of threads. */
#ifndef THALLIUM_BARRIER_HPP
#define THALLIUM_BARRIER_HPP

#include <cstdint>
#include <thallium/detail/abt_check.hpp>

/** Throws barrier_exception: `call` returned the error `code`. */
#define TL_BARRIER_THROW(call, code)                                           \
    TL_ABT_THROW_(barrier_exception, #call, code)
/** Throws barrier_exception unless the call returns ABT_SUCCESS. */
#define TL_BARRIER_ASSERT(call) TL_ABT_ASSERT_(barrier_exception, call)

namespace thallium
{

/** A call of Argobots for a barrier failed. */
class barrier_exception : public exception
{
  public:
    using exception::exception;
};

/**
 * Lets a number of threads wait for each other, again and again. The object
 * may be moved while no thread uses it. All functions throw barrier_exception.
 */
class barrier : public detail::owned_handle<ABT_barrier, ABT_barrier_free>
{
  public:
    /** Creates a barrier for a number of threads. */
    explicit barrier(uint32_t num_waiters)
    {
        TL_BARRIER_ASSERT(ABT_barrier_create(num_waiters, &m_handle));
    }

    /** Waits until get_num_waiters() threads have called wait(). */
    void wait()
    {
        TL_BARRIER_ASSERT(ABT_barrier_wait(m_handle));
    }

    /** Changes the number of threads, while no thread waits. */
    void reinit(uint32_t num_waiters)
    {
        TL_BARRIER_ASSERT(ABT_barrier_reinit(m_handle, num_waiters));
    }

    /** The number of threads that wait for each other. */
    uint32_t get_num_waiters() const
    {
        uint32_t count = 0;

        TL_BARRIER_ASSERT(ABT_barrier_get_num_waiters(m_handle, &count));
        return count;
    }
};

} /* namespace thallium */

#endif
