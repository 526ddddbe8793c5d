/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that this process serves. */
#ifndef THALLIUM_ENGINE_HPP
#include <thallium/engine.hpp> /* includes this header at its place */
#endif
#ifndef THALLIUM_REQUEST_HPP
#define THALLIUM_REQUEST_HPP

#include <tuple>
#include <utility>
#include <margo.h>
#include <thallium/detail/handle_ref.hpp>
#include <thallium/endpoint.hpp>
#include <thallium/exception.hpp>
#include <thallium/packed_data.hpp>
#include <thallium/proc_object.hpp>
#include <thallium/reference_util.hpp>

namespace thallium
{

namespace detail
{

template <typename F, typename... Args> class rpc_function_of;

} /* namespace detail */

/**
 * A request that the handler of an RPC serves. Copies refer to the same
 * request, and may answer it after the handler has returned. If the last copy
 * is destroyed without an answer, Margo answers with HG_CANCELED, unless the
 * RPC has no response. Ctx are the types of the serialization context of the
 * answer.
 */
template <typename... Ctx> class request_with_context
{
    template <typename... Other> friend class request_with_context;
    template <typename F, typename... Args>
    friend class detail::rpc_function_of;

    detail::handle_ref m_handle;
    mutable std::tuple<Ctx...> m_context;

  public:
    /** Makes a request of a handle. */
    request_with_context(detail::handle_ref handle, std::tuple<Ctx...> context)
        : m_handle(std::move(handle)), m_context(std::move(context))
    {
    }

    /**
     * Answers with any number of objects, and waits until the answer has left.
     * Throws margo_exception, exception if the RPC has no response, and the
     * exceptions of the objects' serialization.
     */
    template <typename... T> void respond(const T &...objects) const
    {
        detail::objects_coder<std::tuple<Ctx...>, const T...> coder(
            m_context, m_handle.mid(), objects...);
        hg_return_t ret = margo_respond(m_handle.get(), coder.to_encode());

        THALLIUM_ASSERT_CONDITION(ret != HG_OPNOTSUPPORTED,
            m_handle.name() + " has no response: disable_response()");
        detail::check_encoded(m_handle, false, coder, "margo_respond", ret);
    }

    /** The process that made the call. Throws margo_exception. */
    endpoint get_endpoint() const
    {
        const struct hg_info *info = margo_get_info(m_handle.get());

        THALLIUM_ASSERT_CONDITION(info != nullptr, "the request is empty");
        return endpoint(margo_instance_ref(m_handle.mid()), info->addr, false);
    }

    /** The arguments, for a handler that decodes them itself. */
    packed_data<> get_input() const
    {
        return packed_data<>(m_handle, true, std::tuple<>());
    }

    /** The handle, borrowed. */
    hg_handle_t native_handle() const noexcept
    {
        return m_handle.get();
    }

    /**
     * Returns the request with context objects for the serialize() functions
     * of the answer. Each object is copied, or referred to if it is passed as
     * std::ref().
     */
    template <typename... Other>
    request_with_context<unwrap_decay_t<Other>...> with_serialization_context(
        Other &&...objects) const
    {
        return request_with_context<unwrap_decay_t<Other>...>(
            m_handle, std::make_tuple(std::forward<Other>(objects)...));
    }
};

/** A request without a serialization context, as handlers get it. */
using request = request_with_context<>;

} /* namespace thallium */

#endif
