/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way calls without a handle: sent from the bytes of the caller, and served
 * from their arrival.
 *
 * A request of the plain form becomes an entry of the queue of callbacks in the
 * words that its driver leaves to this layer: it keeps its place among the
 * calls of its peer, runs in the thread that runs incoming calls, and holds its
 * credit until its handler has returned. Any other request, for instance one
 * with checksums or before its registration, is served as all are (serve.c),
 * and the callback below passes its bytes on. */
#include "rpc/handle.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/addr.h"
#include "rpc/encode.h"

/* An arrival that waits for its handler; in its `kept` words. */
struct waiting {
    struct amg_cq_entry entry;
    hg_context_t *context;
    struct amg_rpc *rpc;
    unsigned route;
};

_Static_assert(
    sizeof(struct waiting) <= sizeof(((struct amg_arrival *)NULL)->kept),
    "the words of an arrival");

static void waiting_run(struct amg_cq_entry *entry)
{
    struct waiting *waiting = amg_container_of(entry, struct waiting, entry);
    struct amg_arrival *arrival =
        (void *)((char *)waiting - offsetof(struct amg_arrival, kept));
    hg_context_t *context = waiting->context;
    struct amg_ep *ep = amg_context_ep(context, waiting->route);
    int from_rank = -1;

    amg_tally_add(&context->handles, 1); /* it cannot be destroyed here */
    if (context->cls->ranks != NULL) {
        struct hg_addr from;

        amg_addr_borrow(context->cls, waiting->route, arrival->from, &from);
        from_rank = amg_addr_rank(&from);
    }
    waiting->rpc->oneway(context->cls, from_rank,
        (const char *)arrival->data + AMG_HEADER_LEN,
        arrival->len - AMG_HEADER_LEN);
    ep->transport->msg.release(ep, arrival);
    amg_tally_add(&context->handles, -1);
}

void amg_oneway_take(hg_context_t *context, unsigned route, struct amg_rpc *rpc,
    struct amg_arrival *arrival)
{
    struct waiting *waiting = (void *)arrival->kept;

    amg_counters_add(&context->counters, AMG_COUNT_REQUESTS_CAME);
    waiting->entry.run = waiting_run;
    waiting->entry.is_incoming = true;
    waiting->context = context;
    waiting->rpc = rpc;
    waiting->route = route;
    amg_context_queue(context, &waiting->entry);
}

/* The callback of the RPC, for the other requests. */
static hg_return_t oneway_serve(hg_handle_t handle)
{
    const char *why = NULL;
    char text[256];

    if (!handle->is_one_way)
        why = "its origin waits for a reply";
    else if (handle->in.len > AMALGAM_ONEWAY_MAX)
        why = "its arguments are longer than AMALGAM_ONEWAY_MAX";
    else if (amg_rpc_check(&handle->in) != HG_SUCCESS)
        why = "the checksum of its arguments is another one";
    if (why == NULL)
        handle->rpc->oneway(handle->info.hg_class, amg_addr_rank(&handle->addr),
            handle->in.data, handle->in.len);
    else
        AMG_LOG_WARNING("rpc",
            "a request from %s (RPC id 0x%" PRIx64 ") is not handled: %s",
            amg_addr_text(&handle->addr, text, sizeof(text)), handle->info.id,
            why);
    return HG_Destroy(handle);
}

hg_id_t amalgam_register_oneway(
    hg_class_t *hg_class, const char *func_name, amalgam_oneway_cb_t handler)
{
    struct amg_rpc wanted = {
        .callback = handler == NULL ? NULL : oneway_serve,
        .oneway = handler,
        .is_one_way = true,
    };

    if (!AMG_CLASS_OK(hg_class) || !AMG_CONTRACT(func_name != NULL))
        return 0;
    wanted.id = amg_rpc_name_id(func_name);
    return amg_rpc_register(hg_class, &wanted) == HG_SUCCESS ? wanted.id : 0;
}

/* A call that waits for a credit of its peer: there is at most one for each, as
 * further ones are refused then. Owned by itself, until it has left. */
struct late {
    struct amg_op op;
    hg_context_t *context;
    struct hg_addr to;
};

static void late_free(struct late *late)
{
    amg_addr_fini(&late->to);
    amg_mem_free(late);
}

static void late_step(struct amg_op *op)
{
    struct late *late = amg_container_of(op, struct late, op);
    hg_context_t *context = late->context;

    late_free(late);
    amg_context_leave(context);
}

/* Sends it when there is a credit. */
AMG_NOINLINE static hg_return_t late_send(hg_context_t *context,
    const struct hg_addr *to, const struct amg_message *message)
{
    struct amg_ep *ep = amg_context_ep(context, to->route);
    struct late *late = amg_mem_zalloc(sizeof(*late));
    hg_return_t rc = HG_SUCCESS;

    if (late == NULL)
        return HG_NOMEM;
    late->op.step = late_step;
    late->context = context;
    amg_addr_init_copy(to, &late->to);
    amg_context_enter(context);
    rc = ep->transport->msg.send_request(ep, (struct amg_target){to->peer, 0},
        message->buf, message->len, false, &late->op);
    if (rc == HG_SUCCESS)
        return HG_SUCCESS;
    amg_context_leave(context);
    late_free(late);
    return rc;
}

/* Is it a one-way RPC of this process? */
static hg_return_t id_check(const hg_class_t *cls, hg_id_t id)
{
    const struct amg_rpc *rpc = amg_rpc_find(cls, id);

    if (AMG_LIKELY(rpc != NULL && rpc->is_one_way))
        return HG_SUCCESS;
    AMG_LOG_ERROR("rpc", "RPC id 0x%" PRIx64 " is not %s", id,
        rpc == NULL ? "registered" : "one-way: it has a response");
    return rpc == NULL ? HG_NOENTRY : HG_OPNOTSUPPORTED;
}

hg_return_t amalgam_forward_oneway(hg_context_t *context, hg_addr_t addr,
    hg_id_t id, const void *arg, size_t len)
{
    struct amg_ep *ep = NULL;
    struct amg_message message = {.buf = NULL};
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTEXT_OK(context) || !AMG_ADDR_OK(addr) ||
        !AMG_CONTRACT(addr->cls == context->cls && addr->peer != NULL &&
                      (arg != NULL || len == 0)))
        return HG_INVALID_ARG;
    if (len > AMALGAM_ONEWAY_MAX)
        return HG_MSGSIZE;
    rc = id_check(context->cls, id);
    if (rc != HG_SUCCESS)
        return rc;
    ep = amg_context_ep(context, addr->route);
    rc = ep->transport->msg.get_buf(ep, addr->peer, &message.buf);
    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_rpc_encode_raw(context->cls, id, arg, (uint32_t)len, &message);
    if (rc == HG_SUCCESS)
        rc = ep->transport->msg.send_request(ep,
            (struct amg_target){addr->peer, 0}, message.buf, message.len, false,
            NULL);
    if (rc == HG_BUSY)
        rc = late_send(context, addr, &message);
    if (!AMG_LIKELY(rc == HG_SUCCESS)) {
        ep->transport->msg.put_buf(ep, message.buf);
        return rc;
    }
    amg_counters_add(&context->counters, AMG_COUNT_REQUESTS_SENT);
    amg_context_posted(context, addr->route);
    return HG_SUCCESS;
}
