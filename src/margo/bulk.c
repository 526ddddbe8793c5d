/* SPDX-License-Identifier: BSD-3-Clause */
/* Exposed memory and bulk transfers.
 *
 * The forms of a transfer differ in struct amg_margo_form alone. Only transfers
 * with a time limit can be cancelled: a transfer that can be cancelled is
 * posted and stepped under a lock (bulk/bulk_transfer.c), which costs a sixth
 * of the rate of 64 KiB transfers. The loss of the peer ends any transfer.
 *
 * The program gives no instance to margo_bulk_free(). So with a monitor, a map
 * keeps the instance of each handle from margo_bulk_create() to the first
 * margo_bulk_free(). */
#include <stdatomic.h>

#include "base/assert.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "margo-bulk-util.h"
#include "margo/instance.h"
#include "margo/request.h"
#include "mercury_bulk.h"

static struct amg_lock monitored_lock AMG_LOCK_KEPT;
static struct {
    struct amg_map instances; /* by handle */
    /* Number of entries; at 0, margo_bulk_free() takes no lock. Relaxed: the
     * program synchronises the threads that create and free a handle. */
    atomic_uint count;
} monitored;

static void monitored_add(hg_bulk_t handle, margo_instance_id mid)
{
    amg_lock_lock(&monitored_lock);
    if (amg_map_put(&monitored.instances, (uint64_t)(uintptr_t)handle, mid) ==
        HG_SUCCESS)
        atomic_fetch_add_explicit(&monitored.count, 1u, memory_order_relaxed);
    amg_lock_unlock(&monitored_lock);
}

/* Removes a handle from the map; returns the instance that created the handle,
 * or NULL if the map has no such handle. */
static margo_instance_id monitored_take(hg_bulk_t handle)
{
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    if (atomic_load_explicit(&monitored.count, memory_order_relaxed) == 0)
        return MARGO_INSTANCE_NULL;
    amg_lock_lock(&monitored_lock);
    mid = amg_map_remove(&monitored.instances, (uint64_t)(uintptr_t)handle);
    if (mid != MARGO_INSTANCE_NULL)
        atomic_fetch_sub_explicit(&monitored.count, 1u, memory_order_relaxed);
    amg_lock_unlock(&monitored_lock);
    return mid;
}

hg_return_t margo_bulk_create(margo_instance_id mid, uint32_t count,
    void **buf_ptrs, const hg_size_t *buf_sizes, uint8_t flags,
    hg_bulk_t *handle)
{
    return margo_bulk_create_attr(
        mid, count, buf_ptrs, buf_sizes, flags, NULL, handle);
}

hg_return_t margo_bulk_create_attr(margo_instance_id mid, uint32_t count,
    void **buf_ptrs, const hg_size_t *buf_sizes, uint8_t flags,
    const struct hg_bulk_attr *attrs, hg_bulk_t *handle)
{
    struct margo_monitor_bulk_create_args args = {
        .count = count,
        .ptrs = (const void *const *)buf_ptrs,
        .sizes = buf_sizes,
        .flags = flags,
        .attrs = attrs,
    };

    if (!AMG_GIVEN(mid) ||
        !AMG_CONTRACT(mid->hg_class != NULL, "the instance has no class") ||
        !AMG_GIVEN(handle))
        return HG_INVALID_ARG;
    AMG_MARGO_NOTIFY(mid, bulk_create, MARGO_MONITOR_FN_START, &args);
    args.ret = attrs == NULL
                   ? HG_Bulk_create(mid->hg_class, count, buf_ptrs, buf_sizes,
                         flags, &args.handle)
                   : HG_Bulk_create_attr(mid->hg_class, count, buf_ptrs,
                         buf_sizes, flags, attrs, &args.handle);
    AMG_MARGO_NOTIFY(mid, bulk_create, MARGO_MONITOR_FN_END, &args);
    if (args.ret != HG_SUCCESS)
        return args.ret;
    if (AMG_MARGO_HAS_MONITOR(mid))
        monitored_add(args.handle, mid);
    *handle = args.handle;
    return HG_SUCCESS;
}

