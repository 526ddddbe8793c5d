/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles: Margo's part of each handle, and the cache of handles for calls.
 *
 * Margo's part is attached to the handle by HG_Set_data(). HG's callback for
 * new handles creates Margo's part. HG uses a handle for many calls, so the
 * path of a call allocates nothing. */
#include "margo/handle.h"

#include <stdint.h>
#include <string.h>

#include "amalgam_thallium.h"
#include "base/assert.h"
#include "base/mem.h"
#include "margo/config.h"
#include "margo/instance.h"
#include "margo/rpc.h"
#include "mercury.h"
#include "mercury_proc_buf.h"

/* Limit of handlers and calls that are logged at a time. */
enum { LOGGED_MAX = 8 };

/* All handles of the process, because a class that the program opened
 * outlives the instances that used it. */
static struct amg_lock all_lock AMG_LOCK_KEPT;
static struct amg_list all = {{&all.head, &all.head}};

static void data_user_free(struct amg_margo_handle *data)
{
    void (*user_free)(void *) = data->user_free;
    void *user_data = data->user_data;

    data->user_data = NULL;
    data->user_free = NULL;
    if (user_free != NULL)
        user_free(user_data);
}

static void data_free(void *arg)
{
    struct amg_margo_handle *data = arg;

    data_user_free(data);
    amg_lock_lock(&all_lock);
    amg_list_remove(&data->link);
    amg_lock_unlock(&all_lock);
    amg_mem_free(data);
}

/* HG's callback for new handles. */
static hg_return_t data_attach(hg_handle_t handle, void *arg)
{
    struct amg_margo_handle *data = amg_mem_zalloc(sizeof(*data));

    (void)arg;
    if (data == NULL)
        return HG_NOMEM;
    data->handle = handle;
    atomic_init(&data->refs, 1u);
    amg_lock_lock(&all_lock);
    amg_list_push(&all, &data->link);
    amg_lock_unlock(&all_lock);
    return HG_Set_data(handle, data, data_free);
}

/* Margo's part of a handle, added if missing; NULL: no memory. */
static struct amg_margo_handle *handle_of(hg_handle_t handle)
{
    struct amg_margo_handle *data = amg_margo_handle_find(handle);

    /* No part: the handle was created before the class had an instance. */
    if (data == NULL && handle != HG_HANDLE_NULL &&
        data_attach(handle, NULL) == HG_SUCCESS)
        data = amg_margo_handle_find(handle);
    return data;
}

void amg_margo_handles_init(margo_instance_id mid)
{
    amg_lock_init(&mid->handles->lock);
    amg_lock_init(&mid->handles->queue_lock);
    amg_list_init(&mid->handles->waiting);
}

bool amg_margo_handles_open(margo_instance_id mid)
{
    mid->handles->cap = mid->config->handle_cache_size;
    if (ABT_key_create(NULL, &mid->handles->served_by_program) != ABT_SUCCESS)
        mid->handles->served_by_program = ABT_KEY_NULL;
    else if (HG_Class_set_handle_create_callback(
                 mid->hg_class, data_attach, NULL) == HG_SUCCESS)
        return true;
    margo_error(mid, "no memory for the key of threads that serve requests, or "
                     "for the callback for new handles");
    return false;
}

void amg_margo_handles_fini(margo_instance_id mid)
{
    if (mid->handles->served_by_program != ABT_KEY_NULL)
        (void)ABT_key_free(&mid->handles->served_by_program);
}

/* Takes a handle out of the cache; NULL: the cache is empty. */
static struct amg_margo_handle *kept_pop(struct amg_margo_handles *kept)
{
    struct amg_margo_handle *data = NULL;

    amg_lock_lock(&kept->lock);
    data = kept->first;
    if (data != NULL) {
        kept->first = data->next;
        kept->count--;
    }
    amg_lock_unlock(&kept->lock);
    return data;
}

/* Puts a handle into the cache. False: the cache is full. */
static bool kept_push(
    struct amg_margo_handles *kept, struct amg_margo_handle *data)
{
    bool has_room = false;

    amg_lock_lock(&kept->lock);
    has_room = kept->count < kept->cap;
    if (has_room) {
        data->next = kept->first;
        kept->first = data;
        kept->count++;
    }
    amg_lock_unlock(&kept->lock);
    return has_room;
}

struct amg_margo_rpc *amg_margo_handle_rpc(const struct amg_margo_handle *data)
{
    hg_id_t id = data->handle->info.id;

