/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization of std::array, by cereal. */
#ifndef THALLIUM_SERIALIZATION_STL_ARRAY_HPP
#define THALLIUM_SERIALIZATION_STL_ARRAY_HPP

#include <cereal/types/array.hpp>

#endif
