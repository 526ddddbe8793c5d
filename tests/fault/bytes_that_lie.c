/* SPDX-License-Identifier: BSD-3-Clause */
/* Malformed requests and replies - too short, of another version, with unknown
 * or contradictory flags, with descriptors of no memory - end with a code at
 * their origin, or are dropped; the context goes on serving. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/process.h"
#include "core/addr.h"
#include "core/context.h"
#include "mercury.h"
#include "mercury_bulk.h"
#include "mercury_macros.h"
#include "rpc/handle.h"
#include "wire/header.h"

enum { DEADLINE_MS = 30000, LEN_MAX = 512, ROUNDS = 200 };

MERCURY_GEN_PROC(number_t, ((uint32_t)(value)))

static const char *doing = "opening";
static hg_class_t *cls;
static hg_context_t *context;
static hg_addr_t self;
static hg_id_t id;
static hg_id_t one_way_id;
static hg_id_t liar_id;
static unsigned served;

static void fail(int line, const char *what)
{
    fprintf(stderr, "bytes_that_lie: %s: line %d: %s\n", doing, line, what);
    exit(EXIT_FAILURE);
}

#define CHECK(expr) ((expr) ? (void)0 : fail(__LINE__, #expr))

/* The test owns the message, and so its operation. */
struct sent {
    struct amg_op op;
    unsigned done;
};

static void sent_step(struct amg_op *op)
{
    amg_container_of(op, struct sent, op)->done++;
}

static void turn(void)
{
    CHECK(HG_Event_progress(context, NULL) == HG_SUCCESS);
    CHECK(HG_Event_trigger(context, 100, NULL) == HG_SUCCESS);
    sched_yield();
}

/* Sends the bytes as they are; returns the code of the reply, or of the
 * operation without one. */
static hg_return_t send(const void *bytes, uint32_t len, bool wants_reply)
{
    struct amg_ep *ep = amg_context_ep(context, AMG_ROUTE_SELF);
    struct amg_buf *buf = NULL;
    struct sent sent = {.op.step = sent_step};
    struct amg_header header;
    const char *why = NULL;
    hg_return_t rc;
    uint64_t deadline_ns = amg_clock_deadline_ns(DEADLINE_MS);

    CHECK(ep->transport->msg.get_buf(ep, self->peer, &buf) == HG_SUCCESS);
    memcpy(buf->data, bytes, len);
    CHECK(
        ep->transport->msg.send_request(ep, (struct amg_target){self->peer, 0},
            buf, len, wants_reply, &sent.op) == HG_SUCCESS);
    while (sent.done == 0) {
        turn();
        CHECK(amg_clock_ns() < deadline_ns);
    }
    CHECK(sent.done == 1);
    if (!wants_reply || sent.op.ret != HG_SUCCESS)
        return sent.op.ret;
    CHECK(amg_header_read(sent.op.data, sent.op.len, AMG_HEADER_REPLY, &header,
              &why) == HG_SUCCESS);
    rc = (hg_return_t)header.ret;
    ep->transport->msg.release_reply(ep, &sent.op);
    return rc;
}

static hg_return_t ended(const struct hg_cb_info *info)
{
    number_t out = {0};

    *(hg_return_t *)info->arg = info->ret;
    if (info->ret == HG_SUCCESS) {
        CHECK(HG_Get_output(info->info.forward.handle, &out) == HG_SUCCESS);
        CHECK(out.value == 7);
    }
    return HG_SUCCESS;
}

/* A correct call still works. */
static void call_rightly(void)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t rc = HG_RETURN_MAX;
    number_t in = {7};
    uint64_t deadline_ns = amg_clock_deadline_ns(DEADLINE_MS);

    CHECK(HG_Create(context, self, id, &handle) == HG_SUCCESS);
    CHECK(HG_Forward(handle, ended, &rc, &in) == HG_SUCCESS);
    while (rc == HG_RETURN_MAX) {
        turn();
        CHECK(amg_clock_ns() < deadline_ns);
    }
    CHECK(rc == HG_SUCCESS);
    CHECK(HG_Free_output(handle, &in) == HG_SUCCESS);
    CHECK(HG_Destroy(handle) == HG_SUCCESS);
}

static hg_return_t serve(hg_handle_t handle)
{
    number_t in;

    served++;
    if (HG_Get_input(handle, &in) == HG_SUCCESS) {
        hg_return_t rc = HG_Respond(handle, NULL, NULL, &in);

        /* The changed request may be one-way, too. */
        CHECK(rc == HG_SUCCESS || rc == HG_OPNOTSUPPORTED);
        CHECK(HG_Free_input(handle, &in) == HG_SUCCESS);
    }
    return HG_Destroy(handle);
}

