/* SPDX-License-Identifier: BSD-3-Clause */
/* Origin side of a call: sends a request and receives its reply.
 *
 * Request and reply are one operation of the driver: it completes when the
 * reply has arrived (one-way: when the request was sent). A one-way request
 * whose arguments must be pulled is sent as a request that wants a reply: the
 * empty reply tells that the exposed memory is free again. */
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "mercury_handle.h"
#include "rpc/encode.h"
#include "rpc/handle.h"

static void forward_run(struct amg_cq_entry *entry)
{
    struct hg_handle *handle = amg_container_of(entry, struct hg_handle, entry);
    hg_context_t *context = handle->info.context;
    struct hg_cb_info info = {
        .arg = handle->arg,
        .type = HG_CB_FORWARD,
        .ret = handle->ret,
        .info.forward.handle = handle,
    };
    hg_cb_t callback = handle->callback;

    amg_handle_move_state(handle, AMG_HANDLE_READY, AMG_HANDLE_DONE);
    if (callback != NULL)
        callback(&info);
    if (!AMG_LIKELY(!amg_refs_unref(&handle->refs, 1, &handle->spare)))
        amg_handle_end(handle); /* the program has dropped its reference */
    amg_context_leave(context);
}

/* The call has ended, with success or an error. */
static inline void forward_end_from(
    struct hg_handle *handle, enum amg_handle_state now, hg_return_t ret)
{
    handle->ret = ret;
    amg_handle_move_state(handle, now, AMG_HANDLE_READY);
    amg_handle_finish(handle);
}

AMG_NOINLINE static void forward_end(struct hg_handle *handle, hg_return_t ret)
{
    forward_end_from(handle, amg_handle_state(handle), ret);
}

static void ack_send(const struct hg_handle *handle)
{
    amg_respond_send_ack(handle->info.context, &handle->addr,
        handle->info.context_id, handle->token);
}

/* The pull of a long reply has ended. If the pull failed there is no output:
 * the message has only the descriptor of the target's memory. */
static void reply_fetched(struct hg_handle *handle, hg_return_t rc)
{
    ack_send(handle);
    if (atomic_load_explicit(&handle->is_cancelled, memory_order_relaxed))
        rc = HG_CANCELED;
    if (rc != HG_SUCCESS)
        amg_args_release(&handle->out);
    forward_end(handle, rc);
}

/* Refuses an unusable reply. An ACK lets the target free a long reply. */
static void reply_refuse(
    struct hg_handle *handle, hg_return_t rc, bool is_long, const char *why)
{
    char text[256];

    AMG_LOG_WARNING("rpc", "a reply of %s is not valid: %s",
        amg_addr_text(&handle->addr, text, sizeof(text)), why);
    if (is_long)
        ack_send(handle);
    amg_args_release(&handle->out);
    forward_end(handle, rc);
}

/* Reads a reply that is not plain, and ends the call or pulls the arguments. */
AMG_NOINLINE static void reply_take(
    struct hg_handle *handle, const struct amg_rpc_class *rpcs)
{
    struct amg_op *op = &handle->op;
    struct amg_header header;
    const char *why = NULL;
    bool is_long = false;
    hg_return_t rc = HG_SUCCESS;

    rc = amg_header_read(op->data, op->len, AMG_HEADER_REPLY, &header, &why);
    if (rc != HG_SUCCESS) {
        reply_refuse(handle, rc, false, why);
        return;
    }
    if (header.ret != HG_SUCCESS) {
        forward_end(handle, (hg_return_t)header.ret);
        return;
    }
    is_long = (header.flags & AMG_HEADER_MORE) != 0;
    handle->token = header.id;
    /* The empty reply to long one-way arguments has no user header. */
    if (header.user_len != rpcs->out_offset && !handle->is_one_way) {
        reply_refuse(handle, HG_PROTOCOL_ERROR, is_long,
            "the length of the user's header is not what "
            "HG_Class_set_output_offset() set here");
        return;
    }
    rc = amg_rpc_take(&handle->out, op->data, op->len, &header);
    if (rc != HG_SUCCESS) {
        reply_refuse(handle, rc, is_long,
            "the descriptor of its long arguments is damaged (checksum "
            "mismatch)");
        return;
    }
    if (!is_long) {
        forward_end(handle, HG_SUCCESS);
        return;
    }
    amg_handle_set_state(handle, AMG_HANDLE_FETCHING);
    rc = amg_overflow_fetch(
        handle, &handle->out, amg_overflow_len(&handle->out), reply_fetched);
    if (rc != HG_SUCCESS)
        reply_fetched(handle, rc);
}

