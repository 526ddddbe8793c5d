/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers that the library gives itself: a code without arguments. */
#include "rpc/handle.h"

#include <inttypes.h>

#include "base/log.h"
#include "mercury_class.h"
#include "rpc/encode.h"
#include "wire/header.h"

hg_return_t amg_respond_code(struct hg_handle *handle, hg_return_t ret)
{
    struct amg_ep *ep = amg_handle_ep(handle);
    struct amg_buf *buf = NULL;
    char text[256];
    hg_return_t rc = HG_SUCCESS;

    if (handle->arrival == NULL || handle->arrival->is_one_way)
        return HG_INVALID_ARG;
    rc = ep->transport->msg.get_buf(ep, handle->addr.peer, &buf);
    if (rc == HG_SUCCESS) {
        amg_header_write_reply(buf->data, 0, ret, 0);
        amg_rpc_seal(handle->info.hg_class, buf->data, 0);
        rc = ep->transport->msg.send_reply(
            ep, handle->arrival, buf, AMG_HEADER_LEN, NULL);
        if (rc != HG_SUCCESS)
            ep->transport->msg.put_buf(ep, buf);
    }
    /* A lost peer is no error of this process; HG_NOMEM is the caller's. */
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

static void end_run(struct amg_cq_entry *entry)
{
    struct hg_handle *handle = amg_container_of(entry, struct hg_handle, entry);

    amg_respond_end(handle, handle->ret);
}

void amg_respond_end(struct hg_handle *handle, hg_return_t ret)
{
    hg_context_t *context = handle->info.context;
    hg_return_t rc = amg_respond_code(handle, ret);

    if (rc == HG_NOMEM) {
        if (handle->entry.run != end_run)
            AMG_LOG_WARNING("rpc",
                "no memory to answer a call of RPC id 0x%" PRIx64
                " with %s; HG_Trigger() tries again",
                handle->info.id, HG_Error_to_string(ret));
        handle->ret = ret;
        handle->entry.run = end_run;
        amg_context_queue(context, &handle->entry);
        return;
    }
    if (rc == HG_SUCCESS)
        amg_counters_add(&context->counters, AMG_COUNT_REPLIES_SENT);
    amg_handle_set_state(handle, AMG_HANDLE_ANSWERED);
    amg_handle_end(handle);
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
        amg_respond_end(handle, HG_CANCELED);
        return;
    }
    amg_handle_set_state(handle, AMG_HANDLE_ANSWERED);
    amg_handle_end(handle);
}
