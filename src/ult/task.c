/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasklets: user-level threads without a stack, and the names that abt.h has
 * for them. */
#include <stddef.h>

#include "ult/create.h"
#include "ult/handle.h"

int ABT_task_create(
    ABT_pool pool, void (*task_func)(void *), void *arg, ABT_task *newtask)
{
    const struct amg_ult_wish wish = {
        .kind = AMG_ULT_TASKLET,
        .pool = amg_upool_of(pool),
        .function = task_func,
        .arg = arg,
        .is_named = newtask != NULL,
    };
    struct amg_ult *ult = NULL;

    amg_handle_clear(newtask);
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (task_func == NULL)
        return ABT_ERR_INV_ARG;
    ult = amg_ult_create(&wish);
    if (ult == NULL)
        return ABT_ERR_MEM;
    if (newtask != NULL)
        *newtask = amg_ult_handle(ult);
    amg_ult_make_ready(ult);
    return ABT_SUCCESS;
}

int ABT_task_create_on_xstream(ABT_xstream xstream, void (*task_func)(void *),
    void *arg, ABT_task *newtask)
{
    ABT_pool pool = ABT_POOL_NULL;
    int rc = ABT_SUCCESS;

    amg_handle_clear(newtask);
    if (xstream == ABT_XSTREAM_NULL)
        return ABT_ERR_INV_XSTREAM;
    rc = ABT_xstream_get_main_pools(xstream, 1, &pool);
    return rc != ABT_SUCCESS ? rc
                             : ABT_task_create(pool, task_func, arg, newtask);
}

/* What the functions of threads say, in words of tasklets. */
static int code_of_task(int rc)
{
    return rc == ABT_ERR_INV_THREAD ? ABT_ERR_INV_TASK : rc;
}

int ABT_task_revive(
    ABT_pool pool, void (*task_func)(void *), void *arg, ABT_task *task)
{
    return code_of_task(ABT_thread_revive(pool, task_func, arg, task));
}

int ABT_task_free(ABT_task *task)
{
    return code_of_task(ABT_thread_free(task));
}

int ABT_task_join(ABT_task task)
{
    return code_of_task(ABT_thread_join(task));
}

int ABT_task_cancel(ABT_task task)
{
    return code_of_task(ABT_thread_cancel(task));
}

int ABT_task_self(ABT_task *task)
{
    struct amg_ult *self = amg_ult_current();

    if (task == NULL)
        return ABT_ERR_INV_ARG;
    *task = ABT_TASK_NULL;
    if (self == NULL)
        return amg_ult_none_code();
    if (self->kind != AMG_ULT_TASKLET)
        return ABT_ERR_INV_TASK;
    *task = amg_ult_handle(self);
    return ABT_SUCCESS;
}

int ABT_task_self_id(ABT_unit_id *id)
{
    ABT_task self = ABT_TASK_NULL;
    int rc = ABT_task_self(&self);

    return rc != ABT_SUCCESS ? rc : ABT_task_get_id(self, id);
}

int ABT_task_get_xstream(ABT_task task, ABT_xstream *xstream)
{
    return code_of_task(ABT_thread_get_last_xstream(task, xstream));
}

int ABT_task_get_state(ABT_task task, ABT_task_state *state)
{
    ABT_thread_state now = ABT_THREAD_STATE_READY;
    int rc = code_of_task(ABT_thread_get_state(task, &now));

    if (rc != ABT_SUCCESS)
        return rc;
    if (state == NULL)
        return ABT_ERR_INV_ARG;
    *state = ABT_TASK_STATE_READY;
    if (now == ABT_THREAD_STATE_RUNNING)
        *state = ABT_TASK_STATE_RUNNING;
    if (now == ABT_THREAD_STATE_TERMINATED)
        *state = ABT_TASK_STATE_TERMINATED;
    return ABT_SUCCESS;
}

int ABT_task_get_last_pool(ABT_task task, ABT_pool *pool)
{
    return code_of_task(ABT_thread_get_last_pool(task, pool));
}

int ABT_task_get_last_pool_id(ABT_task task, int *id)
{
    return code_of_task(ABT_thread_get_last_pool_id(task, id));
}

int ABT_task_set_migratable(ABT_task task, ABT_bool flag)
{
    return code_of_task(ABT_thread_set_migratable(task, flag));
}

int ABT_task_is_migratable(ABT_task task, ABT_bool *flag)
{
    return code_of_task(ABT_thread_is_migratable(task, flag));
}

int ABT_task_is_unnamed(ABT_task task, ABT_bool *flag)
{
    return code_of_task(ABT_thread_is_unnamed(task, flag));
}

int ABT_task_equal(ABT_task task1, ABT_task task2, ABT_bool *result)
{
    return ABT_thread_equal(task1, task2, result);
}

int ABT_task_get_id(ABT_task task, ABT_unit_id *task_id)
{
    return code_of_task(ABT_thread_get_id(task, task_id));
}

int ABT_task_get_arg(ABT_task task, void **arg)
{
    return code_of_task(ABT_thread_get_arg(task, arg));
}

int ABT_task_set_specific(ABT_task task, ABT_key key, void *value)
{
    return code_of_task(ABT_thread_set_specific(task, key, value));
}

int ABT_task_get_specific(ABT_task task, ABT_key key, void **value)
{
    return code_of_task(ABT_thread_get_specific(task, key, value));
}
