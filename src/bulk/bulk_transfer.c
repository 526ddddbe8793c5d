/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk transfers, of programs (HG_Bulk_transfer) and of the library itself. */
#include "bulk/bulk_transfer.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/stamp.h"
#include "base/trace.h"
#include "mercury_bulk.h"

/* The memory of the origin and the local memory are lists of segments; the
 * driver of the route moves all segments as one operation. If the descriptor
 * brought the data, this file copies the data instead.
 *
 * Most transfers are uncancellable. Only one thread at a time uses such a
 * transfer, without its lock: the thread that starts the transfer, up to the
 * post; then the driver, under the driver's lock; then the progress owner, in
 * transfer_step(); then the callee of `done`.
 *
 * Other transfers may be cancelled at any time. The post and the cancel of the
 * driver are called under the lock of the transfer, which transfer_step()
 * takes, too: so no cancel reaches the driver before the post or after the
 * step, and the step waits until the starting thread has released the lock. */

enum { CACHE_LINE = 64 };

/* Id and callback of a transfer that a program asked for. */
struct asked {
    struct amg_cq_entry entry;
    uint64_t id; /* 0: the program wanted no id */
    hg_cb_t callback;
    struct hg_cb_info info;
};

/* Owned by the library until `done` is called, then by the callee. */
struct hg_op_id {
    struct amg_transfer_plan plan;
    amg_transfer_done_fn done;
    void *owner;
    atomic_uint state; /* with a stamp (base/stamp.h) by amg_transfers_look() */
    unsigned route;
    hg_return_t ret;
    struct amg_lock lock; /* guards both flags; unused if uncancellable */
    bool is_cancelled;
    bool is_posted;     /* the driver has `op`, whose step has not run */
    struct asked asked; /* unused in transfers of the library itself */
    struct amg_op op;
};

static const unsigned state_edges[AMG_TRANSFER_STATE_COUNT] = {
    [AMG_TRANSFER_IDLE] = 1u << AMG_TRANSFER_MOVING,
    [AMG_TRANSFER_MOVING] = 1u << AMG_TRANSFER_READY,
};

static unsigned transfer_state(const struct hg_op_id *transfer)
{
    return atomic_load_explicit(&transfer->state, memory_order_relaxed) &
           AMG_STAMP_STATE;
}

static AMG_INLINE void transfer_set_state(
    struct hg_op_id *transfer, enum amg_transfer_state next)
{
    AMG_ASSERT((state_edges[transfer_state(transfer)] >> next & 1u) != 0);
    atomic_store_explicit(&transfer->state, next, memory_order_release);
}

hg_return_t amg_transfers_open(hg_context_t *context)
{
    context->transfers = amg_mem_alloc(sizeof(*context->transfers));
    if (context->transfers == NULL)
        return HG_NOMEM;
    amg_pool_init(context->transfers, sizeof(struct hg_op_id), CACHE_LINE);
    return HG_SUCCESS;
}

void amg_transfers_close(hg_context_t *context)
{
    amg_pool_fini(context->transfers);
    amg_mem_free(context->transfers);
    context->transfers = NULL;
}

static struct amg_seg_iter place_of(const struct hg_bulk *bulk, uint64_t offset)
{
    struct amg_seg_iter at = {.segments = bulk->segments, .count = bulk->count};

    at.segment = amg_bulk_find(bulk, offset, &at.into);
    return at;
}

static void transfer_finish(struct hg_op_id *transfer, hg_return_t ret)
{
    transfer->ret = ret;
    transfer_set_state(transfer, AMG_TRANSFER_READY);
    transfer->done(transfer);
}

static void transfer_step(struct amg_op *op)
{
    struct hg_op_id *transfer = amg_container_of(op, struct hg_op_id, op);

    if (!transfer->plan.is_uncancellable) {
        amg_lock_lock(&transfer->lock);
        transfer->is_posted = false;
        amg_lock_unlock(&transfer->lock);
    }
    transfer_finish(transfer, op->ret);
}

