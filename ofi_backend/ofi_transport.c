/* SPDX-License-Identifier: BSD-3-Clause */
/* The libfabric driver: opens domain and endpoints, and fills the contract in.
 */
#include "ofi_backend/ofi_transport.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/mem.h"
#include "ofi_backend/ofi_addr.h"
#include "ofi_backend/ofi_close.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_mem.h"
#include "ofi_backend/ofi_msg.h"
#include "ofi_backend/ofi_nic.h"
#include "ofi_backend/ofi_poll.h"
#include "ofi_backend/ofi_rma.h"
#include "ofi_backend/ofi_select.h"
#include "ofi_backend/ofi_slab.h"
#include "ofi_backend/ofi_token.h"
#include "ofi_backend/ofi_env.h"
#include "ofi_backend/ofi_wait.h"

enum {
    MESSAGE_LEN_MIN = 256, /* all messages of our own fit */
    MESSAGE_LEN_MAX = 65536,
    CREDITS_MAX = 32767,
    TRANSFERS_MADE = 16, /* kept ready from the start */
};

static uint64_t clamp(uint64_t value, uint64_t min, uint64_t max)
{
    return value < min ? min : value > max ? max : value;
}

static void domain_set(
    struct amg_ofi_domain *domain, const struct amg_open *how)
{
    uint64_t message_len = how->message_len != 0
                               ? how->message_len
                               : amg_env_number(AMG_ENV_MESSAGE_BYTES);
    uint64_t credits =
        how->credits != 0 ? how->credits : amg_env_number(AMG_ENV_CREDITS);

    domain->base.transport = &amg_ofi_transport;
    amg_bias_init(&domain->lock);
    amg_fork_watch();
    domain->forks = amg_fork_count();
    domain->cq_fd = -1;
    domain->muted_fd = -1;
    domain->message_len =
        (uint32_t)clamp(message_len, MESSAGE_LEN_MIN, MESSAGE_LEN_MAX);
    domain->room_len = domain->message_len * AMG_ROOM_FACTOR;
    domain->universe = amg_ofi_env_universe();
    domain->max_contexts = how->max_contexts;
    domain->connect_ns =
        amg_env_number(AMG_ENV_CONNECT_TIMEOUT) * AMG_NS_PER_MS;
    domain->is_listening = how->is_listening;
    domain->is_joined = how->is_joined;
    domain->no_block = how->no_block;
    amg_list_init(&domain->peers);
    amg_list_init(&domain->trying);
    amg_list_init(&domain->sends);
    amg_list_init(&domain->transfers);
    amg_list_init(&domain->idle);
    amg_ofi_msg_init(domain, (uint16_t)clamp(credits, 1, CREDITS_MAX));
    amg_table_init(&domain->peer_numbers, AMG_TABLE_INDEX_MASK + 1u, "peers");
    amg_table_init(&domain->pieces, AMG_TABLE_INDEX_MASK + 1u,
        "pieces of transfers in flight");
    amg_table_init(&domain->leases, AMG_TABLE_INDEX_MASK + 1u,
        "leases of memory of others");
    amg_table_init(
        &domain->grants, AMG_TABLE_INDEX_MASK + 1u, "leases given to others");
    amg_table_init(
        &domain->mems, AMG_TABLE_INDEX_MASK + 1u, "exposed memories");
    amg_pool_init(&domain->transfer_pool, sizeof(struct amg_ofi_transfer),
        _Alignof(struct amg_ofi_transfer));
    amg_pool_init(&domain->piece_pool, sizeof(struct amg_ofi_piece),
        _Alignof(struct amg_ofi_piece));
}

/* No message is longer than the provider takes; both sides have the same one.
 */
static hg_return_t messages_fit(struct amg_ofi_domain *domain)
{
    size_t longest = domain->info->ep_attr->max_msg_size;

    if (longest >= domain->room_len)
        return HG_SUCCESS;
    if (longest < MESSAGE_LEN_MIN) {
        AMG_LOG_ERROR("cls",
            "ofi+%s takes messages of up to %zu bytes, and %d are needed",
            domain->facts.stack, longest, MESSAGE_LEN_MIN);
        return HG_OPNOTSUPPORTED;
    }
    domain->room_len = (uint32_t)longest;
    domain->message_len =
        (uint32_t)clamp(domain->message_len, MESSAGE_LEN_MIN, longest);
    return HG_SUCCESS;
}

static hg_return_t domain_fill(
    struct amg_ofi_domain *domain, const struct amg_open *how)
{
    uint8_t addr[AMG_OFI_ADDR_MAX];
    uint16_t len = 0;
    hg_return_t rc = amg_ofi_ep_open(domain, how, addr, &len);

