/* SPDX-License-Identifier: BSD-3-Clause */
/* The archive that decodes objects from a message. */
#ifndef THALLIUM_SERIALIZATION_PROC_INPUT_ARCHIVE_HPP
#define THALLIUM_SERIALIZATION_PROC_INPUT_ARCHIVE_HPP

#include <cstddef>
#include <cstdint>
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
 * Decodes objects from the message of a call or an answer. Ctx are the types
 * of the context objects, which serialize() functions of the program get by
 * get_context().
 */
template <typename... Ctx>
class proc_input_archive
    : public cereal::InputArchive<proc_input_archive<Ctx...>,
          cereal::AllowEmptyClassElision>,
      public detail::proc_reader
{
    using base = cereal::InputArchive<proc_input_archive<Ctx...>,
        cereal::AllowEmptyClassElision>;

    std::tuple<Ctx...> &m_context;

  public:
    /** Decodes from proc. The context must live as long as the archive. */
    proc_input_archive(hg_proc_t proc, std::tuple<Ctx...> &context,
        margo_instance_id mid = MARGO_INSTANCE_NULL)
        : base(this), detail::proc_reader(proc, mid), m_context(context)
    {
    }

    /** The engine that received the message. */
    engine get_engine() const;

    /** The serialization context. */
    std::tuple<Ctx...> &get_context()
    {
        return m_context;
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

/**
 * Decodes the number of elements of a container. More elements than
 * elements_unchecked must have at least one byte each.
 */
template <typename T, typename... Ctx>
void CEREAL_SERIALIZE_FUNCTION_NAME(
    proc_input_archive<Ctx...> &archive, cereal::SizeTag<T> &tag)
{
    archive(tag.size);
    if (tag.size > detail::proc_reader::elements_unchecked)
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
