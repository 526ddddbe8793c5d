/* SPDX-License-Identifier: BSD-3-Clause */
/* RPCs that are bound to a target. */
#ifndef THALLIUM_ENGINE_HPP
#include <thallium/engine.hpp> /* includes this header at its place */
#endif
#ifndef THALLIUM_CALLABLE_REMOTE_PROCEDURE_HPP
#define THALLIUM_CALLABLE_REMOTE_PROCEDURE_HPP

#include <chrono>
#include <cstdint>
#include <tuple>
#include <utility>
#include <margo.h>
#include <thallium/async_response.hpp>
#include <thallium/detail/handle_ref.hpp>
#include <thallium/packed_data.hpp>
#include <thallium/proc_object.hpp>
#include <thallium/reference_util.hpp>

namespace thallium
{

/**
 * An RPC that is bound to a target. The object owns one handle, so only one
 * call may be under way at a time: for another call bind the RPC again. Ctx are
 * the types of the serialization context of the arguments.
 *
 * operator(), timed(), async() and timed_async() throw margo_exception if the
 * call cannot be sent, or failed, and what the arguments' serialization throws.
 */
template <typename... Ctx> class callable_remote_procedure_with_context
{
    detail::handle_ref m_handle;
    std::uint16_t m_provider_id = 0;
    bool m_ignores_response = false;
    mutable std::tuple<Ctx...> m_context;

    template <typename... T>
    void forward(double timeout_ms, const T &...args) const
    {
        detail::objects_coder<std::tuple<Ctx...>, const T...> coder(
            m_context, m_handle.mid(), args...);
        hg_return_t ret = margo_provider_forward_timed(
            m_provider_id, m_handle.get(), coder.to_encode(), timeout_ms);

        detail::check_encoded(m_handle, true, coder, "margo_forward", ret);
    }

    template <typename... T>
    async_response iforward(double timeout_ms, const T &...args) const
    {
        detail::objects_coder<std::tuple<Ctx...>, const T...> coder(
            m_context, m_handle.mid(), args...);
        margo_request request = MARGO_REQUEST_NULL;
        hg_return_t ret = margo_provider_iforward_timed(m_provider_id,
            m_handle.get(), coder.to_encode(), timeout_ms, &request);

        detail::check_encoded(m_handle, true, coder, "margo_iforward", ret);
        return async_response(m_handle, request, m_ignores_response);
    }

    packed_data<> answer() const
    {
        if (m_ignores_response)
            return packed_data<>();
        return packed_data<>(m_handle, false, std::tuple<>());
    }

  public:
    /** Binds a handle that was created for the RPC and its target. */
    callable_remote_procedure_with_context(detail::handle_ref handle,
        std::uint16_t provider_id, bool ignores_response,
        std::tuple<Ctx...> context)
        : m_handle(std::move(handle)), m_provider_id(provider_id),
          m_ignores_response(ignores_response), m_context(std::move(context))
    {
    }

    /** Calls with the arguments, waits, and returns the answer. */
    template <typename... T> packed_data<> operator()(const T &...args) const &
    {
        forward(0, args...);
        return answer();
    }

    /* On a temporary object: the answer takes the handle over. */
    template <typename... T> packed_data<> operator()(const T &...args) &&
    {
        forward(0, args...);
        if (m_ignores_response)
            return packed_data<>();
        return packed_data<>(std::move(m_handle), false, std::tuple<>());
    }

    /** Calls, and throws timeout if the answer does not come in time. */
    template <typename Rep, typename Period, typename... T>
    packed_data<> timed(
        const std::chrono::duration<Rep, Period> &limit, const T &...args) const
    {
        forward(detail::milliseconds_of(limit), args...);
        return answer();
    }

    /** Sends the call and does not wait; the arguments may change at once. */
    template <typename... T> async_response async(const T &...args) const
    {
        return iforward(0, args...);
    }

    /** Sends the call; wait() throws timeout if the answer is too late. */
    template <typename Rep, typename Period, typename... T>
    async_response timed_async(
        const std::chrono::duration<Rep, Period> &limit, const T &...args) const
    {
        return iforward(detail::milliseconds_of(limit), args...);
    }

    /**
     * Returns the RPC with context objects for serialize() functions. Each
     * object is copied, or referred to if it is passed as std::ref().
     */
    template <typename... Other>
    callable_remote_procedure_with_context<unwrap_decay_t<Other>...>
    with_serialization_context(Other &&...objects) const
    {
        return callable_remote_procedure_with_context<unwrap_decay_t<Other>...>(
            m_handle, m_provider_id, m_ignores_response,
            std::make_tuple(std::forward<Other>(objects)...));
    }
};

/** An RPC that is bound to a target, without a serialization context. */
using callable_remote_procedure = callable_remote_procedure_with_context<>;

} /* namespace thallium */

#endif
