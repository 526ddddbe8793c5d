/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments that need no archive: numbers, strings, vectors of numbers. An
 * archive of cereal has five containers, for shared pointers and others, that
 * these types never need; to create and destroy them takes longer than to copy
 * the bytes. An archive writes equal bytes, so the two sides may differ. */
#ifndef THALLIUM_DETAIL_PLAIN_HPP
#define THALLIUM_DETAIL_PLAIN_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>
#include <thallium/detail/proc_bytes.hpp>

namespace thallium
{

namespace detail
{

/* A bool needs an archive, which reads any byte but 0 as true. */
template <typename T>
struct is_number : std::integral_constant<bool,
                       std::is_arithmetic<T>::value &&
                           !std::is_same<std::remove_cv_t<T>, bool>::value> {
};

template <typename T> struct is_plain : is_number<T> {
};
template <typename A>
struct is_plain<std::basic_string<char, std::char_traits<char>, A>>
    : std::true_type {
};
template <typename T, typename A>
struct is_plain<std::vector<T, A>> : is_number<T> {
};

template <typename... T> struct are_plain : std::true_type {
};
template <typename First, typename... T>
struct are_plain<First, T...>
    : std::integral_constant<bool,
          is_plain<std::remove_cv_t<First>>::value && are_plain<T...>::value> {
};

template <typename T>
std::enable_if_t<is_number<T>::value> put_plain(
    proc_writer &to, const T &number)
{
    to.write(&number, sizeof(number));
}

/* A string or a vector: the number of elements, then the elements. */
template <typename T>
std::enable_if_t<!is_number<T>::value> put_plain(
    proc_writer &to, const T &elements)
{
    put_plain(to, static_cast<std::uint64_t>(elements.size()));
    to.write(elements.data(), elements.size() * sizeof(elements[0]));
}

template <typename T>
std::enable_if_t<is_number<T>::value> take_plain(proc_reader &from, T &number)
{
    from.read(&number, sizeof(number));
}

/* Copies elements of one byte directly from the message. */
template <typename T>
void take_elements(
    proc_reader &from, T &bytes, std::size_t count, std::true_type)
{
    auto *first = static_cast<typename T::value_type *>(from.save_ptr(count));

    bytes.assign(first, first + count);
    from.restore_ptr(first, count);
}

/* Larger elements may be unaligned in the message, so read() copies them. */
template <typename T>
void take_elements(
    proc_reader &from, T &elements, std::size_t count, std::false_type)
{
    elements.resize(count);
    from.read(elements.data(), count * sizeof(elements[0]));
}

template <typename T>
std::enable_if_t<!is_number<T>::value> take_plain(
    proc_reader &from, T &elements)
{
    using element = typename T::value_type;
    std::uint64_t count = 0;

    take_plain(from, count);
    from.expect(count, sizeof(element));
    take_elements(from, elements, static_cast<std::size_t>(count),
        std::integral_constant<bool, sizeof(element) == 1>());
}

} /* namespace detail */

} /* namespace thallium */

#endif
