/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization of std::deque, by cereal. */
#ifndef THALLIUM_SERIALIZATION_STL_DEQUE_HPP
#define THALLIUM_SERIALIZATION_STL_DEQUE_HPP

#include <cereal/types/deque.hpp>

#endif
