/* SPDX-License-Identifier: BSD-3-Clause */
/* Condition variables for threads of Argobots. */
#ifndef THALLIUM_CONDITION_VARIABLE_HPP
#define THALLIUM_CONDITION_VARIABLE_HPP

#include <algorithm>
#include <chrono>
#include <mutex>
#include <ctime>
#include <thallium/detail/abt_check.hpp>
#include <thallium/mutex.hpp>

/** Throws condition_variable_exception: `call` returned the error `code`. */
#define TL_CONDITION_VARIABLE_THROW(call, code)                                \
    TL_ABT_THROW_(condition_variable_exception, #call, code)
/** Throws condition_variable_exception unless the call returns ABT_SUCCESS. */
#define TL_CONDITION_VARIABLE_ASSERT(call)                                     \
    TL_ABT_ASSERT_(condition_variable_exception, call)

namespace thallium
{

/** A call of Argobots for a condition variable failed. */
class condition_variable_exception : public exception
{
  public:
    using exception::exception;
};

/**
 * Lets threads wait for a condition that a mutex protects. A wait may end
 * without a notification, so use a loop or a predicate. The object may be moved
 * while no thread uses it. All functions throw condition_variable_exception.
 */
class condition_variable : public detail::owned_handle<ABT_cond, ABT_cond_free>
{
    /* The point in time `seconds` after now, at most three years after now. */
    static timespec time_in(std::chrono::duration<double> seconds)
    {
        using std::chrono::duration_cast;
        using std::chrono::nanoseconds;
        nanoseconds left = duration_cast<nanoseconds>(
            std::max(std::chrono::duration<double>(0),
                std::min(seconds, std::chrono::duration<double>(1e8))));
        timespec result = {0, 0};

        left += std::chrono::system_clock::now().time_since_epoch();
        result.tv_sec = static_cast<time_t>(left.count() / 1000000000);
        result.tv_nsec = static_cast<long>(left.count() % 1000000000);
        return result;
    }

  public:
    /** Creates a condition variable. */
    condition_variable()
    {
        TL_CONDITION_VARIABLE_ASSERT(ABT_cond_create(&m_handle));
    }

    /** Unlocks the mutex, waits for a notification, and locks the mutex. */
    void wait(std::unique_lock<mutex> &lock)
    {
        TL_CONDITION_VARIABLE_ASSERT(
            ABT_cond_wait(m_handle, lock.mutex()->native_handle()));
    }

    /** Waits until the predicate, called with the lock held, is true. */
    template <typename Predicate>
    void wait(std::unique_lock<mutex> &lock, Predicate &&predicate)
    {
        while (!predicate())
            wait(lock);
    }

    /** Ends the wait of one thread. */
    void notify_one()
    {
        TL_CONDITION_VARIABLE_ASSERT(ABT_cond_signal(m_handle));
    }

    /** Ends the waits of all threads. */
    void notify_all()
    {
        TL_CONDITION_VARIABLE_ASSERT(ABT_cond_broadcast(m_handle));
    }

    /**
     * Waits for a notification until a time of the system clock. Returns false
     * if the time came first. In both cases the mutex is locked on return.
     */
    bool wait_until(std::unique_lock<mutex> &lock, const timespec *until)
    {
        int code =
            ABT_cond_timedwait(m_handle, lock.mutex()->native_handle(), until);

        if (code != ABT_SUCCESS && code != ABT_ERR_COND_TIMEDOUT)
            TL_CONDITION_VARIABLE_THROW(ABT_cond_timedwait, code);
        return code == ABT_SUCCESS;
    }

    /** Waits for a notification until a time of any clock. */
    template <typename Clock, typename Duration>
    bool wait_until(std::unique_lock<mutex> &lock,
        const std::chrono::time_point<Clock, Duration> &until)
    {
        do {
            timespec time = time_in(until - Clock::now());

            if (wait_until(lock, &time))
                return true;
        } while (Clock::now() < until);
        return false;
    }

    /** Waits for a notification for a span of time, at most three years. */
    template <typename Rep, typename Period>
    bool wait_for(std::unique_lock<mutex> &lock,
        const std::chrono::duration<Rep, Period> &span)
    {
        using steady = std::chrono::steady_clock;

        return wait_until(lock,
            steady::now() + std::chrono::duration_cast<steady::duration>(
                                std::min(std::chrono::duration<double>(span),
                                    std::chrono::duration<double>(1e8))));
    }
};

} /* namespace thallium */

#endif
