/* SPDX-License-Identifier: BSD-3-Clause */
/* Target side of a call: from the handle of a request to the user's function.
 */
#include "rpc/handle.h"

#include "base/assert.h"
#include "rpc/encode.h"

/* A program registers its RPCs when it has a context, and then makes progress.
 * A progress thread of the library starts earlier, and would refuse requests
 * for RPCs that are not registered yet. So that thread keeps such requests
 * until their RPC is registered. All RPCs count as registered as soon as a
 * thread of the program makes progress or, if none does, some seconds after the
 * context was created; from then on unknown ids are refused. The credits of the
 * peers bound the number of kept requests.
 *
 * A later request does not overtake a kept request for its RPC: it is kept,
 * too, behind that request. One thread at a time takes requests off the list,
 * and queues each before it takes the next. The kept requests, until they are
 * queued, are part of `gates` of the context: so arrivals come to
 * begin_known(). */

/* Queues, pulls or refuses a request whose RPC was looked up. */
static void begin_found(struct hg_handle *handle)
{
    if (handle->rpc == NULL) {
        amg_respond_refuse(
            handle, HG_NOENTRY, "the RPC is not registered here");
    } else if (handle->rpc->callback == NULL) {
        amg_respond_refuse(
            handle, HG_INVALID_ARG, "the RPC has no callback here");
    } else if (handle->is_long && handle->arrival != NULL &&
               !handle->arrival->is_long) {
        amg_handle_set_state(handle, AMG_HANDLE_PULLING);
        handle->pull_len = amg_overflow_len(&handle->in);
        if (!amg_pulls_add(handle))
            amg_respond_refuse(
                handle, HG_NOMEM, "no memory for its long arguments");
    } else {
        const struct hg_handle *origin = handle->looped.origin;

        amg_handle_move_state(handle, AMG_HANDLE_ARRIVED, AMG_HANDLE_WAITING);
        if (origin != NULL && origin->is_group) /* in no order: see order.c */
            amg_context_queue(handle->info.context, &handle->entry);
        else
            amg_order_queue(handle->info.context,
                handle->is_shared ? handle->arrival->from : handle->addr.peer,
                handle->info.context_id, &handle->entry);
    }
}

/* Takes the first kept request whose RPC is registered or not awaited any more;
 * NULL: none. NOTE(not a leaf lock): takes the lock of the registry. */
static struct hg_handle *early_take_locked(struct amg_rpc_context *rpc)
{
    struct amg_link *link = amg_list_first(&rpc->early);

    AMG_ASSERT_HELD(&rpc->lock);
    for (; link != NULL; link = amg_list_next(&rpc->early, link)) {
        struct hg_handle *handle =
            amg_container_of(link, struct hg_handle, link);

        handle->rpc = amg_rpc_find(handle->info.hg_class, handle->info.id);
        if (handle->rpc == NULL && !rpc->early_is_over)
            continue;
        amg_list_remove(link);
        return handle;
    }
    return NULL;
}

void amg_begin_kept(hg_context_t *context, bool is_over)
{
    struct amg_rpc_context *rpc = context->rpc;
    struct hg_handle *handle = NULL;

    amg_lock_lock(&rpc->lock);
    rpc->early_is_over = rpc->early_is_over || is_over;
    if (rpc->early_is_moving) { /* the moving thread looks again */
        amg_lock_unlock(&rpc->lock);
        return;
    }
    rpc->early_is_moving = true;
    while ((handle = early_take_locked(rpc)) != NULL) {
        amg_lock_unlock(&rpc->lock);
        AMG_TEST_POINT("begin.kept");
        begin_found(handle);
        amg_lock_lock(&rpc->lock);
        atomic_fetch_sub_explicit(&context->gates, 1u, memory_order_release);
    }
    rpc->early_is_moving = false;
    rpc->early_is_over = false;
    amg_lock_unlock(&rpc->lock);
}

/* Must a request for this RPC (0: any), which is registered, wait behind kept
 * ones? */
static bool early_blocks_locked(const struct amg_rpc_context *rpc, hg_id_t id)
{
    const struct amg_link *link = amg_list_first(&rpc->early);

    AMG_ASSERT_HELD(&rpc->lock);
    while (link != NULL && id != 0 &&
           amg_container_of(link, const struct hg_handle, link)->info.id != id)
        link = amg_list_next(&rpc->early, link);
    return link != NULL || rpc->early_is_moving;
}

bool amg_begin_blocks(hg_context_t *context, hg_id_t id)
{
    bool is_blocked = false;

    if (!amg_order_has_lines(context))
        return false;
    amg_lock_lock(&context->rpc->lock);
    is_blocked = early_blocks_locked(context->rpc, id);
    amg_lock_unlock(&context->rpc->lock);
    return is_blocked;
}

