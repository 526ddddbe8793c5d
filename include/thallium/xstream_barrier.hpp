/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers of execution streams. */
#ifndef THALLIUM_XSTREAM_BARRIER_HPP
#define THALLIUM_XSTREAM_BARRIER_HPP

#include <cstdint>
#include <thallium/detail/abt_check.hpp>

/** Throws xstream_barrier_exception: `call` returned the error `code`. */
#define TL_XSTREAM_BARRIER_THROW(call, code)                                   \
    TL_ABT_THROW_(xstream_barrier_exception, #call, code)
/** Throws xstream_barrier_exception unless the call returns ABT_SUCCESS. */
#define TL_XSTREAM_BARRIER_ASSERT(call)                                        \
    TL_ABT_ASSERT_(xstream_barrier_exception, call)

namespace thallium
{

/** A call of Argobots for a barrier of execution streams failed. */
class xstream_barrier_exception : public exception
{
  public:
    using exception::exception;
};

/**
 * Lets a number of execution streams wait for each other: a waiting thread
 * blocks its stream. The object may be moved while no thread uses it. All
 * functions throw xstream_barrier_exception.
 */
class xstream_barrier
    : public detail::owned_handle<ABT_xstream_barrier, ABT_xstream_barrier_free>
{
  public:
    /** Creates a barrier for a number of streams. */
    explicit xstream_barrier(uint32_t num_waiters)
    {
        TL_XSTREAM_BARRIER_ASSERT(
            ABT_xstream_barrier_create(num_waiters, &m_handle));
    }

    /** Waits until as many streams as were given have called wait(). */
    void wait()
    {
        TL_XSTREAM_BARRIER_ASSERT(ABT_xstream_barrier_wait(m_handle));
    }
};

} /* namespace thallium */

#endif
