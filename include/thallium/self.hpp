/* SPDX-License-Identifier: BSD-3-Clause */
/* The calling thread or task. */
#ifndef THALLIUM_SELF_HPP
#define THALLIUM_SELF_HPP

#include <thallium/detail/abt_check.hpp>
#include <thallium/unit_type.hpp>

/** Throws self_exception: `call` returned the error `code`. */
#define TL_SELF_THROW(call, code) TL_ABT_THROW_(self_exception, #call, code)
/** Throws self_exception unless the call returns ABT_SUCCESS. */
#define TL_SELF_ASSERT(call) TL_ABT_ASSERT_(self_exception, call)

namespace thallium
{

/** A call of Argobots about the calling thread failed. */
class self_exception : public exception
{
  public:
    using exception::exception;
};

/** Questions about the caller. All functions throw self_exception. */
class self
{
  public:
    self() = delete;

    /** The kind of work unit that calls; never xstream. */
    static unit_type get_unit_type()
    {
        ABT_unit_type type = ABT_UNIT_TYPE_THREAD;
        int code = ABT_self_get_type(&type);

        if (code == ABT_ERR_INV_XSTREAM)
            return unit_type::other;
        if (code != ABT_SUCCESS)
            TL_SELF_THROW(ABT_self_get_type, code);
        return type == ABT_UNIT_TYPE_THREAD ? unit_type::thread
               : type == ABT_UNIT_TYPE_TASK ? unit_type::task
                                            : unit_type::other;
    }

    /** Is the caller the thread that initialized Argobots? */
    static bool is_primary()
    {
        ABT_bool answer = ABT_FALSE;

        TL_SELF_ASSERT(ABT_self_is_primary(&answer));
        return answer == ABT_TRUE;
    }

    /** Does the caller run on the stream that initialized Argobots? */
    static bool on_primary_xstream()
    {
        ABT_bool answer = ABT_FALSE;

        TL_SELF_ASSERT(ABT_self_on_primary_xstream(&answer));
        return answer == ABT_TRUE;
    }

    /** The number of the pool that the caller was popped from last. */
    static int get_last_pool_id()
    {
        int id = 0;

        TL_SELF_ASSERT(ABT_self_get_last_pool_id(&id));
        return id;
    }

    /** Blocks the caller until another thread calls thread::resume(). */
    static void suspend()
    {
        TL_SELF_ASSERT(ABT_self_suspend());
    }
};

} /* namespace thallium */

#endif
