/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of thread-local values. */
#ifndef ABT_KEY_H
#define ABT_KEY_H

#include "abt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create a key for a thread-local value.
 *
 * @param destructor  [in]  called when a thread is freed, with its value of the
 *                          key, unless the value is NULL; may be NULL
 * @param newkey      [out]  the key
 * Owns:      the caller owns the result; ABT_key_free() frees it.
 * Errors:    ABT_ERR_INV_ARG  newkey is NULL
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_key_create(
    void (*destructor)(void *value), ABT_key *newkey);

/**
 * Destroy a key; its destructor is still called for existing values.
 *
 * @param key  [in,out]  the key; becomes ABT_KEY_NULL
 * Owns:      the key is consumed.
 * Errors:    ABT_ERR_INV_KEY  *key is ABT_KEY_NULL
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_key_free(ABT_key *key);

/**
 * Set the caller's value of a key.
 *
 * @param key    [in]  the key
 * @param value  [in]  passed to the destructor when the thread is freed
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_KEY  key is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 *            ABT_ERR_MEM  no memory
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_key_set(ABT_key key, void *value);

/**
 * Get the caller's value of a key, or NULL if it was not set.
 *
 * @param key    [in]  the key
 * @param value  [out]  the result
 * Owns:      nothing changes hands.
 * Errors:    ABT_ERR_INV_KEY  key is NULL
 *            ABT_ERR_INV_ARG  value is NULL
 *            ABT_ERR_INV_XSTREAM  the caller is on no stream
 * Threads:   any thread; never blocks.
 * Undefined: the object freed during the call.
 * Source:    as Argobots 1.2.
 */
ABT_API_PUBLIC int ABT_key_get(ABT_key key, void **value);

#ifdef __cplusplus
}
#endif

#endif
