/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization of std::set, by cereal. */
#ifndef THALLIUM_SERIALIZATION_STL_SET_HPP
#define THALLIUM_SERIALIZATION_STL_SET_HPP

#include <cereal/types/set.hpp>

#endif
