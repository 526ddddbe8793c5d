/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers under way. */
#ifndef THALLIUM_ENGINE_HPP
#include <thallium/engine.hpp> /* includes this header at its place */
#endif
#ifndef THALLIUM_ASYNC_BULK_OP_HPP
#define THALLIUM_ASYNC_BULK_OP_HPP

#include <cstddef>
#include <utility>
#include <margo.h>
#include <thallium/bulk.hpp>
#include <thallium/endpoint.hpp>
#include <thallium/exception.hpp>
#include <thallium/margo_exception.hpp>
#include <thallium/timeout.hpp>

namespace thallium
{

namespace detail
{

/* Throws the exception for the code of a transfer, unless HG_SUCCESS. */
inline void check_transfer(
    const char *function, unsigned line, std::size_t size, hg_return_t ret)
{
    if (ret == HG_SUCCESS)
        return;
    if (ret == HG_TIMEOUT)
        throw timeout();
    throw margo_exception(function, __FILE__, line, ret,
        "transfer of " + std::to_string(size) +
            " bytes: " + translate_margo_error_code(ret));
}

} /* namespace detail */

/** A transfer under way, or none. Move only. */
class async_bulk_op
{
    /* Kept until the end of the transfer. */
    bulk m_local;
    bulk m_remote;
    endpoint m_peer;
    std::size_t m_size = 0;
    margo_request m_request = MARGO_REQUEST_NULL;
    bool m_is_there = false;

    void drop() noexcept
    {
        if (m_request != MARGO_REQUEST_NULL)
            (void)margo_wait(m_request);
        m_request = MARGO_REQUEST_NULL;
        m_is_there = false;
    }

  public:
    /** No transfer. */
    async_bulk_op() noexcept = default;

    /**
     * A transfer of size bytes that was started, with its request;
     * MARGO_REQUEST_NULL if there is nothing to move.
     */
    async_bulk_op(bulk local, bulk remote, endpoint peer, std::size_t size,
        margo_request request) noexcept
        : m_local(std::move(local)), m_remote(std::move(remote)),
          m_peer(std::move(peer)), m_size(size), m_request(request),
          m_is_there(true)
    {
    }

    async_bulk_op(async_bulk_op &&other) noexcept
        : m_local(std::move(other.m_local)),
          m_remote(std::move(other.m_remote)), m_peer(std::move(other.m_peer)),
          m_size(other.m_size),
          m_request(std::exchange(other.m_request, MARGO_REQUEST_NULL)),
          m_is_there(std::exchange(other.m_is_there, false))
    {
    }

    /** Waits for the former transfer first. */
    async_bulk_op &operator=(async_bulk_op &&other) noexcept
    {
        if (this != &other) {
            drop();
            m_local = std::move(other.m_local);
            m_remote = std::move(other.m_remote);
            m_peer = std::move(other.m_peer);
            m_size = other.m_size;
            m_request = std::exchange(other.m_request, MARGO_REQUEST_NULL);
            m_is_there = std::exchange(other.m_is_there, false);
        }
        return *this;
    }

    async_bulk_op(const async_bulk_op &) = delete;
    async_bulk_op &operator=(const async_bulk_op &) = delete;

    /** Waits for the transfer. Never throws. */
    ~async_bulk_op()
    {
        drop();
    }

    /** True if wait() would return at once. Throws exception if empty. */
    bool test() const
    {
        int flag = 1;

        THALLIUM_ASSERT_CONDITION(m_is_there, "no transfer to test");
        if (m_request != MARGO_REQUEST_NULL && margo_test(m_request, &flag))
            throw exception("margo_test failed");
        return flag != 0;
    }

    /**
     * Waits for the transfer and returns its number of bytes. Throws timeout or
     * margo_exception if the transfer failed, and exception if there is no
     * transfer, or wait() was called before.
     */
    std::size_t wait()
    {
        margo_request request = std::exchange(m_request, MARGO_REQUEST_NULL);
        hg_return_t ret = HG_SUCCESS;

        THALLIUM_ASSERT_CONDITION(m_is_there, "no transfer to wait for");
        m_is_there = false;
        if (request != MARGO_REQUEST_NULL)
            ret = margo_wait(request);
        m_local = bulk();
        m_remote = bulk();
        m_peer = endpoint();
        detail::check_transfer("margo_wait", __LINE__, m_size, ret);
        return m_size;
    }
};

} /* namespace thallium */

#endif
