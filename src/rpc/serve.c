/* SPDX-License-Identifier: BSD-3-Clause */
/* The target's side: from an arrival to the user's function.
 *
 * Nothing of what arrived is believed: the head is checked, the id looked up,
 * and whatever is wrong is answered with a code (one-way: dropped), with one
 * line in the log that names the peer. */
#include "rpc/serve.h"

#include <inttypes.h>

#include "base/log.h"
#include "mercury_class.h"
#include "rpc/early.h"
#include "rpc/encode.h"
#include "rpc/handle.h"
#include "rpc/overflow.h"
#include "rpc/pulls.h"
#include "rpc/respond.h"
#include "wire/header.h"

static void serve_run(struct amg_cq_entry *entry)
{
    struct hg_handle *handle = AMG_OBJECT(entry, struct hg_handle, entry);

    amg_handle_set_state(handle, AMG_HANDLE_RUNNING);
    if (handle->is_long)
        amg_pulls_end(handle);
    if (!handle->is_one_way) {
        amg_refs_set(&handle->refs, 2); /* the program's, and the answer's */
        amg_refs_set(&handle->spare, 1);
    }
    handle->rpc->callback(handle);
}

static void serve_queue(struct hg_handle *handle)
{
    amg_handle_set_state(handle, AMG_HANDLE_WAITING);
    amg_context_queue(handle->info.context, &handle->entry);
}

void amg_serve_refuse(
    struct hg_handle *handle, hg_return_t ret, const char *why)
{
    char text[256];

    AMG_LOG_WARNING("rpc", "a request from %s (RPC id 0x%" PRIx64 "): %s; %s",
        amg_addr_text(&handle->addr, text, sizeof(text)), handle->info.id, why,
        handle->arrival->is_one_way ? "dropped" : HG_Error_to_string(ret));
    amg_respond_code(handle, ret);
    amg_handle_set_state(handle, AMG_HANDLE_ANSWERED);
    amg_handle_drop(handle);
}

static void args_pulled(struct hg_handle *handle, hg_return_t rc)
{
    if (rc != HG_SUCCESS) {
        amg_pulls_end(handle);
        amg_serve_refuse(handle, rc, "its long arguments could not be pulled");
        return;
    }
    /* One-way: the empty answer tells the origin that its memory is free. */
    if (handle->is_one_way)
        amg_respond_code(handle, HG_SUCCESS);
    serve_queue(handle);
}

void amg_serve_pull(struct hg_handle *handle)
{
    hg_return_t rc =
        amg_overflow_fetch(handle, &handle->in, handle->pull_len, args_pulled);

    if (rc == HG_SUCCESS)
        return;
    amg_pulls_end(handle);
    amg_serve_refuse(handle, rc, "the place of its long arguments is unknown");
}

void amg_serve_known(struct hg_handle *handle)
{
    if (handle->rpc == NULL)
        handle->rpc = amg_rpc_find(handle->info.hg_class, handle->info.id);
    if (handle->rpc == NULL) {
        if (!amg_early_keep(handle))
            amg_serve_refuse(
                handle, HG_NOENTRY, "this rank has not registered it");
    } else if (handle->rpc->callback == NULL) {
        amg_serve_refuse(
            handle, HG_INVALID_ARG, "it is registered here without a callback");
    } else if (handle->is_long) {
        amg_handle_set_state(handle, AMG_HANDLE_PULLING);
        handle->pull_len = amg_overflow_len(&handle->in);
        amg_pulls_add(handle);
    } else {
        serve_queue(handle);
    }
}

/* A request whose head is right. */
static void serve_request(
    struct hg_handle *handle, const struct amg_header *header)
{
    const struct amg_rpc_class *rpcs = amg_rpc_class_of(handle->info.hg_class);
    const char *why = "the place of its arguments is damaged";
    hg_return_t rc = amg_rpc_take(
        &handle->in, handle->arrival->data, handle->arrival->len, header);

    handle->is_one_way = (header->flags & AMG_HEADER_ONE_WAY) != 0;
    handle->entry.run = serve_run;
    handle->entry.is_served = true;
    handle->is_long = (header->flags & AMG_HEADER_MORE) != 0;
    handle->rpc = amg_rpc_find(handle->info.hg_class, header->id);
    if (rc == HG_SUCCESS)
        why = "the program's callback for new handles failed";
    if (rc == HG_SUCCESS)
        rc = amg_handle_greet(handle);
    if (rc != HG_SUCCESS)
        amg_serve_refuse(handle, rc, why);
    else if (header->user_len != rpcs->in_offset)
        amg_serve_refuse(handle, HG_PROTOCOL_ERROR,
            "the length of the user's header is not what "
            "HG_Class_set_input_offset() set here");
    else
        amg_serve_known(handle);
}

