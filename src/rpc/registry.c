/* SPDX-License-Identifier: BSD-3-Clause */
/* Registry of the RPCs of a class: ids, procs, callbacks, user data. */
#include "rpc/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/trace.h"
#include "core/class.h"
#include "mercury_hash_string.h"
#include "mercury_register.h"

enum { CACHE_LINE = 64 };

static struct amg_attic attic; /* memory of freed handles */

static void rpc_drop_data(struct amg_rpc *rpc)
{
    if (rpc->data_free != NULL)
        rpc->data_free(rpc->data);
    rpc->data = NULL;
    rpc->data_free = NULL;
}

static void rpc_class_free(hg_class_t *cls)
{
    struct amg_rpc_class *rpcs = cls->upper;
    struct amg_link *link = NULL;

    amg_diag_end(cls);
    rpcs->group_ops->fini(rpcs);
    amg_map_fini(&rpcs->rpcs, NULL);
    amg_map_fini(&rpcs->gone, NULL);
    amg_pool_each(&rpcs->handles, rpcs->handle_ops->fini);
    amg_pool_each(&rpcs->incoming, rpcs->handle_ops->fini);
    while ((link = amg_list_pop(&rpcs->all)) != NULL) {
        struct amg_rpc *rpc = amg_container_of(link, struct amg_rpc, link);

        rpc_drop_data(rpc);
        amg_mem_free(rpc->reduce);
        amg_mem_free(rpc);
    }
    amg_pool_fini(&rpcs->handles);
    amg_pool_fini(&rpcs->incoming);
    amg_mem_free(rpcs->hang);
    amg_mem_free(rpcs);
    cls->upper = NULL;
}

void amg_rpc_class_attach(hg_class_t *cls, struct amg_rpc_class *rpcs,
    const struct amg_rpc_handle_ops *ops)
{
    AMG_ASSERT(cls->upper == NULL && rpcs->handle_ops == NULL);
    rpcs->handle_ops = ops;
    amg_lock_init(&rpcs->lock);
    amg_list_init(&rpcs->all);
    atomic_init(&rpcs->next_token, 1);
    amg_pool_init_kept(&rpcs->handles, ops->size, CACHE_LINE, &attic);
    amg_pool_init_kept(&rpcs->incoming, ops->size, CACHE_LINE, &attic);
    rpcs->checksum_level = cls->plan.checksum_level;
    atomic_init(&rpcs->is_plain, rpcs->checksum_level == HG_CHECKSUM_NONE);
    cls->upper = rpcs;
    cls->upper_free = rpc_class_free;
}

struct amg_rpc *amg_rpc_search(struct amg_rpc_class *rpcs, hg_id_t id)
{
    struct amg_rpc *rpc = NULL;

    amg_lock_lock(&rpcs->lock);
    rpc = amg_map_get(&rpcs->rpcs, id);
    if (rpc != NULL)
        atomic_store_explicit(
            &rpcs->recent[id % AMG_RPC_RECENT], rpc, memory_order_release);
    amg_lock_unlock(&rpcs->lock);
    return rpc;
}

static bool has_functions(
    const struct amg_rpc *rpc, const struct amg_rpc *wanted)
{
    return rpc->in_proc == wanted->in_proc &&
           rpc->out_proc == wanted->out_proc &&
           rpc->callback == wanted->callback && rpc->oneway == wanted->oneway;
}

/* Writes only what changes: calls in flight may read the functions. */
static void rpc_set(struct amg_rpc *rpc, const struct amg_rpc *wanted)
{
    if (strcmp(rpc->name, wanted->name) != 0)
        memcpy(rpc->name, wanted->name, sizeof(rpc->name));
    if (!has_functions(rpc, wanted)) {
        rpc->in_proc = wanted->in_proc;
        rpc->out_proc = wanted->out_proc;
        rpc->callback = wanted->callback;
        rpc->oneway = wanted->oneway;
    }
    if (rpc->fold_proc != wanted->out_proc)
        rpc->fold_proc = wanted->out_proc;
    if (rpc->reduce != NULL) { /* of the earlier registration */
        amg_mem_free(rpc->reduce);
        rpc->reduce = NULL;
    }
    rpc->in_was_short = true;
    rpc->out_was_short = true;
}

/* Reuses the struct of a deregistered RPC, but only with the same functions:
 * calls in flight may still use the struct. NULL: no such struct. */
static struct amg_rpc *gone_take_locked(
    struct amg_rpc_class *rpcs, const struct amg_rpc *wanted)
{
    struct amg_rpc *rpc = amg_map_get(&rpcs->gone, wanted->id);