hg_return_t margo_bulk_free(hg_bulk_t handle)
{
    struct margo_monitor_bulk_free_args args = {.handle = handle};
    margo_instance_id mid = monitored_take(handle);

    if (mid == MARGO_INSTANCE_NULL)
        return HG_Bulk_free(handle);
    AMG_MARGO_NOTIFY_CALL(mid, bulk_free, &args, HG_Bulk_free(handle));
    if (args.ret != HG_SUCCESS)
        monitored_add(handle, mid); /* not freed */
    return args.ret;
}

hg_return_t margo_bulk_ref_incr(hg_bulk_t handle)
{
    return HG_Bulk_ref_incr(handle);
}

hg_return_t margo_bulk_access(hg_bulk_t handle, hg_size_t offset,
    hg_size_t size, uint8_t flags, uint32_t max_count, void **buf_ptrs,
    hg_size_t *buf_sizes, uint32_t *actual_count)
{
    return HG_Bulk_access(handle, offset, size, flags, max_count, buf_ptrs,
        buf_sizes, actual_count);
}

hg_size_t margo_bulk_get_size(hg_bulk_t handle)
{
    return HG_Bulk_get_size(handle);
}

uint32_t margo_bulk_get_segment_count(hg_bulk_t handle)
{
    return HG_Bulk_get_segment_count(handle);
}

hg_size_t margo_bulk_get_serialize_size(hg_bulk_t handle, uint8_t flags)
{
    return HG_Bulk_get_serialize_size(handle, flags);
}

hg_return_t margo_bulk_serialize(
    void *buf, hg_size_t buf_size, uint8_t flags, hg_bulk_t handle)
{
    return HG_Bulk_serialize(buf, buf_size, flags, handle);
}

hg_return_t margo_bulk_deserialize(margo_instance_id mid, hg_bulk_t *handle,
    const void *buf, hg_size_t buf_size)
{
    if (!AMG_GIVEN(mid) ||
        !AMG_CONTRACT(mid->hg_class != NULL, "the instance has no class"))
        return HG_INVALID_ARG;
    return HG_Bulk_deserialize(mid->hg_class, handle, buf, buf_size);
}

/* Transfers in flight that can be cancelled, of all instances. */
static struct amg_lock all_lock AMG_LOCK_KEPT;
static struct amg_list all = {{&all.head, &all.head}};

/* Arguments that all forms of a transfer share. */
struct move {
    hg_bulk_op_t op;
    hg_addr_t origin_addr;
    hg_bulk_t origin_handle;
    size_t origin_offset;
    hg_bulk_t local_handle;
    size_t local_offset;
    size_t size;
};

static void request_unlist(struct margo_request_struct *req)
{
    amg_lock_lock(&all_lock);
    amg_list_remove(&req->link);
    amg_lock_unlock(&all_lock);
}

void amg_margo_bulk_cancel(margo_instance_id mid)
{
    struct amg_link *link = NULL;

    /* NOTE(lock): held over HG_Bulk_cancel(), which takes no lock of Margo. No
     * transfer ends during the visit: transfer_done() waits for this lock. */
    amg_lock_lock(&all_lock);
    link = amg_list_first(&all);
    for (; link != NULL; link = amg_list_next(&all, link)) {
        struct margo_request_struct *req =
            amg_container_of(link, struct margo_request_struct, link);

        if (req->mid == mid && atomic_load(&req->is_posted))
            (void)HG_Bulk_cancel(req->op_id);
    }
    amg_lock_unlock(&all_lock);
}

/* Called when the time limit has passed, or the instance ends. The request is
 * valid: transfer_done() disarms the timer, and so waits for this function. */
static void transfer_cancel(struct margo_request_struct *req)
{
    (void)HG_Bulk_cancel(req->op_id);
}