    /* The program may have set another RPC by HG_Reset(). */
    return data->rpc != NULL && data->rpc->id == id
               ? data->rpc
               : amg_margo_rpc_of(data->mid, id);
}

/* Begins a use of the handle. */
static AMG_INLINE void data_begin(
    struct amg_margo_handle *data, struct amg_margo_rpc *rpc)
{
    atomic_store_explicit(&data->mid, rpc->mid, memory_order_relaxed);
    atomic_store_explicit(&data->rpc, rpc, memory_order_relaxed);
    atomic_store_explicit(&data->is_answered, false, memory_order_relaxed);
    data->ret = HG_SUCCESS;
    data->monitor_data.p = NULL;
    data->waited_s = 0;
    data->serve = NULL;
    atomic_store_explicit(&data->refs, 1u, memory_order_relaxed);
    atomic_store_explicit(
        &data->use, AMG_MARGO_HANDLE_OUT, memory_order_release);
}

struct amg_margo_handle *amg_margo_handle_serve(
    struct amg_margo_rpc *rpc, hg_handle_t handle)
{
    struct amg_margo_handle *data = handle_of(handle);

    if (data == NULL)
        return NULL;
    atomic_store_explicit(&data->is_served, true, memory_order_relaxed);
    data_begin(data, rpc);
    return data;
}

/* Returns a handle of the cache, reset for this RPC, or a new handle. */
static hg_return_t handle_get(
    margo_instance_id mid, hg_addr_t addr, hg_id_t id, hg_handle_t *ret_handle)
{
    struct amg_margo_handle *data = kept_pop(mid->handles);
    hg_return_t rc = HG_SUCCESS;

    if (data == NULL)
        return HG_Create(mid->hg_context, addr, id, ret_handle);
    rc = HG_Reset(data->handle, addr, id);
    if (rc == HG_SUCCESS)
        *ret_handle = data->handle;
    else if (!kept_push(mid->handles, data))
        HG_Destroy(data->handle);
    return rc;
}

/* Returns a handle for a call. */
static hg_return_t handle_make(
    margo_instance_id mid, hg_addr_t addr, hg_id_t id, hg_handle_t *ret_handle)
{
    struct amg_margo_handle *data = NULL;
    struct amg_margo_rpc *rpc = NULL;
    hg_handle_t made = HG_HANDLE_NULL;
    hg_return_t rc = handle_get(mid, addr, id, &made);

    if (rc != HG_SUCCESS)
        return rc;
    data = handle_of(made);
    rpc = amg_margo_rpc_of(mid, id);
    if (data == NULL || rpc == NULL) {
        margo_error(mid,
            "RPC id 0x%llx is registered, but not by margo: register it by "
            "MARGO_REGISTER() or margo_provider_register_name()",
            (unsigned long long)id);
        HG_Destroy(made);
        return HG_OTHER_ERROR;
    }
    atomic_store_explicit(&data->is_served, false, memory_order_relaxed);
    data_begin(data, rpc);
    *ret_handle = made;
    return HG_SUCCESS;
}

hg_return_t margo_create(
    margo_instance_id mid, hg_addr_t addr, hg_id_t id, hg_handle_t *handle)
{
    struct margo_monitor_create_args event = {.addr = addr, .id = id};

    if (!AMG_GIVEN(mid) || !AMG_GIVEN(addr) || !AMG_GIVEN(handle))
        return HG_INVALID_ARG;
    if (amg_margo_is_inherited(mid))
        return amg_margo_refusal(__func__, mid);
    AMG_MARGO_NOTIFY_CALL(
        mid, create, &event, handle_make(mid, addr, id, &event.handle));
    if (event.ret == HG_SUCCESS)
        *handle = event.handle;
    return event.ret;
}

hg_return_t margo_ref_incr(hg_handle_t handle)
{
    struct amg_margo_handle *data = amg_margo_handle_find(handle);

    if (!AMG_GIVEN(handle))
        return HG_INVALID_ARG;
    if (data != NULL)
        atomic_fetch_add_explicit(&data->refs, 1u, memory_order_relaxed);
    return HG_Ref_incr(handle);
}

/* Argument of text_code(). */
struct text {
    const char *bytes;
    size_t len;
};

static hg_return_t text_code(hg_proc_t proc, void *data)
{
    struct text *text = data;

    AMG_ASSERT(hg_proc_get_op(proc) == HG_ENCODE);
    return hg_proc_bytes(proc, (void *)(uintptr_t)text->bytes, text->len);
}

