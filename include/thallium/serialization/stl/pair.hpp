/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization of std::pair, by cereal. */
#ifndef THALLIUM_SERIALIZATION_STL_PAIR_HPP
#define THALLIUM_SERIALIZATION_STL_PAIR_HPP

#include <cereal/types/utility.hpp>

#endif
