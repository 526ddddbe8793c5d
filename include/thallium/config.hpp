/* SPDX-License-Identifier: BSD-3-Clause */
/* The version of Thallium whose API these headers have. */
#ifndef THALLIUM_CONFIG_HPP
#define THALLIUM_CONFIG_HPP

#if __cplusplus < 201402L
#error "thallium.hpp needs C++14 or later: compile with -std=c++14"
#endif

#define THALLIUM_VERSION_MAJOR 0
#define THALLIUM_VERSION_MINOR 16
#define THALLIUM_VERSION_PATCH 0
/** The version as a string. */
#define THALLIUM_VERSION "0.16.0"
/** The version as a number: major * 1000000 + minor * 1000 + patch. */
#define THALLIUM_VERSION_NUM 16000

#endif
