/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffer of a proc: sizes, raw access, extra buffer, checksum. mercury_proc.h
 * includes this header. */
#ifndef MERCURY_PROC_BUF_H
#define MERCURY_PROC_BUF_H

#include <string.h>

#include "mercury_proc.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Get the size of the current buffer of a proc: the given or the extra buffer.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC hg_size_t hg_proc_get_size(hg_proc_t proc);

/**
 * Get the number of bytes that a proc has coded so far.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC hg_size_t hg_proc_get_size_used(hg_proc_t proc);

/**
 * Get the number of bytes that are left in the buffer of a proc.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC hg_size_t hg_proc_get_size_left(hg_proc_t proc);

/**
 * Enlarge the buffer of a proc: move the coded bytes to an extra buffer, or to
 * a longer extra buffer.
 *
 * @param proc           [in]  the proc, as a function hg_proc_T() receives it
 * @param req_buf_size   [in]  bytes wanted, more than the buffer has now
 * Owns:      pointers of hg_proc_save_ptr() and hg_proc_get_extra_buf() are
 *            invalid afterwards.
 * Errors:    HG_INVALID_ARG proc is NULL or freeing, or the size is not larger
 *            HG_OVERFLOW    the proc is decoding: no more bytes were received
 *            HG_NOMEM       no memory
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but refused when decoding.
 */
HG_PUBLIC hg_return_t hg_proc_set_size(hg_proc_t proc, hg_size_t req_buf_size);

/**
 * Get the address of the next `data_size` bytes, which the caller itself codes;
 * the bytes count as coded. hg_proc_restore_ptr() must follow.
 *
 * @param proc       [in]  the proc, as a function hg_proc_T() receives it
 * @param data_size  [in]  number of bytes
 * Owns:      the result is borrowed from the proc, until the proc codes more.
 * Errors:    NULL: proc is NULL or freeing, too few bytes are left to decode
 *            (the log says how many), or no memory.
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: access beyond these bytes.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC void *hg_proc_save_ptr(hg_proc_t proc, hg_size_t data_size);

/**
 * End the coding of the bytes of hg_proc_save_ptr() by the caller, and add the
 * bytes to the checksum.
 *
 * @param proc       [in]  the proc, as a function hg_proc_T() receives it
 * @param data       [in]  the result of hg_proc_save_ptr()
 * @param data_size  [in]  as for hg_proc_save_ptr()
 * Owns:      the pointer is invalid after the call.
 * Errors:    HG_INVALID_ARG proc or data is NULL
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: another pointer or size.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_proc_restore_ptr(
    hg_proc_t proc, void *data, hg_size_t data_size);

/**
 * Get the extra buffer of a proc, which holds all coded bytes, or NULL if the
 * first buffer was large enough.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * Owns:      the result is borrowed from the proc, unless the caller takes it:
 *            hg_proc_set_extra_buf_is_mine().
 * Errors:    NULL gives NULL.
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC void *hg_proc_get_extra_buf(hg_proc_t proc);

/**
 * Get the size of the extra buffer of a proc; 0 if there is no extra buffer.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC hg_size_t hg_proc_get_extra_size(hg_proc_t proc);

/**
 * Set the owner of the extra buffer of a proc.
 *
 * @param proc    [in]  the proc, as a function hg_proc_T() receives it
 * @param theirs  [in]  HG_TRUE: the caller owns the buffer, and calls free();
 *                      HG_FALSE: the proc owns the buffer, as initially
 * Owns:      as `theirs` says.
 * Errors:    HG_INVALID_ARG proc is NULL or has no extra buffer
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: the proc codes more after the buffer was taken.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_proc_set_extra_buf_is_mine(
    hg_proc_t proc, uint8_t theirs);

/**
 * End the coding by a proc, and complete the checksum of all coded bytes.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG proc is NULL
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_proc_flush(hg_proc_t proc);

/**
 * Get the checksum of a proc: 2, 4 or 8 bytes, in native order.
 *
 * @param proc       [in]   the proc, as a function hg_proc_T() receives it
 * @param hash       [out]  room for the checksum
 * @param hash_size  [in]  size of `hash` in bytes
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG    proc or hash is NULL
 *            HG_OPNOTSUPPORTED the proc computes no checksum
 *            HG_OVERFLOW       hash_size is too small
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4; CRC-16/T10-DIF, CRC-32, CRC-64/ECMA-182.
 */
