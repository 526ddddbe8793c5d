/* SPDX-License-Identifier: BSD-3-Clause */
/* The transfers that programs ask for: HG_Bulk_transfer() and its kin.
 *
 * An operation id outlives its transfer: a program may cancel late, and then
 * nothing happens. So ids are numbers that never come again, and a map of the
 * process knows those of the transfers that have not called back. */
#include "mercury_bulk.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "bulk/bulk_transfer.h"

/* Owned by the library until the callback ran. */
struct request {
    struct amg_cq_entry entry;
    hg_context_t *context;
    struct hg_op_id *transfer; /* constant once it moves */
    uint64_t id;               /* 0: the program wanted none */
    hg_cb_t callback;
    struct hg_cb_info info;
};

static struct amg_lock ids_lock; /* guards both below */
static struct amg_map ids;       /* id -> struct request */
static uint64_t ids_last;

/* HG_NOMEM: the request has none. */
static hg_return_t id_give(struct request *request)
{
    hg_return_t rc = HG_SUCCESS;

    amg_lock_take(&ids_lock);
    request->id = ++ids_last;
    rc = amg_map_put(&ids, request->id, request);
    amg_lock_give(&ids_lock);
    if (rc != HG_SUCCESS)
        request->id = 0;
    return rc;
}

static void id_take_back(struct request *request)
{
    if (request->id == 0)
        return;
    amg_lock_take(&ids_lock);
    amg_map_remove(&ids, request->id);
    amg_lock_give(&ids_lock);
}

static void request_run(struct amg_cq_entry *entry)
{
    struct request *request = AMG_OBJECT(entry, struct request, entry);

    id_take_back(request);
    if (request->callback != NULL)
        request->callback(&request->info);
    amg_transfer_end(request->transfer);
    amg_mem_free(request);
}

static void request_done(struct hg_op_id *transfer)
{
    struct request *request = amg_transfer_owner(transfer);

    request->info.ret = amg_transfer_result(transfer);
    amg_cq_push(&request->context->cq, &request->entry);
}

static hg_return_t request_start(const struct amg_transfer_plan *plan,
    hg_cb_t callback, void *arg, hg_op_id_t *op_id)
{
    struct request *request = amg_mem_zalloc(sizeof(*request));
    hg_return_t rc = HG_SUCCESS;

    if (request == NULL)
        return HG_NOMEM;
    request->entry.run = request_run;
    request->context = plan->context;
    request->callback = callback;
    request->info.arg = arg;
    request->info.type = HG_CB_BULK;
    request->info.info.bulk.origin_handle = plan->origin;
    request->info.info.bulk.local_handle = plan->local;
    request->info.info.bulk.op = plan->op;
    request->info.info.bulk.size = plan->len;
    rc = amg_transfer_create(plan, request_done, request, &request->transfer);
    if (rc != HG_SUCCESS)
        goto free_request;
    if (op_id != NULL && op_id != HG_OP_ID_IGNORE) {
        rc = id_give(request);
        if (rc != HG_SUCCESS)
            goto end_transfer;
        *op_id = (hg_op_id_t)(uintptr_t)request->id;
    }
    amg_counters_add(&plan->context->counters, AMG_COUNT_TRANSFERS);
    amg_transfer_go(request->transfer);
    return HG_SUCCESS;

end_transfer:
    amg_transfer_end(request->transfer);
free_request:
    amg_mem_free(request);
    return rc;
}

