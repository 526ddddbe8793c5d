/* SPDX-License-Identifier: BSD-3-Clause */
/* Long arguments at the target: the room (bytes) for them, and the order of
 * calls. While a call waits for its long arguments, later calls of its origin
 * (a context of a peer) queue in a line.
 *
 * The calls of one context of a peer begin to be handled in the order in which
 * they arrived. A call whose arguments must be pulled arrives long before it
 * can be handled. So its queue entry stands in the line of its origin from the
 * arrival on, later calls of that origin queue behind it, and entries whose
 * arguments are complete move to the completion queue in order. Pulls overlap,
 * and calls of other origins do not wait. A line exists while it has entries.
 * The count of lines is part of `gates` of the context. The thread that serves
 * arrivals, one at a time, reads the count without the lock, and sees each line
 * of earlier arrivals. If it sees that a line is gone, its call queues behind
 * the line's entries, although one load is relaxed: had its push locked the
 * queue first, the load would happen before the line's removal, and not see it.
 *
 * No wait is circular: a call without its arguments waits for room or for its
 * transfer. Calls get room in the order of arrival, and a call joins its line
 * and asks for room in one critical section. So the calls before it got room
 * earlier, and wait at most for their transfers. A transfer ends also if the
 * origin has cancelled the call, or is lost. If the transfer fails, the call
 * leaves its line and is refused. Replies and ACKs stand in no line, nor do
 * calls to groups: they get room before they are queued for their handler, so
 * that in a line they would wait behind calls that wait for that room.
 *
 * No entry is lost or overtaken: one thread at a time moves the entries of a
 * line to the queue, and releases the lock while it queues an entry. Meanwhile
 * other threads may append to the line; the moving thread checks the line under
 * the lock before it removes the line. */
#include "base/assert.h"
#include "base/mem.h"
#include "rpc/encode.h"
#include "rpc/handle.h"

/* Owned by `lines` of its context; guarded by the context's rpc->lock. */
struct line {
    uint64_t key;
    struct amg_list entries; /* in order of arrival */
    bool is_moving;          /* a thread moves entries to the queue */
};

/* Key of an origin: pointers to peers have at most 56 bits. No other peer gets
 * the pointer while a line exists, as the line's arrivals keep the peer. */
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

/* Takes the first entry; NULL: no entry, or its arguments are not complete. */
static struct amg_cq_entry *line_next_locked(
    const struct amg_rpc_context *rpc, struct line *line)
{
    struct amg_link *link = amg_list_first(&line->entries);
    struct amg_cq_entry *entry = NULL;

    AMG_ASSERT_HELD(&rpc->lock);
    if (link == NULL)
        return NULL;
    entry = amg_container_of(link, struct amg_cq_entry, link);
    if (entry->is_fetching)
        return NULL;
    amg_list_remove(link);
    return entry;
}

