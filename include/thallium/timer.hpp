/* SPDX-License-Identifier: BSD-3-Clause */
/* Stopwatches. */
#ifndef THALLIUM_TIMER_HPP
#define THALLIUM_TIMER_HPP

#include <utility>
#include <thallium/detail/abt_check.hpp>

/** Throws timer_exception: `call` returned the error `code`. */
#define TL_TIMER_THROW(call, code) TL_ABT_THROW_(timer_exception, #call, code)
/** Throws timer_exception unless the call returns ABT_SUCCESS. */
#define TL_TIMER_ASSERT(call) TL_ABT_ASSERT_(timer_exception, call)

namespace thallium
{

/** A call of Argobots for a timer failed. */
class timer_exception : public exception
{
  public:
    using exception::exception;
};

/**
 * Measures the time from start() to stop(). Can be copied and moved. All
 * functions but wtime() throw timer_exception.
 */
class timer : public detail::owned_handle<ABT_timer, ABT_timer_free>
{
  public:
    /** Creates a timer that was not started. */
    timer()
    {
        TL_TIMER_ASSERT(ABT_timer_create(&m_handle));
    }

    /** Copies the times of start() and stop(). */
    timer(const timer &other) : owned_handle()
    {
        if (other.m_handle != ABT_TIMER_NULL)
            TL_TIMER_ASSERT(ABT_timer_dup(other.m_handle, &m_handle));
    }

    timer(timer &&) noexcept = default;

    /** Copies the times of start() and stop(). */
    timer &operator=(const timer &other)
    {
        return *this = timer(other);
    }

    timer &operator=(timer &&) noexcept = default;

    /** Stores the current time as the start. */
    void start()
    {
        TL_TIMER_ASSERT(ABT_timer_start(m_handle));
    }

    /** Stores the current time as the end. */
    void stop()
    {
        TL_TIMER_ASSERT(ABT_timer_stop(m_handle));
    }

    /** The time between start and end, in seconds. */
    double read() const
    {
        double seconds = 0;

        TL_TIMER_ASSERT(ABT_timer_read(m_handle, &seconds));
        return seconds;
    }

    /** Calls read(). */
    explicit operator double() const
    {
        return read();
    }

    /** The time since some moment of the past, in seconds. */
    static double wtime()
    {
        return ABT_get_wtime();
    }

    /** The time that start() and stop() take, in seconds. */
    static double overhead()
    {
        double seconds = 0;

        TL_TIMER_ASSERT(ABT_timer_get_overhead(&seconds));
        return seconds;
    }
};

} /* namespace thallium */

#endif
