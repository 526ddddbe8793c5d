/* SPDX-License-Identifier: BSD-3-Clause */
/* Answer to a call, from its target back to its origin. */
#include "rpc/handle.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mercury_class.h"
#include "rpc/encode.h"
#include "transport/calls.h"
#include "wire/header.h"

/* Each handle that waits for an ACK is in a map of its context, by its token,
 * and on a list. One of these events ends the wait and removes the handle from
 * map and list under the context's lock: the ACK, the failure of the message, a
 * cancel, the end of the context, or the loss of the origin. While the driver
 * has the message, and owns the handle's operation, only the operation's step
 * may end the call; the other events leave the result in the handle.
 *
 * A transport reports a lost peer only through an operation to that peer. So a
 * target without an ACK probes the origin after a second, and then at growing
 * intervals: the probe is a request that the library of the origin answers at
 * once, and that fails if the origin or its context is gone. */

#define ASK_FIRST_NS  (1000 * AMG_NS_PER_MS)
#define ASK_LATEST_NS (60000 * AMG_NS_PER_MS)

/* A probe of an origin. ask_ended() frees a posted probe. */
struct amg_ask {
    struct amg_op op;
    hg_context_t *context;
    uint64_t token;
    struct hg_addr to;
};

/* Begins the wait for the ACK, and assigns a token. Called before the answer is
 * sent, because the ACK may arrive at any time after that. HG_NOMEM. */
static hg_return_t acks_wait(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    hg_return_t rc = HG_SUCCESS;

    handle->token = atomic_fetch_add_explicit(
        &amg_rpc_class_of(context->cls)->next_token, 1, memory_order_relaxed);
    handle->ask = NULL;
    handle->ask_wait_ns = ASK_FIRST_NS;
    handle->ask_ns = amg_clock_ns() + ASK_FIRST_NS;
    handle->is_leaving = true;
    /* NOTE(not a leaf): the map allocates; base/mem takes no lock. */
    amg_lock_lock(&context->rpc->lock);
    rc = amg_map_put(&context->rpc->acks, handle->token, handle);
    if (rc == HG_SUCCESS) {
        if (amg_link_is_listed(&handle->link)) /* `unanswered` list */
            amg_list_remove(&handle->link);
        amg_list_push(&context->rpc->ack_waits, &handle->link);
        amg_handle_set_state(handle, AMG_HANDLE_ACK_WAIT);
    }
    amg_lock_unlock(&context->rpc->lock);
    if (rc == HG_SUCCESS)
        amg_context_look_at(context, handle->ask_ns);
    return rc;
}

/* Ends the wait of a handle. False: the wait had ended before. */
static bool take_out_locked(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    struct amg_ask *ask = handle->ask;

    AMG_ASSERT_HELD(&context->rpc->lock);
    if (!amg_link_is_listed(&handle->link))
        return false;
    amg_list_remove(&handle->link);
    (void)amg_map_remove(&context->rpc->acks, handle->token);
    handle->ask = NULL;
    /* NOTE(not a leaf): under the lock, so that the probe cannot end between
     * the check and the call; the drivers' locks come after this lock. If the
     * endpoint is closed, its close has ended the probe. */
    if (ask != NULL && amg_context_ep(context, ask->to.route) != NULL) {
        struct amg_ep *ep = amg_context_ep(context, ask->to.route);

        ep->transport->ep.cancel(ep, &ask->op);
    }
    return true;
}

/* Ends the wait, as no answer was sent. False: the wait had ended before. */
static bool acks_unwait(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    bool was_waiting = false;

    amg_lock_lock(&context->rpc->lock);
    handle->is_leaving = false;
    was_waiting = take_out_locked(handle);
    amg_lock_unlock(&context->rpc->lock);
    return was_waiting;
}

/* The driver has sent the message, or failed, as `ret` says. True: the call is
 * over, with handle->ret, and the caller must end it. */
static bool acks_left(struct hg_handle *handle, hg_return_t ret)
{
    hg_context_t *context = handle->info.context;
    bool is_over = false;

    amg_lock_lock(&context->rpc->lock);
    handle->is_leaving = false;
    is_over = !amg_link_is_listed(&handle->link);
    if (!is_over && ret != HG_SUCCESS) {
        is_over = take_out_locked(handle);
        handle->ret = ret;
    }
    amg_lock_unlock(&context->rpc->lock);
    return is_over;
}

