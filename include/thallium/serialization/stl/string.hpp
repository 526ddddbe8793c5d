/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization of std::string, by cereal. */
#ifndef THALLIUM_SERIALIZATION_STL_STRING_HPP
#define THALLIUM_SERIALIZATION_STL_STRING_HPP

#include <cereal/types/string.hpp>

#endif
