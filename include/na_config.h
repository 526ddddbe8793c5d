/* SPDX-License-Identifier: BSD-3-Clause */
/* Version and attributes of the names that begin with NA_. */
#ifndef NA_CONFIG_H
#define NA_CONFIG_H

#include "mercury_config.h"

/* The version of Mercury's network layer whose options and names these are. */
#define NA_VERSION_MAJOR 5
#define NA_VERSION_MINOR 0
#define NA_VERSION_PATCH 0

#define NA_WARN_UNUSED_RESULT HG_WARN_UNUSED_RESULT
#define NA_PUBLIC             HG_PUBLIC
#define NA_PRIVATE            HG_PRIVATE
#define NA_INLINE             HG_INLINE

#endif
