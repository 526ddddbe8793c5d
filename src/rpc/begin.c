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
 * peers bound the number of kept requests. */

/* Defined below: serves a waiting request like a new arrival. */
static void begin_known(struct hg_handle *handle);

/* Takes the first request for `id` (0: any) off the list; NULL: no request. */
static struct hg_handle *early_take(hg_context_t *context, hg_id_t id)
{
    struct hg_handle *handle = NULL;
    struct amg_link *link = NULL;

    amg_lock_lock(&context->rpc->lock);
    link = amg_list_first(&context->rpc->early);
    for (; link != NULL; link = amg_list_next(&context->rpc->early, link)) {
        handle = amg_container_of(link, struct hg_handle, link);
        if (id == 0 || handle->info.id == id)
            break;
    }
    if (link != NULL)
        amg_list_remove(link);
    amg_lock_unlock(&context->rpc->lock);
    return link == NULL ? NULL : handle;
}

void amg_begin_kept(hg_context_t *context, hg_id_t id)
{
    struct hg_handle *handle = NULL;

    while ((handle = early_take(context, id)) != NULL)
        begin_known(handle);
}

/* Keeps a request for an unknown RPC: begin_known() runs once more when the RPC
 * is registered, when the program makes progress, or when the context is some
 * seconds old. False: no later registration is awaited. */
static bool early_keep(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    hg_id_t id = handle->info.id;

    if (!amg_role.is_library_thread || amg_context_is_ready(context))
        return false;
    amg_lock_lock(&context->rpc->lock);
    amg_list_push(&context->rpc->early, &handle->link);
    amg_lock_unlock(&context->rpc->lock);
    amg_context_look_at(context, 0);
    /* A registration after the look-up may have missed the request. */
    if (amg_rpc_find(context->cls, id) != NULL)
        amg_begin_kept(context, id);
    return true;
}

void amg_begin_registered(hg_class_t *cls, hg_id_t id)
{
    hg_context_t *context = amg_class_context(cls, 0);

    for (; context != NULL; context = amg_class_context(cls, context->id + 1u))
        amg_begin_kept(context, id);
}

void amg_begin_look(hg_context_t *context)
{
    bool is_empty = false;

    if (!amg_role.is_library_thread || amg_context_is_ready(context)) {
        amg_begin_kept(context, 0);
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

    amg_counters_add(&context->counters, AMG_COUNT_RUNS_BEGUN);
    amg_serve_run(entry);
    amg_counters_add(&context->counters, AMG_COUNT_RUNS_ENDED);
}

/* Finds the RPC of a valid request, and queues, pulls, keeps or refuses it. */
static void begin_known(struct hg_handle *handle)
{
    if (handle->rpc == NULL)
        handle->rpc = amg_rpc_find(handle->info.hg_class, handle->info.id);
    if (handle->rpc == NULL) {
        if (!early_keep(handle))
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

AMG_NOINLINE void amg_begin(struct hg_handle *handle)
{
    hg_return_t rc = amg_handle_run_create_cb(handle);

    if (rc == HG_SUCCESS)
        begin_known(handle);
    else
        amg_respond_refuse(
            handle, rc, "the program's callback for new handles failed");
}
