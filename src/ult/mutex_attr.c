/* SPDX-License-Identifier: BSD-3-Clause */
/* What a mutex is to be like: recursive, or not. */
#include "ult/mutex.h"

#include <stddef.h>

#include "base/assert.h"
#include "base/mem.h"
#include "ult/handle.h"

/* What ABT_mutex_attr points to; the program's until it is freed. */
struct mutex_attr {
    ABT_bool is_recursive;
};

static struct mutex_attr *attr_of(ABT_mutex_attr attr)
{
    return (struct mutex_attr *)(void *)attr;
}

static int attr_create(ABT_bool is_recursive, ABT_mutex_attr *ret_attr)
{
    struct mutex_attr *attr = amg_mem_zalloc(sizeof(*attr));

    if (attr == NULL)
        return ABT_ERR_MEM;
    attr->is_recursive = is_recursive;
    *ret_attr = (ABT_mutex_attr)(void *)attr;
    return ABT_SUCCESS;
}

int ABT_mutex_attr_create(ABT_mutex_attr *newattr)
{
    amg_handle_clear(newattr);
    if (!AMG_CONTRACT(newattr != NULL))
        return ABT_ERR_INV_ARG;
    return attr_create(ABT_FALSE, newattr);
}

int ABT_mutex_attr_free(ABT_mutex_attr *attr)
{
    if (!AMG_CONTRACT(attr != NULL))
        return ABT_ERR_INV_ARG;
    if (!AMG_CONTRACT(*attr != ABT_MUTEX_ATTR_NULL))
        return ABT_ERR_INV_MUTEX_ATTR;
    amg_mem_free(attr_of(*attr));
    *attr = ABT_MUTEX_ATTR_NULL;
    return ABT_SUCCESS;
}

int ABT_mutex_attr_set_recursive(ABT_mutex_attr attr, ABT_bool recursive)
{
    if (!AMG_CONTRACT(attr != ABT_MUTEX_ATTR_NULL))
        return ABT_ERR_INV_MUTEX_ATTR;
    attr_of(attr)->is_recursive = recursive == ABT_FALSE ? ABT_FALSE : ABT_TRUE;
    return ABT_SUCCESS;
}

int ABT_mutex_attr_get_recursive(ABT_mutex_attr attr, ABT_bool *recursive)
{
    if (!AMG_CONTRACT(attr != ABT_MUTEX_ATTR_NULL))
        return ABT_ERR_INV_MUTEX_ATTR;
    if (!AMG_CONTRACT(recursive != NULL))
        return ABT_ERR_INV_ARG;
    *recursive = attr_of(attr)->is_recursive;
    return ABT_SUCCESS;
}

int ABT_mutex_get_attr(ABT_mutex mutex, ABT_mutex_attr *attr)
{
    const struct amg_mutex *self = (const struct amg_mutex *)(void *)mutex;

    if (!AMG_CONTRACT(self != NULL))
        return ABT_ERR_INV_MUTEX;
    if (!AMG_CONTRACT(attr != NULL))
        return ABT_ERR_INV_ARG;
    return attr_create(self->is_recursive ? ABT_TRUE : ABT_FALSE, attr);
}
