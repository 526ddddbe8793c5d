/* SPDX-License-Identifier: BSD-3-Clause */
/* The base class of providers (services). */
#ifndef THALLIUM_PROVIDER_HPP
#define THALLIUM_PROVIDER_HPP

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <margo.h>
#include <thallium/engine.hpp>
#include <thallium/margo_exception.hpp>
#include <thallium/pool.hpp>
#include <thallium/remote_procedure.hpp>
#include <thallium/request.hpp>

namespace thallium
{

/** Option of provider::define(): the result of the function is not sent. */
using ignore_return_value = std::integral_constant<bool, true>;

namespace detail
{

/* Finds the pool among the options of provider::define(). */
inline pool pool_among()
{
    return pool();
}

template <typename... Rest> pool pool_among(const pool &first, const Rest &...)
{
    return first;
}

template <typename First, typename... Rest>
pool pool_among(const First &, const Rest &...rest)
{
    return pool_among(rest...);
}

template <typename... Options> struct ignores_result : std::false_type {
};
template <typename First, typename... Rest>
struct ignores_result<First, Rest...>
    : std::conditional_t<std::is_same<First, ignore_return_value>::value,
          std::true_type, ignores_result<Rest...>> {
};

/* Makes functions of RPCs from member functions with parameters Args. */
template <typename... Args> struct member_function {
    /* The result of the member function is sent. */
    template <typename T, typename Member>
    static auto bind(T *self, Member member, std::true_type)
    {
        return [self, member](const request &req, Args... args) {
            req.respond((self->*member)(std::forward<Args>(args)...));
        };
    }

    /* No answer is sent. */
    template <typename T, typename Member>
    static auto bind(T *self, Member member, std::false_type)
    {
        return [self, member](const request &, Args... args) {
            (void)(self->*member)(std::forward<Args>(args)...);
        };
    }

    static constexpr bool answers = false;
};

/* A member function with a request as first parameter answers itself. */
template <typename... Args> struct member_function<const request &, Args...> {
    template <typename T, typename Member, typename Sends>
    static auto bind(T *self, Member member, Sends)
    {
        return [self, member](const request &req, Args... args) {
            (void)(self->*member)(req, std::forward<Args>(args)...);
        };
    }

    static constexpr bool answers = true;
};

template <typename... Args>
struct member_function<request, Args...>
    : member_function<const request &, Args...> {
};

} /* namespace detail */

/**
 * The base of a service: class service : public tl::provider<service>. Member
 * functions become RPCs with the provider's number. Neither copied nor moved.
 */
template <typename T> class provider
{
    engine m_engine; /* a copy that does not keep the engine open */
    std::uint16_t m_provider_id;
    bool m_has_identity = false;

    template <typename R, typename... Args, typename Member,
        typename... Options>
    remote_procedure define_member(
        const std::string &name, Member member, const Options &...options)
    {
        using function = detail::member_function<Args...>;
        using sends = std::integral_constant<bool,
            !std::is_void<R>::value &&
                !detail::ignores_result<Options...>::value>;
        remote_procedure rpc = m_engine.define(name,
            function::bind(static_cast<T *>(this), member, sends()),
            m_provider_id, detail::pool_among(options...));

        if (!function::answers && !sends::value)
            rpc.disable_response();
        return rpc;
    }

  public:
    provider(const provider &) = delete;
    provider &operator=(const provider &) = delete;

    /**
     * A provider with its number in an engine; identity: its kind, or null.
     * Throws margo_exception if the number has an identity already.
     */
    provider(const engine &of, std::uint16_t provider_id,
        const char *identity = nullptr)
        : m_engine(of.get_margo_instance()), m_provider_id(provider_id)
    {
        if (identity == nullptr)
            return;
        MARGO_ASSERT(margo_provider_register_identity(
                         of.get_margo_instance(), provider_id, identity),
            margo_provider_register_identity);
        m_has_identity = true;
    }

    /** Removes the identity. The RPCs stay registered. */
    virtual ~provider()
    {
        if (m_has_identity)
            (void)margo_provider_deregister_identity(
                m_engine.get_margo_instance(), m_provider_id);
    }

    /** The identity that is registered for the number; null: none. */
    const char *identity() const
    {
        return margo_provider_registered_identity(
            m_engine.get_margo_instance(), m_provider_id);
    }

    /** The engine, as a copy that does not keep the engine open. */
    engine get_engine() const
    {
        return m_engine;
    }

    /** The number of the provider. */
    std::uint16_t get_provider_id() const noexcept
    {
        return m_provider_id;
    }

  protected:
    /**
     * Makes a member function an RPC of this provider. If its first parameter
     * is a const request &, the function answers itself. Otherwise its result
     * is sent; if the result is void, or with the option ignore_return_value(),
     * the RPC has no response. If a pool is among the options, the function
     * runs there. The object must live until the RPC is deregistered and all
     * requests that were being served then have ended, or until the engine has
     * ended. Throws as engine::define().
     */
    template <typename C, typename R, typename... Args, typename... Options>
    remote_procedure define(const std::string &name, R (C::*member)(Args...),
        const Options &...options)
    {
        return define_member<R, Args...>(name, member, options...);
    }

    template <typename C, typename R, typename... Args, typename... Options>
    remote_procedure define(const std::string &name,
        R (C::*member)(Args...) const, const Options &...options)
    {
        return define_member<R, Args...>(name, member, options...);
    }

#ifdef __cpp_noexcept_function_type
    template <typename C, typename R, typename... Args, typename... Options>
    remote_procedure define(const std::string &name,
        R (C::*member)(Args...) noexcept, const Options &...options)
    {
        return define_member<R, Args...>(name, member, options...);
    }

    template <typename C, typename R, typename... Args, typename... Options>
    remote_procedure define(const std::string &name,
        R (C::*member)(Args...) const noexcept, const Options &...options)
    {
        return define_member<R, Args...>(name, member, options...);
    }
#endif
};

} /* namespace thallium */

#endif
