/* SPDX-License-Identifier: BSD-3-Clause */
/* Providers of other processes. */
#ifndef THALLIUM_ENGINE_HPP
#include <thallium/engine.hpp> /* includes this header at its place */
#endif
#ifndef THALLIUM_PROVIDER_HANDLE_HPP
#define THALLIUM_PROVIDER_HANDLE_HPP

#include <cstdint>
#include <string>
#include <utility>
#include <thallium/endpoint.hpp>

namespace thallium
{

/** A provider: the address of a process, and the provider's number there. */
class provider_handle : public endpoint
{
    std::uint16_t m_provider_id = 0;

  public:
    /** A null endpoint. */
    provider_handle() noexcept = default;

    /** A provider at an endpoint. */
    provider_handle(endpoint peer, std::uint16_t provider_id = 0)
        : endpoint(std::move(peer)), m_provider_id(provider_id)
    {
    }

    /**
     * A provider at an address. Takes the address over if take_ownership is
     * true; otherwise copies the address.
     */
    provider_handle(const margo_instance_ref &instance, hg_addr_t addr,
        std::uint16_t provider_id = 0, bool take_ownership = true)
        : endpoint(instance, addr, take_ownership), m_provider_id(provider_id)
    {
    }

    /** The number of the provider. */
    std::uint16_t provider_id() const noexcept
    {
        return m_provider_id;
    }

    /**
     * Asks the provider's process for the identity. Throws margo_exception:
     * HG_NOENTRY if the provider has no identity, or does not exist.
     */
    std::string get_identity() const
    {
        margo_instance_id mid = get_margo_instance_ref().get_margo_instance();
        std::size_t size = 64; /* first guess, bytes */
        std::string text;
        hg_return_t ret = HG_NOMEM;

        while (ret == HG_NOMEM && size > text.size()) {
            text.resize(size);
            ret = margo_provider_get_identity(
                mid, get_addr(), m_provider_id, &text[0], &size);
        }
        MARGO_ASSERT(ret, margo_provider_get_identity);
        text.resize(std::char_traits<char>::length(text.c_str()));
        return text;
    }
};

} /* namespace thallium */

#endif
