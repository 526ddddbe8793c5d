/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls with the elements of a tuple as arguments. */
#ifndef THALLIUM_TUPLE_UTIL_HPP
#define THALLIUM_TUPLE_UTIL_HPP

#include <thallium/config.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace thallium
{

namespace detail
{

template <typename F, typename Tuple, std::size_t... I>
decltype(auto) apply_elements(
    F &&function, Tuple &&elements, std::index_sequence<I...>)
{
    (void)elements; /* not used if the tuple is empty */
    return std::forward<F>(function)(
        std::get<I>(std::forward<Tuple>(elements))...);
}

} /* namespace detail */

/** Calls function(element 0, element 1, ...) and returns its result. */
template <typename F, typename Tuple>
decltype(auto) apply_function_to_tuple(F &&function, Tuple &&elements)
{
    return detail::apply_elements(std::forward<F>(function),
        std::forward<Tuple>(elements),
        std::make_index_sequence<
            std::tuple_size<std::decay_t<Tuple>>::value>());
}

} /* namespace thallium */

#endif
