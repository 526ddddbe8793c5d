/* SPDX-License-Identifier: BSD-3-Clause */
/* The RPCs that an instance knows, by id: registration and lookup.
 *
 * HG stores the ids, and finds an id without a lock. HG_Registered_data() of an
 * id returns the struct amg_margo_rpc. */
#include "margo/rpc.h"

#include <string.h>

#include "amalgam_group_margo.h"
#include "amalgam_thallium.h"
#include "base/assert.h"
#include "base/mem.h"
#include "base/trace.h"
#include "margo/instance.h"
#include "margo/registry.h"
#include "rpc/registry.h"

/* Bit position of the name's hash in an id; lower bits are the provider. */
enum { NAME_SHIFT = 32 };

struct amg_margo_rpc *amg_margo_rpc_of(margo_instance_id mid, hg_id_t id)
{
    return HG_Registered_data(mid->hg_class, id);
}

struct amg_margo_rpc *amg_margo_rpc_find(margo_instance_id mid, hg_id_t id)
{
    hg_bool_t is_there = HG_FALSE;

    return HG_Registered(mid->hg_class, id, &is_there) == HG_SUCCESS && is_there
               ? amg_margo_rpc_of(mid, id)
               : NULL;
}

/* A step of name_hash(). */
static void hash_mix(uint32_t word[3])
{
    static const struct {
        uint8_t shift;
        bool is_left;
    } steps[] = {{13, false}, {8, true}, {13, false}, {12, false}, {16, true},
        {5, false}, {3, false}, {10, true}, {15, false}};

    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        uint32_t last = word[(i + 2) % 3];

        word[i % 3] -= word[(i + 1) % 3] + last;
        word[i % 3] ^=
            steps[i].is_left ? last << steps[i].shift : last >> steps[i].shift;
    }
}

/* Margo's hash, so that ids in Margo's tools and files are valid here: R.
 * Jenkins, Hash functions, Dr. Dobb's Journal 9/1997, with the initial value
 * 0xfeedbeef. */
static uint32_t name_hash(const char *name)
{
    size_t len = strlen(name);
    size_t at = 0;
    uint32_t word[3] = {0x9e3779b9, 0x9e3779b9, 0xfeedbeef};

    for (; len - at >= 12; at += 12) {
        for (unsigned i = 0; i < 12; i++)
            word[i / 4] += (uint32_t)(uint8_t)name[at + i] << 8 * (i % 4);
        hash_mix(word);
    }
    /* The lowest byte of the third word belongs to the length. */
    word[2] += (uint32_t)len;
    for (unsigned i = 0; at + i < len; i++)
        word[i / 4] += (uint32_t)(uint8_t)name[at + i]
                       << 8 * (i < 8 ? i % 4 : i % 4 + 1);
    hash_mix(word);
    return word[2];
}

hg_id_t amg_margo_rpc_id(const char *name, uint16_t provider_id)
{
    return ((hg_id_t)name_hash(name) << NAME_SHIFT) | provider_id;
}

void amg_margo_rpcs_init(margo_instance_id mid, hg_rpc_cb_t refuse)
{
    mid->rpcs->refuse = refuse;
    amg_lock_init(&mid->rpcs->lock);
    amg_list_init(&mid->rpcs->all);
}

static ABT_pool pool_or_default(margo_instance_id mid, ABT_pool pool)
{
    return pool == ABT_POOL_NULL ? mid->pools->rpc_pool : pool;
}

/* Data of the program for an RPC. */
struct attached {
    void *data;
    void (*data_free)(void *);
};

/* Replaces the attached data by `next`. Returns the former data, which the
 * caller frees when it holds no lock. */
static struct attached data_replace(
    struct amg_margo_rpc *rpc, struct attached next)
{
    struct attached old = {NULL, NULL};

    amg_lock_lock(&rpc->data_lock);
    old = (struct attached){rpc->data, rpc->data_free};
    rpc->data = next.data;
    rpc->data_free = next.data_free;
    amg_lock_unlock(&rpc->data_lock);
    return old;
}

static void data_free(struct attached old)
{
    if (old.data_free != NULL)
        old.data_free(old.data);
}

/* Takes the deregistered RPC of that name out of `gone`; NULL: none. */
static struct amg_margo_rpc *rpc_again_locked(
    margo_instance_id mid, const char *name, hg_id_t id)
{
    struct amg_margo_rpc *rpc = amg_map_remove(&mid->rpcs->gone, id);

    AMG_ASSERT_HELD(&mid->rpcs->lock);
    if (rpc == NULL || strcmp(rpc->name, name) != 0)
        return NULL;
    rpc->has_no_response = false;
    return rpc;
}

