/* SPDX-License-Identifier: BSD-3-Clause */
/* Inputs and outputs of Fortran calls: encoding from and decoding to arrays. */
#include <limits.h>
#include <string.h>

#include "base/mem.h"
#include "fortran/fort.h"
#include "mercury_proc_bulk.h"

static hg_return_t bytes_decode(hg_proc_t proc, struct fort_message *message)
{
    message->len = hg_proc_get_size_left(proc);
    if (message->is_size_only)
        return HG_SUCCESS;
    if (message->room == NULL) {
        message->room = amg_mem_alloc(message->len + 1);
        if (message->room == NULL)
            return HG_NOMEM;
        message->is_allocated = true;
    } else if (message->len > message->cap) {
        /* The caller has both lengths, and says so. */
        message->is_size_only = true;
        return HG_SUCCESS;
    }
    message->from = message->room; /* outputs of groups are encoded again */
    return message->len == 0 ? HG_SUCCESS
                             : hg_proc_raw(proc, message->room, message->len);
}

hg_return_t amg_fort_message_proc(hg_proc_t proc, void *arg)
{
    struct fort_message *message = arg;

    switch (hg_proc_get_op(proc)) {
    case HG_ENCODE:
        return message->len == 0
                   ? HG_SUCCESS
                   : hg_proc_raw(proc, (void *)message->from, message->len);
    case HG_DECODE:
        return bytes_decode(proc, message);
    case HG_FREE:
    default:
        if (message->is_allocated)
            amg_mem_free(message->room);
        message->is_allocated = false;
        message->room = NULL;
        return HG_SUCCESS;
    }
}

hg_return_t amg_fort_bulk_message_proc(hg_proc_t proc, void *arg)
{
    struct fort_message *message = arg;
    hg_return_t rc = hg_proc_hg_bulk_t(proc, &message->bulk);

    return rc == HG_SUCCESS ? amg_fort_message_proc(proc, message) : rc;
}

hg_return_t amg_fort_message_begin(const CFI_cdesc_t *array, const char *func,
    struct fort_message *message, void **ret_packed)
{
    void *packed = NULL;

    *ret_packed = NULL;
    if (array == NULL || array->base_addr == NULL) /* counts as absent */
        return HG_SUCCESS;
    if (!amg_fort_len(array, func, &message->len))
        return HG_INVALID_ARG;
    message->from = array->base_addr;
    if (message->len == 0 || amg_fort_is_contiguous(array))
        return HG_SUCCESS;
    packed = amg_mem_alloc(message->len);
    if (packed == NULL)
        return HG_NOMEM;
    amg_fort_pack(array, packed);
    message->from = packed;
    *ret_packed = packed;
    return HG_SUCCESS;
}

/* Is the array one text, which shorter text fills up with blanks? */
static bool is_text(const CFI_cdesc_t *array)
{
    return array->rank == 0 && array->type == CFI_type_char;
}

/* Do the bytes that came fit the array of `cap` bytes? */
static hg_return_t len_check(
    size_t len, size_t cap, size_t unit, bool may_be_less, const char *func)
{
    if (len > cap) {
        amg_fort_refuse(func,
            "%zu bytes came, and the argument has room for %zu", len, cap);
        return HG_OVERFLOW;
    }
    if (len % unit != 0 || (!may_be_less && len < cap)) {
        amg_fort_refuse(func,
            "%zu bytes came for an argument of %zu bytes (elements of %zu); do "
            "both sides pass the same type? With the argument count fewer "
            "elements may come",
            len, cap, unit);
        return HG_MSGSIZE;
    }
    return HG_SUCCESS;
}

/* Moves bytes of a separate buffer into the array, and ends a text. */
static void array_fill(
    const CFI_cdesc_t *array, const struct fort_message *message)
{
    if (message->is_allocated)
        amg_fort_unpack(array, message->room, message->len);
    if (is_text(array))
        memset((char *)array->base_addr + message->len, ' ',
            array->elem_len - message->len);
}

hg_return_t amg_fort_message_get(hg_handle_t handle, fort_get_fn get,
    fort_get_fn get_free, const CFI_cdesc_t *array, int *count,
    const char *func)
{
    struct fort_message message = {.is_size_only = true};
    size_t unit = 1; /* bytes that count as one */
    size_t cap = SIZE_MAX;
    hg_return_t rc = HG_SUCCESS;

    if (array != NULL && array->base_addr == NULL)
        array = NULL; /* counts as absent */
    if (array != NULL) {
        if (!amg_fort_len(array, func, &cap))
            return HG_INVALID_ARG;
        if (!is_text(array) && array->elem_len > 0)
            unit = array->elem_len;
        message.is_size_only = cap == 0;
        message.cap = cap;
        message.room = amg_fort_is_contiguous(array) ? array->base_addr : NULL;
    }
    rc = get(handle, &message);
    if (rc != HG_SUCCESS)
        return rc;
    rc = len_check(message.len, cap, unit,
        count != NULL || array == NULL || is_text(array), func);
    if (rc == HG_SUCCESS && count != NULL && message.len / unit > INT_MAX) {
        amg_fort_refuse(func, "%zu elements cannot be counted by an integer",
            message.len / unit);
        rc = HG_OVERFLOW;
    }
    if (rc == HG_SUCCESS && array != NULL)
        array_fill(array, &message);
    if (rc == HG_SUCCESS && count != NULL)
        *count = (int)(message.len / unit);
    (void)get_free(handle, &message);
    return rc;
}
