/* SPDX-License-Identifier: BSD-3-Clause */
/* The archive that encodes objects into a message. */
#ifndef THALLIUM_SERIALIZATION_PROC_OUTPUT_ARCHIVE_HPP
#define THALLIUM_SERIALIZATION_PROC_OUTPUT_ARCHIVE_HPP

#include <cstddef>
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
 * Encodes objects straight into the message of a call or an answer. Ctx are
 * the types of the objects that serialize() functions of the program reach by
 * get_context().
 */
template <typename... Ctx>
class proc_output_archive
    : public cereal::OutputArchive<proc_output_archive<Ctx...>,
          cereal::AllowEmptyClassElision>
{
    using base = cereal::OutputArchive<proc_output_archive<Ctx...>,
        cereal::AllowEmptyClassElision>;

    hg_proc_t m_proc;
    std::tuple<Ctx...> &m_context;
    margo_instance_id m_mid;

  public:
    /** Encodes into proc. The context must live as long as the archive. */
    proc_output_archive(hg_proc_t proc, std::tuple<Ctx...> &context,
        margo_instance_id mid = MARGO_INSTANCE_NULL)
        : base(this), m_proc(proc), m_context(context), m_mid(mid)
    {
    }

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

    /** Ends the use of size bytes that save_ptr() returned. */
    void restore_ptr(void *data, std::size_t size)
    {
        (void)hg_proc_restore_ptr(m_proc, data, size);
    }

    /** The engine that makes the call or the answer. */
    engine get_engine() const;

    /** The instance of that engine. */
    margo_instance_id get_margo_instance() const
    {
        return m_mid;
    }

    /** The proc into which the archive encodes. */
    hg_proc_t get_proc() const
    {
        return m_proc;
    }

    /** The serialization context. */
    std::tuple<Ctx...> &get_context()
    {
        return m_context;
    }
};

/** Encodes a number or bool as its bytes. */
template <typename T, typename... Ctx>
std::enable_if_t<std::is_arithmetic<T>::value> CEREAL_SAVE_FUNCTION_NAME(
    proc_output_archive<Ctx...> &archive, const T &value)
{
    archive.write(&value, sizeof(value));
}

/** Encodes the value of a pair; its name is not sent. */
template <typename T, typename... Ctx>
void CEREAL_SERIALIZE_FUNCTION_NAME(
    proc_output_archive<Ctx...> &archive, cereal::NameValuePair<T> &pair)
{
    archive(pair.value);
}

/** Encodes the number of elements of a container. */
template <typename T, typename... Ctx>
void CEREAL_SERIALIZE_FUNCTION_NAME(
    proc_output_archive<Ctx...> &archive, cereal::SizeTag<T> &tag)
{
    archive(tag.size);
}

/** Encodes a block of bytes. */
template <typename T, typename... Ctx>
void CEREAL_SAVE_FUNCTION_NAME(
    proc_output_archive<Ctx...> &archive, const cereal::BinaryData<T> &block)
{
    archive.write(block.data, static_cast<std::size_t>(block.size));
}

} /* namespace thallium */

#include <thallium/serialization/cereal/archives.hpp>

#endif
