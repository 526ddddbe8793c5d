/* SPDX-License-Identifier: BSD-3-Clause */
/* The first compiler error for an argument whose type cannot be serialized: it
 * names the header that the program has to include, or the functions that the
 * type needs. Cereal's own errors take some hundred lines. */
#ifndef THALLIUM_DETAIL_SERIALIZABLE_HPP
#define THALLIUM_DETAIL_SERIALIZABLE_HPP

#include <array>
#include <complex>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
#include <cereal/cereal.hpp>

namespace thallium
{

namespace detail
{

/* Can cereal code a T? Cereal skips objects of empty classes. */
template <typename T, typename Archive>
struct is_output
    : std::integral_constant<bool,
          cereal::traits::is_output_serializable<T, Archive>::value ||
              std::is_empty<T>::value> {
};
template <typename T, typename Archive>
struct is_input
    : std::integral_constant<bool,
          cereal::traits::is_input_serializable<T, Archive>::value ||
              std::is_empty<T>::value> {
};

/* Complete only if Is<T, Archive> is true; compilers print this name. */
template <template <typename, typename> class Is, typename Archive, typename T>
struct must_be_serializable {
    static_assert(Is<T, Archive>::value,
        "thallium cannot code a type of this argument or answer: the type "
        "needs "
        "one template <typename A> void serialize(A &ar), or one save() and "
        "load(); for a type of the standard library include its header of "
        "thallium/serialization/stl/, or of cereal/types/");
    static constexpr bool value = true;
};

/* The types of the standard library, with the types that they contain. */
#define THALLIUM_NEEDS_(header, type, Params, Parts)                           \
    template <template <typename, typename> class Is, typename Archive,        \
        THALLIUM_UNPACK_ Params>                                               \
    struct must_be_serializable<Is, Archive, THALLIUM_UNPACK_ type>            \
        : must_all_be_serializable<Is, Archive, THALLIUM_UNPACK_ Parts> {      \
        static_assert(Is<THALLIUM_UNPACK_ type, Archive>::value,               \
            "thallium cannot code a type of this argument or answer: "         \
            "#include "                                                        \
            "<thallium/serialization/stl/" header ".hpp>");                    \
    };
#define THALLIUM_UNPACK_(...) __VA_ARGS__

template <template <typename, typename> class Is, typename Archive,
    typename... T>
struct must_all_be_serializable {
    static constexpr bool value = true;
};
template <template <typename, typename> class Is, typename Archive,
    typename First, typename... T>
struct must_all_be_serializable<Is, Archive, First, T...>
    : must_all_be_serializable<Is, Archive, T...> {
    static_assert(must_be_serializable<Is, Archive, First>::value, "");
};

THALLIUM_NEEDS_("array", (std::array<T, N>), (typename T, std::size_t N), (T))
THALLIUM_NEEDS_("complex", (std::complex<T>), (typename T), (T))
THALLIUM_NEEDS_("deque", (std::deque<T, A>), (typename T, typename A), (T))
THALLIUM_NEEDS_(
    "forward_list", (std::forward_list<T, A>), (typename T, typename A), (T))
THALLIUM_NEEDS_("list", (std::list<T, A>), (typename T, typename A), (T))
THALLIUM_NEEDS_("map", (std::map<K, T, C, A>),
    (typename K, typename T, typename C, typename A), (K, T))
THALLIUM_NEEDS_("multimap", (std::multimap<K, T, C, A>),
    (typename K, typename T, typename C, typename A), (K, T))
THALLIUM_NEEDS_("multiset", (std::multiset<T, C, A>),
    (typename T, typename C, typename A), (T))
THALLIUM_NEEDS_("pair", (std::pair<K, T>), (typename K, typename T), (K, T))
THALLIUM_NEEDS_(
    "set", (std::set<T, C, A>), (typename T, typename C, typename A), (T))
THALLIUM_NEEDS_("string", (std::basic_string<T, C, A>),
    (typename T, typename C, typename A), (T))
THALLIUM_NEEDS_("tuple", (std::tuple<T...>), (typename... T), (T...))
THALLIUM_NEEDS_("unordered_map", (std::unordered_map<K, T, H, E, A>),
    (typename K, typename T, typename H, typename E, typename A), (K, T))
THALLIUM_NEEDS_("unordered_multimap", (std::unordered_multimap<K, T, H, E, A>),
    (typename K, typename T, typename H, typename E, typename A), (K, T))
THALLIUM_NEEDS_("unordered_multiset", (std::unordered_multiset<T, H, E, A>),
    (typename T, typename H, typename E, typename A), (T))
THALLIUM_NEEDS_("unordered_set", (std::unordered_set<T, H, E, A>),
    (typename T, typename H, typename E, typename A), (T))
THALLIUM_NEEDS_("vector", (std::vector<T, A>), (typename T, typename A), (T))

#undef THALLIUM_NEEDS_
#undef THALLIUM_UNPACK_

} /* namespace detail */

} /* namespace thallium */

#endif