static hg_return_t serve_one_way(hg_handle_t handle)
{
    served++;
    return HG_Destroy(handle);
}

static void short_ones(void)
{
    uint8_t bytes[AMG_HEADER_LEN + 4] = {0};

    doing = "short messages";
    amg_header_write_request(bytes, 0, id);
    for (uint32_t len = 0; len < AMG_HEADER_LEN; len++) {
        CHECK(send(bytes, len, true) == HG_PROTOCOL_ERROR);
        CHECK(send(bytes, len, false) == HG_SUCCESS);
    }
    CHECK(served == 0);
    /* The header is there, the argument is not: the handler cannot decode it.
     */
    CHECK(send(bytes, AMG_HEADER_LEN, true) == HG_CANCELED);
    CHECK(send(bytes, AMG_HEADER_LEN + 3, true) == HG_CANCELED);
    CHECK(send(bytes, AMG_HEADER_LEN + 4, true) == HG_SUCCESS);
    CHECK(served == 3);
}

static void wrong_heads(void)
{
    uint8_t bytes[AMG_HEADER_LEN + 4] = {0};
    uint8_t head[AMG_HEADER_LEN];

    doing = "heads that lie";
    amg_header_write_request(head, 0, id);
    /* Magic, version, flags, code: each with all other values. */
    for (unsigned at = 0; at < 4; at++)
        for (unsigned value = 0; value < 256; value++) {
            hg_return_t rc;

            memcpy(bytes, head, sizeof(head));
            if (bytes[at] == value || (at == 3 && value < HG_RETURN_MAX))
                continue;
            bytes[at] = (uint8_t)value;
            rc = send(bytes, sizeof(bytes), true);
            if (at == 2 && value == AMG_HEADER_ACK)
                CHECK(rc == HG_SUCCESS); /* asks whether we are alive */
            else
                CHECK(rc == HG_PROTOCOL_ERROR || rc == HG_OVERFLOW);
            CHECK(send(bytes, sizeof(bytes), false) == HG_SUCCESS);
        }
    amg_header_write_request(bytes, 0, 0x123456789abcull);
    CHECK(send(bytes, sizeof(bytes), true) == HG_NOENTRY);
    CHECK(send(bytes, sizeof(bytes), false) == HG_SUCCESS);
}

/* Known flags that contradict each other. */
static void contradictions(void)
{
    uint8_t bytes[AMG_HEADER_LEN + 4] = {0};
    unsigned before = served;

    doing = "flags that contradict";
    for (unsigned i = 0; i < ROUNDS; i++) {
        amg_header_write_request(bytes, AMG_HEADER_ACK | AMG_HEADER_ONE_WAY, i);
        CHECK(send(bytes, AMG_HEADER_LEN, true) == HG_PROTOCOL_ERROR);
        CHECK(send(bytes, AMG_HEADER_LEN, false) == HG_SUCCESS);
        amg_header_write_request(bytes, AMG_HEADER_ONE_WAY, one_way_id);
        CHECK(send(bytes, sizeof(bytes), true) == HG_PROTOCOL_ERROR);
        amg_header_write_request(bytes, 0, id);
        CHECK(send(bytes, sizeof(bytes), false) == HG_SUCCESS);
    }
    CHECK(served == before);
}

