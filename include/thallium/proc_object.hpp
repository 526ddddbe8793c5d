/* SPDX-License-Identifier: BSD-3-Clause */
/* The proc of all RPCs of thallium.hpp: encodes or decodes, by an archive, the
 * objects that the program names when it calls, answers or receives.
 *
 *   rpc.on(peer)(1, "x")  ->  meta_serialization { codes (int, string) }
 *                         ->  margo_forward(handle, &meta)
 *                         ->  hg_proc_meta_serialization(proc, &meta)
 *
 * No exception passes through the C library: objects_coder catches what an
 * archive throws, and throws it again when the call of Margo has returned. */
#ifndef THALLIUM_PROC_OBJECT_HPP
#define THALLIUM_PROC_OBJECT_HPP

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <cereal/types/tuple.hpp>
#include <margo.h>
#include <mercury_proc.h>
#include <thallium/detail/plain.hpp>
#include <thallium/detail/serializable.hpp>
#include <thallium/margo_exception.hpp>
#include <thallium/serialization/serialize.hpp>

#ifdef THALLIUM_DEBUG_RPC_TYPES
#include <cstdlib>
#include <cxxabi.h>
#include <typeinfo>
#endif

namespace thallium
{

/** Input or output of an RPC for Margo: a function that codes the objects. */
struct meta_serialization {
    hg_return_t (*m_code)(hg_proc_t proc, void *arg); /* must not throw */
    void *m_arg;
};

/** The proc that all RPCs are registered with; data is a meta_serialization. */
inline hg_return_t hg_proc_meta_serialization(hg_proc_t proc, void *data)
{
    auto *meta = static_cast<meta_serialization *>(data);

    /* Decoded objects belong to the program, so there is nothing to free. */
    if (meta == nullptr || hg_proc_get_op(proc) == HG_FREE)
        return HG_SUCCESS;
    return meta->m_code(proc, meta->m_arg);
}

#ifdef THALLIUM_DEBUG_RPC_TYPES

/** The name of T as a C++ program writes it. */
template <typename T> std::string get_type_name()
{
    int status = 0;
    char *name =
        abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr, &status);
    std::string result = name != nullptr ? name : typeid(T).name();

    std::free(name);
    return result;
}

namespace detail
{

template <typename Archive> void put_type_name(Archive &ar, std::string name)
{
    std::uint64_t size = name.size();

    ar(size);
    ar.write(name.data(), name.size());
}

template <typename Archive>
void check_type_name(Archive &ar, const std::string &wanted)
{
    std::uint64_t size = 0;
    std::string name;

    ar(size);
    ar.expect(size, 1);
    name.resize(size);
    ar.read(&name[0], name.size());
    if (name != wanted)
        MARGO_THROW(check_type_name, HG_INVALID_ARG,
            "the types do not match: " + wanted + " is wanted, " + name + " (" +
                std::to_string(hg_proc_get_size_left(ar.get_proc())) +
                " bytes) was sent");
}

} /* namespace detail */

#endif

/** Encodes an object; throws what its serialization throws. */
template <typename T, typename... Ctx>
hg_return_t proc_object_encode(
    hg_proc_t proc, T &data, margo_instance_id mid, std::tuple<Ctx...> &context)
{
    proc_output_archive<Ctx...> ar(proc, context, mid);

#ifdef THALLIUM_DEBUG_RPC_TYPES
    detail::put_type_name(ar, get_type_name<std::decay_t<T>>());
#endif
    ar(data);
    return HG_SUCCESS;
}

/** Decodes an object; throws what its serialization throws. */
template <typename T, typename... Ctx>
hg_return_t proc_object_decode(
    hg_proc_t proc, T &data, margo_instance_id mid, std::tuple<Ctx...> &context)
{
    proc_input_archive<Ctx...> ar(proc, context, mid);

#ifdef THALLIUM_DEBUG_RPC_TYPES
    detail::check_type_name(ar, get_type_name<std::decay_t<T>>());
#endif
    ar(data);
    return HG_SUCCESS;
}

/** Codes no object, for a call without arguments. */
template <typename... Ctx>
hg_return_t proc_void_object(hg_proc_t proc, std::tuple<Ctx...> &context)
{
    std::tuple<> none;

    switch (hg_proc_get_op(proc)) {
    case HG_ENCODE:
        return proc_object_encode(proc, none, MARGO_INSTANCE_NULL, context);
    case HG_DECODE:
        return proc_object_decode(proc, none, MARGO_INSTANCE_NULL, context);
    default:
        return HG_SUCCESS;
    }
}