/* Ends the wait with `ret`. True: the caller must end the call. */
static bool settle_locked(struct hg_handle *handle, hg_return_t ret)
{
    AMG_ASSERT_HELD(&handle->info.context->rpc->lock);
    if (!take_out_locked(handle))
        return false;
    handle->ret = ret;
    return !handle->is_leaving;
}

/* Handles an ACK that no handle waits for. An ACK after a cancel is normal; an
 * ACK with a token that was never given out is logged, once per class. */
static void unknown_ack_log(
    hg_context_t *context, const struct hg_addr *from, uint64_t token)
{
    struct amg_rpc_class *rpcs = amg_rpc_class_of(context->cls);
    char text[256];

    if (token - 1 <
            atomic_load_explicit(&rpcs->next_token, memory_order_relaxed) - 1 ||
        atomic_exchange_explicit(
            &rpcs->has_logged_unknown_ack, true, memory_order_relaxed))
        return;
    AMG_LOG_WARNING("rpc",
        "%s acknowledges a long answer 0x%" PRIx64
        " that was never sent; the program there is faulty, or has another "
        "version of the library; further cases are not reported",
        amg_addr_text(from, text, sizeof(text)), token);
}

/* Handles an ACK. Returns the handle that waited, for the caller to end; NULL:
 * no handle waits, or its message is still with the driver. */
static struct hg_handle *acks_take(
    hg_context_t *context, const struct hg_addr *from, uint64_t token)
{
    struct hg_handle *handle = NULL;
    bool is_known = false;

    amg_lock_lock(&context->rpc->lock);
    handle = amg_map_get(&context->rpc->acks, token);
    if (handle != NULL && !amg_addr_is_same(&handle->addr, from))
        handle = NULL;
    is_known = handle != NULL;
    if (handle != NULL && !settle_locked(handle, HG_SUCCESS))
        handle = NULL;
    amg_lock_unlock(&context->rpc->lock);
    if (!is_known)
        unknown_ack_log(context, from, token);
    return handle;
}

/* Ends the wait of one handle with `ret`. True: the caller must end the call;
 * false: the call has ended, or will when its message completes. */
static bool acks_give_up(struct hg_handle *handle, hg_return_t ret)
{
    hg_context_t *context = handle->info.context;
    bool must_end = false;

    amg_lock_lock(&context->rpc->lock);
    must_end = settle_locked(handle, ret);
    if (handle->is_leaving && !amg_link_is_listed(&handle->link)) {
        struct amg_ep *ep = amg_handle_ep(handle);

        ep->transport->ep.cancel(ep, &handle->op);
    }
    amg_lock_unlock(&context->rpc->lock);
    amg_context_posted(context, handle->addr.route);
    return must_end;
}

/* Ends the wait of any handle at the end of a context; NULL: none waits. */
static struct hg_handle *acks_give_up_any(hg_context_t *context)
{
    struct hg_handle *handle = NULL;
    struct amg_link *link = NULL;

    amg_lock_lock(&context->rpc->lock);
    while (handle == NULL &&
           (link = amg_list_first(&context->rpc->ack_waits)) != NULL) {
        handle = amg_container_of(link, struct hg_handle, link);
        if (!settle_locked(handle, HG_CANCELED))
            handle = NULL; /* closing its endpoint will end the call */
    }
    amg_lock_unlock(&context->rpc->lock);
    return handle;
}

static void respond_end(struct hg_handle *handle, hg_return_t ret)
{
    handle->ret = ret;
    amg_handle_set_state(handle, AMG_HANDLE_ANSWERED);
    amg_handle_finish(handle);
}

/* Ends a call whose origin is gone and has not pulled the long answer. */
static void respond_lost(struct hg_handle *handle)
{
    char text[256];

    AMG_LOG_WARNING("rpc",
        "%s ended before it pulled the long answer to a call of RPC id "
        "0x%" PRIx64 ": %s",
        amg_addr_text(&handle->addr, text, sizeof(text)), handle->info.id,
        HG_Error_to_string(handle->ret));
    respond_end(handle, handle->ret);
}

static void ask_free(struct amg_ask *ask)
{
    amg_addr_fini(&ask->to);
    amg_mem_free(ask);
}

/* The error that ends the wait after a probe of the origin returned `ret`, or
 * HG_SUCCESS: go on waiting. A probe of a closed context returns HG_NOENTRY. */
