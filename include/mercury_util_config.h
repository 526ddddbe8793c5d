/* SPDX-License-Identifier: BSD-3-Clause */
/* Results, integer names, version and attributes of the helpers, which do not
 * depend on RPC. */
#ifndef MERCURY_UTIL_CONFIG_H
#define MERCURY_UTIL_CONFIG_H

#include "mercury_config.h"

/* The older names of the fixed-width integers; new code uses <stdint.h>. */
typedef int8_t hg_util_int8_t;
typedef uint8_t hg_util_uint8_t;
typedef int16_t hg_util_int16_t;
typedef uint16_t hg_util_uint16_t;
typedef int32_t hg_util_int32_t;
typedef uint32_t hg_util_uint32_t;
typedef int64_t hg_util_int64_t;
typedef uint64_t hg_util_uint64_t;
typedef uint8_t hg_util_bool_t;

#define HG_UTIL_TRUE  1
#define HG_UTIL_FALSE 0

/* Results of functions that can fail. */
#define HG_UTIL_SUCCESS 0
#define HG_UTIL_FAIL    -1

/* Version of the Mercury API that is offered, not the version of Amalgam. */
#define HG_UTIL_VERSION_MAJOR HG_VERSION_MAJOR
#define HG_UTIL_VERSION_MINOR HG_VERSION_MINOR
#define HG_UTIL_VERSION_PATCH HG_VERSION_PATCH

#define HG_UTIL_PUBLIC             HG_PUBLIC
#define HG_UTIL_PLUGIN             HG_PUBLIC
#define HG_UTIL_PRIVATE            HG_PRIVATE
#define HG_UTIL_INLINE             HG_INLINE
#define HG_UTIL_WARN_UNUSED_RESULT HG_ATTR_WARN_UNUSED_RESULT
#define HG_UTIL_UNUSED             HG_ATTR_UNUSED
#define HG_UTIL_PACKED(x)          HG_ATTR_PACKED(x)
#define HG_UTIL_ALIGNED(x, a)      HG_ATTR_ALIGNED(x, a)
#define HG_UTIL_CONSTRUCTOR        HG_ATTR_CONSTRUCTOR
#define HG_UTIL_DESTRUCTOR         HG_ATTR_DESTRUCTOR
#define HG_UTIL_PRINTF(fmt, first) HG_ATTR_PRINTF(fmt, first)
#define HG_UTIL_FALLTHROUGH        HG_ATTR_FALLTHROUGH

/* Macros that programs test with #ifdef: features of the system under the
 * helpers. */
#define HG_UTIL_BUILD_SHARED_LIBS
#define HG_UTIL_HAS_ATTR_CONSTRUCTOR_PRIORITY 1
#define HG_UTIL_HAS_CLOCK_MONOTONIC           1
#define HG_UTIL_HAS_CLOCK_MONOTONIC_COARSE    1
#define HG_UTIL_HAS_PTHREAD_CONDATTR_SETCLOCK 1
#define HG_UTIL_HAS_PTHREAD_MUTEX_ADAPTIVE_NP 1
#define HG_UTIL_HAS_PTHREAD_SPINLOCK_T        1
#define HG_UTIL_HAS_STDATOMIC_H               1
#define HG_UTIL_HAS_SYSEPOLL_H                1
#define HG_UTIL_HAS_SYSEVENTFD_H              1
#define HG_UTIL_HAS_SYSPARAM_H                1
#define HG_UTIL_HAS_SYSTIME_H                 1
#define HG_UTIL_HAS_TIME_H                    1

#endif
