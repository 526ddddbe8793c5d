/* SPDX-License-Identifier: BSD-3-Clause */
/* Signatures of callable objects. */
#ifndef THALLIUM_FUNCTION_UTIL_HPP
#define THALLIUM_FUNCTION_UTIL_HPP

#include <thallium/config.hpp>

#include <functional>
#include <type_traits>

namespace thallium
{

/** The function type R(Args...) of a pointer to a member function. */
template <typename T> struct remove_class;
template <typename C, typename R, typename... Args>
struct remove_class<R (C::*)(Args...)> {
    using type = R(Args...);
};
template <typename C, typename R, typename... Args>
struct remove_class<R (C::*)(Args...) const> {
    using type = R(Args...);
};
template <typename C, typename R, typename... Args>
struct remove_class<R (C::*)(Args...) &> {
    using type = R(Args...);
};
template <typename C, typename R, typename... Args>
struct remove_class<R (C::*)(Args...) const &> {
    using type = R(Args...);
};
#ifdef __cpp_noexcept_function_type
template <typename C, typename R, typename... Args>
struct remove_class<R (C::*)(Args...) noexcept> {
    using type = R(Args...);
};
template <typename C, typename R, typename... Args>
struct remove_class<R (C::*)(Args...) const noexcept> {
    using type = R(Args...);
};
#endif

/** The function type of an object with one operator(). */
template <typename T> struct strip_function_object {
    using type =
        typename remove_class<decltype(&std::decay_t<T>::operator())>::type;
};

namespace detail
{

template <typename T> struct signature_of : strip_function_object<T> {
};
template <typename R, typename... Args> struct signature_of<R(Args...)> {
    using type = R(Args...);
};
template <typename R, typename... Args> struct signature_of<R (*)(Args...)> {
    using type = R(Args...);
};
#ifdef __cpp_noexcept_function_type
template <typename R, typename... Args>
struct signature_of<R (*)(Args...) noexcept> {
    using type = R(Args...);
};
#endif

} /* namespace detail */

/** The type std::function<R(Args...)> that can hold a callable object. */
template <typename T> struct function_signature {
    using type =
        std::function<typename detail::signature_of<std::decay_t<T>>::type>;
};

/** std::true_type if T is a std::function. */
template <typename T> struct is_std_function_object : std::false_type {
};
template <typename T>
struct is_std_function_object<std::function<T>> : std::true_type {
};

} /* namespace thallium */

#endif
