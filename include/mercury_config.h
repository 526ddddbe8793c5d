/* SPDX-License-Identifier: BSD-3-Clause */
/* Integer names, version, attributes and build switches of the Mercury API.
 *
 * This header is the same for every build: a feature that a build lacks is
 * refused at run time, so that programs need not be compiled again. */
#ifndef MERCURY_CONFIG_H
#define MERCURY_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mercury_compiler_attributes.h"

/* The older names of the fixed-width integers; new code uses <stdint.h>. */
typedef int8_t hg_int8_t;
typedef uint8_t hg_uint8_t;
typedef int16_t hg_int16_t;
typedef uint16_t hg_uint16_t;
typedef int32_t hg_int32_t;
typedef uint32_t hg_uint32_t;
typedef int64_t hg_int64_t;
typedef uint64_t hg_uint64_t;
typedef uint64_t hg_ptr_t; /* wide enough for a memory address of any peer */
typedef uint8_t hg_bool_t;

#define HG_TRUE  1
#define HG_FALSE 0

/* Version of the Mercury API that is offered, not the version of Amalgam. */
#define HG_VERSION_MAJOR 2
#define HG_VERSION_MINOR 4
#define HG_VERSION_PATCH 1

#define HG_WARN_UNUSED_RESULT HG_ATTR_WARN_UNUSED_RESULT
#define HG_UNUSED             HG_ATTR_UNUSED
#define HG_PACKED(x)          HG_ATTR_PACKED(x)
#define HG_PUBLIC             HG_ATTR_ABI_EXPORT
#define HG_PRIVATE            HG_ATTR_ABI_HIDDEN
#define HG_PRINTF(fmt, first) HG_ATTR_PRINTF(fmt, first)
#define HG_FALLTHROUGH        HG_ATTR_FALLTHROUGH

#define HG_INLINE inline

/* Features that programs test with #ifdef. HG_HAS_BOOST says that
 * MERCURY_GEN_PROC exists, although no Boost is used; HG_HAS_MULTI_PROGRESS,
 * that several threads may make progress on one context. Missing features stay
 * undefined: HG_HAS_XDR, because arguments are encoded in native byte order,
 * and HG_HAS_DEBUG. */
#define HG_BUILD_SHARED_LIBS
#define HG_HAS_BOOST          1
#define HG_HAS_DIAG           1
#define HG_HAS_CHECKSUMS      1
#define HG_HAS_MULTI_PROGRESS 1

#endif
