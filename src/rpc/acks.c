/* SPDX-License-Identifier: BSD-3-Clause */
/* Long answers that wait for their origin to pull them.
 *
 * Each stands under a token in a map of its context, and on a list. The wait
 * has one of these ends, which takes it out of both under the context's lock:
 * the word of the origin, the failure of the message, a cancel, the end of the
 * context, or the origin is found to be gone. While the message is with the
 * driver, which owns the handle's operation, only its step may end the call;
 * the others leave the result in the handle then.
 *
 * A transport tells of a peer that is gone to those who ask something of it. So
 * when the word has not come for a second, and then less and less often, the
 * origin gets a request that its library answers at once: it fails when the
 * peer or its context is gone. */
#include "rpc/acks.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "rpc/encode.h"
#include "wire/header.h"

#define ASK_FIRST_NS  (1000 * AMG_NS_PER_MS)
#define ASK_LATEST_NS (60000 * AMG_NS_PER_MS)

/* A question to an origin. Owned by itself, until it is answered. */
struct amg_ask {
    struct amg_op op;
    hg_context_t *context;
    uint64_t token;
    struct hg_addr to;
    amg_acks_lost_fn lost;
};

hg_return_t amg_acks_wait(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    hg_return_t rc = HG_SUCCESS;

    handle->token = atomic_fetch_add_explicit(
        &amg_rpc_class_of(context->cls)->next_token, 1, memory_order_relaxed);
    handle->ask = NULL;
    handle->ask_wait_ns = ASK_FIRST_NS;
    handle->ask_ns = amg_clock_ns() + ASK_FIRST_NS;
    handle->is_leaving = true;
    /* NOTE(not a leaf): the map allocates; the memory room takes no lock. */
    amg_lock_take(&context->upper_lock);
    rc = amg_map_put(&context->acks, handle->token, handle);
    if (rc == HG_SUCCESS) {
        if (amg_link_is_listed(&handle->link)) /* see rpc/unanswered.c */
            amg_list_remove(&handle->link);
        amg_list_push(&context->upper, &handle->link);
        amg_handle_set_state(handle, AMG_HANDLE_ACK_WAIT);
    }
    amg_lock_give(&context->upper_lock);
    if (rc == HG_SUCCESS)
        amg_context_look_at(context, handle->ask_ns);
    return rc;
}

/* Takes it out. False: somebody else did. */
static bool take_out_locked(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    struct amg_ask *ask = handle->ask;

    if (!amg_link_is_listed(&handle->link))
        return false;
    amg_list_remove(&handle->link);
    (void)amg_map_remove(&context->acks, handle->token);
    handle->ask = NULL;
    /* NOTE(not a leaf): under the lock, so that the question cannot end between
     * the look and the call; the drivers' locks come after it. An endpoint that
     * is closed has ended it. */
    if (ask != NULL && amg_context_ep(context, ask->to.route) != NULL) {
        struct amg_ep *ep = amg_context_ep(context, ask->to.route);

        ep->transport->ep.cancel(ep, &ask->op);
    }
    return true;
}

bool amg_acks_unwait(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    bool was_waiting = false;

    amg_lock_take(&context->upper_lock);
    handle->is_leaving = false;
    was_waiting = take_out_locked(handle);
    amg_lock_give(&context->upper_lock);
    return was_waiting;
}

bool amg_acks_left(struct hg_handle *handle, hg_return_t ret)
{
    hg_context_t *context = handle->info.context;
    bool is_over = false;

    amg_lock_take(&context->upper_lock);
    handle->is_leaving = false;
    is_over = !amg_link_is_listed(&handle->link);
    if (!is_over && ret != HG_SUCCESS) {
        is_over = take_out_locked(handle);
        handle->ret = ret;
    }
    amg_lock_give(&context->upper_lock);
    return is_over;
}

/* Ends its wait. True: the caller is to end the call. */
static bool settle_locked(struct hg_handle *handle, hg_return_t ret)
{
    if (!take_out_locked(handle))
        return false;
    handle->ret = ret;
    return !handle->is_leaving;
}

/* Handles an acknowledgement that no handle waits for. After a cancel it is
 * merely late; if its token was never given out, this is logged once. */
static void stray_tell(
    hg_context_t *context, const struct hg_addr *from, uint64_t token)
{
    struct amg_rpc_class *rpcs = amg_rpc_class_of(context->cls);
    char text[256];

    if (token - 1 <
            atomic_load_explicit(&rpcs->next_token, memory_order_relaxed) - 1 ||
        atomic_exchange_explicit(
            &rpcs->has_told_stray, true, memory_order_relaxed))
        return;
    AMG_LOG_WARNING("rpc",
        "%s acknowledges a long answer 0x%" PRIx64
        " that was never sent; it is a program gone mad, or of another "
        "version; more of this is not reported",
        amg_addr_text(from, text, sizeof(text)), token);
}

struct hg_handle *amg_acks_take(
    hg_context_t *context, const struct hg_addr *from, uint64_t token)
{
    struct hg_handle *handle = NULL;
    bool is_known = false;

    amg_lock_take(&context->upper_lock);
    handle = amg_map_get(&context->acks, token);
    if (handle != NULL && !amg_addr_is_same(&handle->addr, from))
        handle = NULL;
    is_known = handle != NULL;
    if (handle != NULL && !settle_locked(handle, HG_SUCCESS))
        handle = NULL;
    amg_lock_give(&context->upper_lock);
    if (!is_known)
        stray_tell(context, from, token);
    return handle;
}

