/* SPDX-License-Identifier: BSD-3-Clause */
/* Which calls may have their long arguments here before they run.
 *
 * An origin exposes arguments that are too long for a message, and the target
 * decides when it pulls them. So a context has room for so many bytes of
 * arguments that are being pulled, or that wait for their handler, and further
 * requests wait in the order in which they came. One that is longer than all
 * the room has it to itself.
 *
 * What a call took is free once its handler is about to run, not once the
 * program has let go of the arguments: a program may keep handles as long as it
 * likes, also until another long call was served.
 *
 * All go through the list, and one thread at a time starts pulls: a pull that
 * ends where it is started would otherwise start the next one from inside. */
#include "rpc/pulls.h"

#include "rpc/serve.h"

/* The first one that waits, if there is room for it, which it takes. */
static struct hg_handle *pulls_next_locked(struct amg_context_pulls *pulls)
{
    struct amg_link *link = amg_list_first(&pulls->waiting);
    struct hg_handle *handle = NULL;

    if (link == NULL)
        return NULL;
    handle = AMG_OBJECT(link, struct hg_handle, link);
    if (pulls->len > 0 && (handle->pull_len > pulls->cap ||
                              pulls->len > pulls->cap - handle->pull_len))
        return NULL;
    amg_list_remove(link);
    pulls->len += handle->pull_len;
    if (pulls->peak < pulls->len)
        pulls->peak = pulls->len;
    return handle;
}

/* Starts all that there is room for. The lock is held before and after. */
static void pulls_start_locked(hg_context_t *context)
{
    struct amg_context_pulls *pulls = &context->pulls;
    struct hg_handle *handle = NULL;

    if (pulls->is_starting)
        return; /* who does so will look again */
    pulls->is_starting = true;
    while ((handle = pulls_next_locked(pulls)) != NULL) {
        amg_lock_give(&context->upper_lock);
        amg_serve_pull(handle);
        amg_context_leave(context);
        amg_lock_take(&context->upper_lock);
    }
    pulls->is_starting = false;
}

void amg_pulls_add(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;

    amg_context_enter(context); /* until its transfer is in flight itself */
    amg_lock_take(&context->upper_lock);
    amg_list_push(&context->pulls.waiting, &handle->link);
    pulls_start_locked(context);
    amg_lock_give(&context->upper_lock);
}

void amg_pulls_end(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;

    amg_lock_take(&context->upper_lock);
    AMG_ASSERT(context->pulls.len >= handle->pull_len);
    context->pulls.len -= handle->pull_len;
    pulls_start_locked(context);
    amg_lock_give(&context->upper_lock);
}

void amg_pulls_refuse(hg_context_t *context)
{
    struct amg_link *link = NULL;

    do {
        amg_lock_take(&context->upper_lock);
        link = amg_list_pop(&context->pulls.waiting);
        amg_lock_give(&context->upper_lock);
        if (link == NULL)
            continue;
        amg_serve_refuse(AMG_OBJECT(link, struct hg_handle, link), HG_CANCELED,
            "its context ends");
        amg_context_leave(context);
    } while (link != NULL);
}