static void forward_step(struct amg_op *op)
{
    struct hg_handle *handle = amg_container_of(op, struct hg_handle, op);
    const struct amg_rpc_class *rpcs = amg_rpc_class_of(handle->info.hg_class);

    if (op->ret != HG_SUCCESS || op->data == NULL) {
        forward_end(handle, op->ret);
        return;
    }
    handle->has_reply = true;
    amg_counters_add(&handle->info.context->counters, AMG_COUNT_REPLIES_CAME);
    if (!AMG_LIKELY(
            amg_rpc_is_plain(rpcs) &&
            amg_header_is_plain(op->data, op->len, AMG_HEADER_REPLY, 0))) {
        reply_take(handle, rpcs);
        return;
    }
    handle->out.data = (char *)op->data + AMG_HEADER_LEN;
    handle->out.len = op->len - AMG_HEADER_LEN;
    forward_end_from(handle, AMG_HANDLE_POSTED, HG_SUCCESS);
}

/* Moves a handle in DONE to IDLE. HG_BUSY: the handle is in flight. */
static AMG_INLINE hg_return_t forward_renew(struct hg_handle *handle)
{
    enum amg_handle_state state = amg_handle_state(handle);

    if (state == AMG_HANDLE_IDLE)
        return HG_SUCCESS;
    if (state != AMG_HANDLE_DONE) {
        AMG_LOG_ERROR("rpc",
            "handle %p is still in flight; it may be sent again after its "
            "callback ran",
            (void *)handle);
        return HG_BUSY;
    }
    amg_handle_release_args(handle);
    amg_handle_move_state(handle, AMG_HANDLE_DONE, AMG_HANDLE_IDLE);
    return HG_SUCCESS;
}

hg_return_t amg_forward_renew(struct hg_handle *handle)
{
    return forward_renew(handle);
}

/* May the handle be sent? */
static hg_return_t forward_check(struct hg_handle *handle)
{
    if (!AMG_CONTRACT_OF("HG_Forward", !handle->is_incoming,
            "handle %p is of an incoming call; only a handle of HG_Create() "
            "can be forwarded",
            (void *)handle) ||
        !AMG_CONTRACT_OF("HG_Forward", handle->addr.peer != NULL,
            "handle %p has no address; HG_Reset() gives it one",
            (void *)handle))
        return HG_INVALID_ARG;
    if (handle->info.id == 0) {
        AMG_LOG_ERROR("rpc",
            "HG_Forward(): the handle names no RPC; HG_Reset() gives it one");
        return HG_FAULT;
    }
    return forward_renew(handle);
}

/* Is there nothing to encode but the plain head? */
static inline bool forward_is_empty(
    const struct hg_handle *handle, const void *in_struct)
{
    return (in_struct == NULL || handle->rpc->in_proc == NULL) &&
           amg_rpc_is_plain(amg_rpc_class_of(handle->info.hg_class));
}

/* Sends a request without arguments at once. False: the driver cannot. */
static inline bool forward_empty_now(
    struct hg_handle *handle, struct amg_ep *ep)
{
    uint64_t head[AMG_NOW_LEN / sizeof(uint64_t)];

    handle->in.len = 0;
    amg_header_write_request(
        head, handle->is_one_way ? AMG_HEADER_ONE_WAY : 0, handle->info.id);
    return ep->transport->msg.request_now(ep,
        (struct amg_target){handle->addr.peer, handle->info.context_id}, head,
        AMG_HEADER_LEN, !handle->is_one_way, &handle->op);
}

