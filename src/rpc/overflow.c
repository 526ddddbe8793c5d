/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments too long for one message: exposed here, pulled there. */
#include "rpc/overflow.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/pool.h"
#include "wire/checksum.h"

/* Ceiling for what a peer may make us allocate for one call's arguments. */
#define FETCH_LEN_MAX ((uint64_t)1 << 40)

/* Arguments up to this are encoded into memory of the library, where a near
 * peer reads that by plain copies. It maps what it reads, and so counts it as
 * its own, which is why it is not to be much. */
enum { NEAR_LEN_MAX = 1 << 18 };

/* Owned by the fetch, until its transfer is done. */
struct fetch {
    struct hg_handle *handle;
    struct amg_args *args;
    amg_overflow_done_fn done;
    struct hg_bulk *remote;
    struct hg_bulk *local;
};

static void *near_alloc(hg_class_t *cls, hg_size_t len)
{
    return len > NEAR_LEN_MAX
               ? NULL
               : amg_class_pool_alloc(cls->pool, len, AMG_CLASS_POOL_ONLY);
}

static void near_free(hg_class_t *cls, void *ptr)
{
    amg_class_pool_free(cls->pool, ptr);
}

const struct amg_proc_memory *amg_overflow_memory(
    const struct hg_handle *handle)
{
    static const struct amg_proc_memory near_memory = {
        .alloc = near_alloc,
        .free = near_free,
    };
    const hg_class_t *cls = handle->info.hg_class;
    const struct amg_domain *domain = cls->domains[handle->addr.route];

    return domain != NULL && domain->reads_area ? &near_memory : NULL;
}

hg_return_t amg_overflow_expose(struct hg_handle *handle, struct hg_proc *proc,
    void *room, uint64_t cap, struct amg_args *args, uint32_t *ret_len)
{
    hg_class_t *cls = handle->info.hg_class;
    uint64_t total = hg_proc_get_size_used(proc);
    uint64_t front = sizeof(total) + (args->is_summed ? sizeof(args->sum) : 0);
    uint64_t need = 0;
    hg_return_t rc = HG_OVERFLOW;

    if (cls->plan.no_overflow) {
        AMG_LOG_ERROR("rpc",
            "arguments of %llu bytes exceed a message's %llu, and the class "
            "was opened with no_overflow",
            (unsigned long long)total, (unsigned long long)cap);
        return HG_OVERFLOW;
    }
    args->extra = hg_proc_get_extra_buf(proc);
    rc = amg_bulk_make_owning(
        cls, args->extra, total, HG_BULK_READ_ONLY, &args->extra_bulk);
    if (rc != HG_SUCCESS)
        goto forget_extra;
    hg_proc_set_extra_buf_is_mine(proc, 1); /* ours: the proc lets it go */
    rc = amg_bulk_register(args->extra_bulk);
    if (rc != HG_SUCCESS)
        goto drop_bulk;
    need = front + amg_bulk_packed_len(args->extra_bulk, 0);
    rc = HG_OVERFLOW;
    if (need > cap)
        goto drop_bulk;
    memcpy(room, &total, sizeof(total));
    if (args->is_summed) {
        args->sum = (uint32_t)amg_checksum_add(HG_CRC32, 0, args->extra, total);
        memcpy((char *)room + sizeof(total), &args->sum, sizeof(args->sum));
    }
    amg_bulk_pack(args->extra_bulk, 0, (char *)room + front);
    args->len = total;
    *ret_len = (uint32_t)need;
    return HG_SUCCESS;

drop_bulk:
    amg_bulk_leave(args->extra_bulk);
    args->extra_bulk = NULL;
forget_extra:
    args->extra = NULL;
    return rc;
}

uint64_t amg_overflow_len(const struct amg_args *args)
{
    uint64_t total = 0;

    if (args->len >= sizeof(total))
        memcpy(&total, args->data, sizeof(total));
    return total;
}

static void fetch_set_id(struct hg_handle *handle, struct hg_op_id *id)
{
    hg_context_t *context = handle->info.context;

    amg_lock_take(&context->upper_lock);
    handle->fetch = id;
    amg_lock_give(&context->upper_lock);
}

