/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment of the target `message`.
 *
 * Messages are put into the endpoint of the loopback below the RPC layer, as a
 * peer's driver would; their replies are checked here. A late reply is one that
 * a driver returns after its call was cancelled: the loopback has none, so a
 * copy of its table marks an arrival as one. */
#include <stdlib.h>
#include <string.h>

#include "core/addr.h"
#include "core/context.h"
#include "fuzz.h"
#include "amalgam_oneway.h"
#include "mercury_macros.h"
#include "mercury_proc_bulk.h"
#include "mercury_proc_string.h"
#include "message.h"
#include "rpc/handle.h"
#include "transport/self.h"
#include "wire/header.h"
#include "wire/proc.h"

enum {
    TURNS_MAX = 100000,
    LATER_TURNS = 8, /* delayed replies wait that long */
    LONG_LEN = 9000,
    PULL_MAX = 4096,
    BULK_LEN = 6000,
    TAG = 0x5a17,
};

typedef hg_string_object_t object_t;
#define hg_proc_object_t hg_proc_hg_string_object_t

MERCURY_GEN_PROC(inner_t, ((hg_const_string_t)(text))((object_t)(object)))
MERCURY_GEN_PROC(
    args_t, ((uint16_t)(tag))((hg_string_t)(text))((inner_t)(inner))(
                (int64_t)(number))((hg_bulk_t)(bulk)))
MERCURY_GEN_PROC(pull_t, ((uint64_t)(offset))((hg_bulk_t)(bulk)))
MERCURY_GEN_PROC(text_t, ((hg_string_t)(text)))

struct message_world message_world;
static struct message_world *const world = &message_world;

/* A message of the test, below the RPC layer. */
struct sent {
    struct amg_op op;
    struct amg_ep *ep;
};

/* A pull that a handler started. */
struct pull {
    hg_handle_t handle;
    hg_bulk_t local;
    pull_t in;
};

static struct amg_transport late_transport;

static void turn(void)
{
    for (unsigned i = 0; i < MESSAGE_CONTEXTS; i++) {
        FUZZ_CHECK(HG_Event_progress(world->contexts[i], NULL) == HG_SUCCESS);
        FUZZ_CHECK(
            HG_Event_trigger(world->contexts[i], 100, NULL) == HG_SUCCESS);
    }
}

static void later_answer(void)
{
    for (unsigned i = 0; i < world->later_count; i++) {
        (void)HG_Respond(world->later[i], NULL, NULL, &(text_t){"late"});
        FUZZ_CHECK(HG_Destroy(world->later[i]) == HG_SUCCESS);
    }
    world->later_count = 0;
}

void message_drain(void)
{
    for (unsigned turns = 0; world->in_flight > 0; turns++) {
        FUZZ_CHECK(turns < TURNS_MAX);
        if (turns % LATER_TURNS == LATER_TURNS - 1)
            later_answer();
        turn();
    }
    turn(); /* messages that belong to no call */
    turn();
}

static unsigned late_poll(
    struct amg_ep *ep, unsigned max, struct amg_events *ret_events)
{
    unsigned count = amg_self_transport.ep.poll(ep, max, ret_events);
    struct amg_link *link = amg_list_first(&ret_events->arrived);

    for (; link != NULL && world->is_late;
         link = amg_list_next(&ret_events->arrived, link)) {
        struct amg_arrival *arrival =
            amg_container_of(link, struct amg_arrival, link);

        if (!arrival->is_one_way)
            continue;
        arrival->is_late = true;
        world->is_late = false;
    }
    return count;
}

/* Replies of the library are right, except where the test dictates them. */
static void sent_step(struct amg_op *op)
{
    struct sent *sent = amg_container_of(op, struct sent, op);
    struct amg_header header;
    const char *why = NULL;

    world->in_flight--;
    if (op->ret == HG_SUCCESS && op->data != NULL) {
        bool is_lie = op->len == world->lie_len &&
                      memcmp(op->data, world->lie, op->len) == 0;
        hg_return_t rc =
            amg_header_read(op->data, op->len, AMG_HEADER_REPLY, &header, &why);

        FUZZ_CHECK(rc == HG_SUCCESS || is_lie);
        if (rc == HG_SUCCESS && (header.flags & AMG_HEADER_MORE) != 0 &&
            !is_lie) {
            FUZZ_CHECK(world->token_count <
                       sizeof(world->tokens) / sizeof(world->tokens[0]));
            world->tokens[world->token_count++] = header.id;
        }
        sent->ep->transport->msg.release_reply(sent->ep, op);
    }
    free(sent);
}