static hg_return_t loss_of(hg_return_t ret)
{
    if (ret == HG_NOENTRY)
        return HG_CANCELED;
    return ret == HG_HOSTUNREACH || ret == HG_CANCELED ? ret : HG_SUCCESS;
}

/* Step of a probe that was answered or failed: ends the wait after a loss. */
static void ask_ended(struct amg_op *op)
{
    struct amg_ask *ask = amg_container_of(op, struct amg_ask, op);
    hg_context_t *context = ask->context;
    hg_return_t loss = loss_of(op->ret);
    struct hg_handle *handle = NULL;
    bool must_end = false;

    amg_lock_lock(&context->rpc->lock);
    handle = amg_map_get(&context->rpc->acks, ask->token);
    if (handle != NULL && handle->ask == ask) {
        handle->ask = NULL;
        must_end = loss != HG_SUCCESS && settle_locked(handle, loss);
    }
    amg_lock_unlock(&context->rpc->lock);
    if (op->ret == HG_SUCCESS && op->data != NULL) {
        struct amg_ep *ep = amg_context_ep(context, ask->to.route);

        ep->transport->msg.release_reply(ep, op);
    }
    if (must_end)
        respond_lost(handle);
    ask_free(ask);
    amg_context_leave(context);
}

/* Probes the origin; a failed probe is repeated later. NOTE(not a leaf): under
 * the lock, so that a cancel finds the probe posted. */