static void fetch_done(struct hg_op_id *transfer)
{
    struct fetch *fetch = amg_transfer_owner(transfer);
    struct hg_handle *handle = fetch->handle;
    amg_overflow_done_fn done = fetch->done;
    hg_return_t rc = amg_transfer_result(transfer);

    fetch_set_id(handle, NULL);
    if (rc == HG_SUCCESS) {
        fetch->args->extra = fetch->local->owned;
        fetch->local->owned = NULL;
        fetch->args->data = fetch->args->extra;
        fetch->args->len = fetch->local->len;
    }
    amg_transfer_end(transfer);
    amg_bulk_leave(fetch->remote);
    amg_bulk_leave(fetch->local);
    amg_mem_free(fetch);
    done(handle, rc);
}

/* Reads sum and descriptor, and makes room for the bytes. */
static hg_return_t fetch_prepare(
    struct fetch *fetch, hg_class_t *cls, uint64_t total)
{
    struct amg_args *args = fetch->args;
    const char *bytes = args->data;
    uint64_t front = sizeof(total) + (args->is_summed ? sizeof(args->sum) : 0);
    void *data = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (args->len < front)
        return HG_PROTOCOL_ERROR;
    if (args->is_summed) /* from here on that of what will be pulled */
        memcpy(&args->sum, bytes + sizeof(total), sizeof(args->sum));
    rc = amg_bulk_unpack(
        cls, bytes + front, args->len - front, true, &fetch->remote);
    if (rc != HG_SUCCESS)
        return rc;
    rc = HG_PROTOCOL_ERROR;
    if (total == 0 || total > fetch->remote->len || total > FETCH_LEN_MAX)
        goto drop_remote;
    rc = HG_NOMEM;
    data = amg_mem_alloc(total);
    if (data == NULL)
        goto drop_remote;
    rc = amg_bulk_make_owning(
        cls, data, total, HG_BULK_WRITE_ONLY, &fetch->local);
    if (rc != HG_SUCCESS)
        goto free_data;
    return HG_SUCCESS;

free_data:
    amg_mem_free(data);
drop_remote:
    amg_bulk_leave(fetch->remote);
    return rc;
}

hg_return_t amg_overflow_fetch(struct hg_handle *handle, struct amg_args *args,
    uint64_t len, amg_overflow_done_fn done)
{
    struct amg_transfer_plan plan = {
        .context = handle->info.context,
        .op = HG_BULK_PULL,
        .origin_addr = &handle->addr,
        .origin_context = handle->info.context_id,
    };
    struct fetch *fetch = amg_mem_zalloc(sizeof(*fetch));
    struct hg_op_id *transfer = NULL;
    hg_return_t rc = HG_NOMEM;

    if (fetch == NULL)
        return HG_NOMEM;
    fetch->handle = handle;
    fetch->args = args;
    fetch->done = done;
    rc = fetch_prepare(fetch, handle->info.hg_class, len);
    if (rc != HG_SUCCESS)
        goto free_fetch;
    plan.origin = fetch->remote;
    plan.local = fetch->local;
    plan.len = fetch->local->len;
    rc = amg_transfer_create(&plan, fetch_done, fetch, &transfer);
    if (rc != HG_SUCCESS)
        goto drop_bulks;
    fetch_set_id(handle, transfer);
    amg_transfer_go(transfer);
    return HG_SUCCESS;

drop_bulks:
    amg_bulk_leave(fetch->remote);
    amg_bulk_leave(fetch->local);
free_fetch:
    amg_mem_free(fetch);
    return rc;
}

void amg_overflow_cancel(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;

    /* NOTE(not a leaf): under the lock, so that the transfer cannot end
     * between the look and the call; the drivers' locks come after it. */
    amg_lock_take(&context->upper_lock);
    if (handle->fetch != NULL)
        amg_transfer_cancel(handle->fetch);
    amg_lock_give(&context->upper_lock);
}
