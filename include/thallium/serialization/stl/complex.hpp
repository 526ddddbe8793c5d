/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization of std::complex, by cereal. */
#ifndef THALLIUM_SERIALIZATION_STL_COMPLEX_HPP
#define THALLIUM_SERIALIZATION_STL_COMPLEX_HPP

#include <cereal/types/complex.hpp>

#endif
