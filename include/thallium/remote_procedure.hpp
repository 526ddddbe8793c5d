/* SPDX-License-Identifier: BSD-3-Clause */
/* RPCs that this process calls or serves. */
#ifndef THALLIUM_ENGINE_HPP
#include <thallium/engine.hpp> /* includes this header at its place */
#endif
#ifndef THALLIUM_REMOTE_PROCEDURE_HPP
#define THALLIUM_REMOTE_PROCEDURE_HPP

#include <cstdint>
#include <tuple>
#include <utility>
#include <margo.h>
#include <thallium/callable_remote_procedure.hpp>
#include <thallium/detail/handle_ref.hpp>
#include <thallium/detail/reduction.hpp>
#include <thallium/endpoint.hpp>
#include <thallium/exception.hpp>
#include <thallium/margo_instance_ref.hpp>
#include <thallium/provider_handle.hpp>

namespace thallium
{

/** A registered RPC, as engine::define() returns it; or none. */
class remote_procedure
{
    margo_instance_ref m_instance;
    hg_id_t m_id = 0;
    bool m_ignores_response = false;

    callable_remote_procedure bind(
        const endpoint &peer, std::uint16_t provider_id) const
    {
        margo_instance_id mid = m_instance.get_margo_instance();
        hg_id_t id = (m_id & ~hg_id_t(MARGO_MAX_PROVIDER_ID)) | provider_id;
        hg_handle_t handle = HG_HANDLE_NULL;

        THALLIUM_ASSERT_CONDITION(m_id != 0, "the remote_procedure is empty");
        THALLIUM_ASSERT_CONDITION(!peer.is_null(), "the endpoint is null");
        /* If the id of this provider is not registered yet, the handle gets
         * m_id: the first call registers the id and gives it to the handle. */
        if (margo_rpc_get_name(mid, id) == nullptr)
            id = m_id;
        MARGO_ASSERT(
            margo_create(mid, peer.get_addr(), id, &handle), margo_create);
        return callable_remote_procedure(detail::handle_ref(mid, handle),
            provider_id, m_ignores_response, std::tuple<>());
    }

  public:
    /** No RPC. */
    remote_procedure() noexcept = default;

    /** Refers to an RPC that is registered with Margo. */
    remote_procedure(margo_instance_ref instance, hg_id_t id) noexcept
        : m_instance(std::move(instance)), m_id(id)
    {
        int flag = 0;

        (void)margo_registered_disabled_response(
            m_instance.get_margo_instance(), m_id, &flag);
        m_ignores_response = flag != 0;
    }

    /**
     * Binds the RPC to provider 0 of a process. Throws exception if the RPC or
     * the endpoint is empty.
     */
    callable_remote_procedure on(const endpoint &peer) const
    {
        return bind(peer, 0);
    }

    /** Binds the RPC to a provider; throws as on(endpoint) does. */
    callable_remote_procedure on(const provider_handle &provider) const
    {
        return bind(provider, provider.provider_id());
    }

    /**
     * Binds the RPC to provider 0 of all processes of a group, for instance an
     * amalgam::group of amalgam.hpp. Throws exception if the RPC is empty.
     */
    template <typename Group>
    auto on(const Group &group) const -> decltype(group.bind(
        std::declval<const margo_instance_ref &>(), hg_id_t()))
    {
        THALLIUM_ASSERT_CONDITION(m_id != 0, "the remote_procedure is empty");
        return group.bind(m_instance, m_id);
    }

    /**
     * Sets how the answers of calls to groups are folded: `inout` becomes
     * `from`, the answers of ranks with lower numbers or any other ranks, op
     * `inout`. All processes do so before the first call. The function is one
     * without state, which does not throw, and runs in the progress loop; T is
     * the type that the handlers answer. Throws margo_exception; exception if
     * this is no RPC.
     *
     *   procedure.reduce<double>([](const double &from, double &inout) {
     *       inout += from;
     *   });
     */
    template <typename T>
    remote_procedure &reduce(void (*function)(const T &from, T &inout))
    {
        THALLIUM_ASSERT_CONDITION(m_id != 0, "the remote_procedure is empty");
        MARGO_ASSERT(detail::reduction<T>::enter(
                         m_instance.get_margo_instance(), m_id, function),
            margo_register_reduce);
        return *this;
    }

    /**
     * Declares that this RPC has no response. Both sides must do so before the
     * first call. Throws margo_exception; exception if this is no RPC.
     */
    remote_procedure &disable_response() &
    {
        THALLIUM_ASSERT_CONDITION(m_id != 0, "the remote_procedure is empty");
        MARGO_ASSERT(margo_registered_disable_response(
                         m_instance.get_margo_instance(), m_id, HG_TRUE),
            margo_registered_disable_response);
        m_ignores_response = true;
        return *this;
    }

    remote_procedure &&disable_response() &&
    {
        return std::move(disable_response());
    }

    /**
     * Removes the RPC from the instance. Does nothing if another object has
     * removed the RPC before. Never throws.
     */
    void deregister() noexcept
    {
        margo_instance_id mid = m_instance.get_margo_instance();

        if (m_id != 0 && margo_rpc_get_name(mid, m_id) != nullptr)
            (void)margo_deregister(mid, m_id);
        m_id = 0;
    }

    /** The id; 0 if there is no RPC. */
    hg_id_t id() const noexcept
    {
        return m_id;
    }

  protected:
    /* Takes the RPC of `other`, which is empty afterwards. */
    void take(remote_procedure &other) noexcept
    {
        m_instance = std::move(other.m_instance);
        m_id = std::exchange(other.m_id, 0);
        m_ignores_response = other.m_ignores_response;
    }
};

/** An RPC that the destructor removes from the instance. Move only. */
class auto_remote_procedure : public remote_procedure
{
  public:
    /** No RPC. */
    auto_remote_procedure() noexcept = default;

    /** Takes an RPC over. */
    auto_remote_procedure(remote_procedure &&rpc) noexcept
    {
        take(rpc);
    }

    auto_remote_procedure(auto_remote_procedure &&other) noexcept
    {
        take(other);
    }

    auto_remote_procedure &operator=(auto_remote_procedure &&other) noexcept
    {
        if (this != &other) {
            deregister();
            take(other);
        }
        return *this;
    }

    /** Removes the RPC. Never throws. */
    ~auto_remote_procedure()
    {
        deregister();
    }
};

} /* namespace thallium */

#endif