/* Long arguments without memory. */
static void nowhere(void)
{
    uint8_t bytes[LEN_MAX] = {0};
    hg_bulk_t bulk = HG_BULK_NULL;
    const hg_size_t len = 1000;
    uint64_t total = 0;
    hg_size_t packed = 0;
    unsigned before = served;

    doing = "arguments that are nowhere";
    CHECK(HG_Bulk_create(cls, 1, NULL, &len, HG_BULK_READ_ONLY, &bulk) ==
          HG_SUCCESS);
    packed = HG_Bulk_get_serialize_size(bulk, 0);
    CHECK(packed + AMG_HEADER_LEN + sizeof(total) <= LEN_MAX);
    amg_header_write_request(bytes, AMG_HEADER_MORE, id);
    for (uint32_t cut = 0; cut < sizeof(total) + packed; cut++)
        CHECK(send(bytes, AMG_HEADER_LEN + cut, true) != HG_SUCCESS);
    CHECK(HG_Bulk_serialize(bytes + AMG_HEADER_LEN + sizeof(total), packed, 0,
              bulk) == HG_SUCCESS);
    packed += AMG_HEADER_LEN + sizeof(total);
    CHECK(send(bytes, (uint32_t)packed, true) == HG_PROTOCOL_ERROR); /* 0 */
    total = len + 1;
    memcpy(bytes + AMG_HEADER_LEN, &total, sizeof(total));
    CHECK(send(bytes, (uint32_t)packed, true) == HG_PROTOCOL_ERROR);
    total = len;
    memcpy(bytes + AMG_HEADER_LEN, &total, sizeof(total));
    CHECK(send(bytes, (uint32_t)packed, true) == HG_SUCCESS);
    CHECK(served == before + 1);
    /* The same descriptor, after the memory was freed. */
    CHECK(HG_Bulk_free(bulk) == HG_SUCCESS);
    CHECK(send(bytes, (uint32_t)packed, true) == HG_NOENTRY);
    amg_header_write_request(
        bytes, AMG_HEADER_MORE | AMG_HEADER_ONE_WAY, one_way_id);
    CHECK(send(bytes, (uint32_t)packed, true) == HG_NOENTRY);
    CHECK(served == before + 1);
}

/* Replies with a descriptor of a long output that is none. */
static hg_return_t serve_liar(hg_handle_t handle)
{
    struct amg_ep *ep = amg_context_ep(context, AMG_ROUTE_SELF);
    struct amg_buf *buf = NULL;

    CHECK(ep->transport->msg.get_buf(ep, self->peer, &buf) == HG_SUCCESS);
    amg_header_write_reply(buf->data, AMG_HEADER_MORE, HG_SUCCESS, 12345);
    memset((char *)buf->data + AMG_HEADER_LEN, 1, sizeof(number_t));
    CHECK(ep->transport->msg.send_reply(ep, handle->arrival, buf,
              AMG_HEADER_LEN + sizeof(number_t), NULL) == HG_SUCCESS);
    return HG_Destroy(handle);
}

static hg_return_t liar_ended(const struct hg_cb_info *info)
{
    number_t out = {0};

    *(hg_return_t *)info->arg = info->ret;
    CHECK(HG_Get_output(info->info.forward.handle, &out) == HG_FAULT);
    return HG_SUCCESS;
}

/* The descriptor of the output is not taken for the output. */
static void lying_answer(void)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t rc = HG_RETURN_MAX;
    uint64_t deadline_ns = amg_clock_deadline_ns(DEADLINE_MS);

    doing = "an output that is nowhere";
    CHECK(HG_Create(context, self, liar_id, &handle) == HG_SUCCESS);
    amg_role.is_running = true; /* a callback's call to oneself is a message */
    CHECK(HG_Forward(handle, liar_ended, &rc, NULL) == HG_SUCCESS);
    amg_role.is_running = false;
    while (rc == HG_RETURN_MAX) {
        turn();
        CHECK(amg_clock_ns() < deadline_ns);
    }
    CHECK(rc == HG_PROTOCOL_ERROR);
    CHECK(HG_Destroy(handle) == HG_SUCCESS);
}

int main(void)
{
    struct amg_mem_stats before;
    struct amg_mem_stats after;

    amg_mem_stats_get(&before);
    HG_Set_log_level("none");
    cls = HG_Init("self", HG_TRUE);
    CHECK(cls != NULL);
    id = MERCURY_REGISTER(cls, "number", number_t, number_t, serve);
    one_way_id = MERCURY_REGISTER(cls, "one_way", void, void, serve_one_way);
    liar_id = MERCURY_REGISTER(cls, "liar", void, number_t, serve_liar);
    CHECK(
        HG_Registered_disable_response(cls, one_way_id, HG_TRUE) == HG_SUCCESS);
    context = HG_Context_create(cls);
    CHECK(context != NULL && HG_Addr_self(cls, &self) == HG_SUCCESS);
    short_ones();
    call_rightly();
    wrong_heads();
    call_rightly();
    contradictions();
    call_rightly();
    nowhere();
    call_rightly();
    lying_answer();
    call_rightly();
    doing = "closing";
    CHECK(HG_Addr_free(cls, self) == HG_SUCCESS);
    CHECK(HG_Context_destroy(context) == HG_SUCCESS);
    CHECK(HG_Finalize(cls) == HG_SUCCESS);
    amg_mem_stats_get(&after);
    CHECK(after.live == before.live);
    return EXIT_SUCCESS;
}
