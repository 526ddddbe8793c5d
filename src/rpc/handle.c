/* SPDX-License-Identifier: BSD-3-Clause */
/* A call: its states, its one transition function, and its references.
 *
 * At the origin the user has the handle in IDLE and DONE, the driver and the
 * progress owner in between; each of them writes the state with release and
 * whoever comes next reads it with acquire, so the fields need no lock. A
 * handle destroyed in flight is one reference less, no state. */
#include "rpc/handle.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "mercury_class.h"
#include "rpc/raw.h"
#include "rpc/unanswered.h"

/* What a use leaves behind; the operations and the entry are written before
 * each use. The whole struct is eight cache lines, and this is on the path of
 * every call served. */
static void handle_clear(struct hg_handle *handle)
{
    static const struct amg_args no_args;

    handle->info.addr = HG_ADDR_NULL;
    handle->info.id = 0;
    handle->info.context_id = 0;
    handle->addr.peer = NULL;
    /* One by one: gcc makes of a memset of this length a slow instruction. */
    handle->rpc = NULL;
    handle->is_one_way = false;
    handle->is_counted = false;
    handle->is_released = false;
    handle->has_reply = false;
    atomic_init(&handle->is_cancelled, false);
    handle->ret = HG_SUCCESS;
    handle->callback = NULL;
    handle->arg = NULL;
    handle->in = no_args;
    handle->out = no_args;
    handle->arrival = NULL;
    handle->fetch = NULL;
    handle->link = (struct amg_link){NULL, NULL};
    handle->token = 0;
    if (handle->keeps_data)
        return;
    handle->data = NULL;
    handle->data_free = NULL;
}

void amg_handle_free_kept(void *object)
{
    struct hg_handle *handle = object;

    amg_mem_free(handle->raw);
    handle->raw = NULL;
    if (handle->keeps_data && handle->data_free != NULL)
        handle->data_free(handle->data);
    handle->keeps_data = false;
}

hg_return_t amg_handle_greet(struct hg_handle *handle)
{
    const struct amg_rpc_class *rpcs = amg_rpc_class_of(handle->info.hg_class);
    hg_return_t rc = HG_SUCCESS;

    if (rpcs->on_create == NULL || handle->keeps_data)
        return HG_SUCCESS;
    rc = rpcs->on_create(handle, rpcs->on_create_arg);
    if (rc == HG_SUCCESS)
        handle->keeps_data = handle->is_served;
    else
        AMG_LOG_ERROR("rpc",
            "the program's callback for new handles returned %s: no handle",
            HG_Error_to_string(rc));
    return rc;
}

hg_return_t amg_handle_create(
    hg_context_t *context, bool is_served, struct hg_handle **ret_handle)
{
    struct amg_rpc_class *rpcs = amg_rpc_class_of(context->cls);
    struct hg_handle *handle =
        amg_pool_get(is_served ? &rpcs->served : &rpcs->handles);
    int spare = is_served ? 0 : AMG_HANDLE_SPARE;

    if (handle == NULL)
        return HG_NOMEM;
    handle_clear(handle);
    if (handle->raw != NULL)
        amg_raw_clear(handle);
    handle->info.hg_class = context->cls;
    handle->info.context = context;
    handle->is_served = is_served;
    amg_refs_set(&handle->refs, 1 + spare);
    amg_refs_set(&handle->spare, spare);
    atomic_init(
        &handle->state, is_served ? AMG_HANDLE_ARRIVED : AMG_HANDLE_IDLE);
    amg_tally_add(&context->handles, 1);
    *ret_handle = handle;
    return HG_SUCCESS;
}

void amg_handle_count(struct hg_handle *handle)
{
    handle->is_counted = true;
    amg_class_count(handle->info.hg_class, AMG_CLASS_HANDLES, 1);
}

void amg_handle_forget_extra(struct amg_args *args)
{
    if (args->extra_bulk != NULL)
        amg_bulk_leave(args->extra_bulk); /* it owns `extra` */
    else
        amg_mem_free(args->extra);
    args->extra_bulk = NULL;
    args->extra = NULL;
}

void amg_handle_forget_args(struct hg_handle *handle)
{
    if (handle->has_reply) {
        struct amg_ep *ep = amg_handle_ep(handle);

        handle->has_reply = false;
        ep->transport->msg.release_reply(ep, &handle->op);
    }
    amg_handle_forget(&handle->in);
    amg_handle_forget(&handle->out);
}

static void handle_destroy(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    hg_class_t *cls = handle->info.hg_class;

    /* It was let go of while its answer was being sent. */
    if (amg_link_is_listed(&handle->link))
        (void)amg_unanswered_claim(handle);
    if (handle->arrival != NULL) {
        struct amg_ep *ep = amg_handle_ep(handle);

        ep->transport->msg.release(ep, handle->arrival);
    }
    amg_handle_forget_args(handle);
    if (handle->data_free != NULL && !handle->keeps_data)
        handle->data_free(handle->data);
    amg_addr_fini(&handle->addr);
    if (handle->is_counted)
        amg_class_count(cls, AMG_CLASS_HANDLES, -1);
    amg_pool_put(handle->is_served ? &amg_rpc_class_of(cls)->served
                                   : &amg_rpc_class_of(cls)->handles,
        handle);
    amg_tally_add(&context->handles, -1);
}

void amg_handle_end(struct hg_handle *handle)
{
    if (amg_handle_state(handle) == AMG_HANDLE_RUNNING)
        handle->forsaken(handle);
    handle_destroy(handle);
}

bool amg_handle_let_go(struct hg_handle *handle, int share)
{
    if (amg_unanswered_is_open(handle) && !handle->is_one_way)
        return amg_unanswered_drop(handle, share);
    amg_handle_drop_some(handle, share);
    return true;
}

