/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of user-level threads: they are made, joined and freed. */
#include <stddef.h>

#include "base/assert.h"
#include "ult/attr.h"
#include "ult/create.h"
#include "ult/end.h"
#include "ult/handle.h"
#include "ult/leave.h"
#include "ult/state.h"
#include "ult/upool.h"
#include "ult/waiters.h"

/* NEW; an ABT code. */
static int thread_new(struct amg_upool *pool, void (*function)(void *),
    void *arg, const struct amg_uattr *attr, bool is_named,
    struct amg_ult **ret_ult)
{
    struct amg_ult_wish wish = {
        .kind = AMG_ULT_THREAD,
        .pool = pool,
        .function = function,
        .arg = arg,
        .is_named = is_named,
    };

    if (function == NULL)
        return ABT_ERR_INV_ARG;
    if (attr != NULL) {
        wish.stack = attr->stack;
        wish.stack_len = attr->stack_len;
        wish.is_fixed = !attr->is_migratable;
        wish.on_migration = attr->on_migration;
        wish.on_migration_arg = attr->on_migration_arg;
    }
    *ret_ult = amg_ult_create(&wish);
    return *ret_ult == NULL ? ABT_ERR_MEM : ABT_SUCCESS;
}

int ABT_thread_create(ABT_pool pool, void (*thread_func)(void *), void *arg,
    ABT_thread_attr attr, ABT_thread *newthread)
{
    struct amg_ult *ult = NULL;
    int rc = ABT_SUCCESS;

    if (pool == ABT_POOL_NULL)
        rc = ABT_ERR_INV_POOL;
    else
        rc = thread_new(amg_upool_of(pool), thread_func, arg,
            amg_uattr_of(attr), newthread != NULL, &ult);
    if (rc != ABT_SUCCESS) {
        amg_handle_clear(newthread);
        return rc;
    }
    if (newthread != NULL)
        *newthread = amg_ult_handle(ult);
    amg_ult_make_ready(ult);
    return ABT_SUCCESS;
}

int ABT_thread_create_to(ABT_pool pool, void (*thread_func)(void *), void *arg,
    ABT_thread_attr attr, ABT_thread *newthread)
{
    struct amg_ult *self = amg_ult_self();
    struct amg_ult *ult = NULL;
    int rc = ABT_SUCCESS;

    amg_handle_clear(newthread);
    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (self == NULL)
        return amg_ult_current() == NULL ? amg_ult_none_code()
                                         : ABT_ERR_INV_THREAD;
    rc = thread_new(amg_upool_of(pool), thread_func, arg, amg_uattr_of(attr),
        newthread != NULL, &ult);
    if (rc != ABT_SUCCESS)
        return rc;
    if (newthread != NULL)
        *newthread = amg_ult_handle(ult);
    amg_ult_leave_to(self, AMG_ULT_YIELDS, NULL, ult);
    return ABT_SUCCESS;
}

int ABT_thread_create_on_xstream(ABT_xstream xstream,
    void (*thread_func)(void *), void *arg, ABT_thread_attr attr,
    ABT_thread *newthread)
{
    ABT_pool pool = ABT_POOL_NULL;
    int rc = ABT_SUCCESS;

    amg_handle_clear(newthread);
    if (xstream == ABT_XSTREAM_NULL)
        return ABT_ERR_INV_XSTREAM;
    rc = ABT_xstream_get_main_pools(xstream, 1, &pool);
    if (rc != ABT_SUCCESS)
        return rc;
    return ABT_thread_create(pool, thread_func, arg, attr, newthread);
}

int ABT_thread_create_many(int num_threads, ABT_pool *pool_list,
    void (**thread_func_list)(void *), void **arg_list, ABT_thread_attr attr,
    ABT_thread *newthread_list)
{
    const struct amg_uattr *uattr = amg_uattr_of(attr);

    if (num_threads < 0 ||
        (num_threads > 0 && (pool_list == NULL || thread_func_list == NULL)) ||
        (uattr != NULL && uattr->stack != NULL))
        return ABT_ERR_INV_ARG;
    for (int i = 0; i < num_threads; i++) {
        int rc = ABT_thread_create(pool_list[i], thread_func_list[i],
            arg_list == NULL ? NULL : arg_list[i], attr,
            newthread_list == NULL ? NULL : &newthread_list[i]);

        if (rc != ABT_SUCCESS)
            return rc;
    }
    return ABT_SUCCESS;
}