static void ask_locked(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;
    struct amg_ep *ep = amg_handle_ep(handle);
    struct amg_ask *ask = amg_mem_zalloc(sizeof(*ask));
    struct amg_buf *buf = NULL;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD(&context->rpc->lock);
    if (ask == NULL)
        return;
    ask->op.step = ask_ended;
    ask->context = context;
    ask->token = handle->token;
    amg_addr_init_copy(&handle->addr, &ask->to);
    rc = ep->transport->msg.get_buf(ep, ask->to.peer, &buf);
    if (rc != HG_SUCCESS)
        goto free_ask;
    amg_header_write_request(buf->data, AMG_HEADER_ACK, ask->token);
    amg_rpc_seal(context->cls, buf->data, 0);
    amg_context_enter(context);
    rc = ep->transport->msg.send_request(ep,
        (struct amg_target){ask->to.peer, handle->info.context_id}, buf,
        AMG_HEADER_LEN, true, &ask->op);
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

void amg_respond_look(hg_context_t *context, uint64_t now_ns)
{
    struct amg_link *link = NULL;
    uint64_t next_ns = AMG_CONTEXT_NEVER;

    amg_lock_lock(&context->rpc->lock);
    link = amg_list_first(&context->rpc->ack_waits);
    for (; link != NULL; link = amg_list_next(&context->rpc->ack_waits, link)) {
        struct hg_handle *handle =
            amg_container_of(link, struct hg_handle, link);

        if (handle->ask_ns <= now_ns) {
            if (handle->ask == NULL && !handle->is_leaving)
                ask_locked(handle);
            handle->ask_ns = now_ns + handle->ask_wait_ns;
            if (handle->ask_wait_ns < ASK_LATEST_NS)
                handle->ask_wait_ns *= 2;
            amg_context_posted(context, handle->addr.route);
        }
        if (handle->ask_ns < next_ns)
            next_ns = handle->ask_ns;
    }
    amg_lock_unlock(&context->rpc->lock);
    amg_context_look_at(context, next_ns);
}

/* An answer too long for one message stays exposed here until the origin tells,
 * in a one-way message of the library (AMG_HEADER_ACK), that the origin pulled
 * the answer or will not. The handle of the answer waits (see the top of this
 * file) under a token, which the reply carries and the ACK names. */

static void respond_run(struct amg_cq_entry *entry)
{
    struct hg_handle *handle = amg_container_of(entry, struct hg_handle, entry);
    hg_context_t *context = handle->info.context;
    struct hg_cb_info info = {
        .arg = handle->arg,
        .type = HG_CB_RESPOND,
        .ret = handle->ret,
        .info.respond.handle = handle,
    };

    if (handle->callback != NULL)
        handle->callback(&info);
    amg_handle_unref(handle);
    amg_context_leave(context);
}

static void respond_step(struct amg_op *op)
{
    respond_end(amg_container_of(op, struct hg_handle, op), op->ret);
}

/* Step of a long answer that was sent, or failed. */
static void respond_long_step(struct amg_op *op)
{
    struct hg_handle *handle = amg_container_of(op, struct hg_handle, op);

    if (acks_left(handle, op->ret))
        respond_end(handle, handle->ret);
}

/* An answer without a callback was sent. `is_claimed`: the caller has claimed
 * the answer's reference, which ends here. If not, the program may destroy the
 * handle as soon as its state is ANSWERED. */
static inline void respond_left(struct hg_handle *handle, bool is_claimed)
{
    amg_handle_move_state(handle, AMG_HANDLE_REPLYING, AMG_HANDLE_ANSWERED);
    if (!AMG_LIKELY(!is_claimed))
        amg_handle_unref(handle);
}

/* Sends an answer whose completion has no callback. */
static hg_return_t respond_leave(struct hg_handle *handle, struct amg_ep *ep,
    struct amg_buf *buf, uint32_t len)
{
    bool is_claimed = amg_refs_spare(&handle->spare) == 0;
    hg_return_t rc =
        ep->transport->msg.send_reply(ep, handle->arrival, buf, len, NULL);

    if (rc == HG_SUCCESS)
        respond_left(handle, is_claimed);
    return rc;
}

/* Sends the encoded answer, and sets what follows its completion. */
static hg_return_t respond_post(
    struct hg_handle *handle, const struct amg_message *message)
{
    struct amg_buf *buf = message->buf;
    struct amg_ep *ep = amg_handle_ep(handle);
    bool is_long = (message->flags & AMG_HEADER_MORE) != 0;
    bool has_op = handle->callback != NULL || is_long;
    hg_return_t rc = HG_SUCCESS;

    if (has_op) /* the operation takes the answer's reference */
        (void)amg_refs_take_spare(&handle->spare);
    if (is_long && (rc = acks_wait(handle)) != HG_SUCCESS)
        return rc;
    amg_header_write_reply(
        buf->data, message->flags, HG_SUCCESS, handle->token);
    amg_rpc_finish(handle, message);
    if (!has_op)
        return respond_leave(handle, ep, buf, message->len);
    amg_context_enter(handle->info.context);
    handle->op.step = is_long ? respond_long_step : respond_step;
    handle->op.data = NULL;
    rc = ep->transport->msg.send_reply(
        ep, handle->arrival, buf, message->len, &handle->op);
    if (rc == HG_SUCCESS)
        return HG_SUCCESS;
    if (is_long && !acks_unwait(handle)) {
        /* An ACK, from a peer that violates the protocol, or a cancel has ended
         * the call already. */
        ep->transport->msg.put_buf(ep, buf);
        respond_end(handle, handle->ret);
        return HG_SUCCESS;
    }
    amg_context_leave(handle->info.context);
    return rc;
}

/* Is there nothing to encode but the plain head, and nothing to do after it was
 * sent? */
static inline bool respond_is_empty(
    const struct hg_handle *handle, hg_cb_t callback, const void *out_struct)
{
    return callback == NULL &&
           (out_struct == NULL || handle->rpc->out_proc == NULL) &&
           amg_rpc_is_plain(amg_rpc_class_of(handle->info.hg_class));
}

/* Sends at once the answer of `len` bytes at `words`, which begin with room for
 * the head. False: the driver cannot. */
static AMG_INLINE bool respond_now(
    struct hg_handle *handle, struct amg_ep *ep, uint64_t *words, uint32_t len)
{
    bool is_claimed = amg_refs_spare(&handle->spare) == 0;

    amg_header_write_reply(words, 0, HG_SUCCESS, 0);
    if (!AMG_LIKELY(
            ep->transport->msg.reply_now(ep, handle->arrival, words, len)))
        return false;
    respond_left(handle, is_claimed);
    return true;
}

static inline bool respond_empty_now(
    struct hg_handle *handle, struct amg_ep *ep)
{
    uint64_t head[AMG_NOW_LEN / sizeof(uint64_t)];

    handle->out.len = 0;
    return respond_now(handle, ep, head, AMG_HEADER_LEN);
}

/* Moves the output of a looped call, from the message's buffer or from exposed
 * memory, to the handle of the origin. */
static hg_return_t looped_move(
    struct hg_handle *handle, const struct amg_message *message)
{
    struct amg_args *from = &handle->out;
    struct amg_args *to = &handle->looped.origin->out;

    if (from->extra == NULL) {
        to->extra = amg_mem_alloc(from->len + 1); /* `len` may be 0 */
        if (to->extra == NULL)
            return HG_NOMEM;
        memcpy(to->extra,
            (char *)message->buf->data + (message->len - from->len), from->len);
    } else {
        to->extra = from->extra;
        to->extra_bulk = from->extra_bulk;
        from->extra = NULL;
        from->extra_bulk = NULL;
    }
    to->data = to->extra;
    amg_rpc_put_buf(handle, message);
    return HG_SUCCESS;
}

/* Encodes the answer of a looped call into the handle of its origin. */
static hg_return_t looped_encode(struct hg_handle *handle, void *out_struct)
{
    struct hg_handle *origin = handle->looped.origin;
    struct amg_encoding encoding;
    struct amg_message *message = &encoding.message;
    hg_return_t rc = HG_SUCCESS;

    /* Not by amg_rpc_encode(), whose buffers are those of the peer at
     * handle->addr: here that peer is the root of the call. */
    if (origin->is_group)
        return amg_rpc_encode_apart(handle, handle->rpc->out_proc, out_struct,
            &origin->out, origin->looped.short_args);
    rc = amg_rpc_encode(&encoding, handle, true, out_struct, true);
    if (rc != HG_SUCCESS)
        return rc;
    if (AMG_LIKELY(message->buf == NULL))
        amg_loop_bring(origin, &origin->out, &message->now[2]);
    else
        rc = looped_move(handle, message);
    origin->out.len = handle->out.len;
    if (AMG_LIKELY(rc == HG_SUCCESS))
        return HG_SUCCESS;
    amg_args_release(&handle->out);
    amg_rpc_put_buf(handle, message);
    return rc;
}

/* Gives an answer to the origin of a looped call. */
AMG_NOINLINE static hg_return_t respond_looped(
    struct hg_handle *handle, void *out_struct, bool *is_over)
{
    bool has_callback = handle->callback != NULL && is_over == NULL;
    bool is_claimed = amg_refs_spare(&handle->spare) == 0;
    hg_return_t rc = looped_encode(handle, out_struct);

    if (rc != HG_SUCCESS)
        return rc;
    handle->entry.run = respond_run;
    handle->entry.is_incoming = amg_role.is_serving;
    if (is_over != NULL)
        *is_over = true;
    amg_loop_end(handle, HG_SUCCESS);
    if (AMG_LIKELY(!has_callback)) {
        respond_left(handle, is_claimed);
        return HG_SUCCESS;
    }
    (void)amg_refs_take_spare(&handle->spare); /* for the callback */
    amg_context_enter(handle->info.context);
    respond_end(handle, HG_SUCCESS);
    return HG_SUCCESS;
}

/* Encodes any answer and sends it. With `is_over`, and a driver whose own
 * reply_now() says that the answer has left, sends the answer like one without
 * a callback: then `*is_over` is set, as for each looped call, and no callback
 * follows. */
AMG_NOINLINE static hg_return_t respond_any(struct hg_handle *handle,
    struct amg_ep *ep, void *out_struct, bool *is_over)
{
    struct amg_encoding encoding;
    struct amg_message *message = &encoding.message;
    bool may_go_now =
        handle->callback == NULL ||
        (is_over != NULL && ep->transport->msg.reply_now != amg_reply_by_buf);
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_LIKELY(handle->looped.origin == NULL))
        return respond_looped(handle, out_struct, is_over);
    rc = amg_rpc_encode(&encoding, handle, true, out_struct, may_go_now);
    if (!AMG_LIKELY(rc == HG_SUCCESS))
        return rc;
    handle->entry.run = respond_run;
    handle->entry.is_incoming = amg_role.is_serving;
    if (AMG_LIKELY(message->buf == NULL)) {
        if (AMG_LIKELY(respond_now(handle, ep, message->now, message->len))) {
            if (is_over != NULL)
                *is_over = true;
            return HG_SUCCESS;
        }
        rc = amg_rpc_move_to_buf(handle, message);
        if (rc != HG_SUCCESS)
            return rc;
    }
    handle->token = 0;
    rc = respond_post(handle, message);
    if (!AMG_LIKELY(rc == HG_SUCCESS)) {
        amg_args_release(&handle->out);
        amg_rpc_put_buf(handle, message);
    }
    return rc;
}

