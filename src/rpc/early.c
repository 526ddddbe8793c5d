/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that came before their RPC was registered.
 *
 * A program registers its RPCs when it has a context, and makes progress then.
 * A thread of the library that makes progress for it is there earlier, and
 * would tell origins that nobody knows what they ask for. So what it finds is
 * kept until it is registered. When a thread of the program makes progress all
 * is registered that was going to be, and so it is some seconds after the
 * context was made, if the program leaves progress to that thread: from then on
 * unknown is unknown. What is kept is bounded by the credits that peers have.
 */
#include "rpc/early.h"

#include "core/class.h"
#include "rpc/serve.h"

/* Takes the first one of that id (0: any) out, or NULL. */
static struct hg_handle *early_take(hg_context_t *context, hg_id_t id)
{
    struct hg_handle *handle = NULL;
    struct amg_link *link = NULL;

    amg_lock_take(&context->upper_lock);
    link = amg_list_first(&context->early);
    for (; link != NULL; link = amg_list_next(&context->early, link)) {
        handle = AMG_OBJECT(link, struct hg_handle, link);
        if (id == 0 || handle->info.id == id)
            break;
    }
    if (link != NULL)
        amg_list_remove(link);
    amg_lock_give(&context->upper_lock);
    return link == NULL ? NULL : handle;
}

static void early_serve(hg_context_t *context, hg_id_t id)
{
    struct hg_handle *handle = NULL;

    while ((handle = early_take(context, id)) != NULL)
        amg_serve_known(handle);
}

bool amg_early_keep(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    hg_id_t id = handle->info.id;

    if (!amg_role.is_ours || amg_context_is_ready(context))
        return false;
    amg_lock_take(&context->upper_lock);
    amg_list_push(&context->early, &handle->link);
    amg_lock_give(&context->upper_lock);
    amg_context_look_at(context, 0);
    /* Who registered it since it was looked for has not found it here. */
    if (amg_rpc_find(context->cls, id) != NULL)
        early_serve(context, id);
    return true;
}

void amg_early_serve(hg_class_t *cls, hg_id_t id)
{
    hg_context_t *context = amg_class_context(cls, 0);

    for (; context != NULL; context = amg_class_context(cls, context->id + 1u))
        early_serve(context, id);
}

void amg_early_look(hg_context_t *context)
{
    bool is_empty = false;

    if (!amg_role.is_ours || amg_context_is_ready(context)) {
        early_serve(context, 0);
        return;
    }
    amg_lock_take(&context->upper_lock);
    is_empty = amg_list_is_empty(&context->early);
    amg_lock_give(&context->upper_lock);
    if (!is_empty)
        amg_context_look_at(context, 0);
}

void amg_early_end(hg_context_t *context)
{
    early_serve(context, 0);
}