void message_inject(
    const void *bytes, uint32_t len, bool wants_reply, uint8_t context)
{
    struct amg_ep *ep = amg_context_ep(world->contexts[0], AMG_ROUTE_SELF);
    struct sent *sent = calloc(1, sizeof(*sent));
    struct amg_buf *buf = NULL;

    FUZZ_CHECK(sent != NULL);
    sent->op.step = sent_step;
    sent->ep = ep;
    FUZZ_CHECK(
        ep->transport->msg.get_buf(ep, world->self->peer, &buf) == HG_SUCCESS);
    len = len < buf->cap ? len : buf->cap;
    if (len > 0)
        memcpy(buf->data, bytes, len);
    world->in_flight++;
    FUZZ_CHECK(ep->transport->msg.send_request(ep,
                   (struct amg_target){world->self->peer, context}, buf, len,
                   wants_reply, &sent->op) == HG_SUCCESS);
}

static hg_return_t serve_args(hg_handle_t handle)
{
    args_t in;
    void *bytes = NULL;
    hg_size_t len = 0;

    if (HG_Get_input_buf(handle, &bytes, &len) == HG_SUCCESS)
        FUZZ_CHECK(len <= HG_Class_get_input_eager_size(world->cls));
    (void)HG_Get_input_extra_buf(handle, &bytes, &len);
    (void)HG_Get_input_payload_size(handle);
    if (HG_Get_input(handle, &in) == HG_SUCCESS) {
        (void)HG_Respond(handle, NULL, NULL, &in);
        (void)HG_Release_input_buf(handle);
        FUZZ_CHECK(HG_Free_input(handle, &in) == HG_SUCCESS);
    }
    return HG_Destroy(handle);
}

static hg_return_t pulled(const struct hg_cb_info *info)
{
    struct pull *pull = info->arg;

    if (info->ret == HG_SUCCESS)
        (void)HG_Respond(pull->handle, NULL, NULL, NULL);
    world->in_flight--;
    FUZZ_CHECK(HG_Free_input(pull->handle, &pull->in) == HG_SUCCESS);
    FUZZ_CHECK(HG_Bulk_free(pull->local) == HG_SUCCESS);
    FUZZ_CHECK(HG_Destroy(pull->handle) == HG_SUCCESS);
    free(pull);
    return HG_SUCCESS;
}

/* Pulls as the input says, as far as it fits. */
static hg_return_t pull_start(struct pull *pull)
{
    const struct hg_info *info = HG_Get_info(pull->handle);
    hg_bulk_t bulk = pull->in.bulk;
    hg_size_t len = HG_Bulk_get_size(bulk);

    len = len < PULL_MAX ? len : PULL_MAX;
    if (HG_Bulk_create(world->cls, 1, NULL, &(hg_size_t){PULL_MAX},
            HG_BULK_READWRITE, &pull->local) != HG_SUCCESS)
        return HG_NOMEM;
    if (HG_Bulk_get_addr(bulk) != HG_ADDR_NULL)
        return HG_Bulk_bind_transfer(info->context, pulled, pull, HG_BULK_PULL,
            bulk, pull->in.offset, pull->local, 0, len, HG_OP_ID_IGNORE);
    return HG_Bulk_transfer_id(info->context, pulled, pull, HG_BULK_PULL,
        info->addr, info->context_id, bulk, pull->in.offset, pull->local, 0,
        len, HG_OP_ID_IGNORE);
}

static hg_return_t serve_bulk(hg_handle_t handle)
{
    struct pull *pull = calloc(1, sizeof(*pull));

    FUZZ_CHECK(pull != NULL);
    pull->handle = handle;
    if (HG_Get_input(handle, &pull->in) != HG_SUCCESS)
        goto destroy_handle;
    if (pull->in.bulk != HG_BULK_NULL && pull_start(pull) == HG_SUCCESS) {
        world->in_flight++;
        return HG_SUCCESS;
    }
    FUZZ_CHECK(HG_Bulk_free(pull->local) == HG_SUCCESS);
    FUZZ_CHECK(HG_Free_input(handle, &pull->in) == HG_SUCCESS);

destroy_handle:
    free(pull);
    return HG_Destroy(handle);
}

static hg_return_t serve_one_way(hg_handle_t handle)
{
    FUZZ_CHECK(HG_Respond(handle, NULL, NULL, NULL) == HG_OPNOTSUPPORTED);
    return HG_Destroy(handle);
}

