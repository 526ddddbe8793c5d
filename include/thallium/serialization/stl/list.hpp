/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization of std::list, by cereal. */
#ifndef THALLIUM_SERIALIZATION_STL_LIST_HPP
#define THALLIUM_SERIALIZATION_STL_LIST_HPP

#include <cereal/types/list.hpp>

#endif
