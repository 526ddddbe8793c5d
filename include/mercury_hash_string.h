/* SPDX-License-Identifier: BSD-3-Clause */
/* Hash of a string; the id of an RPC by HG_Register_name() is such a hash. */
#ifndef MERCURY_HASH_STRING_H
#define MERCURY_HASH_STRING_H

#include "mercury_util_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Compute Bernstein's hash: h = 5381; then, for each byte, h = 33 h + byte.
 *
 * @param string  [in]  the text to hash
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread; never blocks.
 * Undefined: string is NULL.
 * Source:    as Mercury 2.4.
 */
static HG_UTIL_INLINE unsigned int hg_hash_string(const char *string)
{
    const unsigned char *at = (const unsigned char *)string;
    uint32_t hash = 5381;

    for (; *at != '\0'; at++)
        hash = hash * 33u + *at;
    return hash;
}

#ifdef __cplusplus
}
#endif

#endif
