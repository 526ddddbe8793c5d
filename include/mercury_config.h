/* SPDX-License-Identifier: BSD-3-Clause */
/* Integer names, version, attributes and build switches of the Mercury API.
 *
 * The text is the same for every build: what a build lacks is refused at run
 * time, so that programs need not be compiled again. */
#ifndef MERCURY_CONFIG_H
#define MERCURY_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The older names of the fixed-width integers; new code uses <stdint.h>. */
typedef int8_t hg_int8_t;
typedef uint8_t hg_uint8_t;
typedef int16_t hg_int16_t;
typedef uint16_t hg_uint16_t;
typedef int32_t hg_int32_t;
typedef uint32_t hg_uint32_t;
typedef int64_t hg_int64_t;
typedef uint64_t hg_uint64_t;
typedef uint64_t hg_ptr_t; /* wide enough for an address of any peer */
typedef uint8_t hg_bool_t;

#define HG_TRUE  1
#define HG_FALSE 0

/* The version of the API that is offered, not that of Amalgam itself. */
#define HG_VERSION_MAJOR 2
#define HG_VERSION_MINOR 4
#define HG_VERSION_PATCH 1

#if defined(__GNUC__)
#define HG_WARN_UNUSED_RESULT __attribute__((warn_unused_result))
#define HG_UNUSED             __attribute__((unused))
#define HG_PACKED(x)          x __attribute__((packed))
#define HG_PUBLIC             __attribute__((visibility("default")))
#define HG_PRIVATE            __attribute__((visibility("hidden")))
#define HG_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else
#define HG_WARN_UNUSED_RESULT
#define HG_UNUSED
#define HG_PACKED(x) x
#define HG_PUBLIC
#define HG_PRIVATE
#define HG_PRINTF(fmt, first)
#endif

#if defined(__GNUC__) && __GNUC__ >= 7
#define HG_FALLTHROUGH __attribute__((fallthrough))
#else
#define HG_FALLTHROUGH                                                         \
    do {                                                                       \
    } while (0)
#endif

#define HG_INLINE inline

/* What programs ask for with #ifdef. MERCURY_GEN_PROC is there, so BOOST is
 * "on", although no Boost is used. What is not built stays undefined. */
#define HG_BUILD_SHARED_LIBS
#define HG_HAS_BOOST     1
#define HG_HAS_CHECKSUMS 1

#endif