    AMG_ASSERT_HELD(&rpcs->lock);
    if (rpc == NULL || !has_functions(rpc, wanted))
        return NULL;
    (void)amg_map_remove(&rpcs->gone, wanted->id);
    amg_list_remove(&rpc->link);
    return rpc;
}

/* Adds an RPC that is not registered. NOTE(not a leaf): allocates memory under
 * the lock; base/mem takes no lock. */
static hg_return_t rpc_add(hg_class_t *cls, const struct amg_rpc *wanted)
{
    struct amg_rpc_class *rpcs = amg_rpc_class_of(cls);
    struct amg_rpc *rpc = NULL;
    hg_return_t rc = HG_NOMEM;

    amg_lock_lock(&rpcs->lock);
    rpc = gone_take_locked(rpcs, wanted);
    if (rpc == NULL) {
        rpc = amg_mem_zalloc(sizeof(*rpc));
        if (rpc != NULL)
            rpc->id = wanted->id;
    }
    if (rpc != NULL) {
        rpc_set(rpc, wanted);
        rpc->is_one_way = wanted->is_one_way;
        rc = amg_map_put(&rpcs->rpcs, rpc->id, rpc);
        /* Listed even after an error: calls in flight may use the struct. */
        amg_list_push(&rpcs->all, &rpc->link);
    }
    amg_lock_unlock(&rpcs->lock);
    if (rc == HG_SUCCESS)
        amg_rpc_class_of(cls)->handle_ops->registered(cls);
    return rc;
}

static hg_return_t rpc_register(hg_class_t *cls, const struct amg_rpc *wanted)
{
    struct amg_rpc *rpc = amg_rpc_find(cls, wanted->id);

    if (rpc == NULL)
        return rpc_add(cls, wanted);
    AMG_LOG_WARNING("rpc",
        "RPC id 0x%" PRIx64 " is registered already; its procs and callback "
        "are replaced",
        wanted->id);
    rpc_set(rpc, wanted);
    rpc->is_one_way = rpc->is_one_way || wanted->is_one_way;
    return HG_SUCCESS;
}

hg_return_t HG_Register(hg_class_t *hg_class, hg_id_t id,
    hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb, hg_rpc_cb_t rpc_cb)
{
    const struct amg_rpc wanted = {.id = id,
        .in_proc = in_proc_cb,
        .out_proc = out_proc_cb,
        .callback = rpc_cb};

    if (!AMG_CLASS_OK(hg_class) ||
        !AMG_CONTRACT(id != 0, "id is 0, which means no RPC"))
        return amg_refusal();
    return rpc_register(hg_class, &wanted);
}

hg_id_t amg_rpc_register_name(
    hg_class_t *cls, const char *name, struct amg_rpc *wanted, const char *call)
{
    wanted->id = hg_hash_string(name); /* Mercury's ids */
    if (!AMG_CONTRACT_OF(
            call, wanted->id != 0, "the name has the id 0, which means no RPC"))
        return 0;
    snprintf(wanted->name, sizeof(wanted->name), "%s", name);
    amg_trace_note("rpc %" PRIx64 " %s", wanted->id, name);
    return rpc_register(cls, wanted) == HG_SUCCESS ? wanted->id : 0;
}

void amg_rpc_set_name(hg_class_t *cls, hg_id_t id, const char *name)
{
    struct amg_rpc_class *rpcs = amg_rpc_class_of(cls);
    struct amg_rpc *rpc = amg_rpc_find(cls, id);

    if (rpc == NULL)
        return;
    amg_lock_lock(&rpcs->lock);
    snprintf(rpc->name, sizeof(rpc->name), "%s", name);
    amg_lock_unlock(&rpcs->lock);
}

const char *amg_rpc_name(
    const hg_class_t *cls, hg_id_t id, char ret_name[AMG_RPC_NAME_CAP])
{
    struct amg_rpc_class *rpcs = amg_rpc_class_of(cls);
    const struct amg_rpc *rpc = NULL;

    amg_lock_lock(&rpcs->lock);
    rpc = amg_map_get(&rpcs->rpcs, id);
    snprintf(ret_name, AMG_RPC_NAME_CAP, "%s", rpc == NULL ? "" : rpc->name);
    amg_lock_unlock(&rpcs->lock);
    return ret_name;
}

hg_id_t HG_Register_name(hg_class_t *hg_class, const char *func_name,
    hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb, hg_rpc_cb_t rpc_cb)
{
    struct amg_rpc wanted = {
        .in_proc = in_proc_cb, .out_proc = out_proc_cb, .callback = rpc_cb};

    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(func_name))
        return 0;
    return amg_rpc_register_name(hg_class, func_name, &wanted, __func__);
}