/* Answers with an error code, and with `text` unless `text` is NULL. */
static void reject(hg_handle_t handle, hg_return_t ret, struct text *text)
{
    struct amg_margo_args args = {
        .code = ret, .proc = text == NULL ? NULL : text_code, .user = text};
    struct amg_margo_handle *data = amg_margo_handle_find(handle);
    hg_return_t rc = HG_SUCCESS;

    /* If the RPC of the request is gone, no use of the handle has begun, and
     * `data` is of an earlier use, or new. */
    if (data != NULL && atomic_load_explicit(&data->use,
                            memory_order_relaxed) != AMG_MARGO_HANDLE_OUT)
        data = NULL;
    if (data != NULL)
        atomic_store_explicit(&data->is_answered, true, memory_order_relaxed);
    if (data == NULL || !data->rpc->has_no_response)
        rc = HG_Respond(handle, NULL, NULL, &args);
    /* A lost origin is not an error of this process. */
    if (rc != HG_SUCCESS)
        (rc == HG_HOSTUNREACH ? margo_warning : margo_error)(
            margo_hg_handle_get_instance(handle),
            "a call of RPC id 0x%llx cannot be refused (%s): %s",
            (unsigned long long)HG_Get_info(handle)->id,
            HG_Error_to_string(ret), HG_Error_to_string(rc));
}

void amalgam_margo_answer_error(
    hg_handle_t handle, hg_return_t ret, const char *text)
{
    const struct amg_margo_handle *data = amg_margo_handle_find(handle);
    struct text sent = {.bytes = text};

    if (!AMG_CONTRACT(data != NULL, "handle is of no instance") ||
        !AMG_GIVEN(text) ||
        !AMG_CONTRACT(ret != HG_SUCCESS, "ret is HG_SUCCESS"))
        return;
    sent.len = strnlen(text, AMALGAM_MARGO_TEXT_MAX);
    if (!data->is_answered &&
        atomic_load_explicit(&data->refs, memory_order_acquire) == 1u)
        reject(handle, ret, &sent);
}

void __margo_respond_with_error(hg_handle_t handle, hg_return_t ret)
{
    if (AMG_GIVEN(handle))
        reject(handle, ret, NULL);
}

void amg_margo_handle_abandon(struct amg_margo_handle *data)
{
    const struct hg_info *info = &data->handle->info;
    const struct amg_margo_rpc *rpc = data->rpc;

    if (data->is_answered || rpc->has_no_response)
        return;
    if (data->ret == HG_SUCCESS)
        margo_error(data->mid,
            "the handler of RPC \"%s\" (provider %u) destroyed its handle "
            "without an answer: the caller gets HG_CANCELED; call "
            "margo_respond() first, or disable the response on both sides",
            rpc->name, (unsigned)(info->id & 0xffffu));
    else
        margo_warning(data->mid,
            "a call of RPC \"%s\" (provider %u) ends by HG_CANCELED: "
            "margo_respond() failed with %s",
            rpc->name, (unsigned)(info->id & 0xffffu),
            HG_Error_to_string(data->ret));
    reject(data->handle, HG_CANCELED, NULL);
}

/* A handler may destroy its handle first, and then answer. So if the caller is
 * the handler of this handle, the last reference stays until the handler
 * returns. The kept reference counts as one more running handler, because the
 * wrapper's hook ends the count of the handler before the thread ends. */
static bool defer_to_handler(struct amg_margo_handle *data)
{
    void *arg = NULL;

    /* Only the thread that handler.c created for `data` has this argument. */
    if (data->is_answered || data->rpc->has_no_response ||
        ABT_self_get_arg(&arg) != ABT_SUCCESS || arg != data)
        return false;
    AMG_ASSERT(data->left != NULL && *data->left == NULL);
    amg_margo_handler_begin(data->mid);
    *data->left = data;
    return true;
}

