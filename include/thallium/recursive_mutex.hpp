/* SPDX-License-Identifier: BSD-3-Clause */
/* Mutexes that their holder may lock again. */
#ifndef THALLIUM_RECURSIVE_MUTEX_HPP
#define THALLIUM_RECURSIVE_MUTEX_HPP

#include <thallium/mutex.hpp>

namespace thallium
{

/** A mutex that its holder may lock again, and unlocks as often. */
class recursive_mutex : public mutex
{
  public:
    /** Creates it. Throws mutex_exception. */
    recursive_mutex() : mutex(true)
    {
    }
};

} /* namespace thallium */

#endif
