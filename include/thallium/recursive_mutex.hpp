/* SPDX-License-Identifier: BSD-3-Clause */
/* Mutexes that the holder may lock again. */
#ifndef THALLIUM_RECURSIVE_MUTEX_HPP
#define THALLIUM_RECURSIVE_MUTEX_HPP

#include <thallium/mutex.hpp>

namespace thallium
{

/** A mutex that the holder may lock again, and has to unlock as often. */
class recursive_mutex : public mutex
{
  public:
    /** Creates a recursive mutex. Throws mutex_exception. */
    recursive_mutex() : mutex(true)
    {
    }
};

} /* namespace thallium */

#endif
