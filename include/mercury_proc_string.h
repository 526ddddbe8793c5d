/* SPDX-License-Identifier: BSD-3-Clause */
/* Procs for strings.
 *
 *   bytes   8        length, NUL counted; 0: NULL, and nothing follows
 *           length   characters and NUL
 *           1        is_const
 *           1        is_owned
 */
#ifndef MERCURY_PROC_STRING_H
#define MERCURY_PROC_STRING_H

#include "mercury_proc.h"
#include "mercury_string_object.h"

typedef const char *hg_const_string_t;
typedef char *hg_string_t;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Code a string; a decoded string always ends in NUL.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * @param data  [in,out]  a `hg_string_t *`; the string may be NULL
 * Owns:      HG_DECODE allocates a string; HG_FREE or free() frees it.
 * Errors:    HG_INVALID_ARG an argument is NULL
 *            HG_OVERFLOW    the string is longer than the message
 *            HG_NOMEM       no memory
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_proc_hg_string_t(hg_proc_t proc, void *data);

/**
 * Code a constant string.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * @param data  [in,out]  a `hg_const_string_t *`; the string may be NULL
 * Owns:      HG_DECODE allocates a string; HG_FREE or free() frees it.
 * Errors:    as hg_proc_hg_string_t().
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_proc_hg_const_string_t(hg_proc_t proc, void *data);

/**
 * Code a string object; a decoded object owns its string.
 *
 * @param proc  [in]  the proc, as a function hg_proc_T() receives it
 * @param data  [in,out]  a `hg_string_object_t *`
 * Owns:      HG_DECODE allocates a string; HG_FREE or hg_string_object_free()
 *            frees it.
 * Errors:    as hg_proc_hg_string_t().
 * Threads:   any thread, one at a time per proc; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_proc_hg_string_object_t(hg_proc_t proc, void *data);

#ifdef __cplusplus
}
#endif

#endif
