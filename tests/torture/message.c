/* SPDX-License-Identifier: BSD-3-Clause */
/* Argument and result of the calls, with their procs. */
#include "message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "faults.h"

/* The plan of a message that arrives; false, with a finding: it is none. */
static bool call_find(hg_proc_t proc, uint64_t id, struct plan_call *ret_call)
{
    struct world *world = world_class_of(hg_proc_get_class(proc))->world;

    if (!plan_knows(&world->plan, id)) {
        book_finding(world->book, "a message has the id %016" PRIx64, id);
        return false;
    }
    *ret_call = plan_call(&world->plan, id);
    return true;
}

static hg_return_t bytes_code(hg_proc_t proc, uint8_t **bytes, size_t len)
{
    if (hg_proc_get_op(proc) == HG_DECODE) {
        *bytes = malloc(len + 1);
        if (*bytes == NULL)
            return HG_NOMEM;
    }
    return hg_proc_raw(proc, *bytes, len);
}

hg_return_t message_in_proc(hg_proc_t proc, void *data)
{
    struct message_in *in = data;
    struct plan_call call;
    hg_return_t rc = HG_SUCCESS;

    if (hg_proc_get_op(proc) == HG_DECODE)
        memset(in, 0, sizeof(*in));
    if (hg_proc_get_op(proc) == HG_FREE) {
        if (in->bulk != HG_BULK_NULL)
            (void)hg_proc_hg_bulk_t(proc, &in->bulk);
        free(in->bytes);
        in->bytes = NULL;
        return HG_SUCCESS;
    }
    rc = hg_proc_uint64_t(proc, &in->id);
    if (rc == HG_SUCCESS)
        rc = hg_proc_uint64_t(proc, &in->order);
    if (rc != HG_SUCCESS)
        return rc;
    if (!call_find(proc, in->id, &call))
        return HG_CHECKSUM_ERROR;
    if (plan_kind_exposes(call.kind) || plan_kind_moves(call.kind))
        rc = hg_proc_hg_bulk_t(proc, &in->bulk);
    return rc == HG_SUCCESS ? bytes_code(proc, &in->bytes, call.arg_len) : rc;
}

hg_return_t message_out_proc(hg_proc_t proc, void *data)
{
    struct message_out *out = data;
    struct plan_call call;
    hg_return_t rc = HG_SUCCESS;

    if (hg_proc_get_op(proc) == HG_DECODE)
        memset(out, 0, sizeof(*out));
    if (hg_proc_get_op(proc) == HG_FREE) {
        free(out->bytes);
        out->bytes = NULL;
        return HG_SUCCESS;
    }
    rc = hg_proc_uint64_t(proc, &out->id);
    if (rc == HG_SUCCESS)
        rc = hg_proc_uint64_t(proc, &out->status);
    if (rc != HG_SUCCESS)
        return rc;
    if (!call_find(proc, out->id, &call))
        return HG_CHECKSUM_ERROR;
    return bytes_code(proc, &out->bytes, call.reply_len);
}

uint8_t *message_bytes(
    const struct plan_call *call, bool is_reply, size_t *ret_len)
{
    size_t len = is_reply ? call->reply_len : call->arg_len;
    uint8_t *bytes = malloc(len + 1);

    if (bytes == NULL)
        abort();
    content_fill(bytes, len,
        content_key(
            call->message_id, is_reply ? CONTENT_REPLY : CONTENT_ARGUMENT),
        0);
    *ret_len = len;
    return bytes;
}

void message_check(struct world *world, const struct plan_call *call,
    bool is_reply, const uint8_t *bytes)
{
    size_t len = is_reply ? call->reply_len : call->arg_len;
    size_t at = content_differs(bytes, len,
        content_key(
            call->message_id, is_reply ? CONTENT_REPLY : CONTENT_ARGUMENT),
        0);

    if (at < len)
        book_finding(world->book,
            "%s %016" PRIx64 " from rank %u to rank %u: byte %zu of %zu of "
            "its %s differs",
            plan_kind_name(call->kind), call->id, call->origin, call->target,
            at, len, is_reply ? "result" : "argument");
}

/* NULL: there are none. */
static void *head_find(struct world *world, hg_handle_t handle, bool is_reply)
{
    void *head = NULL;
    hg_size_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    if (world->plan.head_len == 0)
        return NULL;
    do
        rc = is_reply ? HG_Get_output_buf(handle, &head, &len)
                      : HG_Get_input_buf(handle, &head, &len);
    while (faults_again(world, rc));
    EXPECT_OK(world, rc);
    if (head != NULL && len < world->plan.head_len)
        book_finding(world->book, "a message of %zu bytes, with a head of %u",
            (size_t)len, world->plan.head_len);
    return head;
}

static uint64_t head_key(const struct plan_call *call, bool is_reply)
{
    return content_key(call->id, CONTENT_HEAD) + is_reply;
}

void message_head_write(struct world *world, const struct plan_call *call,
    hg_handle_t handle, bool is_reply)
{
    void *head = head_find(world, handle, is_reply);

    if (head != NULL)
        content_fill(head, world->plan.head_len, head_key(call, is_reply), 0);
}

void message_head_check(struct world *world, const struct plan_call *call,
    hg_handle_t handle, bool is_reply)
{
    void *head = head_find(world, handle, is_reply);
    size_t len = world->plan.head_len;

    if (head != NULL &&
        content_differs(head, len, head_key(call, is_reply), 0) < len)
        book_finding(world->book,
            "%s %016" PRIx64 " from rank %u to rank %u: the head of its %s "
            "differs",
            plan_kind_name(call->kind), call->id, call->origin, call->target,
            is_reply ? "reply" : "request");
}

size_t message_stream(
    const struct plan_call *call, uint64_t order, uint8_t *ret_bytes)
{
    memcpy(ret_bytes, &call->id, sizeof(call->id));
    memcpy(ret_bytes + sizeof(call->id), &order, sizeof(order));
    content_fill(ret_bytes + 16, call->arg_len,
        content_key(call->id, CONTENT_ARGUMENT), 0);
    return 16 + call->arg_len;
}
