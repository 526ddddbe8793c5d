/* SPDX-License-Identifier: BSD-3-Clause */
/* A string that knows whether it is to be freed. */
#include "mercury_string_object.h"

#include <stddef.h>

#include "base/assert.h"
#include "base/mem.h"

static hg_return_t object_set(
    hg_string_object_t *string, char *s, bool is_const, bool is_owned)
{
    if (!AMG_CONTRACT(string != NULL))
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
    if (!AMG_CONTRACT(string != NULL))
        return HG_INVALID_ARG;
    if (string->is_owned)
        amg_mem_free(string->data);
    return object_set(string, NULL, false, false);
}

hg_return_t hg_string_object_dup(
    hg_string_object_t string, hg_string_object_t *new_string)
{
    char *copy = NULL;

    if (!AMG_CONTRACT(new_string != NULL))
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

    if (!AMG_CONTRACT(string != NULL))
        return NULL;
    before = string->data;
    (void)object_set(string, s, false, false);
    return before;
}
