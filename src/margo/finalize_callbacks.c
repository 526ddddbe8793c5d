/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that are called while an instance ends: callbacks of the
 * program and of its providers, newest first. */
#include "amalgam_thallium.h"
#include "base/assert.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "margo/instance.h"
#include "margo/loop.h"

/* A function to call while the instance ends; owned by the list. */
struct callback {
    struct amg_link link;
    const void *owner; /* NULL: of no provider */
    margo_finalize_callback_t function;
    void *arg;
};

static struct amg_list *list_of(margo_instance_id mid, bool before)
{
    return before ? &mid->finalize->callbacks.before
                  : &mid->finalize->callbacks.after;
}

/* `caller`: the name of the public function, for the log. */
static void callback_push(margo_instance_id mid, bool before, const void *owner,
    margo_finalize_callback_t function, void *arg, const char *caller)
{
    struct callback *callback = NULL;

    if (!AMG_CONTRACT_OF(caller, mid != MARGO_INSTANCE_NULL, "mid is NULL") ||
        !AMG_CONTRACT_OF(caller, function != NULL, "the function is NULL"))
        return;
    callback = amg_mem_zalloc(sizeof(*callback));
    if (callback == NULL) {
        margo_error(mid, "%s: no memory; nothing is pushed", caller);
        return;
    }
    callback->owner = owner;
    callback->function = function;
    callback->arg = arg;
    amg_lock_lock(&mid->finalize->callbacks.lock);
    amg_list_push_front(list_of(mid, before), &callback->link);
    amg_lock_unlock(&mid->finalize->callbacks.lock);
}

/* The newest callback of an owner, or NULL. */
static struct callback *callback_find_locked(
    margo_instance_id mid, bool before, const void *owner)
{
    struct amg_list *list = list_of(mid, before);
    struct amg_link *link = amg_list_first(list);

    AMG_ASSERT_HELD(&mid->finalize->callbacks.lock);
    for (; link != NULL; link = amg_list_next(list, link)) {
        struct callback *callback =
            amg_container_of(link, struct callback, link);

        if (callback->owner == owner)
            return callback;
    }
    return NULL;
}

int amalgam_margo_callback_get(margo_instance_id mid, int is_before,
    const void *owner, void (*ref)(margo_finalize_callback_t cb, void *arg),
    margo_finalize_callback_t *ret_cb, void **ret_arg)
{
    struct callback *callback = NULL;

    if (!AMG_GIVEN(mid) || !AMG_GIVEN(ret_cb) || !AMG_GIVEN(ret_arg))
        return 0;
    amg_lock_lock(&mid->finalize->callbacks.lock);
    callback = callback_find_locked(mid, is_before != 0, owner);
    if (callback != NULL) {
        *ret_cb = callback->function;
        *ret_arg = callback->arg;
        if (ref != NULL)
            ref(*ret_cb, *ret_arg);
        else
            amg_list_remove(&callback->link);
    }
    amg_lock_unlock(&mid->finalize->callbacks.lock);
    if (callback != NULL && ref == NULL)
        amg_mem_free(callback);
    return callback != NULL;
}

static void ref_none(margo_finalize_callback_t function, void *arg)
{
    (void)function;
    (void)arg;
}

static int callback_pop(margo_instance_id mid, bool before, const void *owner)
{
    margo_finalize_callback_t function = NULL;
    void *arg = NULL;

    return amalgam_margo_callback_get(
        mid, before, owner, NULL, &function, &arg);
}

static int callback_top(margo_instance_id mid, bool before, const void *owner,
    margo_finalize_callback_t *ret_function, void **ret_arg)
{
    margo_finalize_callback_t function = NULL;
    void *arg = NULL;

    if (!amalgam_margo_callback_get(
            mid, before, owner, ref_none, &function, &arg))
        return 0;
    if (ret_function != NULL)
        *ret_function = function;
    if (ret_arg != NULL)
        *ret_arg = arg;
    return 1;
}

/* Removes and returns the first callback of a list; NULL: the list is empty. */
static struct callback *callback_take(margo_instance_id mid, bool before)
{
    struct amg_link *link = NULL;

    amg_lock_lock(&mid->finalize->callbacks.lock);
    link = amg_list_pop(list_of(mid, before));
    amg_lock_unlock(&mid->finalize->callbacks.lock);
    return link == NULL ? NULL : amg_container_of(link, struct callback, link);
}

void amg_margo_callbacks_run(margo_instance_id mid, bool before)
{
    struct callback *callback = NULL;

    while ((callback = callback_take(mid, before)) != NULL) {
        margo_finalize_callback_t function = callback->function;
        void *arg = callback->arg;

        amg_mem_free(callback);
        function(arg);
    }
}

void amg_margo_callbacks_fini(margo_instance_id mid)
{
    for (unsigned before = 0; before < 2; before++) {
        struct callback *callback = NULL;

        while ((callback = callback_take(mid, before != 0)) != NULL)
            amg_mem_free(callback);
    }
}

void margo_push_prefinalize_callback(
    margo_instance_id mid, margo_finalize_callback_t cb, void *uargs)
{
    callback_push(mid, true, NULL, cb, uargs, __func__);
}

int margo_pop_prefinalize_callback(margo_instance_id mid)
{
    return callback_pop(mid, true, NULL);
}

int margo_top_prefinalize_callback(
    margo_instance_id mid, margo_finalize_callback_t *cb, void **uargs)
{
    return callback_top(mid, true, NULL, cb, uargs);
}

void margo_provider_push_prefinalize_callback(margo_instance_id mid,
    const void *owner, margo_finalize_callback_t cb, void *uargs)
{
    callback_push(mid, true, owner, cb, uargs, __func__);
}

int margo_provider_pop_prefinalize_callback(
    margo_instance_id mid, const void *owner)
{
    return callback_pop(mid, true, owner);
}

int margo_provider_top_prefinalize_callback(margo_instance_id mid,
    const void *owner, margo_finalize_callback_t *cb, void **uargs)
{
    return callback_top(mid, true, owner, cb, uargs);
}

void margo_push_finalize_callback(
    margo_instance_id mid, margo_finalize_callback_t cb, void *uargs)
{
    callback_push(mid, false, NULL, cb, uargs, __func__);
}

int margo_pop_finalize_callback(margo_instance_id mid)
{
    return callback_pop(mid, false, NULL);
}

int margo_top_finalize_callback(
    margo_instance_id mid, margo_finalize_callback_t *cb, void **uargs)
{
    return callback_top(mid, false, NULL, cb, uargs);
}

void margo_provider_push_finalize_callback(margo_instance_id mid,
    const void *owner, margo_finalize_callback_t cb, void *uargs)
{
    callback_push(mid, false, owner, cb, uargs, __func__);
}

int margo_provider_pop_finalize_callback(
    margo_instance_id mid, const void *owner)
{
    return callback_pop(mid, false, owner);
}

int margo_provider_top_finalize_callback(margo_instance_id mid,
    const void *owner, margo_finalize_callback_t *cb, void **uargs)
{
    return callback_top(mid, false, owner, cb, uargs);
}
