/* SPDX-License-Identifier: BSD-3-Clause */
/* The archive that decodes objects from a message.
 *
 * The bytes come from another process and are not trusted. A read beyond the
 * message throws, and so does a container that announces more elements than
 * there are bytes left, before memory is taken for it. So elements that are
 * encoded as nothing, such as objects of an empty class, may not be more than
 * the bytes that follow them. */
#ifndef THALLIUM_SERIALIZATION_PROC_INPUT_ARCHIVE_HPP
#define THALLIUM_SERIALIZATION_PROC_INPUT_ARCHIVE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <cereal/cereal.hpp>
#include <margo.h>
#include <mercury_proc.h>
#include <thallium/margo_exception.hpp>

namespace thallium
{

class engine;

/**
 * Decodes objects from the message of a call or an answer. Ctx are the types
 * of the objects that serialize() functions of the program reach by
 * get_context().
 */
template <typename... Ctx>
class proc_input_archive
    : public cereal::InputArchive<proc_input_archive<Ctx...>,
          cereal::AllowEmptyClassElision>
{
    using base = cereal::InputArchive<proc_input_archive<Ctx...>,
        cereal::AllowEmptyClassElision>;

    hg_proc_t m_proc;
    std::tuple<Ctx...> &m_context;
    margo_instance_id m_mid;

  public:
    /** Decodes from proc. The context must live as long as the archive. */
    proc_input_archive(hg_proc_t proc, std::tuple<Ctx...> &context,
        margo_instance_id mid = MARGO_INSTANCE_NULL)
        : base(this), m_proc(proc), m_context(context), m_mid(mid)
    {
    }

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
     * The next size bytes of the message, in place; null if it has fewer.
     * They are valid while the arguments are being decoded.
     */
    void *save_ptr(std::size_t size)
    {
        return size > hg_proc_get_size_left(m_proc)
                   ? nullptr
                   : hg_proc_save_ptr(m_proc, size);
    }

    /** Ends the use of size bytes that save_ptr() returned. */
    void restore_ptr(void *data, std::size_t size)
    {
        (void)hg_proc_restore_ptr(m_proc, data, size);
    }

    /** The engine that received the message. */
    engine get_engine() const;

    /** The instance of that engine. */
    margo_instance_id get_margo_instance() const
    {
        return m_mid;
    }

    /** The proc from which the archive decodes. */
    hg_proc_t get_proc() const
    {
        return m_proc;
    }

    /** The serialization context. */
    std::tuple<Ctx...> &get_context()
    {
        return m_context;
    }

  private:
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
};

/** Decodes a number or bool from its bytes. */
template <typename T, typename... Ctx>
std::enable_if_t<std::is_arithmetic<T>::value> CEREAL_LOAD_FUNCTION_NAME(
    proc_input_archive<Ctx...> &archive, T &value)
{
    archive.read(&value, sizeof(value));
}

/** Decodes a bool; any byte but 0 is true. */
template <typename... Ctx>
void CEREAL_LOAD_FUNCTION_NAME(proc_input_archive<Ctx...> &archive, bool &value)
{
    unsigned char byte = 0;

    static_assert(sizeof(bool) == sizeof(byte), "a bool is one byte");
    archive.read(&byte, sizeof(byte));
    value = byte != 0;
}

/** Decodes the value of a pair. */
template <typename T, typename... Ctx>
void CEREAL_SERIALIZE_FUNCTION_NAME(
    proc_input_archive<Ctx...> &archive, cereal::NameValuePair<T> &pair)
{
    archive(pair.value);
}

/** Decodes the number of elements of a container, each at least a byte. */
template <typename T, typename... Ctx>
void CEREAL_SERIALIZE_FUNCTION_NAME(
    proc_input_archive<Ctx...> &archive, cereal::SizeTag<T> &tag)
{
    archive(tag.size);
    archive.expect(tag.size, 1);
}

/** Decodes a block of bytes. */
template <typename T, typename... Ctx>
void CEREAL_LOAD_FUNCTION_NAME(
    proc_input_archive<Ctx...> &archive, cereal::BinaryData<T> &block)
{
    archive.read(block.data, static_cast<std::size_t>(block.size));
}

} /* namespace thallium */

#include <thallium/serialization/cereal/archives.hpp>

#endif
