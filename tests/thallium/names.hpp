/* SPDX-License-Identifier: BSD-3-Clause */
/* For the programs that name all of the C++ API. Each says what it says by
 * being compiled: a name that is missing, or has another type, is an error.
 * Their functions are never called; they have external linkage, so that no
 * compiler warns of that. */
#ifndef TESTS_THALLIUM_NAMES_HPP
#define TESTS_THALLIUM_NAMES_HPP

#include <type_traits>
#include <thallium.hpp>

namespace tl = thallium;

namespace names
{

/* Has the type Want, and compiles with all that it calls. */
template <typename Want, typename Got> void is(Got &&)
{
    static_assert(std::is_same<Want, std::decay_t<Got>>::value, "type");
}

template <typename T> constexpr bool moves_only()
{
    return std::is_move_constructible<T>::value &&
           std::is_move_assignable<T>::value &&
           !std::is_copy_constructible<T>::value &&
           !std::is_copy_assignable<T>::value;
}

template <typename T> constexpr bool copies()
{
    return std::is_copy_constructible<T>::value &&
           std::is_copy_assignable<T>::value &&
           std::is_move_constructible<T>::value;
}

} /* namespace names */

#endif