/* An RPC that HG does not know: deregistered or new; NULL: no memory. */
static struct amg_margo_rpc *rpc_make_locked(
    margo_instance_id mid, const char *name, hg_id_t id)
{
    struct amg_margo_rpc *rpc = rpc_again_locked(mid, name, id);

    AMG_ASSERT_HELD(&mid->rpcs->lock);
    if (rpc != NULL)
        return rpc;
    rpc = amg_mem_zalloc(sizeof(*rpc));
    if (rpc == NULL)
        return NULL;
    rpc->name = amg_mem_strdup(name);
    if (rpc->name == NULL) {
        amg_mem_free(rpc);
        return NULL;
    }
    rpc->mid = mid;
    rpc->id = id;
    amg_lock_init(&rpc->data_lock);
    amg_list_push(&mid->rpcs->all, &rpc->link);
    return rpc;
}

/* Registers an RPC. `before`: the RPC of that id, which is replaced, or NULL.
 * HG_EXIST: `before` has another name. */
static hg_return_t rpc_register_locked(margo_instance_id mid,
    const struct margo_monitor_register_args *args, hg_id_t id,
    struct amg_margo_rpc *before)
{
    struct amg_margo_rpc *rpc =
        before != NULL ? before : rpc_make_locked(mid, args->name, id);
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD(&mid->rpcs->lock);
    if (rpc == NULL)
        return HG_NOMEM;
    if (strcmp(rpc->name, args->name) != 0)
        return HG_EXIST;
    if (before != NULL) { /* HG would warn of a second registration */
        rc = HG_Deregister(mid->hg_class, id);
        if (rc != HG_SUCCESS)
            return rc;
        amg_margo_pools_unref(mid, rpc->pool);
    }
    rpc->has_handler = args->rpc_cb != NULL;
    rpc->in_proc = args->in_proc_cb;
    rpc->out_proc = args->out_proc_cb;
    rpc->fold_proc = NULL;
    rpc->pool = pool_or_default(mid, args->pool);
    amg_margo_pools_ref(mid, rpc->pool);
    amg_trace_note("rpc %llx %s", (unsigned long long)id, rpc->name);
    rc = HG_Register(mid->hg_class, id, amg_margo_proc_input,
        amg_margo_proc_output,
        args->rpc_cb == NULL ? mid->rpcs->refuse : args->rpc_cb);
    if (rc == HG_SUCCESS) {
        amg_rpc_find(mid->hg_class, id)->fold_proc = amg_margo_proc_fold;
        amg_rpc_set_name(mid->hg_class, id, rpc->name);
        rc = HG_Register_data(mid->hg_class, id, rpc, NULL);
    }
    if (rc == HG_SUCCESS && rpc->has_no_response)
        rc = HG_Registered_disable_response(mid->hg_class, id, HG_TRUE);
    rpc->is_registered = rc == HG_SUCCESS;
    if (!rpc->is_registered)
        amg_margo_pools_unref(mid, rpc->pool);
    return rc;
}

/* Logs a failed registration. `before`: the RPC of that id, or NULL. */
static void register_log(margo_instance_id mid,
    const struct margo_monitor_register_args *args,
    const struct amg_margo_rpc *before)
{
    if (args->ret == HG_EXIST && before != NULL)
        margo_error(mid,
            "RPC \"%s\" has the same id as \"%s\" (0x%llx), which is "
            "registered: give it another name",
            args->name, before->name, (unsigned long long)before->id);
    margo_error(mid, "RPC \"%s\" (provider %u) cannot be registered: %s",
        args->name, (unsigned)args->provider_id, HG_Error_to_string(args->ret));
}

hg_id_t margo_provider_register_name(margo_instance_id mid,
    const char *func_name, hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb,
    hg_rpc_cb_t rpc_cb, uint16_t provider_id, ABT_pool pool)
{
    struct margo_monitor_register_args event = {.name = func_name,
        .in_proc_cb = in_proc_cb,
        .out_proc_cb = out_proc_cb,
        .rpc_cb = rpc_cb,
        .provider_id = provider_id,
        .pool = pool};
    struct amg_margo_rpc *before = NULL;
    bool replaces = false;
    hg_id_t id = 0;

    if (!AMG_GIVEN(mid) ||
        !AMG_CONTRACT(mid->hg_class != NULL, "the instance has no class") ||
        !AMG_GIVEN(func_name))
        return 0;
    AMG_MARGO_NOTIFY(mid, register, MARGO_MONITOR_FN_START, &event);
    id = amg_margo_rpc_id(func_name, provider_id);
    amg_lock_lock(&mid->rpcs->lock);
    before = amg_margo_rpc_find(mid, id);
    replaces = before != NULL && before->has_handler && rpc_cb != NULL;
    event.ret = rpc_register_locked(mid, &event, id, before);
    amg_lock_unlock(&mid->rpcs->lock);
    if (event.ret != HG_SUCCESS)
        register_log(mid, &event, before);
    else if (replaces)
        margo_warning(mid,
            "RPC \"%s\" (provider %u) is registered again: its handler and "
            "argument types are replaced; call margo_deregister() before if "
            "this is intended",
            func_name, (unsigned)provider_id);
    event.id = event.ret == HG_SUCCESS ? id : 0;
    AMG_MARGO_NOTIFY(mid, register, MARGO_MONITOR_FN_END, &event);
    return event.id;
}

