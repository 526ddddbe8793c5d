/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of processes. */
#ifndef THALLIUM_ENGINE_HPP
#include <thallium/engine.hpp> /* includes this header at its place */
#endif
#ifndef THALLIUM_ENDPOINT_HPP
#define THALLIUM_ENDPOINT_HPP

#include <string>
#include <utility>
#include <margo.h>
#include <thallium/margo_exception.hpp>
#include <thallium/margo_instance_ref.hpp>

namespace thallium
{

class engine;

/** A counted address of a process; or null. */
class endpoint
{
    margo_instance_ref m_instance;
    hg_addr_t m_addr = HG_ADDR_NULL;

    static hg_addr_t dup(margo_instance_id mid, hg_addr_t addr)
    {
        hg_addr_t copy = HG_ADDR_NULL;

        if (addr != HG_ADDR_NULL)
            MARGO_ASSERT(margo_addr_dup(mid, addr, &copy), margo_addr_dup);
        return copy;
    }

    void drop() noexcept
    {
        if (m_addr != HG_ADDR_NULL)
            (void)margo_addr_free(m_instance.get_margo_instance(), m_addr);
        m_addr = HG_ADDR_NULL;
    }

  public:
    /** A null endpoint. */
    endpoint() noexcept = default;

    /**
     * Takes the address over if take_ownership is true; otherwise copies the
     * address.
     */
    endpoint(
        margo_instance_ref instance, hg_addr_t addr, bool take_ownership = true)
        : m_instance(std::move(instance)),
          m_addr(take_ownership ? addr
                                : dup(m_instance.get_margo_instance(), addr))
    {
    }

    endpoint(const endpoint &other)
        : endpoint(other.m_instance, other.m_addr, false)
    {
    }

    /** Leaves the other endpoint null. */
    endpoint(endpoint &&other) noexcept
        : m_instance(std::move(other.m_instance)),
          m_addr(std::exchange(other.m_addr, HG_ADDR_NULL))
    {
    }

    endpoint &operator=(const endpoint &other)
    {
        if (this != &other)
            *this = endpoint(other);
        return *this;
    }

    endpoint &operator=(endpoint &&other) noexcept
    {
        if (this != &other) {
            drop();
            m_instance = std::move(other.m_instance);
            m_addr = std::exchange(other.m_addr, HG_ADDR_NULL);
        }
        return *this;
    }

    /** Frees the address. Never throws. */
    virtual ~endpoint()
    {
        drop();
    }

    /** The engine of the address; an empty engine if the endpoint is null. */
    engine get_engine() const;

    /** The instance of the address. */
    const margo_instance_ref &get_margo_instance_ref() const noexcept
    {
        return m_instance;
    }

    /**
     * The address as a string; empty if the endpoint is null. Throws
     * margo_exception.
     */
    operator std::string() const
    {
        hg_size_t size = 0;
        std::string text;
        margo_instance_id mid = m_instance.get_margo_instance();

        if (m_addr == HG_ADDR_NULL)
            return text;
        MARGO_ASSERT(margo_addr_to_string(mid, nullptr, &size, m_addr),
            margo_addr_to_string);
        text.resize(size);
        MARGO_ASSERT(margo_addr_to_string(mid, &text[0], &size, m_addr),
            margo_addr_to_string);
        text.resize(size == 0 ? 0 : size - 1); /* without the NUL */
        return text;
    }

    /** True if there is no address. */
    bool is_null() const noexcept
    {
        return m_addr == HG_ADDR_NULL;
    }

    /** True if there is an address. */
    explicit operator bool() const noexcept
    {
        return !is_null();
    }

    /**
     * The address, which is borrowed; if copy is true, a copy that the caller
     * frees by margo_addr_free(). Throws margo_exception if copying fails.
     */
    hg_addr_t get_addr(bool copy = false) const
    {
        return copy ? dup(m_instance.get_margo_instance(), m_addr) : m_addr;
    }

    /** True if both endpoints name the same process, or both are null. */
    bool operator==(const endpoint &other) const
    {
        if (is_null() || other.is_null())
            return is_null() && other.is_null();
        return margo_addr_cmp(m_instance.get_margo_instance(), m_addr,
                   other.m_addr) != HG_FALSE;
    }

    /** True if the endpoints name different processes, or one alone is null. */
    bool operator!=(const endpoint &other) const
    {
        return !(*this == other);
    }

    /** Tells the library that the process ended. Throws margo_exception. */
    void set_remove()
    {
        MARGO_ASSERT(
            margo_addr_set_remove(m_instance.get_margo_instance(), m_addr),
            margo_addr_set_remove);
    }
};

} /* namespace thallium */

/** Prints the address of an endpoint into a stream. */
template <typename Stream>
Stream &operator<<(Stream &stream, const thallium::endpoint &peer)
{
    stream << static_cast<std::string>(peer);
    return stream;
}

#endif
