/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of other processes, with a time limit. */
#ifndef THALLIUM_ENGINE_HPP
#include <thallium/engine.hpp> /* includes this header at its place */
#endif
#ifndef THALLIUM_TIMED_REMOTE_BULK_HPP
#define THALLIUM_TIMED_REMOTE_BULK_HPP

#include <chrono>
#include <cstddef>
#include <utility>
#include <thallium/async_bulk_op.hpp>
#include <thallium/detail/handle_ref.hpp>
#include <thallium/remote_bulk.hpp>

namespace thallium
{

/**
 * Memory of another process whose transfers have a time limit: they throw
 * timeout when the limit has passed. Returned by remote_bulk::timed().
 */
class timed_remote_bulk
{
    remote_bulk m_remote;
    double m_timeout_ms;

  public:
    /** Takes a range and the time limit in milliseconds. */
    timed_remote_bulk(remote_bulk remote, double timeout_ms) noexcept
        : m_remote(std::move(remote)), m_timeout_ms(timeout_ms)
    {
    }

    /** Reads as remote_bulk::operator>> does; throws timeout. */
    std::size_t operator>>(const bulk_segment &local) const
    {
        return m_remote.transfer(HG_BULK_PULL, local, m_timeout_ms);
    }

    /** Writes as remote_bulk::operator<< does; throws timeout. */
    std::size_t operator<<(const bulk_segment &local) const
    {
        return m_remote.transfer(HG_BULK_PUSH, local, m_timeout_ms);
    }

    /** Reads as remote_bulk::pull_to() does; wait() throws timeout. */
    async_bulk_op pull_to(const bulk_segment &local) const
    {
        return m_remote.itransfer(HG_BULK_PULL, local, m_timeout_ms);
    }

    /** Writes as remote_bulk::push_from() does; wait() throws timeout. */
    async_bulk_op push_from(const bulk_segment &local) const
    {
        return m_remote.itransfer(HG_BULK_PUSH, local, m_timeout_ms);
    }

    /** A part of the range, cut at its end, with the same time limit. */
    timed_remote_bulk select(
        std::size_t offset, std::size_t size) const noexcept
    {
        return timed_remote_bulk(m_remote.select(offset, size), m_timeout_ms);
    }

    /** Calls select(). */
    timed_remote_bulk operator()(
        std::size_t offset, std::size_t size) const noexcept
    {
        return select(offset, size);
    }
};

inline timed_remote_bulk remote_bulk::timed(double timeout_ms) const noexcept
{
    return timed_remote_bulk(*this, timeout_ms);
}

template <typename Rep, typename Period>
timed_remote_bulk remote_bulk::timed(
    const std::chrono::duration<Rep, Period> &limit) const noexcept
{
    return timed_remote_bulk(*this, detail::milliseconds_of(limit));
}

} /* namespace thallium */

#endif
