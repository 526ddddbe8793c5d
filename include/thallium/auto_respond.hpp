/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers at the end of a scope. */
#ifndef THALLIUM_ENGINE_HPP
#include <thallium/engine.hpp> /* the headers that come before */
#endif
#ifndef THALLIUM_AUTO_RESPOND_HPP
#define THALLIUM_AUTO_RESPOND_HPP

#include <margo.h>
#include <thallium/detail/callback.hpp>
#include <thallium/request.hpp>

namespace thallium
{

/**
 * Answers a request, with the value that `data` then has, when the object is
 * destroyed. Margo logs a failure. Neither copied nor moved.
 */
template <typename T> class auto_respond
{
    request m_request;
    T &m_data;

  public:
    /** Copies the request; `data` must live as long as the object. */
    auto_respond(const request &req, T &data) : m_request(req), m_data(data)
    {
    }

    auto_respond(const auto_respond &) = delete;
    auto_respond &operator=(const auto_respond &) = delete;

    /** Answers. Never throws. */
    ~auto_respond()
    {
        try {
            m_request.respond(m_data);
        } catch (...) {
            margo_error(margo_hg_handle_get_instance(m_request.native_handle()),
                "auto_respond: %s", detail::current_error());
        }
    }
};

} /* namespace thallium */

#endif
