/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization of std::unordered_multimap, by cereal. */
#ifndef THALLIUM_SERIALIZATION_STL_UNORDERED_MULTIMAP_HPP
#define THALLIUM_SERIALIZATION_STL_UNORDERED_MULTIMAP_HPP

#include <cereal/types/unordered_map.hpp>

#endif
