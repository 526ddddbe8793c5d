/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization of std::tuple, by cereal. */
#ifndef THALLIUM_SERIALIZATION_STL_TUPLE_HPP
#define THALLIUM_SERIALIZATION_STL_TUPLE_HPP

#include <cereal/types/tuple.hpp>

#endif