/* A looped call, of a context to itself with a short input, sends no message:
 * the input moves into the handle of the target, which is queued at once.
 *
 *  - Nothing is lost: the handle of the target has a pointer to the handle of
 *    the origin, which amg_loop_end() takes when the call is answered. The
 *    answer's reference (handle.c) makes sure that somebody answers, and the
 *    operation of the origin holds a reference to the origin's handle.
 *  - Calls begin in order: the completion queue keeps the order, and a call is
 *    looped only if all earlier messages of this process to itself are answered
 *    (one-way: released), and no call waits in order.c. One-way calls without a
 *    handle are messages, and so are calls to another context.
 *  - A looped call takes no credit, so it never waits. HG_Trigger() cannot run
 *    forever: calls made by callbacks are messages, which wait for progress.
 *
 * Other calls to oneself are messages: if the input is long, or was long the
 * last time (encode.h); if the class has checksums, a header of the program, or
 * no_loopback; if the context receives no more; if the RPC has no handler here,
 * or one that takes no handle; if no memory is left for the target's handle. */

/* May the call, whose input is short, go without a message? */
static bool loop_may(const struct hg_handle *origin)
{
    const hg_context_t *context = origin->info.context;
    struct amg_ep *ep = amg_handle_ep(origin);
    const struct amg_rpc *rpc = origin->rpc;

    return !amg_role.is_running && origin->info.context_id == context->id &&
           rpc->callback != NULL && rpc->oneway == NULL &&
           amg_rpc_find(context->cls, rpc->id) == rpc &&
           ep->transport->ep.is_clear(ep) &&
           atomic_load_explicit(&context->gates, memory_order_acquire) == 0;
}

/* Encodes any request and sends it. */
AMG_NOINLINE static hg_return_t forward_any(
    struct hg_handle *handle, struct amg_ep *ep, void *in_struct)
{
    struct amg_target to = {handle->addr.peer, handle->info.context_id};
    struct amg_encoding encoding;
    struct amg_message *message = &encoding.message;
    bool wants_reply = !handle->is_one_way;
    hg_return_t rc = amg_rpc_encode(&encoding, handle, false, in_struct, true);

    if (!AMG_LIKELY(rc == HG_SUCCESS))
        return rc;
    if (handle->is_one_way)
        message->flags |= AMG_HEADER_ONE_WAY;
    if (!AMG_LIKELY(!handle->is_group))
        message->flags |= AMG_HEADER_GROUP;
    if (AMG_LIKELY(message->buf == NULL)) {
        if (!AMG_LIKELY(handle->addr.route != AMG_ROUTE_SELF) &&
            loop_may(handle) && amg_serve_to_self(handle, &message->now[2])) {
            if (!wants_reply)
                forward_end_from(handle, AMG_HANDLE_POSTED, HG_SUCCESS);
            return HG_SUCCESS;
        }
        amg_header_write_request(message->now, message->flags, handle->info.id);
        if (AMG_LIKELY(ep->transport->msg.request_now(
                ep, to, message->now, message->len, wants_reply, &handle->op)))
            return HG_SUCCESS;
        rc = amg_rpc_move_to_buf(handle, message);
        if (rc != HG_SUCCESS)
            return rc;
    } else {
        wants_reply |= (message->flags & AMG_HEADER_MORE) != 0;
        amg_header_write_request(
            message->buf->data, message->flags, handle->info.id);
        amg_rpc_finish(handle, message);
    }
    rc = ep->transport->msg.send_request(
        ep, to, message->buf, message->len, wants_reply, &handle->op);
    if (rc != HG_SUCCESS)
        amg_rpc_put_buf(handle, message);
    return rc;
}

/* Adds spare references for this call and later ones. */
AMG_NOINLINE static void spare_make(struct hg_handle *handle)
{
    atomic_fetch_add_explicit(
        &handle->refs, AMG_HANDLE_SPARE, memory_order_relaxed);
    amg_refs_set(&handle->spare, AMG_HANDLE_SPARE - 1);
}

