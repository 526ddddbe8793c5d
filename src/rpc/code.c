/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that the library itself sends in answer to messages: a code without
 * arguments to a call or a probe, and an ACK to a long reply. */
#include "rpc/handle.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "mercury_class.h"
#include "rpc/encode.h"
#include "wire/header.h"

/* Does the origin of the call wait for no return code? */
static bool is_unawaited(const struct hg_handle *handle)
{
    return handle->looped.origin == NULL &&
           (handle->arrival == NULL || handle->arrival->is_one_way);
}

static hg_return_t code_send(struct hg_handle *handle, hg_return_t ret)
{
    struct amg_ep *ep = amg_handle_ep(handle);
    struct amg_buf *buf = NULL;
    char text[256];
    hg_return_t rc = HG_SUCCESS;

    if (is_unawaited(handle))
        return HG_INVALID_ARG;
    if (handle->looped.origin != NULL) {
        amg_loop_end(handle, ret);
        return HG_SUCCESS;
    }
    rc = ep->transport->msg.get_buf(ep, handle->addr.peer, &buf);
    if (rc == HG_SUCCESS) {
        amg_header_write_reply(buf->data, 0, ret, 0);
        amg_rpc_seal(handle->info.hg_class, buf->data, 0);
        rc = ep->transport->msg.send_reply(
            ep, handle->arrival, buf, AMG_HEADER_LEN, NULL);
        if (rc != HG_SUCCESS)
            ep->transport->msg.put_buf(ep, buf);
    }
    /* A lost peer is no error of this process; the caller handles HG_NOMEM. */
    if (rc == HG_SUCCESS)
        amg_context_posted(handle->info.context, handle->addr.route);
    else if (rc != HG_NOMEM)
        AMG_LOG(
            rc == HG_HOSTUNREACH ? HG_LOG_LEVEL_WARNING : HG_LOG_LEVEL_ERROR,
            "rpc",
            "a call of RPC id 0x%" PRIx64 " from %s cannot be answered: %s",
            handle->info.id, amg_addr_text(&handle->addr, text, sizeof(text)),
            HG_Error_to_string(rc));
    return rc;
}

hg_return_t amg_respond_code(struct hg_handle *handle, hg_return_t ret)
{
    hg_return_t rc = code_send(handle, ret);

    amg_counters_add_some(&handle->info.context->counters,
        AMG_COUNT_REPLIES_SENT, rc == HG_SUCCESS);
    return rc;
}

void amg_respond_to_probe(struct hg_handle *probe)
{
    (void)code_send(probe, HG_SUCCESS);
}

/* Defined below: answers a call with a code, and ends its handle. */
static void code_end(struct hg_handle *handle, hg_return_t ret);

/* Run by HG_Trigger(): answers a call for which there was no memory before. */
static void code_run(struct amg_cq_entry *entry)
{
    struct hg_handle *handle = amg_container_of(entry, struct hg_handle, entry);

    code_end(handle, handle->ret);
}

static void code_end(struct hg_handle *handle, hg_return_t ret)
{
    hg_context_t *context = handle->info.context;
    hg_return_t rc = amg_respond_code(handle, ret);

    if (rc == HG_NOMEM) {
        if (handle->entry.run != code_run)
            AMG_LOG_WARNING("rpc",
                "no memory to answer a call of RPC id 0x%" PRIx64
                " with %s; HG_Trigger() tries again",
                handle->info.id, HG_Error_to_string(ret));
        handle->ret = ret;
        handle->entry.run = code_run;
        amg_context_queue(context, &handle->entry);
        return;
    }
    amg_handle_set_state(handle, AMG_HANDLE_ANSWERED);
    amg_handle_end(handle);
}

void amg_respond_refuse(
    struct hg_handle *handle, hg_return_t ret, const char *why)
{
    char text[256];

    AMG_LOG_WARNING("rpc", "a request from %s (RPC id 0x%" PRIx64 "): %s; %s",
        amg_addr_text(&handle->addr, text, sizeof(text)), handle->info.id, why,
        is_unawaited(handle) ? "dropped" : HG_Error_to_string(ret));
    code_end(handle, ret);
}

