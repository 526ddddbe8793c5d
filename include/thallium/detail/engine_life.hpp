/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of an instance, when the last engine that has opened it goes away. */
#ifndef THALLIUM_DETAIL_ENGINE_LIFE_HPP
#define THALLIUM_DETAIL_ENGINE_LIFE_HPP

#include <exception>
#include <margo.h>
#include <thallium/margo_instance_ref.hpp>

namespace thallium
{

namespace detail
{

/* True while an exception looks for its handler. */
inline bool is_unwinding() noexcept
{
#ifdef __cpp_lib_uncaught_exceptions
    return std::uncaught_exceptions() > 0;
#else
    return std::uncaught_exception();
#endif
}

/* True in a thread that drops functions of RPCs in a callback of finalize(). An
 * engine that one of them has captured need not end what is ending. */
inline bool &is_dropping() noexcept
{
    static thread_local bool value = false;

    return value;
}

/* Shared by the copies of an engine. The reference with which the instance was
 * opened stays with finalize(); the object has one of its own. */
class engine_life
{
  public:
    enum end {
        ENDS,    /* is finalized */
        WAITS,   /* somebody has to finalize it */
        RELEASES /* the reference that a program has handed over goes */
    };

    engine_life(margo_instance_id mid, end how) noexcept
        : m_instance(mid), m_end(how)
    {
    }

    engine_life(const engine_life &) = delete;
    engine_life &operator=(const engine_life &) = delete;

    ~engine_life()
    {
        margo_instance_id mid = m_instance.get_margo_instance();
        bool has_ended = false;

        (void)margo_instance_is_finalized(mid, &has_ended);
        if (has_ended || is_dropping())
            return;
        if (m_end == RELEASES)
            (void)margo_instance_release(mid);
        else if (m_end == WAITS && !is_unwinding())
            margo_wait_for_finalize(mid);
        else
            margo_finalize(mid);
    }

  private:
    margo_instance_ref m_instance;
    end m_end;
};

} /* namespace detail */

} /* namespace thallium */

#endif
