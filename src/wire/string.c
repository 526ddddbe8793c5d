/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings as arguments: mercury_proc_string.h and mercury_string_object.h. */
#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "mercury_proc_string.h"
#include "mercury_string_object.h"

static hg_return_t object_set(
    hg_string_object_t *string, char *s, bool is_const, bool is_owned)
{
    if (!AMG_CONTRACT_OF(
            "hg_string_object_init", string != NULL, "string is NULL"))
        return HG_INVALID_ARG;
    string->data = s;
    string->is_const = is_const;
    string->is_owned = is_owned;
    return HG_SUCCESS;
}

hg_return_t hg_string_object_init(hg_string_object_t *string)
{
    return object_set(string, NULL, false, false);
}

hg_return_t hg_string_object_init_char(
    hg_string_object_t *string, char *s, hg_bool_t is_owned)
{
    return object_set(string, s, false, is_owned != HG_FALSE);
}

hg_return_t hg_string_object_init_const_char(
    hg_string_object_t *string, const char *s, hg_bool_t is_owned)
{
    return object_set(string, (char *)(uintptr_t)s, true, is_owned != HG_FALSE);
}

hg_return_t hg_string_object_free(hg_string_object_t *string)
{
    if (!AMG_GIVEN(string))
        return HG_INVALID_ARG;
    if (string->is_owned)
        amg_mem_free(string->data);
    return object_set(string, NULL, false, false);
}

hg_return_t hg_string_object_dup(
    hg_string_object_t string, hg_string_object_t *new_string)
{
    char *copy = NULL;

    if (!AMG_GIVEN(new_string))
        return HG_INVALID_ARG;
    if (string.data != NULL) {
        copy = amg_mem_strdup(string.data);
        if (copy == NULL)
            return HG_NOMEM;
    }
    return object_set(
        new_string, copy, string.is_const != HG_FALSE, copy != NULL);
}

char *hg_string_object_swap(hg_string_object_t *string, char *s)
{
    char *before = NULL;

    if (!AMG_GIVEN(string))
        return NULL;
    before = string->data;
    (void)object_set(string, s, false, false);
    return before;
}

/* A received length must not exceed the bytes left in the message, so decoding
 * never allocates more than the message has. The last character becomes NUL.
 * The receiver owns a decoded string, whatever `is_owned` the sender wrote. */

static hg_return_t string_encode(
    hg_proc_t proc, char *s, uint8_t is_const, uint8_t is_owned)
{
    uint64_t len = s == NULL ? 0 : strlen(s) + 1;
    hg_return_t rc = hg_proc_uint64_t(proc, &len);

    if (rc != HG_SUCCESS || s == NULL)
        return rc;
    rc = hg_proc_bytes(proc, s, len);
    if (rc == HG_SUCCESS)
        rc = hg_proc_uint8_t(proc, &is_const);
    if (rc == HG_SUCCESS)
        rc = hg_proc_uint8_t(proc, &is_owned);
    return rc;
}

static hg_return_t string_decode(
    hg_proc_t proc, char **ret_s, uint8_t *ret_is_const)
{
    uint64_t len = 0;
    uint8_t is_const = 0;
    uint8_t is_owned = 0;
    char *s = NULL;
    hg_return_t rc = hg_proc_uint64_t(proc, &len);

    if (rc != HG_SUCCESS)
        return rc;
    if (len > hg_proc_get_size_left(proc))
        return HG_OVERFLOW;
    if (len > 0) {
        s = amg_mem_alloc(len);
        if (s == NULL)
            return HG_NOMEM;
        rc = hg_proc_bytes(proc, s, len);
        if (rc == HG_SUCCESS)
            rc = hg_proc_uint8_t(proc, &is_const);
        if (rc == HG_SUCCESS)
            rc = hg_proc_uint8_t(proc, &is_owned);
        if (rc != HG_SUCCESS)
            goto free_s;
        s[len - 1] = '\0';
    }
    *ret_s = s;
    *ret_is_const = is_const != 0;
    return HG_SUCCESS;

free_s:
    amg_mem_free(s);
    return rc;
}

/* Codes a plain string: a pointer to characters, const or not. */
static hg_return_t string_code(hg_proc_t proc, char **s, uint8_t is_const)
{
    uint8_t ignored = 0;

    switch (hg_proc_get_op(proc)) {
    case HG_ENCODE:
        return string_encode(proc, *s, is_const, 0);
    case HG_DECODE:
        return string_decode(proc, s, &ignored);
    case HG_FREE:
        amg_mem_free(*s);
        *s = NULL;
        return HG_SUCCESS;
    }
    return HG_INVALID_ARG;
}

hg_return_t hg_proc_hg_string_t(hg_proc_t proc, void *data)
{
    if (!AMG_GIVEN(proc) || !AMG_GIVEN(data))
        return HG_INVALID_ARG;
    return string_code(proc, data, 0);
}

hg_return_t hg_proc_hg_const_string_t(hg_proc_t proc, void *data)
{
    const char **given = data;
    char *s = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_GIVEN(proc) || !AMG_GIVEN(data))
        return HG_INVALID_ARG;
    if (hg_proc_get_op(proc) != HG_DECODE)
        s = (char *)(uintptr_t)*given;
    rc = string_code(proc, &s, 1);
    if (rc == HG_SUCCESS)
        *given = s;
    return rc;
}

hg_return_t hg_proc_hg_string_object_t(hg_proc_t proc, void *data)
{
    hg_string_object_t *object = data;
    char *s = NULL;
    uint8_t is_const = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_GIVEN(proc) || !AMG_GIVEN(data))
        return HG_INVALID_ARG;
    switch (hg_proc_get_op(proc)) {
    case HG_ENCODE:
        return string_encode(
            proc, object->data, object->is_const, object->is_owned);
    case HG_DECODE:
        rc = string_decode(proc, &s, &is_const);
        if (rc == HG_SUCCESS) {
            object->data = s;
            object->is_const = is_const;
            object->is_owned = s != NULL;
        }
        return rc;
    case HG_FREE:
        return hg_string_object_free(object);
    }
    return HG_INVALID_ARG;
}
