/* SPDX-License-Identifier: BSD-3-Clause */
/* A string with a flag that tells who frees it. */
#ifndef MERCURY_STRING_OBJECT_H
#define MERCURY_STRING_OBJECT_H

#include "mercury_types.h"

typedef struct hg_string_object {
    char *data;         /* NULL, or ends in NUL */
    hg_bool_t is_const; /* not to be written */
    hg_bool_t is_owned; /* the object's, to be freed as by free() */
} hg_string_object_t;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Initialise a string object without a string.
 *
 * @param string  [out]
 * Owns:      nothing changes hands.
 * Errors:    HG_INVALID_ARG string is NULL
 * Threads:   any thread, one at a time per object; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_string_object_init(hg_string_object_t *string);

/**
 * Initialise a string object with a string.
 *
 * @param string    [out]
 * @param s         [in]  may be NULL
 * @param is_owned  [in]  HG_TRUE: `s` came from malloc(), and is taken
 * Owns:      `s` is the object's if `is_owned`, else it must outlive it.
 * Errors:    HG_INVALID_ARG string is NULL
 * Threads:   any thread, one at a time per object; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_string_object_init_char(
    hg_string_object_t *string, char *s, hg_bool_t is_owned);

/**
 * Initialise a string object with a constant string.
 *
 * @param string    [out]
 * @param s         [in]  may be NULL
 * @param is_owned  [in]  HG_TRUE: `s` came from malloc(), and is taken
 * Owns:      `s` is the object's if `is_owned`, else it must outlive it.
 * Errors:    HG_INVALID_ARG string is NULL
 * Threads:   any thread, one at a time per object; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_string_object_init_const_char(
    hg_string_object_t *string, const char *s, hg_bool_t is_owned);

/**
 * Free the string of a string object if it owns it; the object has none
 * afterwards.
 *
 * @param string  [in,out]
 * Owns:      an owned string is consumed.
 * Errors:    HG_INVALID_ARG string is NULL
 * Threads:   any thread, one at a time per object; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_string_object_free(hg_string_object_t *string);

/**
 * Initialise a string object with a copy of another's string.
 *
 * @param string      [in]
 * @param new_string  [out]
 * Owns:      the copy is the new object's; hg_string_object_free() ends it.
 * Errors:    HG_INVALID_ARG new_string is NULL
 *            HG_NOMEM       no memory
 * Threads:   any thread, one at a time per object; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_string_object_dup(
    hg_string_object_t string, hg_string_object_t *new_string);

/**
 * Replace the string of a string object by one that it does not own, and return
 * the old one.
 *
 * @param string  [in,out]
 * @param s       [in]  may be NULL
 * Owns:      the caller owns the result if the object owned it, and calls
 *            free(); else its owner is as before.
 * Errors:    NULL: there was no string, or `string` is NULL.
 * Threads:   any thread, one at a time per object; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC char *hg_string_object_swap(hg_string_object_t *string, char *s);

#ifdef __cplusplus
}
#endif

#endif
