/* SPDX-License-Identifier: BSD-3-Clause */
/* Encoding and decoding of arguments by cereal. A type of the program needs
 *
 *   template <typename A> void serialize(A &ar) { ar & x & y; }
 *
 * or save() and load(), as members or as free functions. */
#ifndef THALLIUM_SERIALIZATION_SERIALIZE_HPP
#define THALLIUM_SERIALIZATION_SERIALIZE_HPP

#include <thallium/serialization/cereal/archives.hpp>

#endif