    if (rc == HG_SUCCESS)
        rc = amg_ofi_peer_get_locked(domain, addr, len, &domain->self);
    if (rc == HG_SUCCESS)
        rc = amg_ofi_slab_init(domain);
    if (rc == HG_SUCCESS)
        rc = amg_ofi_ep_listen_locked(domain);
    if (rc != HG_SUCCESS)
        return rc;
    domain->eps = amg_mem_zalloc(domain->max_contexts * sizeof(domain->eps[0]));
    if (domain->eps == NULL ||
        amg_pool_fill(&domain->transfer_pool, TRANSFERS_MADE) <
            TRANSFERS_MADE ||
        amg_pool_fill(&domain->piece_pool, TRANSFERS_MADE) < TRANSFERS_MADE)
        return HG_NOMEM;
    return HG_SUCCESS;
}

static hg_return_t open_without_memory(const struct amg_open *how)
{
    AMG_LOG_ERROR("cls",
        "ofi+%s: there is no memory for a class; raise the limits of this "
        "process (ulimit -v), or set AMALGAM_MESSAGE_BYTES lower",
        how->protocol == NULL ? "tcp" : how->protocol);
    return HG_NOMEM;
}

static hg_return_t transport_open(
    const struct amg_open *how, struct amg_domain **ret_domain)
{
    struct amg_ofi_domain *domain = NULL;
    char text[AMG_OFI_TEXT_CAP];
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(
            how->max_contexts >= 1 && how->max_contexts <= AMG_OFI_CONTEXTS))
        return HG_INVALID_ARG;
    domain = amg_mem_zalloc(sizeof(*domain));
    if (domain == NULL)
        return open_without_memory(how);
    domain_set(domain, how);
    amg_bias_take(&domain->lock);
    rc = amg_ofi_token_init(domain);
    if (rc == HG_SUCCESS) {
        domain->incarnation = amg_ofi_token_draw_locked(domain);
        domain->salt = amg_ofi_token_draw_locked(domain);
        /* The process that was at this address before gave out other keys. */
        domain->next_key = amg_ofi_token_draw_locked(domain) & UINT32_MAX;
        rc = amg_ofi_select(how, &domain->info, &domain->facts);
    }
    if (rc == HG_SUCCESS)
        rc = messages_fit(domain);
    if (rc == HG_SUCCESS)
        rc = domain_fill(domain, how);
    amg_bias_give(&domain->lock);
    if (rc != HG_SUCCESS) {
        amg_ofi_close_free(domain);
        return rc == HG_NOMEM ? open_without_memory(how) : rc;
    }
    domain->base.wants_mem = domain->facts.needs_desc;
    amg_ofi_nic_read(domain->info, &domain->nic);
    domain->base.nic = &domain->nic;
    AMG_LOG_INFO("ofi", "reached at %s; %s",
        amg_ofi_peer_text(domain->self, text),
        domain->facts.can_sleep ? "waiting sleeps" : "waiting means polling");
    *ret_domain = &domain->base;
    return HG_SUCCESS;
}

static void transport_limits(
    const struct amg_domain *base, struct amg_limits *ret_limits)
{
    const struct amg_ofi_domain *domain = amg_ofi_domain_of(base);
    uint32_t body_len =
        domain->message_len - (uint32_t)sizeof(struct amg_ofi_header);

    *ret_limits = (struct amg_limits){.request_len = body_len,
        .reply_len = body_len,
        .credits = domain->calls.flow.limit,
        .is_spinning = !domain->facts.can_sleep,
        /* Who does not insist on looking shall not take a core for it. */
        .must_yield = !domain->facts.can_sleep && !domain->no_block,
        .reaches_self = domain->is_listening};
}

static hg_return_t ep_open(
    struct amg_domain *base, uint8_t context_id, struct amg_ep **ret_ep)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);
    struct amg_ofi_ep *ep = NULL;
    bool is_open = false;

    if (!AMG_CONTRACT(context_id < domain->max_contexts))
        return HG_INVALID_ARG;
    if (amg_ofi_is_child(domain))
        return HG_OPNOTSUPPORTED;
    ep = amg_mem_zalloc(sizeof(*ep));
    if (ep == NULL)
        return HG_NOMEM;
    ep->base.transport = &amg_ofi_transport;
    ep->base.domain = base;
    ep->base.context_id = context_id;
    amg_list_init(&ep->done);
    amg_list_init(&ep->arrived);
    amg_ofi_wait_init(ep);
    amg_bias_take(&domain->lock);
    is_open = domain->eps[context_id] != NULL;
    if (!is_open)
        domain->eps[context_id] = ep;
    amg_bias_give(&domain->lock);
    if (is_open) {
        amg_ofi_wait_fini(ep);
        amg_mem_free(ep);
        return HG_INVALID_ARG;
    }
    *ret_ep = &ep->base;
    return HG_SUCCESS;
}

