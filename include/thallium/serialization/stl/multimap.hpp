/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization of std::multimap, by cereal. */
#ifndef THALLIUM_SERIALIZATION_STL_MULTIMAP_HPP
#define THALLIUM_SERIALIZATION_STL_MULTIMAP_HPP

#include <cereal/types/map.hpp>

#endif
