/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes of a message: what the archives read from a proc, and write to it.
 *
 * The bytes that are read come from another process and are not trusted. A read
 * beyond the message throws. A container that announces more elements than
 * there are bytes left throws, too, before memory is allocated. But elements
 * may be encoded as 0 bytes, such as objects of an empty class: so up to
 * elements_unchecked elements are accepted in any case. */
#ifndef THALLIUM_DETAIL_PROC_BYTES_HPP
#define THALLIUM_DETAIL_PROC_BYTES_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <margo.h>
#include <mercury_proc.h>
#include <thallium/margo_exception.hpp>

namespace thallium
{

namespace detail
{

/* Base of the classes for reading and for writing. */
class proc_bytes
{
  protected:
    hg_proc_t m_proc;
    margo_instance_id m_mid;

  public:
    proc_bytes(hg_proc_t proc, margo_instance_id mid) : m_proc(proc), m_mid(mid)
    {
    }

    /** The proc that is read or written. */
    hg_proc_t get_proc() const
    {
        return m_proc;
    }

    /** The instance of the engine that makes or serves the call. */
    margo_instance_id get_margo_instance() const
    {
        return m_mid;
    }

    /** Ends the use of size bytes that save_ptr() returned. */
    void restore_ptr(void *data, std::size_t size)
    {
        (void)hg_proc_restore_ptr(m_proc, data, size);
    }
};

class proc_reader : public proc_bytes
{
    [[noreturn]] void refuse(
        std::uint64_t count, std::size_t size, hg_return_t code) const
    {
        std::string wanted = std::to_string(count);

        if (size != 1)
            wanted += " times " + std::to_string(size);
        MARGO_THROW(hg_proc_bytes, code,
            "the types do not match what was sent: " + wanted +
                " bytes are wanted after " +
                std::to_string(hg_proc_get_size_used(m_proc)) + ", " +
                std::to_string(hg_proc_get_size_left(m_proc)) + " are left");
    }

  public:
    using proc_bytes::proc_bytes;

    /* Largest container whose elements may be encoded as 0 bytes. */
    static constexpr std::uint64_t elements_unchecked = 1024;

    /**
     * Takes the next size bytes. Throws margo_exception if the message has
     * fewer.
     */
    void read(void *data, std::size_t size)
    {
        hg_return_t ret = hg_proc_bytes(m_proc, data, size);

        if (ret != HG_SUCCESS)
            refuse(size, 1, ret);
    }

    /**
     * Throws margo_exception if the message has fewer than count times size
     * bytes left.
     */
    void expect(std::uint64_t count, std::size_t size) const
    {
        if (size != 0 && count > hg_proc_get_size_left(m_proc) / size)
            refuse(count, size, HG_OVERFLOW);
    }

    /**
     * The next size bytes of the message, in place; null if fewer are left.
     * The pointer is valid while the arguments are being decoded.
     */
    void *save_ptr(std::size_t size)
    {
        return size > hg_proc_get_size_left(m_proc)
                   ? nullptr
                   : hg_proc_save_ptr(m_proc, size);
    }
};

class proc_writer : public proc_bytes
{
  public:
    using proc_bytes::proc_bytes;

    /** Appends size bytes. Throws margo_exception if there is no memory. */
    void write(const void *data, std::size_t size)
    {
        hg_return_t ret = hg_proc_bytes(m_proc, const_cast<void *>(data), size);

        if (ret != HG_SUCCESS)
            MARGO_THROW(hg_proc_bytes, ret,
                "cannot encode " + std::to_string(size) +
                    " more bytes: " + translate_margo_error_code(ret));
    }

    /**
     * Reserves size bytes of the message, for the caller to fill; null if
     * there is no memory.
     */
    void *save_ptr(std::size_t size)
    {
        return hg_proc_save_ptr(m_proc, size);
    }
};

} /* namespace detail */

} /* namespace thallium */

#endif