AMG_NOINLINE static void post_trace(
    const struct hg_op_id *transfer, const struct amg_ep *ep)
{
    amg_trace_add(
        transfer->plan.op == HG_BULK_PULL ? AMG_TRACE_GET : AMG_TRACE_PUT,
        (uintptr_t)&transfer->op, (uint64_t)ep->transport->name[0],
        transfer->plan.len);
}

/* Posts a transfer, which may be freed before the return if uncancellable. */
static hg_return_t transfer_post(struct hg_op_id *transfer, struct amg_ep *ep)
{
    const struct amg_transfer_plan *plan = &transfer->plan;
    struct amg_seg_iter local = place_of(plan->local, plan->local_offset);
    struct amg_remote remote = {.key = plan->origin->keys[transfer->route],
        .at = place_of(plan->origin, plan->origin_offset)};

    transfer->op = (struct amg_op){.step = transfer_step,
        .is_uncancellable = plan->is_uncancellable,
        .mem = plan->local->mems[transfer->route]};
    if (amg_trace_has(AMALGAM_TRACE_CALLS))
        post_trace(transfer, ep);
    if (plan->op == HG_BULK_PULL)
        return ep->transport->bulk.get(ep,
            (struct amg_target){plan->origin_addr->peer, plan->origin_context},
            &local, &remote, plan->len, &transfer->op);
    return ep->transport->bulk.put(ep,
        (struct amg_target){plan->origin_addr->peer, plan->origin_context},
        &local, &remote, plan->len, &transfer->op);
}

/* Posts a transfer, unless it was cancelled. NOTE(not a leaf): the driver takes
 * its locks under this lock; transfer_step() runs without them. */
static hg_return_t transfer_post_guarded(
    struct hg_op_id *transfer, struct amg_ep *ep)
{
    hg_return_t rc = HG_CANCELED;

    amg_lock_lock(&transfer->lock);
    if (!transfer->is_cancelled)
        rc = transfer_post(transfer, ep);
    transfer->is_posted = rc == HG_SUCCESS;
    amg_lock_unlock(&transfer->lock);
    return rc;
}

/* Copies the bytes that the descriptor brought. */
static void transfer_copy_eager(const struct hg_op_id *transfer)
{
    const struct amg_transfer_plan *plan = &transfer->plan;
    struct amg_seg_iter local = place_of(plan->local, plan->local_offset);

    amg_seg_iter_scatter(&local,
        (const char *)plan->origin->eager + plan->origin_offset, plan->len);
}

static bool is_eager(const struct amg_transfer_plan *plan)
{
    return plan->op == HG_BULK_PULL && plan->origin->eager != NULL;
}

static hg_return_t plan_check(const struct amg_transfer_plan *plan)
{
    const struct hg_bulk *origin = plan->origin;
    const struct hg_bulk *local = plan->local;
    bool is_pull = plan->op == HG_BULK_PULL;
    unsigned origin_needs = is_pull ? HG_BULK_READ_ONLY : HG_BULK_WRITE_ONLY;
    unsigned local_needs = is_pull ? HG_BULK_WRITE_ONLY : HG_BULK_READ_ONLY;

    if (!AMG_CONTRACT_OF("HG_Bulk_transfer",
            plan->op == HG_BULK_PULL || plan->op == HG_BULK_PUSH,
            "op is %d; it must be HG_BULK_PULL or HG_BULK_PUSH", (int)plan->op))
        return HG_INVALID_ARG;
    if (!AMG_CONTRACT_OF("HG_Bulk_transfer", amg_bulk_is_here(local),
            "local_handle %p is of the memory of another process; create a "
            "handle of your own memory",
            (const void *)local))
        return HG_INVALID_ARG;
    if (!AMG_CONTRACT_OF("HG_Bulk_transfer",
            origin->cls == plan->context->cls &&
                local->cls == plan->context->cls &&
                plan->origin_addr->cls == plan->context->cls,
            "the address and both handles must be of the class of the context"))
        return HG_INVALID_ARG;
    if (plan->origin_offset > origin->len ||
        plan->len > origin->len - plan->origin_offset ||
        plan->local_offset > local->len ||
        plan->len > local->len - plan->local_offset) {
        AMG_LOG_ERROR("bulk",
            "%llu bytes from offset %llu of %llu (origin) and %llu of %llu "
            "(local) reach beyond the end",
            (unsigned long long)plan->len,
            (unsigned long long)plan->origin_offset,
            (unsigned long long)origin->len,
            (unsigned long long)plan->local_offset,
            (unsigned long long)local->len);
        return HG_INVALID_ARG;
    }
    if ((origin->flags & origin_needs) == 0 ||
        (local->flags & local_needs) == 0) {
        AMG_LOG_ERROR("bulk",
            "a %s needs the origin's handle %s (it has flags %u) and the local "
            "handle %s (flags %u)",
            is_pull ? "pull" : "push", is_pull ? "readable" : "writable",
            origin->flags, is_pull ? "writable" : "readable", local->flags);
        return HG_PERMISSION;
    }
    return HG_SUCCESS;
}