void amg_handle_finish(struct hg_handle *handle)
{
    if (handle->callback != NULL)
        amg_context_queue(handle->info.context, &handle->entry);
    else
        handle->entry.run(&handle->entry);
}

hg_return_t HG_Create(
    hg_context_t *context, hg_addr_t addr, hg_id_t id, hg_handle_t *handle)
{
    struct hg_handle *made = NULL;
    struct amg_rpc *rpc = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTEXT_OK(context) || !AMG_CONTRACT(handle != NULL))
        return HG_INVALID_ARG;
    if (addr != HG_ADDR_NULL &&
        (!AMG_ADDR_OK(addr) || !AMG_CONTRACT(addr->cls == context->cls)))
        return HG_INVALID_ARG;
    if (id != 0) {
        rpc = amg_rpc_find(context->cls, id);
        if (rpc == NULL) {
            AMG_LOG_ERROR("rpc",
                "RPC id 0x%llx is not registered; call HG_Register_name() "
                "here too, with a NULL callback at a mere caller",
                (unsigned long long)id);
            return HG_NOENTRY;
        }
    }
    rc = amg_handle_create(context, false, &made);
    if (rc != HG_SUCCESS)
        return rc;
    made->rpc = rpc;
    made->info.id = id;
    if (addr != HG_ADDR_NULL) {
        amg_addr_init_copy(addr, &made->addr);
        made->info.addr = &made->addr;
    }
    rc = amg_handle_greet(made);
    if (rc != HG_SUCCESS) {
        amg_handle_drop(made);
        return rc;
    }
    amg_handle_count(made);
    *handle = made;
    return HG_SUCCESS;
}

hg_return_t HG_Reset(hg_handle_t handle, hg_addr_t addr, hg_id_t id)
{
    enum amg_handle_state state;
    struct amg_rpc *rpc = NULL;

    if (!AMG_HANDLE_OK(handle) || !AMG_CONTRACT(!handle->is_served))
        return HG_INVALID_ARG;
    if (!AMG_CONTRACT(
            addr == HG_ADDR_NULL || addr->cls == handle->info.hg_class))
        return HG_INVALID_ARG;
    state = amg_handle_state(handle);
    if (state != AMG_HANDLE_IDLE && state != AMG_HANDLE_DONE) {
        AMG_LOG_ERROR("rpc",
            "handle %p is still in flight; reset it after its callback ran",
            (void *)handle);
        return HG_BUSY;
    }
    rpc = handle->rpc;
    if (id != 0 && id != handle->info.id)
        rpc = amg_rpc_find(handle->info.hg_class, id);
    if (id != 0 && rpc == NULL) {
        AMG_LOG_ERROR(
            "rpc", "RPC id 0x%llx is not registered", (unsigned long long)id);
        return HG_NOENTRY;
    }
    amg_handle_forget_args(handle);
    if (addr != HG_ADDR_NULL && addr != &handle->addr) {
        amg_addr_fini(&handle->addr);
        amg_addr_init_copy(addr, &handle->addr);
        handle->info.addr = &handle->addr;
    }
    if (id != 0) {
        handle->rpc = rpc;
        handle->info.id = id;
    }
    handle->info.context_id = 0;
    if (state == AMG_HANDLE_DONE)
        amg_handle_set_state(handle, AMG_HANDLE_IDLE);
    return HG_SUCCESS;
}

hg_return_t HG_Destroy(hg_handle_t handle)
{
    if (handle == HG_HANDLE_NULL)
        return HG_SUCCESS;
    if (!AMG_HANDLE_OK(handle))
        return HG_INVALID_ARG;
    if (!AMG_LIKELY(!amg_unanswered_is_open(handle) &&
                    amg_refs_are_last(&handle->refs, 1, &handle->spare)))
        return amg_handle_let_go(handle, 1) ? HG_SUCCESS : HG_INVALID_ARG;
    amg_refs_set(&handle->refs, 0);
    amg_handle_end(handle);
    return HG_SUCCESS;
}

hg_return_t HG_Ref_incr(hg_handle_t handle)
{
    if (!AMG_HANDLE_OK(handle))
        return HG_INVALID_ARG;
    amg_handle_hold(handle);
    return HG_SUCCESS;
}

int32_t HG_Ref_get(hg_handle_t handle)
{
    if (!AMG_HANDLE_OK(handle))
        return 0;
    return amg_handle_refs(handle);
}

const struct hg_info *HG_Get_info(hg_handle_t handle)
{
    return AMG_HANDLE_OK(handle) ? &handle->info : NULL;
}

hg_return_t HG_Class_set_handle_create_callback(hg_class_t *hg_class,
    hg_return_t (*callback)(hg_handle_t handle, void *arg), void *arg)
{
    if (!AMG_CLASS_OK(hg_class))
        return HG_INVALID_ARG;
    amg_rpc_class_of(hg_class)->on_create = callback;
    amg_rpc_class_of(hg_class)->on_create_arg = arg;
    return HG_SUCCESS;
}

hg_return_t HG_Set_data(
    hg_handle_t handle, void *data, void (*free_callback)(void *))
{
    if (!AMG_HANDLE_OK(handle))
        return HG_INVALID_ARG;
    handle->data = data;
    handle->data_free = free_callback;
    return HG_SUCCESS;
}

void *HG_Get_data(hg_handle_t handle)
{
    return AMG_HANDLE_OK(handle) ? handle->data : NULL;
}

hg_return_t HG_Set_target_id(hg_handle_t handle, uint8_t id)
{
    if (!AMG_HANDLE_OK(handle) || !AMG_CONTRACT(!handle->is_served))
        return HG_INVALID_ARG;
    handle->info.context_id = id;
    return HG_SUCCESS;
}
