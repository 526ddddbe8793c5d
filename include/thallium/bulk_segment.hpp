/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranges of exposed memory; see bulk.hpp. */
#ifndef THALLIUM_ENGINE_HPP
#include <thallium/engine.hpp> /* the headers that come before */
#endif
#ifndef THALLIUM_BULK_SEGMENT_HPP
#define THALLIUM_BULK_SEGMENT_HPP

#include <thallium/bulk.hpp>

#endif