/* May the call be answered now? If so, claims the answer for the caller. */
static AMG_INLINE hg_return_t respond_begin(struct hg_handle *handle)
{
    if (!amg_handle_expects_answer(handle)) {
        AMG_LOG_ERROR("rpc", "RPC id 0x%" PRIx64 " is one-way: no answer",
            handle->info.id);
        return HG_OPNOTSUPPORTED;
    }
    if (amg_handle_state(handle) != AMG_HANDLE_RUNNING) {
        AMG_LOG_ERROR("rpc",
            "a call of RPC id 0x%" PRIx64 " was answered before",
            handle->info.id);
        return HG_BUSY;
    }
    if (amg_refs_get(&handle->refs) == 1 && !amg_unanswered_claim(handle)) {
        AMG_LOG_ERROR("rpc",
            "a call of RPC id 0x%" PRIx64
            " was destroyed and cancelled before it was answered",
            handle->info.id);
        return HG_CANCELED;
    }
    amg_handle_move_state(handle, AMG_HANDLE_RUNNING, AMG_HANDLE_REPLYING);
    return HG_SUCCESS;
}

/* Answers the call of an existing handle; `is_over` as in amg_respond(), or
 * NULL. */
static AMG_INLINE hg_return_t respond(struct hg_handle *handle,
    hg_cb_t callback, void *arg, void *out_struct, bool *is_over)
{
    hg_context_t *context = handle->info.context;
    struct amg_ep *ep = NULL;
    unsigned route = 0;
    /* Refuses an inherited context. */
    hg_return_t rc = amg_context_send_before(context);

    if (rc == HG_SUCCESS)
        rc = respond_begin(handle);
    if (rc != HG_SUCCESS)
        return rc;
    route = handle->addr.route;
    ep = amg_handle_ep(handle);
    handle->callback = callback;
    handle->arg = arg;
    if (is_over != NULL || !AMG_LIKELY(handle->looped.origin == NULL) ||
        !respond_is_empty(handle, callback, out_struct) ||
        !respond_empty_now(handle, ep))
        rc = respond_any(handle, ep, out_struct, is_over);
    if (!AMG_LIKELY(rc == HG_SUCCESS)) {
        handle->ret = rc;
        amg_unanswered_again(handle);
        return rc;
    }
    amg_counters_add(&context->counters, AMG_COUNT_REPLIES_SENT);
    amg_context_posted(context, route);
    return HG_SUCCESS;
}

