/* SPDX-License-Identifier: BSD-3-Clause */
/* A string with a flag that says whether the object frees it. */
#ifndef MERCURY_STRING_OBJECT_H
#define MERCURY_STRING_OBJECT_H

#include "mercury_types.h"

typedef struct hg_string_object {
    char *data;         /* NULL, or ends in NUL */
    hg_bool_t is_const; /* the string must not be written */
    hg_bool_t is_owned; /* the object owns the string, and calls free() */
} hg_string_object_t;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Initialise a string object without a string.
 *
 * @param string  [out]  the string object to initialise
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
 * @param string    [out]  the string object to initialise
 * @param s         [in]  may be NULL
 * @param is_owned  [in]  HG_TRUE: `s` is of malloc(), and the object owns it
 * Owns:      as `is_owned` says; otherwise `s` must outlive the object.
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
 * @param string    [out]  the string object to initialise
 * @param s         [in]  may be NULL
 * @param is_owned  [in]  HG_TRUE: `s` is of malloc(), and the object owns it
 * Owns:      as `is_owned` says; otherwise `s` must outlive the object.
 * Errors:    HG_INVALID_ARG string is NULL
 * Threads:   any thread, one at a time per object; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_string_object_init_const_char(
    hg_string_object_t *string, const char *s, hg_bool_t is_owned);

/**
 * Free the string of a string object, if the object owns it; afterwards the
 * object has no string.
 *
 * @param string  [in,out]  the string object
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
 * @param string      [in]   the string object to copy
 * @param new_string  [out]  the string object to initialise
 * Owns:      the new object owns the copy; hg_string_object_free() frees it.
 * Errors:    HG_INVALID_ARG new_string is NULL
 *            HG_NOMEM       no memory
 * Threads:   any thread, one at a time per object; never blocks.
 * Undefined: nothing.
 * Source:    as Mercury 2.4.
 */
HG_PUBLIC hg_return_t hg_string_object_dup(
    hg_string_object_t string, hg_string_object_t *new_string);

/**
 * Replace the string of a string object by a string that the object does not
 * own, and return the old string.
 *
 * @param string  [in,out]  the string object
 * @param s       [in]  may be NULL
 * Owns:      if the object owned the old string, the caller owns that now, and
 *            calls free(); else the owner of the old string does not change.
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
