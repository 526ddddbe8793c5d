/* SPDX-License-Identifier: BSD-3-Clause */
/* Initialization of Argobots, as an object. */
#ifndef THALLIUM_ABT_HPP
#define THALLIUM_ABT_HPP

#include <thallium/detail/abt_check.hpp>
#include <thallium/detail/abt_leftovers.hpp>

/** Throws abt_exception: `call` returned the error `code`. */
#define TL_ABT_THROW(call, code) TL_ABT_THROW_(abt_exception, #call, code)
/** Throws abt_exception unless the call returns ABT_SUCCESS. */
#define TL_ABT_ASSERT(call) TL_ABT_ASSERT_(abt_exception, call)

namespace thallium
{

/** Argobots could not be initialized or finalized. */
class abt_exception : public exception
{
  public:
    using exception::exception;
};

/**
 * Argobots is initialized as long as the object lives. Programs with an engine
 * need no such object: an engine initializes Argobots itself.
 */
class abt
{
  public:
    /** Initializes Argobots, or counts one more user. */
    abt()
    {
        initialize();
    }

    abt(const abt &) = delete;
    abt &operator=(const abt &) = delete;

    /** Finalizes Argobots if this was the last user. */
    ~abt()
    {
        detail::abt_leftovers::get().free_all();
        detail::must_succeed(ABT_finalize(), "abt");
    }

    /** Initializes Argobots without an object; call finalize() later. */
    static void initialize()
    {
        TL_ABT_ASSERT(ABT_init(0, nullptr));
    }

    /** Is Argobots initialized? */
    static bool initialized()
    {
        return ABT_initialized() == ABT_SUCCESS;
    }

    /** Undoes one initialize(). */
    static void finalize()
    {
        detail::abt_leftovers::get().free_all();
        TL_ABT_ASSERT(ABT_finalize());
    }
};

} /* namespace thallium */

#endif