void amg_respond_instead(struct hg_handle *handle, hg_return_t ret)
{
    amg_handle_move_state(handle, AMG_HANDLE_WAITING, AMG_HANDLE_RUNNING);
    code_end(handle, ret);
}

void amg_respond_for_user(struct hg_handle *handle)
{
    char text[256];

    if (!handle->is_one_way) {
        (void)amg_addr_text(&handle->addr, text, sizeof(text));
        if (handle->ret == HG_SUCCESS)
            AMG_LOG_WARNING("rpc",
                "a call of RPC id 0x%" PRIx64 " from %s was destroyed without "
                "an answer; HG_CANCELED is sent. HG_Respond() first, or "
                "disable the response on both sides",
                handle->info.id, text);
        else
            AMG_LOG_WARNING("rpc",
                "a call of RPC id 0x%" PRIx64 " from %s ends by HG_CANCELED: "
                "HG_Respond() failed with %s",
                handle->info.id, text, HG_Error_to_string(handle->ret));
        code_end(handle, HG_CANCELED);
        return;
    }
    amg_handle_set_state(handle, AMG_HANDLE_ANSWERED);
    amg_handle_end(handle);
}

/* An ACK to a long reply, while it is being sent. Not part of the handle of the
 * call: before the ACK was sent, the program may forward that handle again, and
 * get another long reply. ack_sent() frees the struct. */
struct ack {
    struct amg_op op;
    hg_context_t *context;
};

static void ack_sent(struct amg_op *op)
{
    struct ack *ack = amg_container_of(op, struct ack, op);
    hg_context_t *context = ack->context;

    amg_mem_free(ack);
    amg_context_leave(context);
}

/* Sends a message of up to AMG_NOW_LEN bytes that needs no answer. */
static hg_return_t head_send(hg_context_t *context, const struct hg_addr *to,
    uint8_t target_context, const uint64_t *words, uint32_t len)
{
    struct amg_ep *ep = amg_context_ep(context, to->route);
    struct ack *ack = amg_mem_zalloc(sizeof(*ack));
    hg_return_t rc = HG_NOMEM;

    if (ack == NULL)
        return HG_NOMEM;
    ack->op.step = ack_sent;
    ack->context = context;
    amg_context_enter(context);
    rc = ep->transport->msg.send_ack(ep,
        (struct amg_target){to->peer, target_context}, words, len, &ack->op);
    if (rc == HG_SUCCESS) {
        amg_context_posted(context, to->route);
        return HG_SUCCESS;
    }
    amg_context_leave(context);
    amg_mem_free(ack);
    return rc;
}

void amg_respond_send_ack(hg_context_t *context, const struct hg_addr *to,
    uint8_t target_context, uint64_t token)
{
    uint64_t head[AMG_NOW_LEN / sizeof(uint64_t)] = {0};
    hg_return_t rc = HG_SUCCESS;
    char text[256];

    amg_header_write_request(head, AMG_HEADER_ACK | AMG_HEADER_ONE_WAY, token);
    amg_rpc_seal(context->cls, head, 0);
    rc = head_send(context, to, target_context, head, AMG_HEADER_LEN);
    if (rc != HG_SUCCESS)
        AMG_LOG_ERROR("rpc",
            "%s cannot be told that its long reply 0x%" PRIx64
            " was pulled (%s); it keeps the reply until its context ends",
            amg_addr_text(to, text, sizeof(text)), token,
            HG_Error_to_string(rc));
}

hg_return_t amg_control_send(hg_context_t *context, const struct hg_addr *to,
    uint8_t target_context, enum amg_control kind, const void *bytes,
    size_t len)
{
    uint64_t head[AMG_NOW_LEN / sizeof(uint64_t)] = {0};

    amg_header_write_request(
        head, AMG_HEADER_ACK | AMG_HEADER_ONE_WAY | AMG_HEADER_CONTROL, kind);
    AMG_ASSERT(len <= AMG_CONTROL_LEN);
    memcpy((char *)head + AMG_HEADER_LEN, bytes, len);
    amg_header_complete(head, AMG_CONTROL_LEN,
        amg_rpc_class_of(context->cls)->checksum_level != HG_CHECKSUM_NONE);
    return head_send(
        context, to, target_context, head, AMG_HEADER_LEN + AMG_CONTROL_LEN);
}