static hg_return_t transfer_done(const struct hg_cb_info *info)
{
    struct margo_request_struct *req = info->arg;
    struct margo_monitor_bulk_transfer_cb_args event = {
        .info = info, .request = req};
    hg_return_t ret = info->ret;

    if (req->is_timed)
        request_unlist(req);
    amg_margo_request_disarm(req);
    AMG_MARGO_NOTIFY(
        req->mid, bulk_transfer_cb, MARGO_MONITOR_FN_START, &event);
    if (ret == HG_CANCELED && req->is_timed && atomic_load(&req->is_late))
        ret = HG_TIMEOUT;
    event.ret = ret;
    AMG_MARGO_NOTIFY(req->mid, bulk_transfer_cb, MARGO_MONITOR_FN_END, &event);
    amg_margo_request_end(req, ret);
    return HG_SUCCESS;
}

static hg_return_t transfer_post(margo_instance_id mid,
    const struct amg_margo_form *form, struct margo_request_struct *req,
    const struct move *move)
{
    bool is_timed = req->is_timed;
    hg_return_t rc = amg_margo_request_arm(form, req);

    if (rc != HG_SUCCESS)
        return rc;
    if (is_timed) {
        amg_lock_lock(&all_lock);
        amg_list_push(&all, &req->link);
        amg_lock_unlock(&all_lock);
    }
    rc = HG_Bulk_transfer(mid->hg_context, transfer_done, req, move->op,
        move->origin_addr, move->origin_handle, move->origin_offset,
        move->local_handle, move->local_offset, move->size,
        is_timed ? &req->op_id : HG_OP_ID_IGNORE);
    if (!is_timed)
        return rc;
    if (rc == HG_SUCCESS) {
        /* Tells amg_margo_bulk_cancel() that the id is valid. */
        atomic_store_explicit(&req->is_posted, true, memory_order_release);
        return HG_SUCCESS;
    }
    request_unlist(req);
    amg_margo_request_disarm(req);
    return rc;
}

/* Notifies the monitor before or after the post of a transfer. */
static AMG_NOINLINE void transfer_notify(const struct amg_margo_form *form,
    struct margo_request_struct *req, const struct move *move,
    margo_monitor_event_t kind, hg_return_t ret, margo_monitor_data_t *uctx)
{
    struct margo_monitor_bulk_transfer_args event = {
        .uctx = *uctx,
        .op = move->op,
        .origin_addr = move->origin_addr,
        .origin_handle = move->origin_handle,
        .origin_offset = move->origin_offset,
        .local_handle = move->local_handle,
        .local_offset = move->local_offset,
        .size = move->size,
        .timeout_ms = form->timeout_ms,
        .request = req,
        .ret = ret,
    };

    AMG_MARGO_NOTIFY(req->mid, bulk_transfer, kind, &event);
    *uctx = event.uctx;
}

static hg_return_t transfer(margo_instance_id mid, const struct move *move,
    const struct amg_margo_form *form)
{
    struct margo_request_struct place;
    struct margo_request_struct *req = NULL;
    margo_monitor_data_t uctx = {.p = NULL};
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT_OF("margo_bulk_transfer",
            mid != MARGO_INSTANCE_NULL && move->origin_addr != HG_ADDR_NULL &&
                move->origin_handle != HG_BULK_NULL &&
                move->local_handle != HG_BULK_NULL,
            "mid is %p, origin_addr %p, origin_handle %p, local_handle %p; "
            "none may be NULL",
            (void *)mid, (void *)move->origin_addr, (void *)move->origin_handle,
            (void *)move->local_handle))
        return HG_INVALID_ARG;
    rc = amg_margo_request_create(form, &place, mid, MARGO_BULK_REQUEST, &req);
    if (rc != HG_SUCCESS)
        return rc;
    req->cancel = transfer_cancel;
    amg_margo_operation_begin(mid);
    if (AMG_MARGO_HAS_MONITOR(mid))
        transfer_notify(
            form, req, move, MARGO_MONITOR_FN_START, HG_SUCCESS, &uctx);
    rc = transfer_post(mid, form, req, move);
    if (AMG_MARGO_HAS_MONITOR(mid))
        transfer_notify(form, req, move, MARGO_MONITOR_FN_END, rc, &uctx);
    return amg_margo_request_posted(form, req, rc);
}

