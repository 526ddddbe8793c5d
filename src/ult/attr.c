/* SPDX-License-Identifier: BSD-3-Clause */
/* What a user-level thread is to be made with. */
#include "ult/attr.h"

#include <stdint.h>

#include "base/mem.h"
#include "ult/create.h"
#include "ult/handle.h"
#include "ult/stack.h"
#include "ult/ult.h"

int ABT_thread_attr_create(ABT_thread_attr *newattr)
{
    struct amg_uattr *attr = NULL;

    amg_handle_clear(newattr);
    if (newattr == NULL)
        return ABT_ERR_INV_ARG;
    attr = amg_mem_zalloc(sizeof(*attr));
    if (attr == NULL)
        return ABT_ERR_MEM;
    attr->is_migratable = true;
    *newattr = amg_uattr_handle(attr);
    return ABT_SUCCESS;
}

int ABT_thread_attr_free(ABT_thread_attr *attr)
{
    if (attr == NULL || *attr == ABT_THREAD_ATTR_NULL)
        return ABT_ERR_INV_THREAD_ATTR;
    amg_mem_free(amg_uattr_of(*attr));
    *attr = ABT_THREAD_ATTR_NULL;
    return ABT_SUCCESS;
}

int ABT_thread_attr_set_stack(
    ABT_thread_attr attr, void *stackaddr, size_t stacksize)
{
    struct amg_uattr *uattr = amg_uattr_of(attr);

    if (uattr == NULL)
        return ABT_ERR_INV_THREAD_ATTR;
    if ((uintptr_t)stackaddr % 8 != 0 ||
        (stackaddr != NULL && stacksize < amg_ult_least_stack_len()))
        return ABT_ERR_INV_ARG;
    uattr->stack = stackaddr;
    uattr->stack_len = stacksize;
    return ABT_SUCCESS;
}

int ABT_thread_attr_get_stack(
    ABT_thread_attr attr, void **stackaddr, size_t *stacksize)
{
    const struct amg_uattr *uattr = amg_uattr_of(attr);

    if (uattr == NULL)
        return ABT_ERR_INV_THREAD_ATTR;
    if (stackaddr == NULL || stacksize == NULL)
        return ABT_ERR_INV_ARG;
    *stackaddr = uattr->stack;
    return ABT_thread_attr_get_stacksize(attr, stacksize);
}

int ABT_thread_attr_set_stacksize(ABT_thread_attr attr, size_t stacksize)
{
    struct amg_uattr *uattr = amg_uattr_of(attr);

    if (uattr == NULL)
        return ABT_ERR_INV_THREAD_ATTR;
    if (stacksize < amg_ult_least_stack_len())
        return ABT_ERR_INV_ARG;
    uattr->stack_len = stacksize;
    return ABT_SUCCESS;
}

int ABT_thread_attr_get_stacksize(ABT_thread_attr attr, size_t *stacksize)
{
    const struct amg_uattr *uattr = amg_uattr_of(attr);

    if (uattr == NULL)
        return ABT_ERR_INV_THREAD_ATTR;
    if (stacksize == NULL)
        return ABT_ERR_INV_ARG;
    *stacksize = uattr->stack_len != 0 || uattr->is_of_primary
                     ? uattr->stack_len
                     : amg_stack_default_len();
    return ABT_SUCCESS;
}

int ABT_thread_attr_set_callback(ABT_thread_attr attr,
    void (*cb_func)(ABT_thread thread, void *cb_arg), void *cb_arg)
{
    struct amg_uattr *uattr = amg_uattr_of(attr);

    if (uattr == NULL)
        return ABT_ERR_INV_THREAD_ATTR;
    uattr->on_migration = cb_func;
    uattr->on_migration_arg = cb_arg;
    return ABT_SUCCESS;
}

int ABT_thread_attr_set_migratable(ABT_thread_attr attr, ABT_bool is_migratable)
{
    struct amg_uattr *uattr = amg_uattr_of(attr);

    if (uattr == NULL)
        return ABT_ERR_INV_THREAD_ATTR;
    uattr->is_migratable = is_migratable != ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_thread_get_attr(ABT_thread thread, ABT_thread_attr *attr)
{
    const struct amg_ult *ult = amg_ult_of(thread);
    int rc = ABT_ERR_INV_THREAD;

    amg_handle_clear(attr);
    if (ult == NULL)
        return rc;
    rc = ABT_thread_attr_create(attr);
    if (rc == ABT_SUCCESS)
        *amg_uattr_of(*attr) = (struct amg_uattr){
            .stack = ult->stack == NULL ? ult->stack_base : NULL,
            .stack_len = ult->stack_len,
            .is_of_primary = ult->kind == AMG_ULT_PRIMARY,
            .is_migratable = ult->is_migratable,
            .on_migration = ult->on_migration,
            .on_migration_arg = ult->on_migration_arg,
        };
    return rc;
}
