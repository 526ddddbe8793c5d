/* SPDX-License-Identifier: BSD-3-Clause */
/* A class with a context that calls itself, and a handler that needs no handle:
 * what the tests of one-way calls share. */
#include "oneway_world.h"

#include <string.h>

#include "base/log.h"
#include "core/addr.h"
#include "core/context.h"

hg_class_t *cls;
hg_context_t *context;
hg_addr_t self;
hg_id_t id;
unsigned served;
uint32_t last;

void world_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    assert_ptr_equal(hg_class, cls);
    assert_int_equal(from_rank, -1);
    served++;
    if (len == sizeof(last))
        memcpy(&last, arg, len);
}

int world_start(void **state)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    (void)state;
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    served = 0;
    info.na_init_info.max_contexts = 2;
    cls = HG_Init_opt2(
        "self", HG_TRUE, HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), &info);
    context = cls == NULL ? NULL : HG_Context_create(cls);
    if (context == NULL || HG_Addr_self(cls, &self) != HG_SUCCESS)
        return -1;
    id = amalgam_register_oneway(cls, "oneway", world_serve);
    return id == 0;
}

int world_stop(void **state)
{
    (void)state;
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    if (HG_Addr_free(cls, self) != HG_SUCCESS ||
        (context != NULL && HG_Context_destroy(context) != HG_SUCCESS))
        return -1;
    return HG_Finalize(cls) == HG_SUCCESS ? 0 : -1;
}

hg_return_t note(uint32_t value)
{
    return amalgam_forward_oneway(context, self, id, &value, sizeof(value));
}

static void message_send(const struct amg_header *header, const void *body,
    uint32_t body_len, uint32_t len)
{
    struct amg_ep *ep = amg_context_ep(context, AMG_ROUTE_SELF);
    struct amg_buf *buf = NULL;

    assert_int_equal(
        ep->transport->msg.get_buf(ep, self->peer, &buf), HG_SUCCESS);
    memset(buf->data, 0, buf->cap);
    memcpy(buf->data, header, sizeof(*header));
    if (body_len > 0)
        memcpy((char *)buf->data + sizeof(*header), body, body_len);
    assert_int_equal(
        ep->transport->msg.send_request(
            ep, (struct amg_target){self->peer, 0}, buf, len, false, NULL),
        HG_SUCCESS);
}

void raw_send(const struct amg_header *header, uint32_t len)
{
    message_send(header, NULL, 0, len);
}

void raw_send_body(
    const struct amg_header *header, const void *body, uint32_t body_len)
{
    message_send(header, body, body_len, AMG_HEADER_LEN + body_len);
}

struct amg_header header_of(hg_id_t of)
{
    return (struct amg_header){.magic = AMG_HEADER_REQUEST,
        .version = AMG_HEADER_VERSION,
        .flags = AMG_HEADER_ONE_WAY,
        .id = of};
}

void poll_all(void)
{
    while (
        HG_Progress(context, 0) == HG_SUCCESS && !amg_context_has_due(context))
        continue;
}

unsigned poll_and_trigger(void)
{
    unsigned count = 0;

    poll_all();
    (void)HG_Trigger(context, 0, UINT32_MAX, &count);
    return count;
}
