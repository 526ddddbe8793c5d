/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of other processes. */
#ifndef THALLIUM_ENGINE_HPP
#include <thallium/engine.hpp> /* includes this header at its place */
#endif
#ifndef THALLIUM_REMOTE_BULK_HPP
#define THALLIUM_REMOTE_BULK_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <margo.h>
#include <thallium/async_bulk_op.hpp>
#include <thallium/bulk.hpp>
#include <thallium/detail/handle_ref.hpp>
#include <thallium/endpoint.hpp>
#include <thallium/exception.hpp>

namespace thallium
{

class timed_remote_bulk;

/** A range of exposed memory and the process that has it. */
class remote_bulk
{
    friend class timed_remote_bulk;

    bulk_segment m_segment;
    endpoint m_peer;

    std::size_t common_size(const bulk_segment &local) const noexcept
    {
        return std::min(m_segment.m_size, local.m_size);
    }

    void check_peer() const
    {
        THALLIUM_ASSERT_CONDITION(
            !m_peer.is_null(), "the endpoint of the remote memory is null");
    }

    std::size_t transfer(
        hg_bulk_op_t op, const bulk_segment &local, double timeout_ms) const
    {
        std::size_t size = common_size(local);

        if (size == 0)
            return 0;
        check_peer();
        detail::check_transfer("margo_bulk_transfer", __LINE__, size,
            margo_bulk_transfer_timed(
                local.m_bulk.get_margo_instance_ref().get_margo_instance(), op,
                m_peer.get_addr(), m_segment.m_bulk.get_bulk(),
                m_segment.m_offset, local.m_bulk.get_bulk(), local.m_offset,
                size, timeout_ms));
        return size;
    }

    async_bulk_op itransfer(
        hg_bulk_op_t op, const bulk_segment &local, double timeout_ms) const
    {
        std::size_t size = common_size(local);
        margo_request request = MARGO_REQUEST_NULL;

        if (size != 0) {
            check_peer();
            detail::check_transfer("margo_bulk_itransfer", __LINE__, size,
                margo_bulk_itransfer_timed(
                    local.m_bulk.get_margo_instance_ref().get_margo_instance(),
                    op, m_peer.get_addr(), m_segment.m_bulk.get_bulk(),
                    m_segment.m_offset, local.m_bulk.get_bulk(), local.m_offset,
                    size, timeout_ms, &request));
        }
        return async_bulk_op(
            local.m_bulk, m_segment.m_bulk, m_peer, size, request);
    }

  public:
    /** A range of memory of a process. */
    remote_bulk(bulk_segment segment, endpoint peer) noexcept
        : m_segment(std::move(segment)), m_peer(std::move(peer))
    {
    }

    /** The length of the range in bytes. */
    std::size_t size() const noexcept
    {
        return m_segment.size();
    }

    /** The process that has the memory. */
    const endpoint &get_endpoint() const noexcept
    {
        return m_peer;
    }

    /**
     * Reads the remote range into local memory, up to the length of the shorter
     * range; waits, and returns the number of bytes. Throws margo_exception.
     */
    std::size_t operator>>(const bulk_segment &local) const
    {
        return transfer(HG_BULK_PULL, local, 0);
    }

    /** Writes local memory into the remote range, otherwise as operator>>. */
    std::size_t operator<<(const bulk_segment &local) const
    {
        return transfer(HG_BULK_PUSH, local, 0);
    }

    /** Starts the transfer of operator>>, and does not wait. */
    async_bulk_op pull_to(const bulk_segment &local) const
    {
        return itransfer(HG_BULK_PULL, local, 0);
    }

    /** Starts the transfer of operator<<, and does not wait. */
    async_bulk_op push_from(const bulk_segment &local) const
    {
        return itransfer(HG_BULK_PUSH, local, 0);
    }

    /** A part of the range; cut at the end of the range. */
    remote_bulk select(std::size_t offset, std::size_t size) const noexcept
    {
        return remote_bulk(m_segment.select(offset, size), m_peer);
    }

    /** Calls select(). */
    remote_bulk operator()(std::size_t offset, std::size_t size) const noexcept
    {
        return select(offset, size);
    }

    /** Returns the range with a time limit per transfer, in milliseconds. */
    timed_remote_bulk timed(double timeout_ms) const noexcept;

    /** Returns the range with a std::chrono time limit per transfer. */
    template <typename Rep, typename Period>
    timed_remote_bulk timed(
        const std::chrono::duration<Rep, Period> &limit) const noexcept;
};

inline remote_bulk bulk::on(const endpoint &peer) const noexcept
{
    return remote_bulk(*this, peer);
}

inline remote_bulk bulk_segment::on(const endpoint &peer) const noexcept
{
    return remote_bulk(*this, peer);
}

inline std::size_t bulk::operator>>(const remote_bulk &remote) const
{
    return remote << *this;
}

inline std::size_t bulk::operator<<(const remote_bulk &remote) const
{
    return remote >> *this;
}

inline async_bulk_op bulk::push_to(const remote_bulk &remote) const
{
    return remote.push_from(*this);
}

inline async_bulk_op bulk::pull_from(const remote_bulk &remote) const
{
    return remote.pull_to(*this);
}

inline std::size_t bulk_segment::operator>>(const remote_bulk &remote) const
{
    return remote << *this;
}

inline std::size_t bulk_segment::operator<<(const remote_bulk &remote) const
{
    return remote >> *this;
}

inline async_bulk_op bulk_segment::push_to(const remote_bulk &remote) const
{
    return remote.push_from(*this);
}

inline async_bulk_op bulk_segment::pull_from(const remote_bulk &remote) const
{
    return remote.pull_to(*this);
}

} /* namespace thallium */

#endif
