/* SPDX-License-Identifier: BSD-3-Clause */
/* Types behind std::reference_wrapper. */
#ifndef THALLIUM_REFERENCE_UTIL_HPP
#define THALLIUM_REFERENCE_UTIL_HPP

#include <thallium/config.hpp>

#include <functional>
#include <type_traits>

namespace thallium
{

/** T, or a reference to U if T is std::reference_wrapper<U>. */
template <typename T> struct unwrap_refwrapper {
    using type = T;
};
template <typename U> struct unwrap_refwrapper<std::reference_wrapper<U>> {
    using type = U &;
};

/** The type with which std::make_tuple() keeps an argument of type T. */
template <typename T>
using unwrap_decay_t =
    typename unwrap_refwrapper<typename std::decay<T>::type>::type;

} /* namespace thallium */

#endif
