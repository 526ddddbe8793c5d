/* SPDX-License-Identifier: BSD-3-Clause */
/* Public functions that get and set properties of threads, tasklets and their
 * units in pools, by a handle, or of the calling thread. */
#include <stddef.h>

#include "ult/ready_pool.h"
#include "ult/switch_to.h"

int ABT_thread_get_last_xstream(ABT_thread thread, ABT_xstream *xstream)
{
    return AMG_GET(ABT_ERR_INV_THREAD, thread, xstream,
        amg_xstream_handle(atomic_load_explicit(
            &amg_ult_of(thread)->xstream, memory_order_relaxed)));
}

int ABT_thread_get_state(ABT_thread thread, ABT_thread_state *state)
{
    static const ABT_thread_state states[] = {
        [AMG_ULT_NEW] = ABT_THREAD_STATE_READY,
        [AMG_ULT_READY] = ABT_THREAD_STATE_READY,
        [AMG_ULT_RUNNING] = ABT_THREAD_STATE_RUNNING,
        [AMG_ULT_BLOCKED] = ABT_THREAD_STATE_BLOCKED,
        [AMG_ULT_ENDED] = ABT_THREAD_STATE_TERMINATED,
    };
    const struct amg_ult *ult = amg_ult_of(thread);

    return AMG_GET(ABT_ERR_INV_THREAD, ult, state, states[amg_ult_state(ult)]);
}

int ABT_thread_get_last_pool(ABT_thread thread, ABT_pool *pool)
{
    return AMG_GET(ABT_ERR_INV_THREAD, thread, pool,
        amg_ready_pool_handle(amg_ult_pool(amg_ult_of(thread))));
}

int ABT_thread_get_last_pool_id(ABT_thread thread, int *id)
{
    const struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (id == NULL)
        return ABT_ERR_INV_ARG;
    return ABT_pool_get_id(amg_ready_pool_handle(amg_ult_pool(ult)), id);
}

int ABT_thread_is_primary(ABT_thread thread, ABT_bool *is_primary)
{
    return AMG_GET(ABT_ERR_INV_THREAD, thread, is_primary,
        amg_ult_of(thread)->kind == AMG_ULT_PRIMARY);
}

int ABT_thread_is_unnamed(ABT_thread thread, ABT_bool *is_unnamed)
{
    return AMG_GET(
        ABT_ERR_INV_THREAD, thread, is_unnamed, !amg_ult_of(thread)->is_named);
}

