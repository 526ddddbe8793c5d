/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization of std::unordered_multiset, by cereal. */
#ifndef THALLIUM_SERIALIZATION_STL_UNORDERED_MULTISET_HPP
#define THALLIUM_SERIALIZATION_STL_UNORDERED_MULTISET_HPP

#include <cereal/types/unordered_set.hpp>

#endif
