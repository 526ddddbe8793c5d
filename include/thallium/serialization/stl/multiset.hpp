/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization of std::multiset, by cereal. */
#ifndef THALLIUM_SERIALIZATION_STL_MULTISET_HPP
#define THALLIUM_SERIALIZATION_STL_MULTISET_HPP

#include <cereal/types/set.hpp>

#endif
