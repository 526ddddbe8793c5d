/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls whose handle the program gave back before it answered them.
 *
 * The answer has a reference of its own, so that the program may destroy a
 * handle first and answer after that. If it never does, then the origin is told
 * HG_CANCELED, and the question is when it is clear that nobody will:
 *
 *  - the program destroys the handle once more: at once;
 *  - a callback destroyed it, and had started nothing that may lead to the
 *    answer: when that callback has returned, by the next call of its thread
 *    that makes progress;
 *  - anything else: after a while, because another thread or another callback
 *    may be about to answer;
 *  - the context ends.
 *
 * Such a handle stands on a list of its context, with one reference left, that
 * of the answer. Under the context's lock one of these takes it off the list:
 * who answers it, who gives it up, and who destroys it once more.
 *
 * HG_Respond() leaves that reference in the count, as a spare one
 * (base/refcount.h), and does not check whether the program has destroyed the
 * handle meanwhile: the check would take a locked instruction, behind a store
 * that waits for the cache line of another core. So a handle that is destroyed
 * while it is being answered is on the list, too, until the answer was sent. */
#include "rpc/unanswered.h"

#include "base/clock.h"

enum {
    SOON_MS = 1000,  /* no callback: its next call is the answer, if any */
    LATE_MS = 10000, /* what it started may take as long as a slow transfer */
};

static bool take_off(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    bool was_listed = false;

    amg_lock_take(&context->upper_lock);
    was_listed = amg_link_is_listed(&handle->link);
    if (was_listed) {
        amg_list_remove(&handle->link);
        amg_refs_set(&handle->spare, 0); /* the caller has it */
    }
    amg_lock_give(&context->upper_lock);
    return was_listed;
}

static void put_on_locked(struct hg_handle *handle)
{
    unsigned ms =
        amg_role.is_running && amg_role.has_posted ? LATE_MS : SOON_MS;

    handle->let_go_by =
        amg_role.is_running && !amg_role.has_posted ? &amg_role : NULL;
    handle->let_go_ns = amg_clock_deadline_ns(ms);
    if (!amg_link_is_listed(&handle->link))
        amg_list_push(&handle->info.context->unanswered, &handle->link);
}

/* Drops a share, by which there are `refs`, when what is left is the answer's.
 * False: something else has happened meanwhile. */
static bool let_go(struct hg_handle *handle, int refs)
{
    hg_context_t *context = handle->info.context;
    uint64_t look_ns = 0;

    amg_lock_take(&context->upper_lock);
    if (!amg_unanswered_is_open(handle) ||
        amg_refs_get(&handle->refs) != refs) {
        amg_lock_give(&context->upper_lock);
        return false;
    }
    /* First on the list: who ends the handle then looks whether it is there. */
    put_on_locked(handle);
    if (!atomic_compare_exchange_strong_explicit(&handle->refs, &refs, 1,
            memory_order_acq_rel, memory_order_relaxed)) {
        amg_lock_give(&context->upper_lock);
        return false;
    }
    look_ns = handle->let_go_by != NULL ? 0 : handle->let_go_ns;
    amg_lock_give(&context->upper_lock);
    amg_context_look_at(context, look_ns);
    return true;
}

bool amg_unanswered_drop(struct hg_handle *handle, int share)
{
    while (amg_unanswered_is_open(handle)) {
        int refs = amg_refs_get(&handle->refs);

        if (refs == 1 && share == 1) { /* that of the answer */
            if (amg_handle_state(handle) != AMG_HANDLE_RUNNING ||
                !take_off(handle))
                return false;
            amg_handle_drop(handle);
            return true;
        }
        if (refs <= share)
            return false;
        if (refs - share == 1 && let_go(handle, refs))
            return true;
        if (refs - share > 1 &&
            atomic_compare_exchange_weak_explicit(&handle->refs, &refs,
                refs - share, memory_order_acq_rel, memory_order_relaxed))
            return true;
    }
    return amg_handle_let_go(handle, share);
}

bool amg_unanswered_claim(struct hg_handle *handle)
{
    return take_off(handle);
}

void amg_unanswered_again(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    bool is_ours = false;

    amg_lock_take(&context->upper_lock);
    is_ours = amg_refs_get(&handle->refs) == 1;
    amg_refs_set(&handle->spare, 1);
    amg_handle_set_state(handle, AMG_HANDLE_RUNNING);
    if (is_ours)
        put_on_locked(handle);
    amg_lock_give(&context->upper_lock);
    if (is_ours)
        amg_context_look_at(context, 0);
}

/* Is it to be given up now, or to end, because it was answered? */
static bool is_due(const struct hg_handle *handle, uint64_t now_ns)
{
    switch (amg_handle_state(handle)) {
    case AMG_HANDLE_RUNNING:
        return handle->let_go_ns <= now_ns ||
               (handle->let_go_by == &amg_role && !amg_role.is_running);
    case AMG_HANDLE_REPLYING:
        return false;
    default:
        return true;
    }
}

/* Does it end by itself, as the program has a reference again, or an operation
 * has that of the answer? */
static bool is_held(const struct hg_handle *handle)
{
    return amg_refs_get(&handle->refs) != 1 ||
           amg_refs_spare(&handle->spare) == 0;
}

/* The first that is due, which is the caller's then; else NULL, and the moment
 * of the next look. */
static struct hg_handle *due_take(
    hg_context_t *context, uint64_t now_ns, uint64_t *ret_next_ns)
{
    struct amg_link *link = NULL;
    struct hg_handle *due = NULL;
    uint64_t next_ns = AMG_CONTEXT_NEVER;

    amg_lock_take(&context->upper_lock);
    link = amg_list_first(&context->unanswered);
    while (link != NULL && due == NULL) {
        struct hg_handle *handle = AMG_OBJECT(link, struct hg_handle, link);
        uint64_t at_ns = handle->let_go_by != NULL ? 0 : handle->let_go_ns;

        /* First its state: an operation has what it takes before that says so.
         */
        bool is_over = is_due(handle, now_ns);

        link = amg_list_next(&context->unanswered, link);
        if (is_held(handle)) {
            /* It stays, as who ends it looks for it here without the lock. */
            if (now_ns == AMG_CONTEXT_NEVER)
                amg_list_remove(&handle->link);
        } else if (is_over) {
            amg_list_remove(&handle->link);
            amg_refs_set(&handle->spare, 0);
            due = handle;
        } else if (at_ns < next_ns) {
            next_ns = at_ns;
        }
    }
    amg_lock_give(&context->upper_lock);
    *ret_next_ns = next_ns;
    return due;
}

void amg_unanswered_look(hg_context_t *context, uint64_t now_ns)
{
    struct hg_handle *handle = NULL;
    uint64_t next_ns = 0;

    while ((handle = due_take(context, now_ns, &next_ns)) != NULL)
        amg_handle_drop(handle);
    amg_context_look_at(context, next_ns);
}

void amg_unanswered_end(hg_context_t *context)
{
    amg_unanswered_look(context, AMG_CONTEXT_NEVER);
}