/* Does the route need the local memory registered, too? */
static bool wants_mem(const struct amg_transfer_plan *plan)
{
    const struct amg_domain *domain =
        plan->local->cls->domains[plan->origin_addr->route];

    return domain != NULL && domain->wants_mem && plan->len > 0 &&
           !is_eager(plan);
}

/* HG_OPNOTSUPPORTED: the origin's handle has no key for the route (logged). */
static hg_return_t route_check(const struct hg_op_id *transfer)
{
    char text[256];

    if (transfer->plan.origin->keys[transfer->route].len > 0)
        return HG_SUCCESS;
    AMG_LOG_ERROR("bulk",
        "the descriptor has no key for the transport to %s: the class that "
        "made it had not opened that transport",
        amg_addr_text(transfer->plan.origin_addr, text, sizeof(text)));
    return HG_OPNOTSUPPORTED;
}

/* Sets all members except `asked`, which transfer_start() sets, and `op`, which
 * the post sets. */
static void transfer_init(struct hg_op_id *transfer,
    const struct amg_transfer_plan *plan, amg_transfer_done_fn done,
    void *owner)
{
    transfer->plan = *plan;
    transfer->done = done;
    transfer->owner = owner;
    atomic_store_explicit(
        &transfer->state, AMG_TRANSFER_IDLE, memory_order_relaxed);
    transfer->route = plan->origin_addr->route;
    transfer->ret = HG_SUCCESS;
    amg_lock_init(&transfer->lock);
    transfer->is_cancelled = false;
    transfer->is_posted = false;
    amg_bulk_ref(plan->origin);
    amg_bulk_ref(plan->local);
    amg_context_enter(plan->context);
}

hg_return_t amg_transfer_create(const struct amg_transfer_plan *plan,
    amg_transfer_done_fn done, void *owner, struct hg_op_id **ret_transfer)
{
    struct hg_op_id *transfer = NULL;
    hg_return_t rc = plan_check(plan);

    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_bulk_register(plan->origin);
    if (rc == HG_SUCCESS && wants_mem(plan))
        rc = amg_bulk_register(plan->local);
    if (rc != HG_SUCCESS)
        return rc;
    transfer = amg_pool_get(plan->context->transfers);
    if (transfer == NULL)
        return HG_NOMEM;
    transfer_init(transfer, plan, done, owner);
    if (plan->len > 0 && !is_eager(plan)) {
        rc = route_check(transfer);
        if (rc != HG_SUCCESS) {
            amg_transfer_end(transfer);
            return rc;
        }
    }
    *ret_transfer = transfer;
    return HG_SUCCESS;
}