hg_return_t margo_bulk_transfer_timed(margo_instance_id mid, hg_bulk_op_t op,
    hg_addr_t origin_addr, hg_bulk_t origin_handle, size_t origin_offset,
    hg_bulk_t local_handle, size_t local_offset, size_t size, double timeout_ms)
{
    const struct move move = {op, origin_addr, origin_handle, origin_offset,
        local_handle, local_offset, size};
    const struct amg_margo_form form = {
        .timeout_ms = timeout_ms, .blocks = true};

    return transfer(mid, &move, &form);
}

hg_return_t margo_bulk_itransfer_timed(margo_instance_id mid, hg_bulk_op_t op,
    hg_addr_t origin_addr, hg_bulk_t origin_handle, size_t origin_offset,
    hg_bulk_t local_handle, size_t local_offset, size_t size, double timeout_ms,
    margo_request *req)
{
    const struct move move = {op, origin_addr, origin_handle, origin_offset,
        local_handle, local_offset, size};
    const struct amg_margo_form form = {
        .timeout_ms = timeout_ms, .ret_req = req};

    if (!AMG_GIVEN(req))
        return HG_INVALID_ARG;
    return transfer(mid, &move, &form);
}

hg_return_t margo_bulk_ctransfer_timed(margo_instance_id mid, hg_bulk_op_t op,
    hg_addr_t origin_addr, hg_bulk_t origin_handle, size_t origin_offset,
    hg_bulk_t local_handle, size_t local_offset, size_t size, double timeout_ms,
    void (*on_complete)(void *, hg_return_t), void *uargs)
{
    const struct move move = {op, origin_addr, origin_handle, origin_offset,
        local_handle, local_offset, size};
    const struct amg_margo_form form = {
        .timeout_ms = timeout_ms, .callback = on_complete, .arg = uargs};

    if (!AMG_GIVEN(on_complete))
        return HG_INVALID_ARG;
    return transfer(mid, &move, &form);
}

/* Requests of up to FEW chunks lie on the stack, of more chunks on the heap. */
enum { FEW = 32 };

/* Waits for `count` chunks. Returns `rc` if `rc` is an error, else the first
 * error of a chunk, or HG_SUCCESS. */
static hg_return_t chunks_wait(
    margo_request *requests, size_t count, hg_return_t rc)
{
    for (size_t i = 0; i < count; i++) {
        hg_return_t ret = margo_wait(requests[i]);

        if (rc == HG_SUCCESS)
            rc = ret;
    }
    return rc;
}

hg_return_t margo_bulk_parallel_transfer(margo_instance_id mid, hg_bulk_op_t op,
    hg_addr_t origin_addr, hg_bulk_t origin_handle, size_t origin_offset,
    hg_bulk_t local_handle, size_t local_offset, size_t size, size_t chunk_size)
{
    margo_request few[FEW];
    margo_request *requests = few;
    size_t count = 0;
    size_t posted = 0;
    hg_return_t rc = HG_SUCCESS;

    if (mid == MARGO_INSTANCE_NULL || (chunk_size == 0 && size > 0))
        return HG_INVALID_PARAM;
    if (size == 0)
        return HG_SUCCESS;
    count = size / chunk_size + (size % chunk_size != 0);
    if (count > FEW) {
        requests = count > SIZE_MAX / sizeof(requests[0])
                       ? NULL
                       : amg_mem_alloc(count * sizeof(requests[0]));
        if (requests == NULL)
            return HG_NOMEM;
    }
    for (posted = 0; posted < count; posted++) {
        size_t done = posted * chunk_size;
        size_t rest = size - done;

        rc = margo_bulk_itransfer(mid, op, origin_addr, origin_handle,
            origin_offset + done, local_handle, local_offset + done,
            rest < chunk_size ? rest : chunk_size, &requests[posted]);
        if (rc != HG_SUCCESS)
            break;
    }
    rc = chunks_wait(requests, posted, rc);
    if (requests != few)
        amg_mem_free(requests);
    return rc;
}
