/* SPDX-License-Identifier: BSD-3-Clause */
/* Input or output of a call before it is decoded. */
#ifndef THALLIUM_ENGINE_HPP
#include <thallium/engine.hpp> /* includes this header at its place */
#endif
#ifndef THALLIUM_PACKED_DATA_HPP
#define THALLIUM_PACKED_DATA_HPP

#include <tuple>
#include <utility>
#include <margo.h>
#include <thallium/detail/handle_ref.hpp>
#include <thallium/exception.hpp>
#include <thallium/proc_object.hpp>
#include <thallium/reference_util.hpp>

namespace thallium
{

/**
 * Input or output of a call that is not decoded yet, or nothing. A program may
 * decode it several times. Ctx are the types of the serialization context.
 *
 * unpack(), as() and the conversion throw exception if there is nothing to
 * decode, margo_exception if the bytes do not match the types, and the
 * exceptions of the types' serialization.
 */
template <typename... Ctx> class packed_data
{
    template <typename... Other> friend class packed_data;

    detail::handle_ref m_handle;
    bool m_is_input = false;
    mutable std::tuple<Ctx...> m_context;

    template <typename Tuple, std::size_t... I>
    Tuple decode_tuple(std::index_sequence<I...>) const
    {
        Tuple objects;

        unpack(std::get<I>(objects)...);
        return objects;
    }

  public:
    /** Has no data. */
    packed_data() = default;

    /** Refers to the input or output of a handle. */
    packed_data(
        detail::handle_ref handle, bool is_input, std::tuple<Ctx...> context)
        : m_handle(std::move(handle)), m_is_input(is_input),
          m_context(std::move(context))
    {
    }

    packed_data(packed_data &&) = default;
    packed_data &operator=(packed_data &&) = default;
    packed_data(const packed_data &) = delete;
    packed_data &operator=(const packed_data &) = delete;

    /** Decodes into existing objects, which may be fewer than were sent. */
    template <typename... T> void unpack(T &...objects) const
    {
        THALLIUM_ASSERT_CONDITION(m_handle.get() != HG_HANDLE_NULL,
            "nothing to decode: the RPC sends no response, or the object was "
            "moved from");
        detail::objects_coder<std::tuple<Ctx...>, T...> coder(
            m_context, m_handle.mid(), objects...);

        detail::decode_arguments(m_handle, m_is_input, coder);
    }

    /** Decodes one object. */
    template <typename T> T as() const
    {
        std::decay_t<T> object{};

        unpack(object);
        return object;
    }

    /** Decodes several objects. */
    template <typename T1, typename T2, typename... Tn>
    std::tuple<std::decay_t<T1>, std::decay_t<T2>, std::decay_t<Tn>...>
    as() const
    {
        using objects =
            std::tuple<std::decay_t<T1>, std::decay_t<T2>, std::decay_t<Tn>...>;

        return decode_tuple<objects>(
            std::make_index_sequence<std::tuple_size<objects>::value>());
    }

    /** Decodes an object of the type to which the caller converts. */
    template <typename T> operator T() const
    {
        return as<T>();
    }

    /** The handle, borrowed; HG_HANDLE_NULL if there is nothing. */
    hg_handle_t native_handle() const noexcept
    {
        return m_handle.get();
    }

    /**
     * Returns the data with other context objects for serialize() functions.
     * Each object is copied, or referred to if it is passed as std::ref().
     */
    template <typename... Other>
    packed_data<unwrap_decay_t<Other>...> with_serialization_context(
        Other &&...objects) const
    {
        return packed_data<unwrap_decay_t<Other>...>(m_handle, m_is_input,
            std::make_tuple(std::forward<Other>(objects)...));
    }
};

} /* namespace thallium */

#endif