/* Deregisters an RPC: later requests are refused. The memory stays, since
 * requests in progress may use it. False: the RPC was not registered. */
static bool rpc_forget(struct amg_margo_rpc *rpc)
{
    struct amg_margo_rpcs *rpcs = rpc->mid->rpcs;
    struct attached old = {NULL, NULL};
    bool was_registered = false;

    AMG_ASSERT(rpc->mid != MARGO_INSTANCE_NULL && rpc->name != NULL);
    amg_lock_lock(&rpcs->lock);
    was_registered = rpc->is_registered;
    rpc->is_registered = false;
    if (was_registered) {
        (void)HG_Deregister(rpc->mid->hg_class, rpc->id);
        amg_margo_pools_unref(rpc->mid, rpc->pool);
        (void)amg_map_put(&rpcs->gone, rpc->id, rpc);
    }
    old = data_replace(rpc, old); /* also of a registration that has failed */
    amg_lock_unlock(&rpcs->lock);
    data_free(old);
    return was_registered;
}

hg_return_t margo_deregister(margo_instance_id mid, hg_id_t rpc_id)
{
    struct margo_monitor_deregister_args event = {.id = rpc_id};
    struct amg_margo_rpc *rpc = NULL;

    if (!AMG_GIVEN(mid))
        return HG_INVALID_ARG;
    AMG_MARGO_NOTIFY(mid, deregister, MARGO_MONITOR_FN_START, &event);
    rpc = mid->hg_class == NULL ? NULL : amg_margo_rpc_of(mid, rpc_id);
    event.ret = rpc != NULL && rpc_forget(rpc) ? HG_SUCCESS : HG_NOENTRY;
    AMG_MARGO_NOTIFY(mid, deregister, MARGO_MONITOR_FN_END, &event);
    return event.ret;
}

bool amg_margo_rpcs_are_served(margo_instance_id mid)
{
    struct amg_list *all = &mid->rpcs->all;
    bool is_served = false;

    amg_lock_lock(&mid->rpcs->lock);
    for (struct amg_link *link = amg_list_first(all);
         link != NULL && !is_served; link = amg_list_next(all, link)) {
        const struct amg_margo_rpc *rpc =
            amg_container_of(link, struct amg_margo_rpc, link);

        /* Names of the instance's own RPCs begin with two underscores. */
        is_served = rpc->is_registered && rpc->has_handler &&
                    strncmp(rpc->name, "__", 2) != 0;
    }
    amg_lock_unlock(&mid->rpcs->lock);
    return is_served;
}

void amg_margo_rpcs_fini(margo_instance_id mid)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(&mid->rpcs->all)) != NULL) {
        struct amg_margo_rpc *rpc =
            amg_container_of(link, struct amg_margo_rpc, link);

        (void)rpc_forget(rpc);
        amg_mem_free(rpc->name);
        amg_mem_free(rpc);
    }
    amg_map_fini(&mid->rpcs->gone, NULL);
}

/* Finds an RPC of an instance whose class is open; or NULL. */
static struct amg_margo_rpc *rpc_find(margo_instance_id mid, hg_id_t id)
{
    return mid == MARGO_INSTANCE_NULL || mid->hg_class == NULL
               ? NULL
               : amg_margo_rpc_find(mid, id);
}

hg_return_t margo_registered_name(
    margo_instance_id mid, const char *func_name, hg_id_t *id, hg_bool_t *flag)
{
    return margo_provider_registered_name(
        mid, func_name, MARGO_DEFAULT_PROVIDER_ID, id, flag);
}

