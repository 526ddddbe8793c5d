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
#include "bulk/bulk_transfer.h"

static struct amg_lock ids_lock; /* guards both below */
static struct amg_map ids;       /* id -> struct amg_transfer_asked */
static uint64_t ids_last;

/* HG_NOMEM: it has none. */
static hg_return_t id_give(struct amg_transfer_asked *asked)
{
    hg_return_t rc = HG_SUCCESS;

    amg_lock_take(&ids_lock);
    asked->id = ++ids_last;
    rc = amg_map_put(&ids, asked->id, asked);
    amg_lock_give(&ids_lock);
    if (rc != HG_SUCCESS)
        asked->id = 0;
    return rc;
}

static void id_take_back(struct amg_transfer_asked *asked)
{
    if (asked->id == 0)
        return;
    amg_lock_take(&ids_lock);
    amg_map_remove(&ids, asked->id);
    amg_lock_give(&ids_lock);
}

static void asked_run(struct amg_cq_entry *entry)
{
    struct amg_transfer_asked *asked =
        AMG_OBJECT(entry, struct amg_transfer_asked, entry);

    id_take_back(asked);
    if (asked->callback != NULL)
        asked->callback(&asked->info);
    amg_transfer_end(asked->transfer);
}

static void asked_done(struct hg_op_id *transfer)
{
    struct amg_transfer_asked *asked = amg_transfer_asked(transfer);
    hg_context_t *context = amg_transfer_owner(transfer);

    asked->info.ret = amg_transfer_result(transfer);
    amg_context_queue(context, &asked->entry);
}

static hg_return_t transfer_start(struct amg_transfer_plan *plan,
    hg_cb_t callback, void *arg, hg_op_id_t *op_id)
{
    struct hg_op_id *transfer = NULL;
    struct amg_transfer_asked *asked = NULL;
    hg_return_t rc = HG_SUCCESS;

    plan->is_final = op_id == NULL || op_id == HG_OP_ID_IGNORE;
    rc = amg_transfer_create(plan, asked_done, plan->context, &transfer);
    if (rc != HG_SUCCESS)
        return rc;
    asked = amg_transfer_asked(transfer);
    asked->entry.run = asked_run;
    asked->entry.is_served = amg_role.is_serving;
    amg_role.has_posted = true;
    asked->transfer = transfer;
    asked->id = 0;
    asked->callback = callback;
    asked->info = (struct hg_cb_info){.arg = arg, .type = HG_CB_BULK};
    asked->info.info.bulk.origin_handle = plan->origin;
    asked->info.info.bulk.local_handle = plan->local;
    asked->info.info.bulk.op = plan->op;
    asked->info.info.bulk.size = plan->len;
    if (!plan->is_final) {
        rc = id_give(asked);
        if (rc != HG_SUCCESS) {
            amg_transfer_end(transfer);
            return rc;
        }
        *op_id = (hg_op_id_t)(uintptr_t)asked->id;
    }
    amg_counters_add(&plan->context->counters, AMG_COUNT_TRANSFERS);
    amg_transfer_go(transfer);
    return HG_SUCCESS;
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

    if (!AMG_CONTEXT_OK(context) ||
        !AMG_CONTRACT(origin_addr != HG_ADDR_NULL) ||
        !AMG_BULK_OK(origin_handle) || !AMG_BULK_OK(local_handle))
        return HG_INVALID_ARG;
    if (origin_handle->bound.peer != NULL) {
        AMG_LOG_ERROR("bulk", "the origin's handle is bound to an address: use "
                              "HG_Bulk_bind_transfer()");
        return HG_INVALID_ARG;
    }
    return transfer_start(&plan, callback, arg, op_id);
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

    if (!AMG_CONTEXT_OK(context) || !AMG_BULK_OK(origin_handle) ||
        !AMG_BULK_OK(local_handle))
        return HG_INVALID_ARG;
    if (origin_handle->bound.peer == NULL) {
        AMG_LOG_ERROR("bulk",
            "the origin's handle is not bound to an address: its owner calls "
            "HG_Bulk_bind() before it sends it, or use HG_Bulk_transfer()");
        return HG_INVALID_ARG;
    }
    plan.origin_addr = &origin_handle->bound;
    plan.origin_context = origin_handle->bound_context;
    return transfer_start(&plan, callback, arg, op_id);
}

hg_return_t HG_Bulk_cancel(hg_op_id_t op_id)
{
    struct amg_transfer_asked *asked = NULL;

    if (!AMG_CONTRACT(op_id != HG_OP_ID_NULL))
        return HG_INVALID_ARG;
    /* NOTE(not a leaf): under the lock, so that the transfer cannot end between
     * the look and the call; the locks of transfer and driver come after it. */
    amg_lock_take(&ids_lock);
    asked = amg_map_get(&ids, (uint64_t)(uintptr_t)op_id);
    if (asked != NULL)
        amg_transfer_cancel(asked->transfer);
    amg_lock_give(&ids_lock);
    return HG_SUCCESS;
}

hg_return_t HG_Bulk_bind(hg_bulk_t handle, hg_context_t *context)
{
    if (!AMG_BULK_OK(handle) || !AMG_CONTEXT_OK(context))
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