hg_return_t HG_Registered_name(
    hg_class_t *hg_class, const char *func_name, hg_id_t *id, uint8_t *flag)
{
    hg_id_t found = 0;

    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(func_name) || !AMG_GIVEN(flag))
        return amg_refusal();
    found = hg_hash_string(func_name);
    *flag = amg_rpc_find(hg_class, found) != NULL;
    if (id != NULL)
        *id = found;
    return HG_SUCCESS;
}

hg_return_t HG_Deregister(hg_class_t *hg_class, hg_id_t id)
{
    struct amg_rpc_class *rpcs = NULL;
    struct amg_rpc *rpc = NULL;
    struct amg_rpc old = {.data = NULL};

    if (!AMG_CLASS_OK(hg_class))
        return amg_refusal();
    rpcs = amg_rpc_class_of(hg_class);
    amg_lock_lock(&rpcs->lock);
    rpc = amg_map_remove(&rpcs->rpcs, id);
    if (rpc != NULL) {
        /* Takes the data: other threads may reuse `rpc` after the unlock. */
        old.data = atomic_exchange(&rpc->data, NULL);
        old.data_free = rpc->data_free;
        rpc->data_free = NULL;
        (void)amg_map_put(&rpcs->gone, id, rpc); /* HG_NOMEM: no reuse */
    }
    atomic_store_explicit(
        &rpcs->recent[id % AMG_RPC_RECENT], NULL, memory_order_release);
    amg_lock_unlock(&rpcs->lock);
    rpc_drop_data(&old);
    return rpc == NULL ? HG_NOENTRY : HG_SUCCESS;
}

hg_return_t HG_Registered(hg_class_t *hg_class, hg_id_t id, uint8_t *flag)
{
    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(flag))
        return amg_refusal();
    *flag = amg_rpc_find(hg_class, id) != NULL;
    return HG_SUCCESS;
}

hg_return_t HG_Registered_proc_cb(hg_class_t *hg_class, hg_id_t id,
    uint8_t *flag, hg_proc_cb_t *in_proc_cb, hg_proc_cb_t *out_proc_cb)
{
    struct amg_rpc *rpc = NULL;

    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(flag))
        return amg_refusal();
    rpc = amg_rpc_find(hg_class, id);
    *flag = rpc != NULL;
    if (rpc != NULL && in_proc_cb != NULL)
        *in_proc_cb = rpc->in_proc;
    if (rpc != NULL && out_proc_cb != NULL)
        *out_proc_cb = rpc->out_proc;
    return HG_SUCCESS;
}

hg_return_t HG_Register_data(
    hg_class_t *hg_class, hg_id_t id, void *data, void (*free_callback)(void *))
{
    struct amg_rpc *rpc = NULL;

    if (!AMG_CLASS_OK(hg_class))
        return amg_refusal();
    rpc = amg_rpc_find(hg_class, id);
    if (rpc == NULL)
        return HG_NOENTRY;
    rpc_drop_data(rpc);
    rpc->data = data;
    rpc->data_free = free_callback;
    return HG_SUCCESS;
}

void *HG_Registered_data(hg_class_t *hg_class, hg_id_t id)
{
    struct amg_rpc *rpc = NULL;

    if (!AMG_CLASS_OK(hg_class))
        return NULL;
    rpc = amg_rpc_find(hg_class, id);
    return rpc == NULL ? NULL : rpc->data;
}

hg_return_t HG_Registered_disable_response(
    hg_class_t *hg_class, hg_id_t id, uint8_t disable)
{
    struct amg_rpc *rpc = NULL;

    if (!AMG_CLASS_OK(hg_class))
        return amg_refusal();
    rpc = amg_rpc_find(hg_class, id);
    if (rpc == NULL)
        return HG_NOENTRY;
    rpc->is_one_way = disable != 0;
    return HG_SUCCESS;
}

hg_return_t HG_Registered_disabled_response(
    hg_class_t *hg_class, hg_id_t id, uint8_t *disabled)
{
    struct amg_rpc *rpc = NULL;

    if (!AMG_CLASS_OK(hg_class) || !AMG_GIVEN(disabled))
        return amg_refusal();
    rpc = amg_rpc_find(hg_class, id);
    if (rpc == NULL)
        return HG_NOENTRY;
    *disabled = rpc->is_one_way;
    return HG_SUCCESS;
}