/* It has ended, and is NEW but in name. An ABT code. */
static int thread_renew(ABT_pool pool, void (*function)(void *), void *arg,
    const ABT_thread *thread)
{
    struct amg_ult *ult = NULL;
    int rc = ABT_SUCCESS;

    if (pool == ABT_POOL_NULL)
        return ABT_ERR_INV_POOL;
    if (thread == NULL || function == NULL)
        return ABT_ERR_INV_ARG;
    ult = amg_ult_of(*thread);
    if (ult == NULL || amg_ult_state(ult) != AMG_ULT_ENDED)
        return ABT_ERR_INV_THREAD;
    amg_ult_join(ult); /* who ended it has let go of it */
    rc = amg_upool_adopt(amg_upool_of(pool), ult);
    if (rc == ABT_SUCCESS)
        amg_ult_renew(ult, function, arg);
    return rc;
}

int ABT_thread_revive(
    ABT_pool pool, void (*thread_func)(void *), void *arg, ABT_thread *thread)
{
    int rc = thread_renew(pool, thread_func, arg, thread);

    if (rc == ABT_SUCCESS)
        amg_ult_make_ready(amg_ult_of(*thread));
    return rc;
}

int ABT_thread_revive_to(
    ABT_pool pool, void (*thread_func)(void *), void *arg, ABT_thread *thread)
{
    struct amg_ult *self = amg_ult_self();
    int rc = ABT_SUCCESS;

    if (self == NULL)
        return ABT_ERR_INV_THREAD;
    if (thread != NULL && *thread != ABT_THREAD_NULL &&
        amg_ult_of(*thread)->kind != AMG_ULT_THREAD)
        return ABT_ERR_INV_THREAD;
    rc = thread_renew(pool, thread_func, arg, thread);
    if (rc == ABT_SUCCESS)
        amg_ult_leave_to(self, AMG_ULT_YIELDS, NULL, amg_ult_of(*thread));
    return rc;
}

int ABT_thread_join(ABT_thread thread)
{
    struct amg_ult *ult = amg_ult_of(thread);

    if (ult == NULL || !ult->is_named || ult == amg_ult_current() ||
        ult->kind == AMG_ULT_PRIMARY || ult->kind == AMG_ULT_SCHEDULER)
        return ABT_ERR_INV_THREAD;
    /* What it waits for might be behind it on the same stream. */
    if (amg_waiters_caller_is_task() && amg_ult_state(ult) != AMG_ULT_ENDED)
        return ABT_ERR_INV_THREAD;
    amg_ult_join(ult);
    return ABT_SUCCESS;
}

int ABT_thread_free(ABT_thread *thread)
{
    int rc = ABT_ERR_INV_THREAD;

    if (thread == NULL)
        return rc;
    rc = ABT_thread_join(*thread);
    if (rc != ABT_SUCCESS)
        return rc;
    amg_ult_destroy(amg_ult_of(*thread));
    *thread = ABT_THREAD_NULL;
    return ABT_SUCCESS;
}

static int thread_join(ABT_thread *thread)
{
    return ABT_thread_join(*thread);
}

/* Ends each of them that is one; the first error, after all. */
static int threads_end(
    int num_threads, ABT_thread *thread_list, int (*end)(ABT_thread *thread))
{
    int rc = ABT_SUCCESS;

    if (thread_list == NULL && num_threads > 0)
        return ABT_ERR_INV_ARG;
    for (int i = 0; i < num_threads; i++) {
        int one = ABT_SUCCESS;

        if (thread_list[i] != ABT_THREAD_NULL)
            one = end(&thread_list[i]);
        if (rc == ABT_SUCCESS)
            rc = one;
    }
    return rc;
}

int ABT_thread_join_many(int num_threads, ABT_thread *thread_list)
{
    return threads_end(num_threads, thread_list, thread_join);
}

int ABT_thread_free_many(int num_threads, ABT_thread *thread_list)
{
    return threads_end(num_threads, thread_list, ABT_thread_free);
}
