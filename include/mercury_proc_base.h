/* SPDX-License-Identifier: BSD-3-Clause */
/* Procs for integers and plain bytes. mercury_proc.h includes this header.
 *
 * Floating-point numbers have no proc: code their bytes by hg_proc_bytes().
 */
#ifndef MERCURY_PROC_BASE_H
#define MERCURY_PROC_BASE_H

#include <string.h>

#include "mercury_proc.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Code bytes as they are.
 *
 * @param proc       [in]  the proc, as a function hg_proc_T() receives it
 * @param data       [in,out]  may be NULL if data_size is 0
 * @param data_size  [in]  number of bytes
 * Owns:      nothing changes hands.
 * Errors:    HG_OVERFLOW too few bytes are left to decode; `data` not written
 *            HG_NOMEM    no memory for an extra buffer
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: proc or data is NULL.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_proc_bytes(
    hg_proc_t proc, void *data, hg_size_t data_size);

/**
 * Code a few bytes as they are, inline: hg_proc_bytes() for a number of bytes
 * that the compiler knows.
 *
 * @param proc       [in]  the proc, as a function hg_proc_T() receives it
 * @param data       [in,out]  the bytes in memory
 * @param data_size  [in]  a constant
 * Owns:      nothing changes hands.
 * Errors:    as hg_proc_bytes().
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: proc or data is NULL.
 * Source:    ours; part of the procs of integers.
 */
static inline hg_return_t hg_proc_plain(
    hg_proc_t proc, void *data, hg_size_t data_size)
{
    struct hg_proc_cursor *cursor = (struct hg_proc_cursor *)proc;

    if (unlikely((uintptr_t)cursor->pos + data_size > (uintptr_t)cursor->end))
        return cursor->op == HG_FREE ? HG_SUCCESS
                                     : hg_proc_bytes(proc, data, data_size);
    if (cursor->op == HG_ENCODE)
        memcpy(cursor->pos, data, data_size);
    else
        memcpy(data, cursor->pos, data_size);
    cursor->pos += data_size;
    return HG_SUCCESS;
}

/* Older names. */
#define hg_proc_raw    hg_proc_bytes
#define hg_proc_memcpy hg_proc_bytes

/**
 * Code an int8_t: 1 byte.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * @param data  [in,out]  a `int8_t *`
 * Owns:      nothing changes hands.
 * Errors:    as hg_proc_bytes().
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: proc or data is NULL.
 * Source:    as Mercury 2.4.
 */
static inline hg_return_t hg_proc_int8_t(hg_proc_t proc, void *data)
{
    return hg_proc_plain(proc, data, sizeof(int8_t));
}

/**
 * Code a uint8_t: 1 byte.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * @param data  [in,out]  a `uint8_t *`
 * Owns:      nothing changes hands.
 * Errors:    as hg_proc_bytes().
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: proc or data is NULL.
 * Source:    as Mercury 2.4.
 */
static inline hg_return_t hg_proc_uint8_t(hg_proc_t proc, void *data)
{
    return hg_proc_plain(proc, data, sizeof(uint8_t));
}

/**
 * Code an int16_t: 2 bytes.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * @param data  [in,out]  a `int16_t *`
 * Owns:      nothing changes hands.
 * Errors:    as hg_proc_bytes().
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: proc or data is NULL.
 * Source:    as Mercury 2.4.
 */
static inline hg_return_t hg_proc_int16_t(hg_proc_t proc, void *data)
{
    return hg_proc_plain(proc, data, sizeof(int16_t));
}

/**
 * Code a uint16_t: 2 bytes.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * @param data  [in,out]  a `uint16_t *`
 * Owns:      nothing changes hands.
 * Errors:    as hg_proc_bytes().
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: proc or data is NULL.
 * Source:    as Mercury 2.4.
 */
static inline hg_return_t hg_proc_uint16_t(hg_proc_t proc, void *data)
{
    return hg_proc_plain(proc, data, sizeof(uint16_t));
}

/**
 * Code an int32_t: 4 bytes.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * @param data  [in,out]  a `int32_t *`
 * Owns:      nothing changes hands.
 * Errors:    as hg_proc_bytes().
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: proc or data is NULL.
 * Source:    as Mercury 2.4.
 */
static inline hg_return_t hg_proc_int32_t(hg_proc_t proc, void *data)
{
    return hg_proc_plain(proc, data, sizeof(int32_t));
}

/**
 * Code a uint32_t: 4 bytes.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * @param data  [in,out]  a `uint32_t *`
 * Owns:      nothing changes hands.
 * Errors:    as hg_proc_bytes().
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: proc or data is NULL.
 * Source:    as Mercury 2.4.
 */
static inline hg_return_t hg_proc_uint32_t(hg_proc_t proc, void *data)
{
    return hg_proc_plain(proc, data, sizeof(uint32_t));
}

/**
 * Code an int64_t: 8 bytes.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * @param data  [in,out]  a `int64_t *`
 * Owns:      nothing changes hands.
 * Errors:    as hg_proc_bytes().
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: proc or data is NULL.
 * Source:    as Mercury 2.4.
 */
static inline hg_return_t hg_proc_int64_t(hg_proc_t proc, void *data)
{
    return hg_proc_plain(proc, data, sizeof(int64_t));
}

/**
 * Code a uint64_t: 8 bytes.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * @param data  [in,out]  a `uint64_t *`
 * Owns:      nothing changes hands.
 * Errors:    as hg_proc_bytes().
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: proc or data is NULL.
 * Source:    as Mercury 2.4.
 */
static inline hg_return_t hg_proc_uint64_t(hg_proc_t proc, void *data)
{
    return hg_proc_plain(proc, data, sizeof(uint64_t));
}

/* Procs for other names of these types. An hg_id_t is coded in 32 bits, as in
 * Mercury: HG_Register_name() makes ids of 32 bits. */
#define hg_proc_hg_int8_t   hg_proc_int8_t
#define hg_proc_hg_uint8_t  hg_proc_uint8_t
#define hg_proc_hg_int16_t  hg_proc_int16_t
#define hg_proc_hg_uint16_t hg_proc_uint16_t
#define hg_proc_hg_int32_t  hg_proc_int32_t
#define hg_proc_hg_uint32_t hg_proc_uint32_t
#define hg_proc_hg_int64_t  hg_proc_int64_t
#define hg_proc_hg_uint64_t hg_proc_uint64_t
#define hg_proc_hg_bool_t   hg_proc_uint8_t
#define hg_proc_hg_ptr_t    hg_proc_uint64_t
#define hg_proc_hg_size_t   hg_proc_uint64_t
#define hg_proc_hg_id_t     hg_proc_uint32_t

#ifdef __cplusplus
}
#endif

#endif