bool amg_acks_give_up(struct hg_handle *handle, hg_return_t ret)
{
    hg_context_t *context = handle->info.context;
    bool is_ours = false;

    amg_lock_take(&context->upper_lock);
    is_ours = settle_locked(handle, ret);
    if (handle->is_leaving && !amg_link_is_listed(&handle->link)) {
        struct amg_ep *ep = amg_handle_ep(handle);

        ep->transport->ep.cancel(ep, &handle->op);
    }
    amg_lock_give(&context->upper_lock);
    amg_context_posted(context, handle->addr.route);
    return is_ours;
}

struct hg_handle *amg_acks_give_up_any(hg_context_t *context)
{
    struct hg_handle *handle = NULL;
    struct amg_link *link = NULL;

    amg_lock_take(&context->upper_lock);
    while (handle == NULL && (link = amg_list_first(&context->upper)) != NULL) {
        handle = AMG_OBJECT(link, struct hg_handle, link);
        if (!settle_locked(handle, HG_CANCELED))
            handle = NULL; /* the end of its endpoint will end it */
    }
    amg_lock_give(&context->upper_lock);
    return handle;
}

static void ask_free(struct amg_ask *ask)
{
    amg_addr_fini(&ask->to);
    amg_mem_free(ask);
}

/* The error that ends the wait after the origin was probed with the result
 * `ret`; HG_SUCCESS: go on waiting. A closed context fetches no answer. */
static hg_return_t loss_of(hg_return_t ret)
{
    if (ret == HG_NOENTRY)
        return HG_CANCELED;
    return ret == HG_HOSTUNREACH || ret == HG_CANCELED ? ret : HG_SUCCESS;
}

/* The origin has answered, or never will. */
static void ask_ended(struct amg_op *op)
{
    struct amg_ask *ask = AMG_OBJECT(op, struct amg_ask, op);
    hg_context_t *context = ask->context;
    hg_return_t loss = loss_of(op->ret);
    struct hg_handle *handle = NULL;
    bool is_ours = false;

    amg_lock_take(&context->upper_lock);
    handle = amg_map_get(&context->acks, ask->token);
    if (handle != NULL && handle->ask == ask) {
        handle->ask = NULL;
        is_ours = loss != HG_SUCCESS && settle_locked(handle, loss);
    }
    amg_lock_give(&context->upper_lock);
    if (op->ret == HG_SUCCESS && op->data != NULL) {
        struct amg_ep *ep = amg_context_ep(context, ask->to.route);

        ep->transport->msg.release_reply(ep, op);
    }
    if (is_ours)
        ask->lost(handle);
    ask_free(ask);
    amg_context_leave(context);
}

/* What fails is tried again later. NOTE(not a leaf): under the lock, so that
 * what is cancelled is known to be posted. */
static void ask_locked(struct hg_handle *handle, amg_acks_lost_fn lost)
{
    hg_context_t *context = handle->info.context;
    struct amg_ep *ep = amg_handle_ep(handle);
    struct amg_ask *ask = amg_mem_zalloc(sizeof(*ask));
    struct amg_buf *buf = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (ask == NULL)
        return;
    ask->op.step = ask_ended;
    ask->context = context;
    ask->token = handle->token;
    ask->lost = lost;
    amg_addr_init_copy(&handle->addr, &ask->to);
    rc = ep->transport->msg.get_buf(ep, ask->to.peer, &buf);
    if (rc != HG_SUCCESS)
        goto free_ask;
    amg_header_write_request(buf->data, AMG_HEADER_ACK, ask->token);
    amg_rpc_seal(context->cls, buf->data, 0);
    amg_context_enter(context);
    rc = ep->transport->msg.send_request(ep, ask->to.peer,
        handle->info.context_id, buf, AMG_HEADER_LEN, true, &ask->op);
    if (rc != HG_SUCCESS)
        goto put_buf;
    handle->ask = ask;
    return;

put_buf:
    amg_context_leave(context);
    ep->transport->msg.put_buf(ep, buf);
free_ask:
    ask_free(ask);
}

void amg_acks_look(
    hg_context_t *context, uint64_t now_ns, amg_acks_lost_fn lost)
{
    struct amg_link *link = NULL;
    uint64_t next_ns = AMG_CONTEXT_NEVER;

    amg_lock_take(&context->upper_lock);
    link = amg_list_first(&context->upper);
    for (; link != NULL; link = amg_list_next(&context->upper, link)) {
        struct hg_handle *handle = AMG_OBJECT(link, struct hg_handle, link);

        if (handle->ask_ns <= now_ns) {
            if (handle->ask == NULL && !handle->is_leaving)
                ask_locked(handle, lost);
            handle->ask_ns = now_ns + handle->ask_wait_ns;
            if (handle->ask_wait_ns < ASK_LATEST_NS)
                handle->ask_wait_ns *= 2;
            amg_context_posted(context, handle->addr.route);
        }
        if (handle->ask_ns < next_ns)
            next_ns = handle->ask_ns;
    }
    amg_lock_give(&context->upper_lock);
    amg_context_look_at(context, next_ns);
}