HG_PUBLIC hg_return_t hg_proc_checksum_get(
    hg_proc_t proc, void *hash, hg_size_t hash_size);

/**
 * Compare the checksum of a proc with a checksum that was received.
 *
 * @param proc       [in]  the proc, as a function hg_proc_T() receives it
 * @param hash       [in]  the checksum that was received
 * @param hash_size  [in]  size of `hash` in bytes
 * Owns:      nothing changes hands.
 * Errors:    HG_CHECKSUM_ERROR the checksums differ
 *            HG_INVALID_ARG    proc or hash is NULL
 *            HG_OPNOTSUPPORTED the proc computes no checksum
 *            HG_OVERFLOW       hash_size is too small
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_proc_checksum_verify(
    hg_proc_t proc, const void *hash, hg_size_t hash_size);

/**
 * Add bytes that the proc has not coded to the checksum of the proc.
 *
 * @param proc       [in]  the proc, as a function hg_proc_T() receives it
 * @param data       [in]  the bytes to add
 * @param data_size  [in]  number of bytes
 * Owns:      nothing changes hands.
 * Errors:    NULL has no effect.
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC void hg_proc_checksum_update(
    hg_proc_t proc, void *data, hg_size_t data_size);

/* Macros for procs written by hand. Each codes the bytes at the pointer `data`,
 * and jumps to `label` with the error in `ret` if the coding fails:
 *
 *   HG_PROC_TYPE(proc, int32_t, &value, done, ret)
 *
 * expands to
 *
 *   do {
 *       (ret) = hg_proc_bytes(proc, &value, sizeof(int32_t));
 *       if ((ret) != HG_SUCCESS)
 *           goto done;
 *   } while (0)
 */
#define HG_PROC_BYTES(proc, data, size, label, ret)                            \
    do {                                                                       \
        (ret) = hg_proc_bytes(proc, data, size);                               \
        if ((ret) != HG_SUCCESS)                                               \
            goto label;                                                        \
    } while (0)
#define HG_PROC_TYPE(proc, type, data, label, ret)                             \
    HG_PROC_BYTES(proc, data, sizeof(type), label, ret)

/* The steps of HG_PROC_BYTES(): check that there is room, or that the bytes
 * have arrived; copy the bytes at the cursor; advance the cursor; add the bytes
 * to the checksum. A proc that frees needs neither copy nor advance. */
#define HG_PROC_CHECK_SIZE(proc, size, label, ret)                             \
    do {                                                                       \
        (ret) = HG_SUCCESS;                                                    \
        if (hg_proc_get_op(proc) != HG_FREE &&                                 \
            hg_proc_get_size_left(proc) < (size))                              \
            (ret) =                                                            \
                hg_proc_set_size(proc, hg_proc_get_size_used(proc) + (size));  \
        if ((ret) != HG_SUCCESS)                                               \
            goto label;                                                        \
    } while (0)
#define HG_PROC_BYTES_ENCODE(proc, data, size)                                 \
    ((void)memcpy(hg_proc_save_ptr(proc, 0), data, size))
#define HG_PROC_BYTES_DECODE(proc, data, size)                                 \
    ((void)memcpy(data, hg_proc_save_ptr(proc, 0), size))
#define HG_PROC_TYPE_ENCODE(proc, type, data)                                  \
    HG_PROC_BYTES_ENCODE(proc, data, sizeof(type))
#define HG_PROC_TYPE_DECODE(proc, type, data)                                  \
    HG_PROC_BYTES_DECODE(proc, data, sizeof(type))
#define HG_PROC_UPDATE(proc, size) ((void)hg_proc_save_ptr(proc, size))
#define HG_PROC_CHECKSUM_UPDATE(proc, data, size)                              \
    hg_proc_checksum_update(proc, data, size)

#ifdef __cplusplus
}
#endif

#endif