hg_return_t margo_provider_registered_name(margo_instance_id mid,
    const char *func_name, uint16_t provider_id, hg_id_t *id, hg_bool_t *flag)
{
    hg_id_t wanted = 0;

    if (!AMG_GIVEN(mid) || !AMG_GIVEN(func_name) || !AMG_GIVEN(id) ||
        !AMG_GIVEN(flag))
        return HG_INVALID_ARG;
    wanted = amg_margo_rpc_id(func_name, provider_id);
    *flag = rpc_find(mid, wanted) != NULL;
    if (*flag)
        *id = wanted;
    return HG_SUCCESS;
}

hg_return_t margo_register_reduce(margo_instance_id mid, hg_id_t id,
    amalgam_reduce_cb_t fn, void *arg, size_t out_len, unsigned flags)
{
    return AMG_GIVEN(mid) ? amalgam_register_reduce(
                                mid->hg_class, id, fn, arg, out_len, flags)
                          : HG_INVALID_ARG;
}

hg_return_t amalgam_margo_register_reduce_proc(margo_instance_id mid,
    hg_id_t id, hg_proc_cb_t proc, amalgam_reduce_cb_t fn, void *arg,
    size_t out_len)
{
    struct amg_margo_rpc *rpc = rpc_find(mid, id);

    if (rpc != NULL)
        rpc->fold_proc = proc;
    return margo_register_reduce(mid, id, fn, arg, out_len, 0);
}

hg_return_t margo_register_data(margo_instance_id mid, hg_id_t id, void *data,
    void (*free_callback)(void *))
{
    struct amg_margo_rpc *rpc = rpc_find(mid, id);
    struct attached old = {NULL, NULL};
    bool is_there = false;

    if (!AMG_GIVEN(mid))
        return HG_INVALID_ARG;
    amg_lock_lock(&mid->rpcs->lock);
    is_there = rpc != NULL && rpc->is_registered;
    if (is_there)
        old = data_replace(rpc, (struct attached){data, free_callback});
    amg_lock_unlock(&mid->rpcs->lock);
    if (old.data != data)
        data_free(old);
    return is_there ? HG_SUCCESS : HG_OTHER_ERROR;
}

void *margo_registered_data(margo_instance_id mid, hg_id_t id)
{
    const struct amg_margo_rpc *rpc = rpc_find(mid, id);

    return rpc == NULL ? NULL : rpc->data;
}

hg_return_t margo_registered_disable_response(
    margo_instance_id mid, hg_id_t id, int disable_flag)
{
    struct amg_margo_rpc *rpc = rpc_find(mid, id);

    if (!AMG_GIVEN(mid))
        return HG_INVALID_ARG;
    if (rpc == NULL)
        return HG_NOENTRY;
    rpc->has_no_response = disable_flag != 0;
    return HG_Registered_disable_response(mid->hg_class, id, disable_flag != 0);
}

hg_return_t margo_registered_disabled_response(
    margo_instance_id mid, hg_id_t id, int *disabled_flag)
{
    const struct amg_margo_rpc *rpc = rpc_find(mid, id);

    if (!AMG_GIVEN(mid) || !AMG_GIVEN(disabled_flag))
        return HG_INVALID_ARG;
    if (rpc == NULL)
        return HG_NOENTRY;
    *disabled_flag = rpc->has_no_response;
    return HG_SUCCESS;
}

const char *margo_rpc_get_name(margo_instance_id mid, hg_id_t id)
{
    const struct amg_margo_rpc *rpc = rpc_find(mid, id);

    return rpc == NULL ? NULL : rpc->name;
}

hg_return_t margo_rpc_get_pool(
    margo_instance_id mid, hg_id_t id, ABT_pool *pool)
{
    const struct amg_margo_rpc *rpc = rpc_find(mid, id);

    if (!AMG_GIVEN(mid) || !AMG_GIVEN(pool))
        return HG_INVALID_ARG;
    if (rpc == NULL)
        return HG_NOENTRY;
    *pool = rpc->pool;
    return HG_SUCCESS;
}

hg_return_t margo_rpc_set_pool(margo_instance_id mid, hg_id_t id, ABT_pool pool)
{
    struct amg_margo_rpc *rpc = rpc_find(mid, id);
    bool is_there = false;

    if (!AMG_GIVEN(mid))
        return HG_INVALID_ARG;
    AMG_TEST_POINT("rpc.set_pool");
    amg_lock_lock(&mid->rpcs->lock);
    is_there = rpc != NULL && rpc->is_registered;
    if (is_there) {
        pool = pool_or_default(mid, pool);
        amg_margo_pools_ref(mid, pool);
        amg_margo_pools_unref(mid, rpc->pool);
        rpc->pool = pool;
    }
    amg_lock_unlock(&mid->rpcs->lock);
    return is_there ? HG_SUCCESS : HG_NOENTRY;
}