void amg_transfer_go(struct hg_op_id *transfer)
{
    hg_context_t *context = transfer->plan.context;
    unsigned route = transfer->route;
    struct amg_ep *ep = amg_context_ep(context, route);
    hg_return_t rc = HG_SUCCESS;

    transfer_set_state(transfer, AMG_TRANSFER_MOVING);
    if (transfer->plan.len == 0 || is_eager(&transfer->plan)) {
        if (transfer->plan.len > 0)
            transfer_copy_eager(transfer);
        transfer_finish(transfer, HG_SUCCESS);
        return;
    }
    rc = transfer->plan.is_uncancellable ? transfer_post(transfer, ep)
                                         : transfer_post_guarded(transfer, ep);
    if (rc == HG_SUCCESS)
        amg_context_posted(context, route);
    else
        transfer_finish(transfer, rc);
}

void amg_transfer_cancel(struct hg_op_id *transfer)
{
    hg_context_t *context = transfer->plan.context;
    unsigned route = transfer->route;
    struct amg_ep *ep = amg_context_ep(context, route);
    bool was_posted = false;

    AMG_ASSERT(!transfer->plan.is_uncancellable);
    amg_lock_lock(&transfer->lock);
    transfer->is_cancelled = true;
    was_posted = transfer->is_posted;
    if (was_posted)
        ep->transport->ep.cancel(ep, &transfer->op);
    amg_lock_unlock(&transfer->lock);
    if (was_posted)
        amg_context_posted(context, route);
}

hg_return_t amg_transfer_result(const struct hg_op_id *transfer)
{
    return transfer->ret;
}

void *amg_transfer_owner(const struct hg_op_id *transfer)
{
    return transfer->owner;
}

void amg_transfer_end(struct hg_op_id *transfer)
{
    hg_context_t *context = transfer->plan.context;

    amg_bulk_leave(transfer->plan.origin);
    amg_bulk_leave(transfer->plan.local);
    amg_pool_put(context->transfers, transfer);
    amg_context_leave(context);
}

/* A program may cancel the operation id of a transfer that has ended, without
 * effect. So ids are numbers that are never reused, and a map of the process
 * has the ids of the transfers whose callback has not begun. */

static struct amg_lock ids_lock AMG_LOCK_KEPT; /* guards ids and ids_last */
static struct amg_map ids;                     /* id -> struct asked */
static uint64_t ids_last;

/* Gives a transfer an id. HG_NOMEM: the transfer has no id. */
static hg_return_t id_give(struct asked *asked)
{
    hg_return_t rc = HG_SUCCESS;

    amg_lock_lock(&ids_lock);
    asked->id = ++ids_last;
    rc = amg_map_put(&ids, asked->id, asked);
    amg_lock_unlock(&ids_lock);
    if (rc != HG_SUCCESS)
        asked->id = 0;
    return rc;
}

static void id_take_back(struct asked *asked)
{
    if (asked->id == 0)
        return;
    amg_lock_lock(&ids_lock);
    amg_map_remove(&ids, asked->id);
    amg_lock_unlock(&ids_lock);
}

static void asked_run(struct amg_cq_entry *entry)
{
    struct asked *asked = amg_container_of(entry, struct asked, entry);

    id_take_back(asked);
    if (asked->callback != NULL)
        asked->callback(&asked->info);
    amg_transfer_end(amg_container_of(asked, struct hg_op_id, asked));
}

static void asked_done(struct hg_op_id *transfer)
{
    struct asked *asked = &transfer->asked;
    hg_context_t *context = amg_transfer_owner(transfer);

    asked->info.ret = amg_transfer_result(transfer);
    amg_context_queue(context, &asked->entry);
}

AMG_STAMP_READS static void transfer_look(void *object, void *arg)
{
    struct hg_op_id *transfer = object;
    struct amg_transfers_look *look = arg;
    unsigned word =
        amg_stamp_visit(&transfer->state, 1u << AMG_TRANSFER_MOVING, look->now);
    bool is_asked = transfer->done == asked_done;
    bool is_served = transfer->asked.entry.is_incoming;
    unsigned route = transfer->route;
    uint32_t age_ms = 0;

    if (word == 0 || !is_asked || !amg_stamp_is_same(&transfer->state, word))
        return;
    age_ms = amg_stamp_age_ms(look->now, word);
    look->late += age_ms >= look->late_ms;
    if (look->op != NULL && age_ms <= look->age_ms)
        return;
    look->op = &transfer->op;
    look->route = route;
    look->age_ms = age_ms;
    look->is_served = is_served;
}

