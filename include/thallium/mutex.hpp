/* SPDX-License-Identifier: BSD-3-Clause */
/* Mutexes for threads of Argobots. */
#ifndef THALLIUM_MUTEX_HPP
#define THALLIUM_MUTEX_HPP

#include <utility>
#include <thallium/detail/abt_check.hpp>

/** Throws mutex_exception: `call` returned the error `code`. */
#define TL_MUTEX_THROW(call, code) TL_ABT_THROW_(mutex_exception, #call, code)
/** Throws mutex_exception unless the call returns ABT_SUCCESS. */
#define TL_MUTEX_ASSERT(call) TL_ABT_ASSERT_(mutex_exception, call)

namespace thallium
{

/** A call of Argobots for a mutex failed. */
class mutex_exception : public exception
{
  public:
    using exception::exception;
};

/**
 * A lock that a thread of Argobots waits for without blocking its execution
 * stream. Works with std::unique_lock and std::lock_guard. The object may be
 * moved while no thread uses it. All functions throw mutex_exception.
 */
class mutex : public detail::owned_handle<ABT_mutex, ABT_mutex_free>
{
    static ABT_mutex create(bool recursive)
    {
        ABT_mutex_attr attributes = ABT_MUTEX_ATTR_NULL;
        ABT_mutex result = ABT_MUTEX_NULL;
        int code = ABT_SUCCESS;

        if (!recursive) {
            TL_MUTEX_ASSERT(ABT_mutex_create(&result));
            return result;
        }
        TL_MUTEX_ASSERT(ABT_mutex_attr_create(&attributes));
        code = ABT_mutex_attr_set_recursive(attributes, ABT_TRUE);
        if (code == ABT_SUCCESS)
            code = ABT_mutex_create_with_attr(attributes, &result);
        ABT_mutex_attr_free(&attributes);
        if (code != ABT_SUCCESS)
            TL_MUTEX_THROW(ABT_mutex_create_with_attr, code);
        return result;
    }

  public:
    /** Creates a mutex; the holder of a recursive mutex may lock it again. */
    explicit mutex(bool recursive = false)
    {
        m_handle = create(recursive);
    }

    mutex(mutex &&) noexcept = default;
    mutex &operator=(mutex &&) noexcept = default;
    virtual ~mutex() = default;

    /** Locks the mutex, and waits if another thread holds it. */
    void lock()
    {
        TL_MUTEX_ASSERT(ABT_mutex_lock(m_handle));
    }

    /** Calls ABT_mutex_lock_low(), which in this library locks as lock(). */
    void lock_low()
    {
        TL_MUTEX_ASSERT(ABT_mutex_lock_low(m_handle));
    }

    /** Locks; polls for some time before it waits as lock() does. */
    void spin_lock()
    {
        TL_MUTEX_ASSERT(ABT_mutex_spinlock(m_handle));
    }

    /** Locks the mutex if it is free, and returns whether it was. */
    bool try_lock()
    {
        int code = ABT_mutex_trylock(m_handle);

        if (code != ABT_SUCCESS && code != ABT_ERR_MUTEX_LOCKED)
            TL_MUTEX_THROW(ABT_mutex_trylock, code);
        return code == ABT_SUCCESS;
    }

    /** Unlocks the mutex. */
    void unlock()
    {
        TL_MUTEX_ASSERT(ABT_mutex_unlock(m_handle));
    }

    /** Calls ABT_mutex_unlock_se(), in this library equal to unlock(). */
    void unlock_se()
    {
        TL_MUTEX_ASSERT(ABT_mutex_unlock_se(m_handle));
    }
};

} /* namespace thallium */

#endif