int ABT_thread_equal(ABT_thread thread1, ABT_thread thread2, ABT_bool *result)
{
    if (result == NULL)
        return ABT_ERR_INV_ARG;
    *result = thread1 == thread2 ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_thread_get_stacksize(ABT_thread thread, size_t *stacksize)
{
    return AMG_GET(
        ABT_ERR_INV_THREAD, thread, stacksize, amg_ult_of(thread)->stack_len);
}

int ABT_thread_get_stack(ABT_thread thread, void **stackaddr, size_t *stacksize)
{
    const struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (stackaddr != NULL)
        *stackaddr = ult->stack_base;
    if (stacksize != NULL)
        *stacksize = ult->stack_len;
    return ABT_SUCCESS;
}

int ABT_thread_get_id(ABT_thread thread, ABT_unit_id *thread_id)
{
    static _Atomic uint64_t last_id;
    struct amg_ult *ult = amg_ult_of(thread);
    uint64_t none = 0;
    uint64_t id = 0;

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (thread_id == NULL)
        return ABT_ERR_INV_ARG;
    /* A thread gets its id when a caller first asks: a counter that each
     * creation increments would be contended. */
    id = atomic_load_explicit(&ult->id, memory_order_relaxed);
    if (id == 0) {
        id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
        if (!atomic_compare_exchange_strong_explicit(&ult->id, &none, id,
                memory_order_relaxed, memory_order_relaxed))
            id = none;
    }
    *thread_id = id;
    return ABT_SUCCESS;
}

int ABT_thread_set_arg(ABT_thread thread, void *arg)
{
    return AMG_SET(ABT_ERR_INV_THREAD, amg_ult_of(thread), arg, arg);
}

int ABT_thread_get_arg(ABT_thread thread, void **arg)
{
    return AMG_GET(ABT_ERR_INV_THREAD, thread, arg, amg_ult_of(thread)->arg);
}

int ABT_thread_get_thread_func(ABT_thread thread, void (**thread_func)(void *))
{
    return AMG_GET(
        ABT_ERR_INV_THREAD, thread, thread_func, amg_ult_of(thread)->function);
}

int ABT_thread_get_unit(ABT_thread thread, ABT_unit *unit)
{
    return AMG_GET(
        ABT_ERR_INV_THREAD, thread, unit, amg_unit_of(amg_ult_of(thread)));
}

int ABT_thread_set_associated_pool(ABT_thread thread, ABT_pool pool)
{
    if (thread == ABT_THREAD_NULL)
        return ABT_ERR_INV_THREAD;
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    return amg_ready_pool_adopt(amg_ready_pool_of(pool), amg_ult_of(thread));
}

int ABT_unit_get_thread(ABT_unit unit, ABT_thread *thread)
{
    struct amg_ult *ult = NULL;

    if (thread == NULL)
        return ABT_ERR_INV_ARG;
    ult = amg_unit_ult(unit);
    if (ult == NULL)
        return ABT_ERR_INV_UNIT;
    *thread = amg_ult_handle(ult);
    return ABT_SUCCESS;
}

int ABT_unit_set_associated_pool(ABT_unit unit, ABT_pool pool)
{
    struct amg_ult *ult = amg_unit_ult(unit);

    if (ult == NULL)
        return ABT_ERR_INV_UNIT;
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    return amg_ready_pool_adopt(amg_ready_pool_of(pool), ult);
}

/* NULL: the caller runs on no xstream. */
static ABT_thread self_handle(void)
{
    return amg_ult_handle(amg_ult_current());
}

/* Translates `rc`, the code of an ABT_thread_*() function for the calling
 * thread. `out`: the variable for the result. */
static int code_of_self(const void *out, int rc)
{
    if (out == NULL)
        return ABT_ERR_INV_ARG;
    return rc == ABT_ERR_INV_THREAD ? amg_ult_none_code() : rc;
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
    return code_of_self(id, ABT_thread_get_id(self_handle(), id));
}

int ABT_self_get_type(ABT_unit_type *type)
{
    const struct amg_ult *self = amg_ult_current();

    if (type == NULL)
        return ABT_ERR_INV_ARG;
    *type = ABT_UNIT_TYPE_EXT;
    if (self == NULL)
        return ABT_initialized();
    *type = self->kind == AMG_ULT_TASKLET ? ABT_UNIT_TYPE_TASK
                                          : ABT_UNIT_TYPE_THREAD;
    return ABT_SUCCESS;
}

int ABT_self_get_xstream(ABT_xstream *xstream)
{
    return code_of_self(
        xstream, ABT_thread_get_last_xstream(self_handle(), xstream));
}

int ABT_self_get_xstream_rank(int *rank)
{
    return ABT_xstream_self_rank(rank);
}

int ABT_self_on_primary_xstream(ABT_bool *on_primary)
{
    ABT_xstream self = amg_xstream_handle(amg_xstream_self());

    if (on_primary == NULL)
        return ABT_ERR_INV_ARG;
    return self == ABT_XSTREAM_NULL ? amg_ult_none_code()
                                    : ABT_xstream_is_primary(self, on_primary);
}

int ABT_self_is_primary(ABT_bool *is_primary)
{
    return code_of_self(
        is_primary, ABT_thread_is_primary(self_handle(), is_primary));
}

int ABT_self_is_unnamed(ABT_bool *is_unnamed)
{
    return code_of_self(
        is_unnamed, ABT_thread_is_unnamed(self_handle(), is_unnamed));
}

int ABT_self_get_last_pool(ABT_pool *pool)
{
    return code_of_self(pool, ABT_thread_get_last_pool(self_handle(), pool));
}

int ABT_self_get_last_pool_id(int *pool_id)
{
    return code_of_self(
        pool_id, ABT_thread_get_last_pool_id(self_handle(), pool_id));
}

int ABT_self_set_associated_pool(ABT_pool pool)
{
    ABT_thread self = self_handle();

    return self == ABT_THREAD_NULL ? amg_ult_none_code()
                                   : ABT_thread_set_associated_pool(self, pool);
}

int ABT_self_get_unit(ABT_unit *unit)
{
    return code_of_self(unit, ABT_thread_get_unit(self_handle(), unit));
}

int ABT_self_set_arg(void *arg)
{
    ABT_thread self = self_handle();

    return self == ABT_THREAD_NULL ? amg_ult_none_code()
                                   : ABT_thread_set_arg(self, arg);
}

int ABT_self_get_arg(void **arg)
{
    return code_of_self(arg, ABT_thread_get_arg(self_handle(), arg));
}

int ABT_self_get_thread_func(void (**thread_func)(void *))
{
    return code_of_self(
        thread_func, ABT_thread_get_thread_func(self_handle(), thread_func));
}

/* Translates the code of an ABT_thread_*() function for an ABT_task_*() one. */
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