void amg_transfers_look(
    const hg_context_t *context, struct amg_transfers_look *look)
{
    amg_pool_visit(context->transfers, transfer_look, look);
}

static hg_return_t transfer_start(struct amg_transfer_plan *plan,
    hg_cb_t callback, void *arg, hg_op_id_t *op_id)
{
    struct hg_op_id *transfer = NULL;
    struct asked *asked = NULL;
    hg_return_t rc = HG_SUCCESS;

    plan->is_uncancellable = op_id == NULL || op_id == HG_OP_ID_IGNORE;
    rc = amg_transfer_create(plan, asked_done, plan->context, &transfer);
    if (rc != HG_SUCCESS)
        return rc;
    asked = &transfer->asked;
    asked->entry.run = asked_run;
    asked->entry.is_incoming = amg_role.is_serving;
    amg_role.has_posted = true;
    asked->id = 0;
    asked->callback = callback;
    asked->info = (struct hg_cb_info){.arg = arg, .type = HG_CB_BULK};
    asked->info.info.bulk.origin_handle = plan->origin;
    asked->info.info.bulk.local_handle = plan->local;
    asked->info.info.bulk.op = plan->op;
    asked->info.info.bulk.size = plan->len;
    if (!plan->is_uncancellable) {
        rc = id_give(asked);
        if (rc != HG_SUCCESS) {
            amg_transfer_end(transfer);
            return rc;
        }
        *op_id = (hg_op_id_t)(uintptr_t)asked->id;
    }
    amg_counters_add(&plan->context->counters, AMG_COUNT_TRANSFERS);
    amg_counters_add_some(
        &plan->context->counters, AMG_COUNT_TRANSFER_BYTES, (int64_t)plan->len);
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

    if (!AMG_CONTEXT_OK(context) || !AMG_GIVEN(origin_addr) ||
        !AMG_BULK_OK(origin_handle) || !AMG_BULK_OK(local_handle))
        return amg_refusal();
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
        return amg_refusal();
    if (origin_handle->bound.peer == NULL) {
        AMG_LOG_ERROR("bulk",
            "the origin's handle is not bound to an address: the origin must "
            "call HG_Bulk_bind() before, or use HG_Bulk_transfer() here");
        return HG_INVALID_ARG;
    }
    plan.origin_addr = &origin_handle->bound;
    plan.origin_context = origin_handle->bound_context;
    return transfer_start(&plan, callback, arg, op_id);
}

hg_return_t HG_Bulk_cancel(hg_op_id_t op_id)
{
    struct asked *asked = NULL;

    if (!AMG_GIVEN(op_id))
        return HG_INVALID_ARG;
    /* NOTE(not a leaf): the lock keeps the transfer from ending between the
     * look-up and the call. Order of locks: ids_lock, transfer's, driver's. */
    amg_lock_lock(&ids_lock);
    asked = amg_map_get(&ids, (uint64_t)(uintptr_t)op_id);
    if (asked != NULL)
        amg_transfer_cancel(amg_container_of(asked, struct hg_op_id, asked));
    amg_lock_unlock(&ids_lock);
    return HG_SUCCESS;
}

hg_return_t HG_Bulk_bind(hg_bulk_t handle, hg_context_t *context)
{
    if (!AMG_BULK_OK(handle) || !AMG_CONTEXT_OK(context))
        return amg_refusal();
    if (!AMG_CONTRACT(amg_bulk_is_here(handle) && handle->cls == context->cls,
            "handle %p must be of memory of this process, and of the class of "
            "the context",
            (void *)handle))
        return HG_INVALID_ARG;
    if (!AMG_CONTRACT(handle->bound.peer == NULL, "handle %p is bound already",
            (void *)handle))
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