hg_return_t HG_Respond(
    hg_handle_t handle, hg_cb_t callback, void *arg, void *out_struct)
{
    if (!AMG_HANDLE_EXISTS(handle) || !AMG_CONTRACT(handle->is_incoming,
                                          "handle %p was made by HG_Create(); "
                                          "only the target of a call responds",
                                          (void *)handle))
        return amg_refusal();
    return respond(handle, callback, arg, out_struct, NULL);
}

hg_return_t amg_respond(struct hg_handle *handle, hg_cb_t callback, void *arg,
    void *out_struct, bool *is_over)
{
    *is_over = false;
    return respond(handle, callback, arg, out_struct, is_over);
}

void amg_respond_take_ack(
    hg_context_t *context, const struct hg_addr *from, uint64_t token)
{
    struct hg_handle *handle = acks_take(context, from, token);

    if (handle != NULL)
        respond_end(handle, HG_SUCCESS);
}

void amg_respond_abandon(hg_context_t *context)
{
    struct hg_handle *handle = NULL;

    while ((handle = acks_give_up_any(context)) != NULL) {
        char text[256];

        AMG_LOG_WARNING("rpc",
            "%s has not acknowledged a long reply of this process; the context "
            "ends nevertheless",
            amg_addr_text(&handle->addr, text, sizeof(text)));
        respond_end(handle, HG_CANCELED);
    }
}

void amg_respond_cancel(struct hg_handle *handle)
{
    struct amg_ep *ep = amg_handle_ep(handle);

    if (amg_handle_state(handle) == AMG_HANDLE_ACK_WAIT) {
        if (acks_give_up(handle, HG_CANCELED))
            respond_end(handle, HG_CANCELED);
    } else {
        ep->transport->ep.cancel(ep, &handle->op);
        amg_context_posted(handle->info.context, handle->addr.route);
    }
}
