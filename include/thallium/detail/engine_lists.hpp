/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools and execution streams of an engine: engine::pools(), xstreams(). */
#ifndef THALLIUM_DETAIL_ENGINE_LISTS_HPP
#define THALLIUM_DETAIL_ENGINE_LISTS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <margo.h>
#include <thallium/margo_exception.hpp>
#include <thallium/margo_instance_ref.hpp>
#include <thallium/pool.hpp>
#include <thallium/xstream.hpp>

namespace thallium
{

namespace detail
{

/** A pool or execution stream with the name and index that Margo gives it. */
template <typename T> class named_object : public T
{
    std::string m_name;
    std::uint32_t m_index;

  public:
    named_object(T object, std::string name, std::uint32_t index)
        : T(std::move(object)), m_name(std::move(name)), m_index(index)
    {
    }

    /** The name that the element had when operator[] found it. */
    const std::string &name() const noexcept
    {
        return m_name;
    }

    /** The index when operator[] found it; removals change later indexes. */
    std::uint32_t index() const noexcept
    {
        return m_index;
    }
};

/* The functions of Margo for a list, one for each way to name an element. */
template <typename T> struct list_calls;

#define THALLIUM_LIST_CALLS_(kind, suffix, Arg, arg)                           \
    static hg_return_t find(                                                   \
        margo_instance_id mid, Arg what, margo_##kind##_info *info)            \
    {                                                                          \
        return margo_find_##kind##_by_##suffix(mid, arg, info);                \
    }                                                                          \
    static hg_return_t remove(margo_instance_id mid, Arg what)                 \
    {                                                                          \
        return margo_remove_##kind##_by_##suffix(mid, arg);                    \
    }                                                                          \
    static hg_return_t ref_incr(margo_instance_id mid, Arg what)               \
    {                                                                          \
        return margo_##kind##_ref_incr_by_##suffix(mid, arg);                  \
    }                                                                          \
    static hg_return_t release(margo_instance_id mid, Arg what)                \
    {                                                                          \
        return margo_##kind##_release_by_##suffix(mid, arg);                   \
    }                                                                          \
    static hg_return_t ref_count(                                              \
        margo_instance_id mid, Arg what, unsigned *count)                      \
    {                                                                          \
        return margo_##kind##_ref_count_by_##suffix(mid, arg, count);          \
    }

template <> struct list_calls<pool> {
    using info = margo_pool_info;

    THALLIUM_LIST_CALLS_(pool, name, const std::string &, what.c_str())
    THALLIUM_LIST_CALLS_(pool, index, std::uint32_t, what)
    THALLIUM_LIST_CALLS_(pool, handle, const pool &, what.native_handle())

    static std::size_t size(margo_instance_id mid)
    {
        return margo_get_num_pools(mid);
    }

    static named_object<pool> named(const info &found)
    {
        return {pool(found.pool), found.name, found.index};
    }
};

template <> struct list_calls<xstream> {
    using info = margo_xstream_info;

    THALLIUM_LIST_CALLS_(xstream, name, const std::string &, what.c_str())
    THALLIUM_LIST_CALLS_(xstream, index, std::uint32_t, what)
    THALLIUM_LIST_CALLS_(xstream, handle, const xstream &, what.native_handle())

    static std::size_t size(margo_instance_id mid)
    {
        return margo_get_num_xstreams(mid);
    }

    static named_object<xstream> named(const info &found)
    {
        return {xstream(found.xstream), found.name, found.index};
    }
};

#undef THALLIUM_LIST_CALLS_

/**
 * The pools or execution streams of an engine. An argument names an element by
 * name, by index (any integer type), or is the element itself. Functions throw
 * margo_exception if there is no such element, or if Margo refuses.
 */
template <typename T> class list_proxy
{
    using calls = list_calls<T>;

    margo_instance_ref m_instance;

    /* Converts an argument to the type that list_calls takes. */
    static const std::string &key(const std::string &name)
    {
        return name;
    }

    static std::string key(const char *name)
    {
        return name;
    }

    static const T &key(const T &element)
    {
        return element;
    }

    template <typename I,
        typename = std::enable_if_t<std::is_integral<I>::value>>
    static std::uint32_t key(I index)
    {
        return static_cast<std::uint64_t>(index) > UINT32_MAX
                   ? UINT32_MAX
                   : static_cast<std::uint32_t>(index);
    }

    margo_instance_id mid() const
    {
        return m_instance.get_margo_instance();
    }

  public:
    /** The list of an instance. */
    explicit list_proxy(margo_instance_ref instance)
        : m_instance(std::move(instance))
    {
    }

    /** Finds an element. */
    template <typename X> named_object<T> operator[](const X &which) const
    {
        typename calls::info found;

        MARGO_ASSERT(calls::find(mid(), key(which), &found), list_find);
        return calls::named(found);
    }

    /** The number of elements. */
    std::size_t size() const
    {
        return calls::size(mid());
    }

    /** Removes an element that is not in use. */
    template <typename X> void remove(const X &which) const
    {
        MARGO_ASSERT(calls::remove(mid(), key(which)), list_remove);
    }

    /** Keeps an element from being removed. */
    template <typename X> void ref_incr(const X &which) const
    {
        MARGO_ASSERT(calls::ref_incr(mid(), key(which)), list_ref_incr);
    }

    /** Undoes ref_incr(). */
    template <typename X> void release(const X &which) const
    {
        MARGO_ASSERT(calls::release(mid(), key(which)), list_release);
    }

    /** Returns the number of references to an element. */
    template <typename X> unsigned ref_count(const X &which) const
    {
        unsigned count = 0;

        MARGO_ASSERT(
            calls::ref_count(mid(), key(which), &count), list_ref_count);
        return count;
    }
};

} /* namespace detail */

} /* namespace thallium */

#endif
