/* SPDX-License-Identifier: BSD-3-Clause */
/* Order of calls: a line per context of a peer, while a call of that context
 * waits for its long arguments.
 *
 * The calls of one context of a peer begin to be handled in the order in which
 * they arrived. A call whose arguments must be pulled arrives long before it
 * can be handled. So the entry of a call stands in the line of its origin from
 * the arrival on, later calls of that origin queue behind it, and all leave in
 * order for the completion queue, as far as their arguments are there. Pulls
 * overlap, and calls of other origins do not wait. A line exists while it has
 * entries. The count of lines is a gate of the context, so that a call costs
 * nothing while there are none; the thread that serves an arrival has counted
 * the lines that the arrival must see, or they have gone.
 *
 * Nothing waits in a circle: an entry without arguments waits for room
 * (serve.c) or for its transfer. Room is given in the order of arrival, and an
 * entry is appended to its line under the lock under which it asks for room; so
 * the entries before it have got their room earlier, and need nothing more to
 * begin. A transfer ends in any case, also if the origin has cancelled the
 * call, or is lost; then the call leaves the line and is refused. Replies and
 * ACKs do not stand in lines.
 *
 * No entry is lost or overtaken: one thread at a time moves the entries of a
 * line, without the lock; meanwhile the line exists, other threads append to
 * it, and the moving thread looks again under the lock before it removes the
 * line. */
#include "base/assert.h"
#include "base/mem.h"
#include "rpc/handle.h"

/* Owned by `lines` of its context; guarded by the context's rpc->lock. */
struct line {
    uint64_t key;
    struct amg_list entries; /* in order of arrival */
    bool is_moving;          /* a thread hands entries on */
};

/* Names an origin: addresses of peers have at most 56 bits. The entries of a
 * line hold arrivals, which keep the peer. */
static uint64_t line_key(const struct amg_peer *peer, uint8_t origin_context)
{
    return (uint64_t)(uintptr_t)peer ^ (uint64_t)origin_context << 56;
}

static uint64_t handle_key(const struct hg_handle *handle)
{
    return line_key(handle->addr.peer, handle->info.context_id);
}

static struct line *line_get_locked(hg_context_t *context, uint64_t key)
{
    struct amg_rpc_context *rpc = context->rpc;
    struct line *line = amg_map_get(&rpc->lines, key);

    AMG_ASSERT_HELD(&rpc->lock);
    if (line != NULL)
        return line;
    line = amg_mem_zalloc(sizeof(*line));
    if (line == NULL || amg_map_put(&rpc->lines, key, line) != HG_SUCCESS) {
        amg_mem_free(line);
        return NULL;
    }
    line->key = key;
    amg_list_init(&line->entries);
    atomic_fetch_add_explicit(&context->gates, 1u, memory_order_relaxed);
    return line;
}

/* The next entry that may leave; NULL: there is none. */
static struct amg_cq_entry *line_next_locked(struct line *line)
{
    struct amg_link *link = amg_list_first(&line->entries);
    struct amg_cq_entry *entry = NULL;

    if (link == NULL)
        return NULL;
    entry = amg_container_of(link, struct amg_cq_entry, link);
    if (entry->is_fetching)
        return NULL;
    amg_list_remove(link);
    return entry;
}

/* Queues the entries that may leave. The lock is held before and after. */
static void line_move_locked(hg_context_t *context, struct line *line)
{
    struct amg_rpc_context *rpc = context->rpc;
    struct amg_cq_entry *entry = NULL;

    AMG_ASSERT_HELD(&rpc->lock);
    AMG_ASSERT(amg_map_get(&rpc->lines, line->key) == line);
    if (line->is_moving)
        return; /* the moving thread will look again */
    line->is_moving = true;
    while ((entry = line_next_locked(line)) != NULL) {
        amg_lock_unlock(&rpc->lock);
        amg_context_queue(context, entry);
        amg_lock_lock(&rpc->lock);
    }
    AMG_ASSERT(line->is_moving);
    line->is_moving = false;
    if (!amg_list_is_empty(&line->entries))
        return;
    AMG_ASSERT(amg_order_has_lines(context));
    (void)amg_map_remove(&rpc->lines, line->key);
    /* Release: a thread that sees no line queues behind the line's entries. */
    atomic_fetch_sub_explicit(&context->gates, 1u, memory_order_release);
    amg_mem_free(line);
}

bool amg_order_fetch_locked(struct hg_handle *handle)
{
    struct line *line = NULL;

    AMG_ASSERT_HELD(&handle->info.context->rpc->lock);
    handle->entry.is_fetching = false;
    line = line_get_locked(handle->info.context, handle_key(handle));
    if (line == NULL)
        return false;
    handle->entry.is_fetching = true;
    amg_list_push(&line->entries, &handle->entry.link);
    return true;
}

void amg_order_queue(hg_context_t *context, const struct amg_peer *from,
    uint8_t origin_context, struct amg_cq_entry *entry)
{
    struct amg_rpc_context *rpc = context->rpc;
    struct line *line = NULL;

    if (amg_order_has_lines(context)) {
        amg_lock_lock(&rpc->lock);
        line = amg_map_get(&rpc->lines, line_key(from, origin_context));
        if (line != NULL) {
            entry->is_fetching = false;
            amg_list_push(&line->entries, &entry->link);
        }
        amg_lock_unlock(&rpc->lock);
    }
    if (line == NULL)
        amg_context_queue(context, entry);
}

void amg_order_end(struct hg_handle *handle, bool is_refused)
{
    hg_context_t *context = handle->info.context;
    struct line *line = NULL;

    if (!handle->entry.is_fetching) { /* the entry stands in no line */
        if (!is_refused)
            amg_context_queue(context, &handle->entry);
        return;
    }
    amg_lock_lock(&context->rpc->lock);
    line = amg_map_get(&context->rpc->lines, handle_key(handle));
    AMG_ASSERT(line != NULL && amg_link_is_listed(&handle->entry.link));
    handle->entry.is_fetching = false;
    if (is_refused)
        amg_list_remove(&handle->entry.link);
    line_move_locked(context, line);
    amg_lock_unlock(&context->rpc->lock);
}