static hg_return_t serve_long(hg_handle_t handle)
{
    static char text[LONG_LEN];
    text_t out = {text};

    memset(text, 'a', sizeof(text) - 1);
    (void)HG_Respond(handle, NULL, NULL, &out);
    return HG_Destroy(handle);
}

/* Answers below the library, which then has nothing to send. */
static hg_return_t serve_liar(hg_handle_t handle)
{
    struct amg_ep *ep = amg_handle_ep(handle);
    struct amg_buf *buf = NULL;

    if (handle->arrival->is_one_way)
        return HG_Destroy(handle);
    FUZZ_CHECK(
        ep->transport->msg.get_buf(ep, world->self->peer, &buf) == HG_SUCCESS);
    memcpy(buf->data, world->lie, world->lie_len);
    FUZZ_CHECK(ep->transport->msg.send_reply(ep, handle->arrival, buf,
                   world->lie_len, NULL) == HG_SUCCESS);
    return HG_Destroy(handle);
}

static hg_return_t serve_later(hg_handle_t handle)
{
    if (world->later_count == MESSAGE_STEPS_MAX)
        return HG_Destroy(handle);
    world->later[world->later_count++] = handle;
    return HG_SUCCESS;
}

static hg_return_t called(const struct hg_cb_info *info)
{
    hg_handle_t handle = info->info.forward.handle;
    bool is_good = info->arg != NULL;
    const struct hg_info *of = HG_Get_info(handle);
    void *bytes = NULL;
    hg_size_t len = 0;
    args_t args;
    text_t text;

    world->in_flight--;
    FUZZ_CHECK(!is_good || info->ret == HG_SUCCESS);
    (void)HG_Get_output_buf(handle, &bytes, &len);
    (void)HG_Get_output_extra_buf(handle, &bytes, &len);
    if (of->id == world->ids[MESSAGE_LONG]) {
        hg_return_t rc = HG_Get_output(handle, &text);

        FUZZ_CHECK(!is_good || rc == HG_SUCCESS);
        FUZZ_CHECK(rc != HG_SUCCESS || strlen(text.text) == LONG_LEN - 1);
        if (rc == HG_SUCCESS)
            FUZZ_CHECK(HG_Free_output(handle, &text) == HG_SUCCESS);
    } else if (of->id == world->ids[MESSAGE_ARGS] ||
               of->id == world->ids[MESSAGE_LIAR]) {
        hg_return_t rc = HG_Get_output(handle, &args);

        FUZZ_CHECK(!is_good || (rc == HG_SUCCESS && args.tag == TAG));
        if (rc == HG_SUCCESS)
            FUZZ_CHECK(HG_Free_output(handle, &args) == HG_SUCCESS);
    }
    return HG_Destroy(handle);
}

void message_call(enum message_rpc rpc, bool is_good)
{
    args_t args = {
        TAG, "text", {"constant", {"object", 1, 0}}, -5, world->bulk};
    pull_t pull = {0, world->bulk};
    void *in = rpc == MESSAGE_BULK ? (void *)&pull : (void *)&args;
    hg_handle_t handle = HG_HANDLE_NULL;

    FUZZ_CHECK(HG_Create(world->contexts[1], world->self, world->ids[rpc],
                   &handle) == HG_SUCCESS);
    world->in_flight++;
    FUZZ_CHECK(
        HG_Forward(handle, called, is_good ? world : NULL, in) == HG_SUCCESS);
}

size_t message_args(enum message_rpc rpc, void *ret_args, size_t cap)
{
    args_t args = {
        TAG, "text", {"constant", {"object", 1, 0}}, -5, world->bulk};
    pull_t pull = {0, world->bulk};
    struct hg_proc proc;
    size_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    amg_proc_init(&proc, world->cls, ret_args, cap, HG_ENCODE);
    if (rpc == MESSAGE_BULK)
        rc = hg_proc_pull_t(&proc, &pull);
    else
        rc = hg_proc_args_t(&proc, &args);
    FUZZ_CHECK(rc == HG_SUCCESS && hg_proc_get_extra_buf(&proc) == NULL);
    len = hg_proc_get_size_used(&proc);
    amg_proc_fini(&proc);
    return len;
}

static void serve_bare(
    hg_class_t *cls, int from_rank, const void *arg, size_t len)
{
    static unsigned char bytes[AMALGAM_ONEWAY_MAX];

    FUZZ_CHECK(cls == world->cls && from_rank == -1 && len <= sizeof(bytes));
    memcpy(bytes, arg, len);
}