hg_return_t HG_Bulk_transfer_id(hg_context_t *context, hg_cb_t callback,
    void *arg, hg_bulk_op_t op, hg_addr_t origin_addr, hg_uint8_t origin_id,
    hg_bulk_t origin_handle, hg_size_t origin_offset, hg_bulk_t local_handle,
    hg_size_t local_offset, hg_size_t size, hg_op_id_t *op_id)
{
    struct amg_transfer_plan plan = {
        .context = context,
        .op = op,
        .origin_addr = origin_addr,
        .origin_context = origin_id,
        .origin = origin_handle,
        .origin_offset = origin_offset,
        .local = local_handle,
        .local_offset = local_offset,
        .len = size,
    };

    if (!AMG_CONTRACT(context != NULL && origin_addr != HG_ADDR_NULL &&
                      origin_handle != HG_BULK_NULL &&
                      local_handle != HG_BULK_NULL))
        return HG_INVALID_ARG;
    if (origin_handle->bound.peer != NULL) {
        AMG_LOG_ERROR("bulk", "the origin's handle is bound to an address: use "
                              "HG_Bulk_bind_transfer()");
        return HG_INVALID_ARG;
    }
    return request_start(&plan, callback, arg, op_id);
}

hg_return_t HG_Bulk_transfer(hg_context_t *context, hg_cb_t callback, void *arg,
    hg_bulk_op_t op, hg_addr_t origin_addr, hg_bulk_t origin_handle,
    hg_size_t origin_offset, hg_bulk_t local_handle, hg_size_t local_offset,
    hg_size_t size, hg_op_id_t *op_id)
{
    return HG_Bulk_transfer_id(context, callback, arg, op, origin_addr, 0,
        origin_handle, origin_offset, local_handle, local_offset, size, op_id);
}

hg_return_t HG_Bulk_bind_transfer(hg_context_t *context, hg_cb_t callback,
    void *arg, hg_bulk_op_t op, hg_bulk_t origin_handle,
    hg_size_t origin_offset, hg_bulk_t local_handle, hg_size_t local_offset,
    hg_size_t size, hg_op_id_t *op_id)
{
    struct amg_transfer_plan plan = {
        .context = context,
        .op = op,
        .origin = origin_handle,
        .origin_offset = origin_offset,
        .local = local_handle,
        .local_offset = local_offset,
        .len = size,
    };

    if (!AMG_CONTRACT(context != NULL && origin_handle != HG_BULK_NULL &&
                      local_handle != HG_BULK_NULL))
        return HG_INVALID_ARG;
    if (origin_handle->bound.peer == NULL) {
        AMG_LOG_ERROR("bulk",
            "the origin's handle is not bound to an address: its owner calls "
            "HG_Bulk_bind() before it sends it, or use HG_Bulk_transfer()");
        return HG_INVALID_ARG;
    }
    plan.origin_addr = &origin_handle->bound;
    plan.origin_context = origin_handle->bound_context;
    return request_start(&plan, callback, arg, op_id);
}

hg_return_t HG_Bulk_cancel(hg_op_id_t op_id)
{
    struct request *request = NULL;

    if (!AMG_CONTRACT(op_id != HG_OP_ID_NULL))
        return HG_INVALID_ARG;
    /* NOTE(not a leaf): under the lock, so that the request cannot end between
     * the look and the call; the locks of transfer and driver come after it. */
    amg_lock_take(&ids_lock);
    request = amg_map_get(&ids, (uint64_t)(uintptr_t)op_id);
    if (request != NULL)
        amg_transfer_cancel(request->transfer);
    amg_lock_give(&ids_lock);
    return HG_SUCCESS;
}

hg_return_t HG_Bulk_bind(hg_bulk_t handle, hg_context_t *context)
{
    if (!AMG_CONTRACT(handle != HG_BULK_NULL && context != NULL))
        return HG_INVALID_ARG;
    if (!AMG_CONTRACT(handle->is_local && handle->cls == context->cls))
        return HG_INVALID_ARG;
    if (!AMG_CONTRACT(handle->bound.peer == NULL))
        return HG_INVALID_ARG;
    amg_addr_init_self(context->cls, &handle->bound);
    handle->bound_context = context->id;
    return HG_SUCCESS;
}

hg_addr_t HG_Bulk_get_addr(hg_bulk_t handle)
{
    return handle == HG_BULK_NULL || handle->bound.peer == NULL
               ? HG_ADDR_NULL
               : &handle->bound;
}

hg_uint8_t HG_Bulk_get_context_id(hg_bulk_t handle)
{
    return handle == HG_BULK_NULL ? 0 : handle->bound_context;
}
