/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks for many readers or one writer. */
#ifndef THALLIUM_RWLOCK_HPP
#define THALLIUM_RWLOCK_HPP

#include <thallium/detail/abt_check.hpp>

/** Throws rwlock_exception: `call` returned the error `code`. */
#define TL_RWLOCK_THROW(call, code) TL_ABT_THROW_(rwlock_exception, #call, code)
/** Throws rwlock_exception unless the call returns ABT_SUCCESS. */
#define TL_RWLOCK_ASSERT(call) TL_ABT_ASSERT_(rwlock_exception, call)

namespace thallium
{

/** A call of Argobots for a reader-writer lock failed. */
class rwlock_exception : public exception
{
  public:
    using exception::exception;
};

/**
 * A lock that several readers or one writer hold. The object may be moved while
 * no thread uses it. All functions throw rwlock_exception.
 */
class rwlock : public detail::owned_handle<ABT_rwlock, ABT_rwlock_free>
{
  public:
    /** Creates a lock. */
    rwlock()
    {
        TL_RWLOCK_ASSERT(ABT_rwlock_create(&m_handle));
    }

    /** Waits for writers and takes the lock for reading. */
    void rdlock()
    {
        TL_RWLOCK_ASSERT(ABT_rwlock_rdlock(m_handle));
    }

    /** Waits for all other holders and takes the lock for writing. */
    void wrlock()
    {
        TL_RWLOCK_ASSERT(ABT_rwlock_wrlock(m_handle));
    }

    /** Releases the lock after rdlock() or wrlock(). */
    void unlock()
    {
        TL_RWLOCK_ASSERT(ABT_rwlock_unlock(m_handle));
    }
};

} /* namespace thallium */

#endif