/* Queues all leading complete entries; unlocks, and locks again, for each. */
static void line_move_locked(hg_context_t *context, struct line *line)
{
    struct amg_rpc_context *rpc = context->rpc;
    struct amg_cq_entry *entry = NULL;

    AMG_ASSERT_HELD(&rpc->lock);
    AMG_ASSERT(amg_map_get(&rpc->lines, line->key) == line);
    if (line->is_moving)
        return; /* the moving thread will look again */
    line->is_moving = true;
    while ((entry = line_next_locked(rpc, line)) != NULL) {
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
    /* Release: pairs with the acquire loads of is_plain() and loop_may(). */
    atomic_fetch_sub_explicit(&context->gates, 1u, memory_order_release);
    amg_mem_free(line);
}

/* Appends a call whose arguments must be pulled to the line of its origin.
 * False: no memory. */
static bool line_join_locked(struct hg_handle *handle)
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

/* The arguments of a call were pulled: queues the call for its handler, at once
 * or after the earlier calls of its line. `is_refused`: the call only leaves
 * its line; then the caller refuses it. */
static void line_leave(struct hg_handle *handle, bool is_refused)
{
    hg_context_t *context = handle->info.context;
    struct line *line = NULL;

    if (!handle->entry.is_fetching) { /* the entry stands in no line */
        if (!is_refused && handle->is_group)
            handle->entry.run(&handle->entry);
        else if (!is_refused)
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

/* An origin exposes arguments that are too long for a message, and the target
 * decides when it pulls them. A context limits the bytes of arguments that are
 * being pulled or that wait for their handler; further requests wait in order
 * of arrival. A request above the limit waits until no other call has room.
 *
 * The room of a call is free once its handler is about to run, not once the
 * program has freed the arguments: a program may keep a handle until it has
 * handled another long call.
 *
 * All requests go through `waiting`, and one thread at a time starts pulls, so
 * that a pull that ends at once does not start the next pull recursively. */

/* Takes the first waiting call, and reserves its room, if there is enough. */
static struct hg_handle *pulls_next_locked(struct amg_rpc_context *rpc)
{
    struct amg_rpc_pulls *pulls = &rpc->pulls;
    struct amg_link *link = amg_list_first(&pulls->waiting);
    struct hg_handle *handle = NULL;

    AMG_ASSERT_HELD(&rpc->lock);
    if (link == NULL)
        return NULL;
    handle = amg_container_of(link, struct hg_handle, link);
    if (pulls->len > 0 && (handle->pull_len > pulls->cap ||
                              pulls->len > pulls->cap - handle->pull_len))
        return NULL;
    amg_list_remove(link);
    pulls->len += handle->pull_len;
    if (pulls->peak < pulls->len)
        pulls->peak = pulls->len;
    return handle;
}

/* Defined below: pulls the long arguments of a call that has room. */
static void pull_start(struct hg_handle *handle);

/* Starts all pulls that get room; unlocks, and locks again, for each. */
static void pulls_start_locked(hg_context_t *context)
{
    struct amg_rpc_pulls *pulls = &context->rpc->pulls;
    struct hg_handle *handle = NULL;

    AMG_ASSERT_HELD(&context->rpc->lock);
    if (pulls->is_starting)
        return; /* the starting thread will look again */
    pulls->is_starting = true;
    while ((handle = pulls_next_locked(context->rpc)) != NULL) {
        amg_lock_unlock(&context->rpc->lock);
        pull_start(handle);
        amg_context_leave(context);
        amg_lock_lock(&context->rpc->lock);
    }
    pulls->is_starting = false;
}

bool amg_pulls_add(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    bool is_added = false;

    amg_context_enter(context); /* until the pull has started */
    amg_lock_lock(&context->rpc->lock);
    handle->entry.is_fetching = false;
    is_added = handle->is_group || line_join_locked(handle);
    if (is_added) {
        amg_list_push(&context->rpc->pulls.waiting, &handle->link);
        pulls_start_locked(context);
    }
    amg_lock_unlock(&context->rpc->lock);
    if (!is_added)
        amg_context_leave(context);
    return is_added;
}

void amg_pulls_end(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;

    amg_lock_lock(&context->rpc->lock);
    AMG_ASSERT(context->rpc->pulls.len >= handle->pull_len);
    context->rpc->pulls.len -= handle->pull_len;
    pulls_start_locked(context);
    amg_lock_unlock(&context->rpc->lock);
}

static void pull_refuse(
    struct hg_handle *handle, hg_return_t ret, const char *why)
{
    AMG_ASSERT(amg_handle_state(handle) == AMG_HANDLE_PULLING);
    line_leave(handle, true);
    handle->is_group = false; /* the pooled handle serves any call next */
    amg_respond_refuse(handle, ret, why);
}

static void args_pulled(struct hg_handle *handle, hg_return_t rc)
{
    /* Tells the origin of a one-way call that its exposed memory is free. */
    if (rc == HG_SUCCESS && handle->is_one_way)
        rc = amg_respond_code(handle, HG_SUCCESS) == HG_NOMEM ? HG_NOMEM : rc;
    if (rc != HG_SUCCESS) {
        amg_pulls_end(handle);
        pull_refuse(handle, rc, "its long arguments could not be pulled");
        return;
    }
    amg_handle_move_state(handle, AMG_HANDLE_PULLING, AMG_HANDLE_WAITING);
    line_leave(handle, false);
}

static void pull_start(struct hg_handle *handle)
{
    hg_return_t rc =
        amg_overflow_fetch(handle, &handle->in, handle->pull_len, args_pulled);

    if (rc != HG_SUCCESS)
        args_pulled(handle, rc);
}

void amg_pulls_refuse(hg_context_t *context)
{
    struct amg_link *link = NULL;

    for (;;) {
        amg_lock_lock(&context->rpc->lock);
        link = amg_list_pop(&context->rpc->pulls.waiting);
        amg_lock_unlock(&context->rpc->lock);
        if (link == NULL)
            return;
        pull_refuse(amg_container_of(link, struct hg_handle, link), HG_CANCELED,
            "its context ends");
        amg_context_leave(context);
    }
}