/* There is no memory for a handle: one on the stack answers. */
static void serve_refuse_without_handle(
    hg_context_t *context, unsigned route, struct amg_arrival *arrival)
{
    struct hg_handle handle = {
        .info = {.hg_class = context->cls, .context = context},
        .arrival = arrival,
        .is_served = true,
    };
    struct amg_ep *ep = amg_context_ep(context, route);

    AMG_LOG_ERROR("rpc", "no memory for a handle; a request is refused");
    amg_addr_init_from(context->cls, route, arrival->from, &handle.addr);
    amg_respond_code(&handle, HG_NOMEM);
    amg_addr_fini(&handle.addr);
    ep->transport->msg.release(ep, arrival);
}

/* Was it sent in the way that its flags say? One whose origin waits for a
 * reply must get one, and one whose origin does not can get none. */
static bool flags_are_right(
    const struct amg_arrival *arrival, const struct amg_header *header)
{
    unsigned flags = header->flags;
    bool is_one_way =
        (flags & AMG_HEADER_ACK) != 0 ||
        ((flags & AMG_HEADER_ONE_WAY) != 0 && (flags & AMG_HEADER_MORE) == 0);

    /* Is this process still there, asks who waits for that word. */
    if (flags == AMG_HEADER_ACK && !arrival->is_one_way)
        return true;
    return is_one_way == (arrival->is_one_way != 0);
}

/* The reply to a call that was cancelled. Nobody will read it; when it is a
 * long one, its target has to know. */
static void serve_late_reply(
    hg_context_t *context, unsigned route, struct amg_arrival *arrival)
{
    struct amg_ep *ep = amg_context_ep(context, route);
    struct amg_header header;
    struct hg_addr from;
    const char *why = NULL;

    if (amg_header_read(arrival->data, arrival->len, AMG_HEADER_REPLY, &header,
            &why) == HG_SUCCESS &&
        (header.flags & AMG_HEADER_MORE) != 0) {
        amg_addr_init_from(context->cls, route, arrival->from, &from);
        amg_respond_send_ack(
            context, &from, arrival->origin_context, header.id);
        amg_addr_fini(&from);
    }
    ep->transport->msg.release(ep, arrival);
}

void amg_serve_arrived(
    hg_context_t *context, unsigned route, struct amg_arrival *arrival)
{
    struct hg_handle *handle = NULL;
    struct amg_header header;
    const char *why = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (arrival->is_late) {
        serve_late_reply(context, route, arrival);
        return;
    }
    if (amg_handle_create(context, true, &handle) != HG_SUCCESS) {
        serve_refuse_without_handle(context, route, arrival);
        return;
    }
    handle->arrival = arrival;
    handle->forsaken = amg_respond_for_user;
    handle->info.context_id = arrival->origin_context;
    amg_addr_borrow(context->cls, route, arrival->from, &handle->addr);
    handle->info.addr = &handle->addr;
    rc = amg_header_read(
        arrival->data, arrival->len, AMG_HEADER_REQUEST, &header, &why);
    if (rc != HG_SUCCESS) {
        amg_serve_refuse(handle, rc, why);
        return;
    }
    handle->info.id = header.id;
    if (!flags_are_right(arrival, &header)) {
        amg_serve_refuse(handle, HG_PROTOCOL_ERROR,
            "its flags contradict the way it was sent");
        return;
    }
    if ((header.flags & AMG_HEADER_ACK) == 0) {
        amg_counters_add(&context->counters, AMG_COUNT_REQUESTS_CAME);
        if (atomic_load_explicit(&context->is_unposted, memory_order_acquire))
            amg_serve_refuse(
                handle, HG_CANCELED, "its context receives no more");
        else
            serve_request(handle, &header);
        return;
    }
    if (arrival->is_one_way)
        amg_respond_take_ack(context, &handle->addr, header.id);
    else
        amg_respond_code(handle, HG_SUCCESS);
    amg_handle_set_state(handle, AMG_HANDLE_ANSWERED);
    amg_handle_drop(handle);
}
