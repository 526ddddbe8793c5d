/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization of std::map, by cereal. */
#ifndef THALLIUM_SERIALIZATION_STL_MAP_HPP
#define THALLIUM_SERIALIZATION_STL_MAP_HPP

#include <cereal/types/map.hpp>

#endif
