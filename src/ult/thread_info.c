/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be asked and set of a user-level thread. */
#include <stddef.h>

#include "ult/handle.h"
#include "ult/key_value.h"
#include "ult/state.h"
#include "ult/upool.h"

int ABT_thread_get_last_xstream(ABT_thread thread, ABT_xstream *xstream)
{
    struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (xstream == NULL)
        return ABT_ERR_INV_ARG;
    *xstream = amg_stream_handle(
        atomic_load_explicit(&ult->stream, memory_order_relaxed));
    return ABT_SUCCESS;
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

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (state == NULL)
        return ABT_ERR_INV_ARG;
    *state = states[amg_ult_state(ult)];
    return ABT_SUCCESS;
}

int ABT_thread_get_last_pool(ABT_thread thread, ABT_pool *pool)
{
    const struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (pool == NULL)
        return ABT_ERR_INV_ARG;
    *pool = amg_upool_handle(amg_ult_pool(ult));
    return ABT_SUCCESS;
}

int ABT_thread_get_last_pool_id(ABT_thread thread, int *id)
{
    const struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (id == NULL)
        return ABT_ERR_INV_ARG;
    return ABT_pool_get_id(amg_upool_handle(amg_ult_pool(ult)), id);
}

int ABT_thread_is_primary(ABT_thread thread, ABT_bool *is_primary)
{
    const struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (is_primary == NULL)
        return ABT_ERR_INV_ARG;
    *is_primary = ult->kind == AMG_ULT_PRIMARY ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_thread_is_unnamed(ABT_thread thread, ABT_bool *is_unnamed)
{
    const struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (is_unnamed == NULL)
        return ABT_ERR_INV_ARG;
    *is_unnamed = ult->is_named ? ABT_FALSE : ABT_TRUE;
    return ABT_SUCCESS;
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
    const struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (stacksize == NULL)
        return ABT_ERR_INV_ARG;
    *stacksize = ult->stack_len;
    return ABT_SUCCESS;
}

int ABT_thread_get_stack(ABT_thread thread, void **stackaddr, size_t *stacksize)
{
    const struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (stackaddr == NULL || stacksize == NULL)
        return ABT_ERR_INV_ARG;
    *stackaddr = ult->stack_base;
    *stacksize = ult->stack_room;
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
    /* Numbers are given to those that are asked for them: a shared counter for
     * every thread would be fought for. */
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
    struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    ult->arg = arg;
    return ABT_SUCCESS;
}

int ABT_thread_get_arg(ABT_thread thread, void **arg)
{
    const struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (arg == NULL)
        return ABT_ERR_INV_ARG;
    *arg = ult->arg;
    return ABT_SUCCESS;
}

int ABT_thread_get_thread_func(ABT_thread thread, void (**thread_func)(void *))
{
    const struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL)
        return ABT_ERR_INV_THREAD;
    if (thread_func == NULL)
        return ABT_ERR_INV_ARG;
    *thread_func = ult->function;
    return ABT_SUCCESS;
}

int ABT_thread_set_specific(ABT_thread thread, ABT_key key, void *value)
{
    struct amg_ult *ult = amg_ult_of(thread);

    return ult == NULL ? ABT_ERR_INV_THREAD : amg_key_set(ult, key, value);
}

int ABT_thread_get_specific(ABT_thread thread, ABT_key key, void **value)
{
    struct amg_ult *ult = amg_ult_of(thread);

    return ult == NULL ? ABT_ERR_INV_THREAD : amg_key_get(ult, key, value);
}