/* Ends the use of a handle whose last reference the program has dropped. */
static hg_return_t data_end(struct amg_margo_handle *data)
{
    margo_instance_id mid = data->mid;

    if (data->user_free != NULL || data->user_data != NULL)
        data_user_free(data);
    atomic_store_explicit(
        &data->use, AMG_MARGO_HANDLE_BACK, memory_order_release);
    if (data->is_served && !data->is_answered) {
        if (defer_to_handler(data))
            return HG_SUCCESS;
        amg_margo_handle_abandon(data);
    }
    /* A call in flight or an output in use has a reference: the cache does not
     * take such a handle. The reset frees the handle's message. */
    if (!data->is_served && HG_Ref_get(data->handle) == 1 &&
        HG_Reset(data->handle, HG_ADDR_NULL, 0) == HG_SUCCESS &&
        kept_push(mid->handles, data))
        return HG_SUCCESS;
    return HG_Destroy(data->handle);
}

static hg_return_t handle_drop(
    hg_handle_t handle, struct amg_margo_handle *data)
{
    /* The thread with the last reference needs no locked instruction. */
    if (data != NULL &&
        (atomic_load_explicit(&data->refs, memory_order_acquire) == 1u ||
            atomic_fetch_sub_explicit(&data->refs, 1u, memory_order_acq_rel) ==
                1u))
        return data_end(data);
    return HG_Destroy(handle);
}

static AMG_NOINLINE hg_return_t handle_drop_monitored(
    hg_handle_t handle, struct amg_margo_handle *data)
{
    struct margo_monitor_destroy_args event = {.handle = handle};
    margo_instance_id mid = data->mid;

    AMG_MARGO_NOTIFY_CALL(mid, destroy, &event, handle_drop(handle, data));
    return event.ret;
}

hg_return_t margo_destroy(hg_handle_t handle)
{
    struct amg_margo_handle *data = NULL;
    unsigned use = AMG_MARGO_HANDLE_NONE;

    if (handle == HG_HANDLE_NULL)
        return HG_SUCCESS;
    if (!amg_margo_handle_is_there(handle, __func__))
        return HG_INVALID_ARG;
    data = amg_margo_handle_find(handle);
    if (data != NULL)
        use = atomic_load_explicit(&data->use, memory_order_acquire);
    if (!AMG_LIKELY(use == AMG_MARGO_HANDLE_OUT)) {
        if (!AMG_CONTRACT(use == AMG_MARGO_HANDLE_NONE,
                "handle %p of RPC \"%s\" was destroyed before; one "
                "margo_destroy() belongs to each margo_create(), "
                "margo_ref_incr() and request that is served",
                (void *)handle, data->rpc->name))
            return HG_INVALID_ARG;
        data = NULL; /* made by HG_Create() */
    }
    if (data != NULL && amg_margo_is_inherited(data->mid))
        return HG_SUCCESS;
    if (data == NULL || !AMG_MARGO_HAS_MONITOR(data->mid))
        return handle_drop(handle, data);
    return handle_drop_monitored(handle, data);
}

const struct hg_info *margo_get_info(hg_handle_t handle)
{
    return AMG_GIVEN(handle) ? HG_Get_info(handle) : NULL;
}

const char *margo_handle_get_name(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    const struct amg_margo_handle *data = amg_margo_handle_find(handle);

    if (data != NULL && data->rpc != NULL && data->rpc->id == info->id)
        return data->rpc->name;
    return info == NULL ? NULL
                        : margo_rpc_get_name(
                              margo_hg_handle_get_instance(handle), info->id);
}

void amg_margo_handles_each(margo_instance_id mid,
    void (*visit)(struct amg_margo_handle *data, void *arg), void *arg)
{
    struct amg_link *link = NULL;

    /* NOTE(lock): held over calls into HG, which takes no lock of Margo, and
     * over the program's logger. No handle is freed during the visit, because
     * data_free() waits for this lock. */
    amg_lock_lock(&all_lock);
    link = amg_list_first(&all);
    for (; link != NULL; link = amg_list_next(&all, link)) {
        struct amg_margo_handle *data =
            amg_container_of(link, struct amg_margo_handle, link);

        if (data->mid == mid)
            visit(data, arg);
    }
    amg_lock_unlock(&all_lock);
}

static bool is_in_flight(const struct amg_margo_handle *data)
{
    return !data->is_served &&
           atomic_load_explicit(&data->request, memory_order_relaxed) != NULL;
}

/* Logs a call or handler that the instance waits for; `arg` points to the
 * number of lines that may still be logged. */
