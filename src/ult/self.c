/* SPDX-License-Identifier: BSD-3-Clause */
/* What a thread asks of itself. */
#include <stddef.h>

#include "ult/handle.h"
#include "ult/key_value.h"
#include "ult/ult.h"

/* The answer to who is on no stream. */
static ABT_thread self_handle(void)
{
    return amg_ult_handle(amg_ult_current());
}

int ABT_thread_self(ABT_thread *thread)
{
    struct amg_ult *self = amg_ult_current();

    if (thread == NULL)
        return ABT_ERR_INV_ARG;
    *thread = ABT_THREAD_NULL;
    if (self == NULL)
        return amg_ult_none_code();
    if (self->kind == AMG_ULT_TASKLET)
        return ABT_ERR_INV_THREAD;
    *thread = amg_ult_handle(self);
    return ABT_SUCCESS;
}

int ABT_thread_self_id(ABT_unit_id *id)
{
    ABT_thread self = ABT_THREAD_NULL;
    int rc = ABT_thread_self(&self);

    return rc != ABT_SUCCESS ? rc : ABT_thread_get_id(self, id);
}

int ABT_self_get_thread(ABT_thread *thread)
{
    ABT_thread self = self_handle();

    if (thread == NULL)
        return ABT_ERR_INV_ARG;
    *thread = self;
    return self == ABT_THREAD_NULL ? amg_ult_none_code() : ABT_SUCCESS;
}

int ABT_self_get_thread_id(ABT_unit_id *id)
{
    ABT_thread self = self_handle();

    if (id == NULL)
        return ABT_ERR_INV_ARG;
    return self == ABT_THREAD_NULL ? amg_ult_none_code()
                                   : ABT_thread_get_id(self, id);
}

int ABT_self_get_type(ABT_unit_type *type)
{
    const struct amg_ult *self = amg_ult_current();

    if (type == NULL)
        return ABT_ERR_INV_ARG;
    if (self == NULL)
        *type = ABT_UNIT_TYPE_EXT;
    else
        *type = self->kind == AMG_ULT_TASKLET ? ABT_UNIT_TYPE_TASK
                                              : ABT_UNIT_TYPE_THREAD;
    return ABT_SUCCESS;
}

int ABT_self_get_xstream(ABT_xstream *xstream)
{
    ABT_thread self = self_handle();

    if (xstream == NULL)
        return ABT_ERR_INV_ARG;
    return self == ABT_THREAD_NULL ? amg_ult_none_code()
                                   : ABT_thread_get_last_xstream(self, xstream);
}

int ABT_self_get_xstream_rank(int *rank)
{
    ABT_xstream xstream = ABT_XSTREAM_NULL;
    int rc = ABT_SUCCESS;

    if (rank == NULL)
        return ABT_ERR_INV_ARG;
    rc = ABT_self_get_xstream(&xstream);
    return rc != ABT_SUCCESS ? rc : ABT_xstream_get_rank(xstream, rank);
}

int ABT_self_on_primary_xstream(ABT_bool *on_primary)
{
    ABT_xstream xstream = ABT_XSTREAM_NULL;
    int rc = ABT_SUCCESS;

    if (on_primary == NULL)
        return ABT_ERR_INV_ARG;
    rc = ABT_self_get_xstream(&xstream);
    return rc != ABT_SUCCESS ? rc : ABT_xstream_is_primary(xstream, on_primary);
}

int ABT_self_is_primary(ABT_bool *is_primary)
{
    ABT_thread self = self_handle();

    if (is_primary == NULL)
        return ABT_ERR_INV_ARG;
    return self == ABT_THREAD_NULL ? amg_ult_none_code()
                                   : ABT_thread_is_primary(self, is_primary);
}

int ABT_self_is_unnamed(ABT_bool *is_unnamed)
{
    ABT_thread self = self_handle();

    if (is_unnamed == NULL)
        return ABT_ERR_INV_ARG;
    return self == ABT_THREAD_NULL ? amg_ult_none_code()
                                   : ABT_thread_is_unnamed(self, is_unnamed);
}

int ABT_self_get_last_pool(ABT_pool *pool)
{
    ABT_thread self = self_handle();

    if (pool == NULL)
        return ABT_ERR_INV_ARG;
    return self == ABT_THREAD_NULL ? amg_ult_none_code()
                                   : ABT_thread_get_last_pool(self, pool);
}

int ABT_self_get_last_pool_id(int *pool_id)
{
    ABT_thread self = self_handle();

    if (pool_id == NULL)
        return ABT_ERR_INV_ARG;
    return self == ABT_THREAD_NULL ? amg_ult_none_code()
                                   : ABT_thread_get_last_pool_id(self, pool_id);
}

int ABT_self_set_associated_pool(ABT_pool pool)
{
    ABT_thread self = self_handle();

    return self == ABT_THREAD_NULL ? amg_ult_none_code()
                                   : ABT_thread_set_associated_pool(self, pool);
}

int ABT_self_get_unit(ABT_unit *unit)
{
    ABT_thread self = self_handle();

    if (unit == NULL)
        return ABT_ERR_INV_ARG;
    return self == ABT_THREAD_NULL ? amg_ult_none_code()
                                   : ABT_thread_get_unit(self, unit);
}

int ABT_self_set_arg(void *arg)
{
    ABT_thread self = self_handle();

    return self == ABT_THREAD_NULL ? amg_ult_none_code()
                                   : ABT_thread_set_arg(self, arg);
}

int ABT_self_get_arg(void **arg)
{
    ABT_thread self = self_handle();

    if (arg == NULL)
        return ABT_ERR_INV_ARG;
    return self == ABT_THREAD_NULL ? amg_ult_none_code()
                                   : ABT_thread_get_arg(self, arg);
}

int ABT_self_get_thread_func(void (**thread_func)(void *))
{
    ABT_thread self = self_handle();

    if (thread_func == NULL)
        return ABT_ERR_INV_ARG;
    return self == ABT_THREAD_NULL
               ? amg_ult_none_code()
               : ABT_thread_get_thread_func(self, thread_func);
}

int ABT_self_set_specific(ABT_key key, void *value)
{
    return ABT_key_set(key, value);
}

int ABT_self_get_specific(ABT_key key, void **value)
{
    return ABT_key_get(key, value);
}
