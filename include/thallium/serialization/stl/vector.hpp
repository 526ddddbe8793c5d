/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization of std::vector, by cereal. */
#ifndef THALLIUM_SERIALIZATION_STL_VECTOR_HPP
#define THALLIUM_SERIALIZATION_STL_VECTOR_HPP

#include <cereal/types/vector.hpp>

#endif