static void rpcs_register(void)
{
    hg_class_t *cls = world->cls;
    hg_id_t *ids = world->ids;

    ids[MESSAGE_ARGS] =
        MERCURY_REGISTER(cls, "args", args_t, args_t, serve_args);
    ids[MESSAGE_BULK] = MERCURY_REGISTER(cls, "bulk", pull_t, void, serve_bulk);
    ids[MESSAGE_ONE_WAY] =
        MERCURY_REGISTER(cls, "one_way", args_t, void, serve_one_way);
    ids[MESSAGE_LONG] = MERCURY_REGISTER(cls, "long", void, text_t, serve_long);
    ids[MESSAGE_LIAR] = MERCURY_REGISTER(cls, "liar", void, args_t, serve_liar);
    ids[MESSAGE_LATER] =
        MERCURY_REGISTER(cls, "later", void, text_t, serve_later);
    ids[MESSAGE_DEAF] = MERCURY_REGISTER(cls, "deaf", void, void, NULL);
    ids[MESSAGE_BARE] = amalgam_register_oneway(cls, "bare", serve_bare);
    FUZZ_CHECK(HG_Registered_disable_response(
                   cls, ids[MESSAGE_ONE_WAY], HG_TRUE) == HG_SUCCESS);
}

void message_open(unsigned variant)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;
    hg_size_t lens[] = {5, 0, BULK_LEN};
    struct amg_ep *ep = NULL;

    memset(world, 0, sizeof(*world));
    world->variant = variant;
    info.na_init_info.max_contexts = MESSAGE_CONTEXTS;
    info.na_init_info.max_unexpected_size = MESSAGE_LEN_MAX;
    info.checksum_level = (hg_checksum_level_t)(variant % 3);
    info.release_input_early = (variant & 8) != 0;
    world->cls = HG_Init_opt2("self", HG_TRUE, HG_VERSION(2, 4), &info);
    FUZZ_CHECK(world->cls != NULL);
    if ((variant & 4) != 0) {
        FUZZ_CHECK(HG_Class_set_input_offset(world->cls, 12) == HG_SUCCESS);
        FUZZ_CHECK(HG_Class_set_output_offset(world->cls, 7) == HG_SUCCESS);
    }
    rpcs_register();
    late_transport = amg_self_transport;
    late_transport.ep.poll = late_poll;
    for (uint8_t i = 0; i < MESSAGE_CONTEXTS; i++) {
        world->contexts[i] = HG_Context_create_id(world->cls, i);
        FUZZ_CHECK(world->contexts[i] != NULL);
        ep = amg_context_ep(world->contexts[i], AMG_ROUTE_SELF);
        ep->transport = &late_transport;
    }
    FUZZ_CHECK(HG_Addr_self(world->cls, &world->self) == HG_SUCCESS);
    FUZZ_CHECK(HG_Bulk_create(world->cls, 3, NULL, lens, HG_BULK_READ_ONLY,
                   &world->bulk) == HG_SUCCESS);
}

/* Acknowledges the pull of each long reply. */
static void tokens_acknowledge(void)
{
    for (unsigned i = 0; i < world->token_count; i++) {
        uint8_t head[AMG_HEADER_LEN];

        amg_header_write_request(
            head, AMG_HEADER_ACK | AMG_HEADER_ONE_WAY, world->tokens[i]);
        for (uint8_t id = 0; id < MESSAGE_CONTEXTS; id++)
            message_inject(head, sizeof(head), false, id);
        message_drain();
    }
}

void message_close(void)
{
    message_drain();
    later_answer();
    message_drain();
    tokens_acknowledge();
    for (unsigned rpc = MESSAGE_ARGS; rpc <= MESSAGE_LONG; rpc++)
        message_call((enum message_rpc)rpc, true);
    message_drain();
    FUZZ_CHECK(HG_Bulk_free(world->bulk) == HG_SUCCESS);
    FUZZ_CHECK(HG_Addr_free(world->cls, world->self) == HG_SUCCESS);
    for (unsigned i = 0; i < MESSAGE_CONTEXTS; i++) {
        /* Otherwise it would wait for them, and then perhaps abandon them. */
        FUZZ_CHECK(amg_tally_sum(&world->contexts[i]->in_flight) == 0);
        FUZZ_CHECK(amg_tally_sum(&world->contexts[i]->handles) == 0);
        FUZZ_CHECK(HG_Context_destroy(world->contexts[i]) == HG_SUCCESS);
    }
    FUZZ_CHECK(HG_Finalize(world->cls) == HG_SUCCESS);
}