/* May the program still register RPCs before it makes progress? */
static bool rpcs_may_come(const hg_context_t *context)
{
    return amg_role.is_library_thread && !amg_context_is_ready(context);
}

/* Keeps a request for an unknown RPC, if its registration `may_come`, or a
 * request behind a kept one. False: the request may begin now. */
static bool early_keep(struct hg_handle *handle, bool may_come)
{
    hg_context_t *context = handle->info.context;
    struct amg_rpc_context *rpc = context->rpc;
    bool is_unknown = handle->rpc == NULL;
    hg_id_t id = handle->info.id;
    bool is_kept = false;

    if (is_unknown ? !may_come : !amg_order_has_lines(context))
        return false;
    amg_lock_lock(&rpc->lock);
    is_kept = is_unknown || early_blocks_locked(rpc, id);
    if (is_kept) {
        amg_list_push(&rpc->early, &handle->link);
        atomic_fetch_add_explicit(&context->gates, 1u, memory_order_relaxed);
    }
    amg_lock_unlock(&rpc->lock);
    if (!is_kept)
        return false;
    amg_context_look_at(context, 0);
    /* A registration after the look-up may have missed the request. */
    if (amg_rpc_find(context->cls, id) != NULL)
        amg_begin_kept(context, false);
    return true;
}

void amg_begin_registered(hg_class_t *cls)
{
    hg_context_t *context = amg_class_context(cls, 0);

    for (; context != NULL; context = amg_class_context(cls, context->id + 1u))
        amg_begin_kept(context, false);
}

void amg_begin_look(hg_context_t *context)
{
    bool is_empty = false;

    if (!rpcs_may_come(context)) {
        amg_begin_kept(context, true);
        return;
    }
    amg_lock_lock(&context->rpc->lock);
    is_empty = amg_list_is_empty(&context->rpc->early);
    amg_lock_unlock(&context->rpc->lock);
    if (!is_empty)
        amg_context_look_at(context, 0);
}

AMG_NOINLINE void amg_begin_long(struct hg_handle *handle)
{
    if (handle->arrival != NULL && handle->arrival->is_long) {
        amg_arrival_begin(handle->arrival, amg_handle_ep(handle)->held);
        return;
    }
    amg_pulls_end(handle);
    if (handle->arrival == NULL) /* of a call to a group */
        handle->looped.origin->is_long = false;
}

void amg_serve_run(struct amg_cq_entry *entry)
{
    struct hg_handle *handle = amg_container_of(entry, struct hg_handle, entry);

    amg_handle_move_state(handle, AMG_HANDLE_WAITING, AMG_HANDLE_RUNNING);
    if (!AMG_LIKELY(!handle->is_long))
        amg_begin_long(handle);
    if (!handle->is_one_way) {
        amg_refs_set(&handle->refs, 2); /* the program's and the answer's */
        amg_refs_set(&handle->spare, 1);
    }
    handle->rpc->callback(handle);
}

void amg_serve_run_counted(struct amg_cq_entry *entry)
{
    const struct hg_handle *handle =
        amg_container_of(entry, struct hg_handle, entry);
    hg_context_t *context = handle->info.context;
    struct amg_status_class *status = context->cls->job.status;

    amg_counters_add(&context->counters, AMG_COUNT_RUNS_BEGUN);
    amg_status_run(status, handle->info.id);
    amg_trace_at(AMALGAM_TRACE_CALLS, AMG_TRACE_BEGIN, handle, handle->info.id,
        (uintptr_t)handle->arrival);
    amg_serve_run(entry);
    amg_trace_at(AMALGAM_TRACE_CALLS, AMG_TRACE_END, handle, 0, 0);
    amg_status_run(status, 0);
    amg_counters_add(&context->counters, AMG_COUNT_RUNS_ENDED);
}

/* Finds the RPC of a valid request, and queues, pulls, keeps or refuses it. */
static void begin_known(struct hg_handle *handle)
{
    /* Asked first: the program may register the RPC after the look-up, and then
     * make progress. */
    bool may_come = handle->rpc == NULL && rpcs_may_come(handle->info.context);

    if (handle->rpc == NULL)
        handle->rpc = amg_rpc_find(handle->info.hg_class, handle->info.id);
    AMG_TEST_POINT("begin.looked_up");
    if (!early_keep(handle, may_come))
        begin_found(handle);
}

AMG_NOINLINE void amg_begin(struct hg_handle *handle)
{
    hg_return_t rc = amg_handle_run_create_cb(handle);

    if (rc == HG_SUCCESS)
        begin_known(handle);
    else
        amg_respond_refuse(
            handle, rc, "the program's callback for new handles failed");
}
