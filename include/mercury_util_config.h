/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of the helpers that know nothing of RPC. */
#ifndef MERCURY_UTIL_CONFIG_H
#define MERCURY_UTIL_CONFIG_H

#include "mercury_config.h"

#define HG_UTIL_SUCCESS 0
#define HG_UTIL_FAIL    -1
#define HG_UTIL_TRUE    1
#define HG_UTIL_FALSE   0

#define HG_UTIL_PUBLIC  HG_PUBLIC
#define HG_UTIL_PRIVATE HG_PRIVATE
#define HG_UTIL_INLINE  HG_INLINE

#endif