static void handle_log(struct amg_margo_handle *data, void *arg)
{
    unsigned *left = arg;
    bool is_out = atomic_load_explicit(&data->use, memory_order_acquire) ==
                  AMG_MARGO_HANDLE_OUT;

    if (*left == 0 || !(data->is_served ? is_out : is_in_flight(data)))
        return;
    --*left;
    margo_warning(data->mid, "  %s RPC \"%s\", provider %u, %s",
        data->is_served ? "a handler of" : "a call of", data->rpc->name,
        (unsigned)(data->rpc->id & MARGO_MAX_PROVIDER_ID),
        !data->is_served    ? "which has no answer yet"
        : data->is_answered ? "which has answered, and still holds its handle"
                            : "which has not answered yet");
}

void amg_margo_handles_log(margo_instance_id mid)
{
    unsigned left = LOGGED_MAX;

    amg_margo_handles_each(mid, handle_log, &left);
}

/* Logs a handle that the program never destroyed. */
static void handle_log_leak(struct amg_margo_handle *data, void *arg)
{
    const char *name = NULL;

    (void)arg;
    if (atomic_load_explicit(&data->use, memory_order_acquire) !=
        AMG_MARGO_HANDLE_OUT)
        return;
    name = margo_handle_get_name(data->handle);
    margo_warning(data->mid,
        "a handle of RPC \"%s\" was never destroyed%s; margo_destroy() belongs "
        "to each margo_create(), and to each request that is served",
        name == NULL ? "?" : name,
        !data->is_served    ? ""
        : data->is_answered ? ", but answered"
                            : ", nor answered");
}

void amg_margo_handles_close(margo_instance_id mid)
{
    struct amg_margo_handle *data = NULL;

    amg_margo_handles_each(mid, handle_log_leak, NULL);
    amg_lock_lock(&mid->handles->lock);
    mid->handles->cap = 0;
    amg_lock_unlock(&mid->handles->lock);
    while ((data = kept_pop(mid->handles)) != NULL)
        HG_Destroy(data->handle);
}

hg_return_t margo_set_data(
    hg_handle_t handle, void *data, void (*free_callback)(void *))
{
    struct amg_margo_handle *kept = NULL;

    if (!AMG_GIVEN(handle))
        return HG_INVALID_ARG;
    kept = handle_of(handle);
    if (kept == NULL)
        return HG_NOMEM;
    if (kept->user_free != NULL && kept->user_data != data)
        kept->user_free(kept->user_data);
    kept->user_data = data;
    kept->user_free = free_callback;
    return HG_SUCCESS;
}

void *margo_get_data(hg_handle_t handle)
{
    const struct amg_margo_handle *kept = amg_margo_handle_find(handle);

    return kept == NULL ? NULL : kept->user_data;
}

void *amalgam_margo_data_ref(hg_handle_t handle, void (*ref)(void *data))
{
    struct amg_margo_handle *kept = amg_margo_handle_find(handle);
    void *data = NULL;

    if (!AMG_CONTRACT(kept != NULL, "handle is of no instance") ||
        !AMG_GIVEN(ref))
        return NULL;
    AMG_ASSERT(kept->rpc != NULL);
    amg_lock_lock(&kept->rpc->data_lock);
    data = kept->rpc->data;
    if (data != NULL)
        ref(data);
    amg_lock_unlock(&kept->rpc->data_lock);
    return data;
}

margo_instance_id amg_margo_info_instance(const struct hg_info *info)
{
    const struct amg_margo_rpc *rpc =
        info == NULL || info->id == 0
            ? NULL
            : HG_Registered_data(info->hg_class, info->id);

    return rpc == NULL ? MARGO_INSTANCE_NULL : rpc->mid;
}

margo_instance_id margo_hg_handle_get_instance(hg_handle_t h)
{
    return h == HG_HANDLE_NULL ? MARGO_INSTANCE_NULL
                               : amg_margo_handle_instance(h);
}

margo_instance_id margo_hg_info_get_instance(const struct hg_info *info)
{
    return amg_margo_info_instance(info);
}

ABT_pool margo_hg_handle_get_handler_pool(hg_handle_t h)
{
    margo_instance_id mid = margo_hg_handle_get_instance(h);
    const struct amg_margo_rpc *rpc =
        mid == MARGO_INSTANCE_NULL
            ? NULL
            : amg_margo_rpc_find(mid, HG_Get_info(h)->id);
    ABT_pool pool = ABT_POOL_NULL;

    if (rpc != NULL && rpc->pool != ABT_POOL_NULL)
        return rpc->pool;
    if (mid != MARGO_INSTANCE_NULL)
        (void)margo_get_handler_pool(mid, &pool);
    return pool;
}
