/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings in a stream of arguments.
 *
 * What was sent is only a proposal: the length may not exceed what is left, so
 * nothing larger than the message is ever allocated; the last character becomes
 * NUL; who owns a decoded string is decided here, not by the sender. */
#include "mercury_proc_string.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

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

/* Both kinds of plain strings: a pointer to characters, const or not. */
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
    if (!AMG_CONTRACT(proc != HG_PROC_NULL) || !AMG_CONTRACT(data != NULL))
        return HG_INVALID_ARG;
    return string_code(proc, data, 0);
}

hg_return_t hg_proc_hg_const_string_t(hg_proc_t proc, void *data)
{
    const char **given = data;
    char *s = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(proc != HG_PROC_NULL) || !AMG_CONTRACT(data != NULL))
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

    if (!AMG_CONTRACT(proc != HG_PROC_NULL) || !AMG_CONTRACT(data != NULL))
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
