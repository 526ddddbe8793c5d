/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends an instance when the last copy of the engine that opened it ends. */
#ifndef THALLIUM_DETAIL_ENGINE_LIFE_HPP
#define THALLIUM_DETAIL_ENGINE_LIFE_HPP

#include <exception>
#include <amalgam_thallium.h>
#include <margo.h>
#include <thallium/margo_instance_ref.hpp>

namespace thallium
{

namespace detail
{

/* True while an exception unwinds the stack. */
inline bool is_unwinding() noexcept
{
#ifdef __cpp_lib_uncaught_exceptions
    return std::uncaught_exceptions() > 0;
#else
    return std::uncaught_exception();
#endif
}

/* Shared by the copies of an engine. finalize() drops the reference of the
 * opening call; this object has a reference of its own. */
class engine_life
{
    margo_instance_ref m_instance;
    amalgam_margo_engine_how m_end;

  public:
    engine_life(margo_instance_id mid, amalgam_margo_engine_how how) noexcept
        : m_instance(mid), m_end(how)
    {
    }

    engine_life(const engine_life &) = delete;
    engine_life &operator=(const engine_life &) = delete;

    ~engine_life()
    {
        if (m_end == AMALGAM_MARGO_ENGINE_WAITS && is_unwinding())
            m_end = AMALGAM_MARGO_ENGINE_ENDS;
        amalgam_margo_engine_end(m_instance.get_margo_instance(), m_end);
    }
};

} /* namespace detail */

} /* namespace thallium */

#endif
