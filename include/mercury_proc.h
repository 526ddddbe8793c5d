/* SPDX-License-Identifier: BSD-3-Clause */
/* Procs: objects that encode arguments to bytes, and decode them.
 *
 * One function per type performs all three operations of a proc: HG_ENCODE
 * writes `*data` to the proc's buffer, HG_DECODE reads `*data` from the buffer,
 * HG_FREE frees the memory that decoding allocated. Bytes are in native order,
 * without padding. An encoding that outgrows its buffer continues in an extra
 * buffer of the proc.
 *
 * A type of the program needs a function like the following:
 *
 *   static hg_return_t hg_proc_point_t(hg_proc_t proc, void *data)
 *   {
 *       point_t *point = data;
 *       hg_return_t ret = hg_proc_int32_t(proc, &point->x);
 *
 *       return ret != HG_SUCCESS ? ret : hg_proc_int32_t(proc, &point->y);
 *   }
 *
 * A decoding that fails leaves nothing behind to free. */
#ifndef MERCURY_PROC_H
#define MERCURY_PROC_H

#include "mercury_types.h"

/* Hints for the compiler; programs use them in procs of their own. */
#if defined(__GNUC__) && !defined(likely)
#define likely(x) __builtin_expect(!!(x), 1)
#elif !defined(likely)
#define likely(x) (x)
#endif
#if defined(__GNUC__) && !defined(unlikely)
#define unlikely(x) __builtin_expect(!!(x), 0)
#elif !defined(unlikely)
#define unlikely(x) (x)
#endif

/* Kind of the checksum that a proc computes over all bytes that it codes. */
typedef enum { HG_CRC16, HG_CRC32, HG_CRC64, HG_NOHASH } hg_proc_hash_t;

/* Flags of a proc. SM: the peer is on this node. BULK_EAGER: bulk handles may
 * be coded with their data. */
#define HG_PROC_SM         (1 << 0)
#define HG_PROC_BULK_EAGER (1 << 1)

/* The first bytes of a proc, for the inline functions of these headers only. */
struct hg_proc_cursor {
    char *pos; /* the next byte */
    char *end; /* limit of inline functions; NULL: they must not code */
    hg_proc_op_t op;
    bool was_asked_op; /* a type asked for `op`, so that type may free memory */
};

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Create a proc without a buffer; hg_proc_reset() gives the proc a buffer.
 *
 * @param hg_class  [in]   types such as hg_bulk_t need a class; may be NULL
 * @param hash      [in]   the checksum that the proc computes; HG_NOHASH: none
 * @param proc      [out]  the new proc
 * Owns:      the caller owns the result; hg_proc_free() frees it.
 * Errors:    HG_INVALID_ARG proc is NULL, or no such hash
 *            HG_NOMEM       no memory
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but the class may be NULL.
 */
HG_PUBLIC hg_return_t hg_proc_create(
    hg_class_t *hg_class, hg_proc_hash_t hash, hg_proc_t *proc);

/**
 * Create a proc with a buffer: hg_proc_create() and hg_proc_reset().
 *
 * @param hg_class  [in]   may be NULL
 * @param buf       [in]   NULL for HG_FREE only
 * @param buf_size  [in]   size of the buffer in bytes
 * @param op        [in]   HG_ENCODE, HG_DECODE or HG_FREE
 * @param hash      [in]   the checksum that the proc computes; HG_NOHASH: none
 * @param proc      [out]  the new proc
 * Owns:      the caller owns the result; hg_proc_free() frees it. The buffer
 *            stays the caller's and must live as long as the proc uses it.
 * Errors:    as hg_proc_create() and hg_proc_reset().
 * Threads:   any thread; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but the class may be NULL.
 */
HG_PUBLIC hg_return_t hg_proc_create_set(hg_class_t *hg_class, void *buf,
    hg_size_t buf_size, hg_proc_op_t op, hg_proc_hash_t hash, hg_proc_t *proc);

/**
 * Destroy a proc, and its extra buffer if the proc owns it.
 *
 * @param proc  [in]  HG_PROC_NULL is allowed
 * Owns:      the proc is consumed.
 * Errors:    none.
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_proc_free(hg_proc_t proc);

/**
 * Reset a proc to a buffer and an operation. The checksum starts again, too. An
 * extra buffer is freed, unless the caller has taken the extra buffer.
 *
 * @param proc      [in]  the proc, as a function hg_proc_T() receives it
 * @param buf       [in]  NULL for HG_FREE only
 * @param buf_size  [in]  size of the buffer in bytes
 * @param op        [in]  HG_ENCODE, HG_DECODE or HG_FREE
 * Owns:      the buffer stays the caller's and must live while it is used.
 * Errors:    HG_INVALID_ARG proc is NULL, or buf is NULL and op is not HG_FREE
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_proc_reset(
    hg_proc_t proc, void *buf, hg_size_t buf_size, hg_proc_op_t op);

/**
 * Get the class of a proc.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * Owns:      the result is borrowed from the proc.
 * Errors:    NULL gives NULL.
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC hg_class_t *hg_proc_get_class(hg_proc_t proc);

/**
 * Set the handle of the call that a proc codes for.
 *
 * @param proc    [in]  the proc, as a function hg_proc_T() receives it
 * @param handle  [in]  of the call
 * Owns:      nothing changes hands.
 * Errors:    NULL has no effect.
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC void hg_proc_set_handle(hg_proc_t proc, hg_handle_t handle);

/**
 * Get the handle of the call that a proc codes for, or HG_HANDLE_NULL.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * Owns:      the result is borrowed from the proc.
 * Errors:    NULL gives HG_HANDLE_NULL.
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC hg_handle_t hg_proc_get_handle(hg_proc_t proc);

/**
 * Get the operation of a proc: HG_ENCODE, HG_DECODE or HG_FREE.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * Owns:      nothing changes hands.
 * Errors:    NULL gives HG_FREE.
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
static inline hg_proc_op_t hg_proc_get_op(hg_proc_t proc)
{
    if (proc == HG_PROC_NULL)
        return HG_FREE;
    ((struct hg_proc_cursor *)proc)->was_asked_op = true;
    return ((struct hg_proc_cursor *)proc)->op;
}

/**
 * Get the operation of a proc, for a type that frees nothing itself: if no type
 * calls hg_proc_get_op(), the proc is not run with HG_FREE.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * Owns:      nothing changes hands.
 * Errors:    none.
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: proc is NULL.
 * Source:    ours; part of the generated procs.
 */
static inline hg_proc_op_t hg_proc_peek_op(hg_proc_t proc)
{
    return ((struct hg_proc_cursor *)proc)->op;
}

/**
 * Set the flags of a proc, HG_PROC_*.
 *
 * @param proc   [in]  the proc, as a function hg_proc_T() receives it
 * @param flags  [in]  bits HG_PROC_*
 * Owns:      nothing changes hands.
 * Errors:    NULL has no effect.
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC void hg_proc_set_flags(hg_proc_t proc, uint8_t flags);

/**
 * Get the flags of a proc, HG_PROC_*.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * Owns:      nothing changes hands.
 * Errors:    NULL gives 0.
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4, but NULL is allowed.
 */
HG_PUBLIC uint8_t hg_proc_get_flags(hg_proc_t proc);

#ifdef __cplusplus
}
#endif

#include "mercury_proc_base.h"
#include "mercury_proc_buf.h"

#endif