/* Sends the call of an idle handle, which may be gone at the return. */
static AMG_INLINE hg_return_t forward_post(struct hg_handle *handle,
    void (*run)(struct amg_cq_entry *), void *in_struct)
{
    hg_context_t *context = handle->info.context;
    struct amg_ep *ep = amg_handle_ep(handle);
    unsigned route = handle->addr.route;
    hg_return_t rc = HG_SUCCESS;

    atomic_store_explicit(&handle->is_cancelled, false, memory_order_relaxed);
    handle->entry.run = run;
    handle->op.step = forward_step;
    handle->op.data = NULL;
    /* Set before the post: the reply may arrive before the post returns. */
    amg_handle_move_state(handle, AMG_HANDLE_IDLE, AMG_HANDLE_POSTED);
    if (!AMG_LIKELY(amg_refs_take_spare(&handle->spare)))
        spare_make(handle);
    amg_context_enter(context);
    if (!AMG_LIKELY(route != AMG_ROUTE_SELF) ||
        !forward_is_empty(handle, in_struct) || !forward_empty_now(handle, ep))
        rc = forward_any(handle, ep, in_struct);
    if (AMG_LIKELY(rc == HG_SUCCESS)) {
        amg_counters_add(&context->counters, AMG_COUNT_REQUESTS_SENT);
        amg_context_posted(context, route);
        return HG_SUCCESS;
    }
    amg_handle_release_args(handle);
    amg_handle_set_state(handle, AMG_HANDLE_IDLE);
    amg_context_leave(context);
    amg_handle_unref(handle);
    return rc;
}

hg_return_t HG_Forward(
    hg_handle_t handle, hg_cb_t callback, void *arg, void *in_struct)
{
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_HANDLE_EXISTS(handle))
        return amg_refusal();
    /* Refuses an inherited context. */
    rc = amg_context_send_before(handle->info.context);
    if (rc == HG_SUCCESS)
        rc = forward_check(handle);
    if (rc != HG_SUCCESS)
        return rc;
    handle->callback = callback;
    handle->arg = arg;
    handle->is_one_way = handle->rpc->is_one_way;
    handle->entry.is_incoming = amg_role.is_serving;
    amg_role.has_posted = true;
    return forward_post(handle, forward_run, in_struct);
}

hg_return_t amg_forward_hidden(struct hg_handle *handle,
    void (*run)(struct amg_cq_entry *), void *in_struct)
{
    handle->is_one_way = false;
    return forward_post(handle, run, in_struct);
}

/* Cancels the pull of a long reply, if one is in flight. */
static void fetch_cancel(struct hg_handle *handle)
{
    hg_context_t *context = handle->info.context;

    /* NOTE(not a leaf): under the lock, so that the transfer cannot end between
     * the check and the call; the drivers' locks come after this lock. */
    amg_lock_lock(&context->rpc->lock);
    if (handle->fetch != NULL)
        amg_transfer_cancel(handle->fetch);
    amg_lock_unlock(&context->rpc->lock);
}

void amg_forward_cancel(struct hg_handle *handle)
{
    struct amg_ep *ep = amg_handle_ep(handle);
    enum amg_handle_state state = amg_handle_state(handle);

    if (state != AMG_HANDLE_POSTED && state != AMG_HANDLE_FETCHING)
        return; /* nothing in flight: no effect */
    /* Cancels request and pull, because the state may change meanwhile. */
    atomic_store_explicit(&handle->is_cancelled, true, memory_order_relaxed);
    ep->transport->ep.cancel(ep, &handle->op);
    fetch_cancel(handle);
    amg_context_posted(handle->info.context, handle->addr.route);
}

hg_return_t HG_Cancel(hg_handle_t handle)
{
    if (!AMG_HANDLE_OK(handle))
        return amg_refusal();
    if (handle->is_incoming) {
        enum amg_handle_state state = amg_handle_state(handle);

        if (state == AMG_HANDLE_ACK_WAIT ||
            (state == AMG_HANDLE_REPLYING && handle->callback != NULL &&
                handle->arrival != NULL))
            amg_respond_cancel(handle);
        return HG_SUCCESS;
    }
    if (amg_rpc_class_of(handle->info.hg_class)->group_ops->cancel(handle))
        return HG_SUCCESS;
    if (handle->addr.peer != NULL && amg_addr_is_self(&handle->addr)) {
        AMG_LOG_ERROR(
            "rpc", "HG_Cancel(): a call to oneself cannot be canceled");
        return HG_OPNOTSUPPORTED;
    }
    amg_forward_cancel(handle);
    return HG_SUCCESS;
}
