/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposed memory, of this process or of another process. */
#ifndef THALLIUM_ENGINE_HPP
#include <thallium/engine.hpp> /* includes this header at its place */
#endif
#ifndef THALLIUM_BULK_HPP
#define THALLIUM_BULK_HPP

#include <algorithm>
#include <cstddef>
#include <utility>
#include <margo.h>
#include <mercury_proc_bulk.h>
#include <thallium/endpoint.hpp>
#include <thallium/margo_exception.hpp>
#include <thallium/margo_instance_ref.hpp>
#include <thallium/serialization/serialize.hpp>

namespace thallium
{

class async_bulk_op;
class bulk_segment;
class remote_bulk;

/**
 * A counted handle of exposed memory, or null. engine::expose() exposes memory
 * of this process; a bulk as argument of a call names it to the receiver.
 */
class bulk
{
    margo_instance_ref m_instance;
    hg_bulk_t m_bulk = HG_BULK_NULL;
    bool m_is_local = false;

    void drop() noexcept
    {
        if (m_bulk != HG_BULK_NULL)
            (void)margo_bulk_free(m_bulk);
        m_bulk = HG_BULK_NULL;
    }

  public:
    using bulk_segment = ::thallium::bulk_segment;

    /** A null bulk. */
    bulk() noexcept = default;

    /** Takes a handle over; is_local: its memory belongs to this process. */
    bulk(margo_instance_ref instance, hg_bulk_t handle, bool is_local) noexcept
        : m_instance(std::move(instance)), m_bulk(handle), m_is_local(is_local)
    {
    }

    bulk(const bulk &other) noexcept
        : m_instance(other.m_instance), m_bulk(other.get_bulk(true)),
          m_is_local(other.m_is_local)
    {
    }

    /** Leaves the other bulk null. */
    bulk(bulk &&other) noexcept
        : m_instance(std::move(other.m_instance)),
          m_bulk(std::exchange(other.m_bulk, HG_BULK_NULL)),
          m_is_local(other.m_is_local)
    {
    }

    bulk &operator=(const bulk &other) noexcept
    {
        if (this != &other)
            *this = bulk(other);
        return *this;
    }

    bulk &operator=(bulk &&other) noexcept
    {
        if (this != &other) {
            drop();
            m_instance = std::move(other.m_instance);
            m_bulk = std::exchange(other.m_bulk, HG_BULK_NULL);
            m_is_local = other.m_is_local;
        }
        return *this;
    }

    /** Frees the handle. Never throws. */
    ~bulk()
    {
        drop();
    }

    /** The number of bytes; 0 if the bulk is null. */
    std::size_t size() const noexcept
    {
        return m_bulk == HG_BULK_NULL ? 0 : margo_bulk_get_size(m_bulk);
    }

    /** The number of segments; 0 if the bulk is null. */
    std::size_t segment_count() const noexcept
    {
        return m_bulk == HG_BULK_NULL ? 0
                                      : margo_bulk_get_segment_count(m_bulk);
    }

    /** True if there is no handle. */
    bool is_null() const noexcept
    {
        return m_bulk == HG_BULK_NULL;
    }

    /** Names the process that has the memory. */
    remote_bulk on(const endpoint &peer) const noexcept;

    /** A part of the memory; cut at the end of the memory. */
    bulk_segment select(std::size_t offset, std::size_t size) const noexcept;

    /** Calls select(). */
    bulk_segment operator()(
        std::size_t offset, std::size_t size) const noexcept;

    /**
     * Writes this memory into remote memory, up to the length of the shorter
     * one; waits, and returns the number of bytes. Throws margo_exception.
     */
    std::size_t operator>>(const remote_bulk &remote) const;

    /** Reads remote memory into this memory, otherwise as operator>>. */
    std::size_t operator<<(const remote_bulk &remote) const;

    /** Starts the transfer of operator>>, and does not wait. */
    async_bulk_op push_to(const remote_bulk &remote) const;

    /** Starts the transfer of operator<<, and does not wait. */
    async_bulk_op pull_from(const remote_bulk &remote) const;

    /**
     * The handle, which is borrowed; if copy is true, the caller has to free it
     * by margo_bulk_free().
     */
    hg_bulk_t get_bulk(bool copy = false) const noexcept
    {
        if (copy && m_bulk != HG_BULK_NULL)
            (void)margo_bulk_ref_incr(m_bulk);
        return m_bulk;
    }

    /** The instance of the handle. */
    const margo_instance_ref &get_margo_instance_ref() const noexcept
    {
        return m_instance;
    }

    /** Encodes a description of the memory. */
    template <typename... Ctx>
    void save(proc_output_archive<Ctx...> &archive) const
    {
        hg_bulk_t handle = m_bulk;

        MARGO_ASSERT(
            hg_proc_hg_bulk_t(archive.get_proc(), &handle), hg_proc_hg_bulk_t);
    }

    /** Decodes a description of memory of another process. */
    template <typename... Ctx> void load(proc_input_archive<Ctx...> &archive)
    {
        hg_bulk_t handle = HG_BULK_NULL;

        MARGO_ASSERT(
            hg_proc_hg_bulk_t(archive.get_proc(), &handle), hg_proc_hg_bulk_t);
        *this = bulk(
            margo_instance_ref(archive.get_margo_instance()), handle, false);
    }
};

/** A range of the memory of a bulk. */
class bulk_segment
{
    friend class remote_bulk;

    bulk m_bulk;
    std::size_t m_offset = 0;
    std::size_t m_size = 0;

  public:
    /** All of the memory. */
    bulk_segment(const bulk &memory) noexcept
        : m_bulk(memory), m_size(memory.size())
    {
    }

    /** size bytes after offset; cut at the end of the memory. */
    bulk_segment(
        const bulk &memory, std::size_t offset, std::size_t size) noexcept
        : m_bulk(memory), m_offset(std::min(offset, memory.size())),
          m_size(std::min(size, memory.size() - m_offset))
    {
    }

    /** The number of bytes. */
    std::size_t size() const noexcept
    {
        return m_size;
    }

    /** Names the process that has the memory. */
    remote_bulk on(const endpoint &peer) const noexcept;

    /** A part of this range; cut at the end of the range. */
    bulk_segment select(std::size_t offset, std::size_t size) const noexcept
    {
        std::size_t first = std::min(offset, m_size);

        return bulk_segment(
            m_bulk, m_offset + first, std::min(size, m_size - first));
    }

    /** Calls select(). */
    bulk_segment operator()(std::size_t offset, std::size_t size) const noexcept
    {
        return select(offset, size);
    }

    /**
     * Writes this range into a remote range, up to the length of the shorter
     * range; waits, and returns the number of bytes. Throws margo_exception.
     */
    std::size_t operator>>(const remote_bulk &remote) const;

    /** Reads the remote range into this range, otherwise as operator>>. */
    std::size_t operator<<(const remote_bulk &remote) const;

    /** Starts the transfer of operator>>, and does not wait. */
    async_bulk_op push_to(const remote_bulk &remote) const;

    /** Starts the transfer of operator<<, and does not wait. */
    async_bulk_op pull_from(const remote_bulk &remote) const;
};

inline bulk_segment bulk::select(
    std::size_t offset, std::size_t size) const noexcept
{
    return ::thallium::bulk_segment(*this, offset, size);
}

inline bulk_segment bulk::operator()(
    std::size_t offset, std::size_t size) const noexcept
{
    return select(offset, size);
}

} /* namespace thallium */

#endif