namespace detail
{

/* Codes any number of objects; cereal's operator() needs at least one. */
template <typename Archive> void code_each(Archive &)
{
}

template <typename Archive, typename... T>
void code_each(Archive &ar, T &...objects)
{
    ar(objects...);
}

/* True if even a call without arguments has a body. */
#ifdef THALLIUM_DEBUG_RPC_TYPES
constexpr bool sends_type_names = true;
#else
constexpr bool sends_type_names = false;
#endif

/* Codes several objects, of the types T, in order. Lives on the stack of the
 * function that calls Margo. */
template <typename Context, typename... T> class objects_coder
{
    std::tuple<T &...> m_objects;
    Context &m_context;
    margo_instance_id m_mid;
    std::exception_ptr m_error;
    meta_serialization m_meta;

    using is_without_archive = std::integral_constant<bool,
        are_plain<T...>::value && !sends_type_names>;

    template <std::size_t... I>
    void encode_plain(hg_proc_t proc, std::index_sequence<I...>)
    {
        proc_writer to(proc, m_mid);

        (void)std::initializer_list<int>{
            (put_plain(to, std::get<I>(m_objects)), 0)...};
    }

    template <std::size_t... I>
    void decode_plain(hg_proc_t proc, std::index_sequence<I...>)
    {
        proc_reader from(proc, m_mid);

        (void)std::initializer_list<int>{
            (take_plain(from, std::get<I>(m_objects)), 0)...};
    }

    template <typename... Ctx, std::size_t... I>
    void encode(
        hg_proc_t proc, std::tuple<Ctx...> &context, std::index_sequence<I...>)
    {
        static_assert(
            must_all_be_serializable<is_output, proc_output_archive<Ctx...>,
                std::remove_cv_t<T>...>::value,
            "");
        proc_output_archive<Ctx...> ar(proc, context, m_mid);

#ifdef THALLIUM_DEBUG_RPC_TYPES
        put_type_name(ar, get_type_name<std::tuple<std::decay_t<T>...>>());
#endif
        code_each(ar, std::get<I>(m_objects)...);
    }

    template <typename... Ctx, std::size_t... I>
    void decode(
        hg_proc_t proc, std::tuple<Ctx...> &context, std::index_sequence<I...>)
    {
        static_assert(
            must_all_be_serializable<is_input, proc_input_archive<Ctx...>,
                std::remove_cv_t<T>...>::value,
            "");
        proc_input_archive<Ctx...> ar(proc, context, m_mid);

#ifdef THALLIUM_DEBUG_RPC_TYPES
        check_type_name(ar, get_type_name<std::tuple<std::decay_t<T>...>>());
#endif
        code_each(ar, std::get<I>(m_objects)...);
    }

    template <void (objects_coder::*Code)(hg_proc_t)>
    static hg_return_t run(hg_proc_t proc, void *arg) noexcept
    {
        auto *self = static_cast<objects_coder *>(arg);

        try {
            (self->*Code)(proc);
            return HG_SUCCESS;
        } catch (const margo_exception &error) {
            self->m_error = std::current_exception();
            return error.error();
        } catch (...) {
            self->m_error = std::current_exception();
            return HG_OTHER_ERROR;
        }
    }

    void encode_all(hg_proc_t proc, std::false_type)
    {
        encode(proc, m_context, std::index_sequence_for<T...>());
    }

    void encode_all(hg_proc_t proc, std::true_type)
    {
        encode_plain(proc, std::index_sequence_for<T...>());
    }

    void decode_all(hg_proc_t proc, std::false_type)
    {
        decode(proc, m_context, std::index_sequence_for<T...>());
    }

    void decode_all(hg_proc_t proc, std::true_type)
    {
        decode_plain(proc, std::index_sequence_for<T...>());
    }

    void encode_objects(hg_proc_t proc)
    {
        encode_all(proc, is_without_archive());
    }

    void decode_objects(hg_proc_t proc)
    {
        decode_all(proc, is_without_archive());
    }

  public:
    objects_coder(Context &context, margo_instance_id mid, T &...objects)
        : m_objects(objects...), m_context(context), m_mid(mid)
    {
    }

    objects_coder(const objects_coder &) = delete;
    objects_coder &operator=(const objects_coder &) = delete;

    /* The struct for Margo to encode as input or output; null: no objects. */
    void *to_encode()
    {
        if (sizeof...(T) == 0 && !sends_type_names)
            return nullptr;
        m_meta = {
            &objects_coder::template run<&objects_coder::encode_objects>, this};
        return &m_meta;
    }

    /* The struct for Margo to decode input or output into; null: no objects. */
    void *to_decode()
    {
        if (sizeof...(T) == 0 && !sends_type_names)
            return nullptr;
        m_meta = {
            &objects_coder::template run<&objects_coder::decode_objects>, this};
        return &m_meta;
    }

    /* Names the types, for error messages, if both sides check types. */
    std::string types() const
    {
#ifdef THALLIUM_DEBUG_RPC_TYPES
        return ", sent " + get_type_name<std::tuple<std::decay_t<T>...>>();
#else
        return std::string();
#endif
    }

    /* Throws the exception, if any, that the coding of an object has thrown. */
    void rethrow() const
    {
        if (m_error)
            std::rethrow_exception(m_error);
    }
};

} /* namespace detail */

} /* namespace thallium */

#endif