/* Nothing is known of where peers run. */
static bool ep_is_crowded(struct amg_ep *ep)
{
    (void)ep;
    return false;
}

static hg_return_t ep_cancel(struct amg_ep *base, struct amg_op *op)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base->domain);

    if (amg_ofi_is_child(domain))
        return HG_SUCCESS;
    amg_bias_take(&domain->lock);
    if (op->priv[AMG_CALL_PRIV_STATE] == AMG_OFI_OP_TRANSFER)
        amg_ofi_rma_cancel_locked(domain, op);
    else
        amg_calls_cancel_locked(&domain->calls, op);
    amg_bias_give(&domain->lock);
    return HG_SUCCESS;
}

static hg_return_t msg_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf)
{
    return amg_ofi_is_child(amg_ofi_domain_of(ep->domain))
               ? HG_OPNOTSUPPORTED
               : amg_ofi_msg_get_buf(ep, peer, ret_buf);
}

/* NOTE(slab->domain): the endpoint may be closed when a slab is given back. */
static void msg_put_buf(struct amg_ep *ep, struct amg_buf *buf)
{
    if (!amg_ofi_is_child(amg_ofi_slab_of_buf(buf)->domain))
        amg_ofi_msg_put_buf(ep, buf);
}

static hg_return_t msg_send_request(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, struct amg_buf *buf, uint32_t len, bool wants_reply,
    struct amg_op *op)
{
    return amg_ofi_is_child(amg_ofi_domain_of(ep->domain))
               ? HG_OPNOTSUPPORTED
               : amg_ofi_msg_send_request(
                     ep, peer, target_context, buf, len, wants_reply, op);
}

static hg_return_t msg_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op)
{
    return amg_ofi_is_child(amg_ofi_domain_of(ep->domain))
               ? HG_OPNOTSUPPORTED
               : amg_ofi_msg_send_reply(ep, arrival, buf, len, op);
}

static void msg_release(struct amg_ep *ep, struct amg_arrival *arrival)
{
    if (!amg_ofi_is_child(amg_ofi_slab_of_arrival(arrival)->domain))
        amg_ofi_msg_release(ep, arrival);
}

static void msg_release_reply(struct amg_ep *ep, struct amg_op *op)
{
    const struct amg_ofi_slab *slab = amg_call_ptr(op);

    if (op->data != NULL && !amg_ofi_is_child(slab->domain))
        amg_ofi_msg_release_reply(ep, op);
}

const struct amg_transport amg_ofi_transport = {
    .name = "ofi",
    .schemes = "tcp ofi+tcp ofi ofi+net ofi+tcp;ofi_rxm ofi+net;ofi_rxm "
               "verbs ofi+verbs ofi+verbs;ofi_rxm cxi ofi+cxi psm2 ofi+psm2 "
               "opx ofi+opx efa ofi+efa ofi+shm ofi+sockets "
               "ofi+udp ofi+udp;ofi_rxd",
    .domain =
        {
            .open = transport_open,
            .limits = transport_limits,
            .quiesce = amg_ofi_close_quiesce,
            .report = amg_ofi_close_report,
            .abandon = amg_ofi_close_abandon,
            .close = amg_ofi_close_domain,
        },
    .ep =
        {
            .open = ep_open,
            .close = amg_ofi_close_ep,
            .wait_fd = amg_ofi_wait_fd,
            .arm = amg_ofi_wait_arm,
            .is_crowded = ep_is_crowded,
            .poll = amg_ofi_poll,
            .cancel = ep_cancel,
        },
    .addr =
        {
            .self = amg_ofi_addr_self,
            .hold = amg_ofi_peer_hold,
            .drop = amg_ofi_addr_drop,
            .is_self = amg_ofi_addr_is_self,
            .is_same = amg_ofi_addr_is_same,
            .format = amg_ofi_addr_format,
            .parse = amg_ofi_addr_parse,
        },
    .msg =
        {
            .get_buf = msg_get_buf,
            .put_buf = msg_put_buf,
            .send_request = msg_send_request,
            .send_reply = msg_send_reply,
            .release = msg_release,
            .release_reply = msg_release_reply,
        },
    .bulk =
        {
            .reg = amg_ofi_mem_reg,
            .unreg = amg_ofi_mem_unreg,
            .key = amg_ofi_mem_key,
            .put = amg_ofi_rma_put,
            .get = amg_ofi_rma_get,
        },
};
