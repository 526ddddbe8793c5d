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
#include <thallium/detail/proc_bytes.hpp>

namespace thallium
{

class engine;

/**
 * Encodes objects directly into the message of a call or an answer. Ctx are
 * the types of the context objects, which serialize() functions of the program
 * get by get_context().
 */
template <typename... Ctx>
class proc_output_archive
    : public cereal::OutputArchive<proc_output_archive<Ctx...>,
          cereal::AllowEmptyClassElision>,
      public detail::proc_writer
{
    using base = cereal::OutputArchive<proc_output_archive<Ctx...>,
        cereal::AllowEmptyClassElision>;

    std::tuple<Ctx...> &m_context;

  public:
    /** Encodes into proc. The context must live as long as the archive. */
    proc_output_archive(hg_proc_t proc, std::tuple<Ctx...> &context,
        margo_instance_id mid = MARGO_INSTANCE_NULL)
        : base(this), detail::proc_writer(proc, mid), m_context(context)
    {
    }

    /** The engine that makes the call or the answer. */
    engine get_engine() const;

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
