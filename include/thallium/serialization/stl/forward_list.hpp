/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization of std::forward_list, by cereal. */
#ifndef THALLIUM_SERIALIZATION_STL_FORWARD_LIST_HPP
#define THALLIUM_SERIALIZATION_STL_FORWARD_LIST_HPP

#include <cereal/types/forward_list.hpp>

#endif
