/* SPDX-License-Identifier: BSD-3-Clause */
/* Driver for libfabric: its domains and endpoints, opened with their objects of
 * libfabric, and the table of its functions. */
#include "ofi_backend/ofi_domain.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_msg.h"
#include "ofi_backend/ofi_peer.h"
#include "ofi_backend/ofi_rma.h"
#include "transport/state.h"

enum {
    MESSAGE_LEN_MIN = 256, /* all messages of the driver fit */
    MESSAGE_LEN_MAX = 65536,
    CREDITS_MAX = 32767,
    LONG_SHARE = 8,      /* 1 of 8 requests may be long: 1.5 times the memory */
    TRANSFERS_MADE = 16, /* allocated at open */
    CQ_LEN = 1024,
};

static void domain_progress(struct amg_domain *base)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);

    amg_bias_lock(&domain->lock);
    (void)amg_ofi_poll_domain_locked(domain);
    amg_bias_unlock(&domain->lock);
}

/* Leaves out unused leases: no operation waits for these. */
static void peer_write_state_locked(
    const struct amg_peer *peer, struct amg_state *state)
{
    const struct amg_calls *calls = &peer->domain->calls;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    amg_state_begin_peer_locked(state, calls, &peer->calls, peer->number);
    amg_state_add(
        state, "its calls not answered or released", peer->requests.open);
    amg_state_add_list(state,
        "messages waiting for a connection, or room of the provider",
        &peer->unsent);
    amg_state_add(
        state, "messages kept for further calls", peer->packed.kept != NULL);
    amg_state_add_list(state, "messages to it with the provider", &peer->sends);
    amg_state_add(state, "messages about the connection due to it",
        (size_t)peer->conn.owes_connect + peer->conn.owes_accept);
    /* The next long call gives back the places of released one-way calls. */
    amg_state_add(state, "long requests with a place there",
        peer->requests.longs -
            (peer->calls.unanswered == 0 ? peer->requests.long_oneways : 0u));
    amg_state_add_list(state, "transfers", &peer->rma.transfers);
    amg_state_add(
        state, "unanswered messages of transfers", peer->rma.unanswered);
    amg_state_add(
        state, "leases that it was asked to return", peer->rma.revoked);
    amg_state_print(state, ", leases that it has %u, %s",
        (unsigned)peer->rma.granted,
        peer->state == AMG_OFI_PEER_OPEN ? "connected" : "not connected");
    amg_state_end(state);
}

static void domain_write_state(struct amg_domain *base, struct amg_state *state)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);

    amg_bias_lock(&domain->lock);
    for (struct amg_link *link = amg_list_first(&domain->peers.all);
         link != NULL; link = amg_list_next(&domain->peers.all, link))
        peer_write_state_locked(
            amg_container_of(link, struct amg_peer, all), state);
    amg_state_begin(state, "ofi");
    for (uint32_t i = 0; i < domain->max_contexts; i++) {
        if (domain->eps[i] == NULL)
            continue;
        amg_state_add_list(state, "ended operations waiting for a poll",
            &domain->eps[i]->done);
        amg_state_add_list(
            state, "requests waiting for a poll", &domain->eps[i]->arrived);
    }
    amg_state_add_list(state, "late answers", &domain->calls.late);
    amg_state_add(
        state, "reads and writes with the provider", domain->rma.in_flight);
    amg_state_add(
        state, "message buffers in use", amg_ofi_msgbuf_taken_locked(domain));
    amg_state_end(state);
    amg_bias_unlock(&domain->lock);
}

/* The peer of a transfer that is under way, or NULL. */
static struct amg_peer *transfer_peer_locked(
    const struct amg_ofi_domain *domain, const struct amg_op *op)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (struct amg_link *link = amg_list_first(&domain->peers.all);
         link != NULL; link = amg_list_next(&domain->peers.all, link)) {
        struct amg_peer *peer = amg_container_of(link, struct amg_peer, all);
        const struct amg_link *at = amg_list_first(&peer->rma.transfers);

        for (; at != NULL; at = amg_list_next(&peer->rma.transfers, at))
            if (amg_container_of(at, struct amg_ofi_transfer, of_peer)->op ==
                op)
                return peer;
    }
    return NULL;
}

static bool domain_look(struct amg_domain *base, const struct amg_op *op,
    struct amg_whereabouts *ret_where)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);
    struct amg_flow_peer *flow = NULL;
    struct amg_peer *peer = NULL;
    enum amg_stage stage = AMG_STAGE_NONE;
    uint32_t number = 0;

    amg_bias_lock(&domain->lock);
    stage = amg_calls_stage_locked(&domain->calls, op, &flow, &number);
    if (flow != NULL)
        peer = amg_container_of(flow, struct amg_peer, calls);
    else if (stage == AMG_STAGE_SENT)
        peer = amg_table_at(&domain->peers.numbers, number)->object;
    else if ((peer = transfer_peer_locked(domain, op)) != NULL)
        stage = AMG_STAGE_MOVES;
    if (peer != NULL && peer->state != AMG_OFI_PEER_OPEN)
        stage = AMG_STAGE_CONNECT;
    if (peer != NULL) {
        amg_calls_where_locked(&domain->calls, &peer->calls, stage, ret_where);
        if (base->rank_of != NULL)
            ret_where->rank = base->rank_of(base->ranks, peer);
    }
    amg_bias_unlock(&domain->lock);
    return peer != NULL;
}

static void domain_lost(struct amg_domain *base, struct amg_peer *peer)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);

    amg_bias_lock(&domain->lock);
    amg_flow_close(&peer->calls);
    amg_ofi_connect_lost_locked(peer, "its process has died");
    amg_bias_unlock(&domain->lock);
}

static uint64_t clamp(uint64_t value, uint64_t min, uint64_t max)
{
    return value < min ? min : value > max ? max : value;
}

static void domain_set(
    struct amg_ofi_domain *domain, const struct amg_open *how)
{
    const uint32_t table_max = AMG_TABLE_INDEX_MASK + 1u;
    uint64_t message_len = how->message_len != 0
                               ? how->message_len
                               : amg_env_number(AMG_ENV_MESSAGE_BYTES);
    uint64_t credits =
        how->credits != 0 ? how->credits : amg_env_number(AMG_ENV_CREDITS);

    domain->base.transport = &amg_ofi_transport;
    domain->base.progress = domain_progress;
    amg_bias_init(&domain->lock);
    domain->wait.fd = -1;
    domain->wait.muted_fd = -1;
    domain->message_len =
        (uint32_t)clamp(message_len, MESSAGE_LEN_MIN, MESSAGE_LEN_MAX);
    domain->message_max = domain->message_len * AMG_ROOM_FACTOR;
    domain->fi.universe = amg_ofi_env_universe();
    domain->max_contexts = how->max_contexts;
    domain->connect_ns =
        amg_env_number(AMG_ENV_CONNECT_TIMEOUT) * AMG_NS_PER_MS;
    domain->is_listening = how->is_listening;
    domain->is_joined = how->is_joined;
    domain->no_block = how->nic.no_block;
    amg_list_init(&domain->peers.all);
    amg_list_init(&domain->peers.pending);
    for (unsigned i = 0; i < AMG_OFI_WHEEL; i++)
        amg_list_init(&domain->peers.wheel[i]);
    amg_list_init(&domain->peers.resting);
    amg_list_init(&domain->msgbufs.in_flight);
    amg_list_init(&domain->rma.transfers);
    amg_list_init(&domain->leases.idle);
    amg_calls_init(&domain->calls, &domain->lock,
        (uint16_t)clamp(credits, 1, CREDITS_MAX), &amg_ofi_calls_ops);
    amg_calls_limit(&domain->calls, amg_env_number(AMG_ENV_MAX_REQUEST_BYTES),
        domain->message_max, domain->fi.universe);
    amg_table_init(&domain->peers.numbers, table_max, "peers");
    amg_table_init(
        &domain->rma.fragments, table_max, "fragments of transfers in flight");
    amg_table_init(
        &domain->leases.all, table_max, "leases of memory of others");
    amg_table_init(&domain->mems.all, table_max, "exposed memories");
    amg_pool_init(&domain->rma.transfer_pool, sizeof(struct amg_ofi_transfer),
        _Alignof(struct amg_ofi_transfer));
    amg_pool_init(&domain->rma.fragment_pool, sizeof(struct amg_ofi_fragment),
        _Alignof(struct amg_ofi_fragment));
}

/* Limits messages to the provider's longest, which is the same at all peers. */
static hg_return_t messages_fit(struct amg_ofi_domain *domain)
{
    size_t longest = domain->fi.info->ep_attr->max_msg_size;

    domain->receive_max = domain->message_max;
    if (longest >= AMG_OFI_LONG_LEN && domain->message_max < AMG_OFI_LONG_LEN) {
        domain->receive_max = AMG_OFI_LONG_LEN;
        domain->long_limit = domain->calls.flow.limit / LONG_SHARE + 1u;
    }
    if (longest >= domain->message_max)
        return HG_SUCCESS;
    if (longest < MESSAGE_LEN_MIN) {
        AMG_LOG_ERROR("cls",
            "ofi+%s takes messages of up to %zu bytes, and %d are needed",
            domain->facts.stack, longest, MESSAGE_LEN_MIN);
        return HG_OPNOTSUPPORTED;
    }
    domain->message_max = (uint32_t)longest;
    domain->receive_max = domain->message_max;
    domain->message_len =
        (uint32_t)clamp(domain->message_len, MESSAGE_LEN_MIN, longest);
    return HG_SUCCESS;
}

static hg_return_t enable_error(
    int code, const struct amg_open *how, const struct amg_ofi_domain *domain)
{
    const char *remedy = "is it an address of this machine?";
    char key[AMG_OFI_AUTH_TEXT_CAP];
    char what[400];

    if (amg_ofi_auth_text(domain->fi.info, key)[0] != '\0')
        remedy = "may this user have that service and VNI? "
                 "AMALGAM_SLINGSHOT_VNI chooses one of SLINGSHOT_VNIS";
    if (code == -FI_EADDRINUSE)
        remedy = "another program uses that port; name another one, or none to "
                 "get a free one";
    if (code == -FI_ENOSPC || code == -FI_EDOMAIN)
        remedy = "is the NIC's share of this job used up? Start fewer ranks on "
                 "a node, or reserve more (Slurm's --network=depth=N)";
    if (code == -FI_ENOSYS)
        remedy = "over Slingshot, a job on one node needs a VNI (Slurm's "
                 "--network=single_node_vni)";
    snprintf(what, sizeof(what), "opening ofi+%s at '%s'%s; %s",
        domain->facts.stack, how->info == NULL ? "" : how->info, key, remedy);
    return amg_ofi_error(code, what);
}

/* Opens the completion queue; with a descriptor if the provider has one. */
static int cq_make(struct amg_ofi_domain *domain, bool no_block)
{
    struct fi_cq_attr attr = {
        .size = CQ_LEN, .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD};
    const struct amg_ofi_call *call = amg_ofi_call;

    if (!no_block &&
        call->cq_open(domain->fi.domain, &attr, &domain->fi.cq) == 0) {
        domain->facts.can_sleep =
            call->cq_wait_fd(domain->fi.cq, &domain->wait.fd) == 0;
        if (domain->facts.can_sleep)
            return 0;
        /* The provider has no descriptor, and reports that only now. */
        (void)call->close(&domain->fi.cq->fid);
    }
    domain->wait.fd = -1;
    domain->fi.cq = NULL;
    attr.wait_obj = FI_WAIT_NONE;
    return call->cq_open(domain->fi.domain, &attr, &domain->fi.cq);
}

static int fi_make(struct amg_ofi_domain *domain, bool no_block)
{
    struct fi_av_attr av_attr = {
        .type = FI_AV_TABLE, .count = domain->fi.universe};
    int code =
        amg_ofi_call->fabric(domain->fi.info->fabric_attr, &domain->fi.fabric);

    if (code == 0)
        code = amg_ofi_call->domain(
            domain->fi.fabric, domain->fi.info, &domain->fi.domain);
    if (code == 0)
        code =
            amg_ofi_call->av_open(domain->fi.domain, &av_attr, &domain->fi.av);
    if (code == 0)
        code = cq_make(domain, no_block);
    if (code == 0)
        code = amg_ofi_call->endpoint(
            domain->fi.domain, domain->fi.info, &domain->fi.ep);
    if (code == 0)
        code = amg_ofi_call->ep_bind(domain->fi.ep, &domain->fi.av->fid, 0);
    if (code == 0)
        code = amg_ofi_call->ep_bind(
            domain->fi.ep, &domain->fi.cq->fid, FI_TRANSMIT | FI_RECV);
    return code;
}

/* Has the provider release a buffer when the longest message no longer fits. If
 * the provider cannot do that, each buffer takes one message. */
static int multi_set(struct amg_ofi_domain *domain)
{
    size_t room = domain->receive_max;
    int code = amg_ofi_call->setopt(
        domain->fi.ep, FI_OPT_MIN_MULTI_RECV, &room, sizeof(room));

    domain->facts.is_multi = code == 0;
    if (code != -FI_ENOPROTOOPT && code != -FI_ENOSYS &&
        code != -FI_EOPNOTSUPP && code != -FI_EINVAL)
        return code;
    AMG_LOG_INFO("ofi", "ofi+%s receives one message per buffer (%s)",
        domain->facts.stack, amg_ofi_call->strerror(-code));
    return 0;
}

/* HG_ADDRINUSE: the port is taken; HG_ADDRNOTAVAIL: this machine does not have
 * the host's address; HG_NA_ERROR, HG_NOMEM; the log says more. After an error
 * some objects may be open. */
static hg_return_t objects_open(struct amg_ofi_domain *domain,
    const struct amg_open *how, uint8_t *ret_addr, uint16_t *ret_len)
{
    size_t addr_len = AMG_OFI_ADDR_MAX;
    int code = fi_make(domain, how->nic.no_block);

    /* Enables first: else the option of multi_set() crashes shm of 1.17. */
    if (code == 0)
        code = amg_ofi_call->enable(domain->fi.ep);
    if (code == 0)
        code = multi_set(domain);
    if (code != 0)
        return enable_error(code, how, domain);
    code = amg_ofi_call->getname(domain->fi.ep, ret_addr, &addr_len);
    if (code != 0 || addr_len > AMG_OFI_ADDR_MAX)
        return amg_ofi_error(
            code != 0 ? code : -FI_ETOOSMALL, "asking for the own address");
    if (amg_ofi_addr_is_any(domain->facts.addr_format, ret_addr)) {
        AMG_LOG_ERROR("cls",
            "ofi+%s listens at every interface and cannot say where others "
            "reach it; name an interface or host, as in tcp://eth0",
            domain->facts.stack);
        return HG_ADDRNOTAVAIL;
    }
    *ret_len = (uint16_t)addr_len;
    return HG_SUCCESS;
}

static hg_return_t domain_fill(
    struct amg_ofi_domain *domain, const struct amg_open *how)
{
    uint8_t addr[AMG_OFI_ADDR_MAX];
    uint16_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    amg_packer_init(
        &domain->packer, amg_ofi_pack_len(domain), amg_ofi_pack_room(domain));
    domain->base.packs = &domain->packer.counts;
    domain->base.counts = &domain->calls.counts;
    rc = objects_open(domain, how, addr, &len);
    if (rc == HG_SUCCESS)
        rc = amg_ofi_peer_get_locked(domain, addr, len, &domain->self);
    if (rc == HG_SUCCESS)
        rc = amg_ofi_msgbuf_init_locked(domain);
    if (rc == HG_SUCCESS)
        rc = amg_ofi_receive_begin_locked(domain);
    if (rc != HG_SUCCESS)
        return rc;
    domain->eps = amg_mem_zalloc(domain->max_contexts * sizeof(domain->eps[0]));
    if (domain->eps == NULL ||
        amg_pool_fill(&domain->rma.transfer_pool, TRANSFERS_MADE) <
            TRANSFERS_MADE ||
        amg_pool_fill(&domain->rma.fragment_pool, TRANSFERS_MADE) <
            TRANSFERS_MADE)
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

static hg_return_t domain_open(
    const struct amg_open *how, struct amg_domain **ret_domain)
{
    struct amg_ofi_domain *domain = NULL;
    char text[AMG_OFI_TEXT_CAP];
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT_OF("HG_Init",
            how->max_contexts >= 1 && how->max_contexts <= AMG_OFI_CONTEXTS,
            "max_contexts is %u, but this transport has 1 to %u",
            how->max_contexts, (unsigned)AMG_OFI_CONTEXTS))
        return HG_INVALID_ARG;
    domain = amg_mem_zalloc(sizeof(*domain));
    if (domain == NULL)
        return open_without_memory(how);
    domain_set(domain, how);
    amg_bias_lock(&domain->lock);
    rc = amg_ofi_peers_init(domain);
    if (rc == HG_SUCCESS) {
        domain->incarnation = amg_ofi_token_draw();
        domain->mems.salt = amg_ofi_token_draw();
        /* A former process at this address most likely used other keys. */
        domain->mems.next_key = amg_ofi_token_draw() & UINT32_MAX;
        rc = amg_ofi_select(how, &domain->fi.info, &domain->facts);
    }
    if (rc == HG_SUCCESS)
        rc = messages_fit(domain);
    if (rc == HG_SUCCESS)
        rc = domain_fill(domain, how);
    amg_bias_unlock(&domain->lock);
    if (rc != HG_SUCCESS) {
        amg_ofi_domain_free(domain);
        return rc == HG_NOMEM ? open_without_memory(how) : rc;
    }
    domain->base.wants_mem = domain->facts.needs_desc;
    amg_ofi_nic_read(domain->fi.info, &domain->fi.nic);
    domain->base.nic = &domain->fi.nic;
    AMG_LOG_INFO("ofi", "address %s; waiting %s",
        amg_ofi_peer_text(domain->self, text),
        domain->facts.can_sleep ? "blocks" : "polls");
    *ret_domain = &domain->base;
    return HG_SUCCESS;
}

static void domain_limits(
    const struct amg_domain *base, struct amg_limits *ret_limits)
{
    const struct amg_ofi_domain *domain = amg_ofi_domain_of(base);
    uint32_t body_len =
        domain->message_len - (uint32_t)sizeof(struct amg_ofi_header);

    *ret_limits = (struct amg_limits){.request_len = body_len,
        .reply_len = body_len,
        .credits = domain->calls.flow.limit,
        .is_spinning = !domain->facts.can_sleep,
        /* Only a user that set no_block wants to spend a core on polling. */
        .must_yield = !domain->facts.can_sleep && !domain->no_block,
        .reaches_self = domain->is_listening};
}

static hg_return_t ep_open(
    struct amg_domain *base, uint8_t context_id, struct amg_ep **ret_ep)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);
    struct amg_ofi_ep *ep = NULL;
    hg_return_t rc = HG_INVALID_ARG;

    if (!AMG_CONTRACT_OF("HG_Context_create_id",
            context_id < domain->max_contexts,
            "id is %u, but the class was opened for ids below %u; set "
            "max_contexts",
            (unsigned)context_id, (unsigned)domain->max_contexts))
        return rc;
    amg_bias_lock(&domain->lock);
    if (domain->eps[context_id] != NULL)
        goto unlock;
    rc = HG_NOMEM;
    ep = amg_mem_zalloc(sizeof(*ep));
    if (ep == NULL)
        goto unlock;
    ep->base.transport = &amg_ofi_transport;
    ep->base.domain = base;
    ep->base.context_id = context_id;
    ep->base.kept = &domain->packer.kept_count;
    amg_list_init(&ep->done);
    amg_list_init(&ep->arrived);
    amg_ofi_wait_init(ep);
    domain->eps[context_id] = ep;
    *ret_ep = &ep->base;
    rc = HG_SUCCESS;
unlock:
    amg_bias_unlock(&domain->lock);
    return rc;
}

/* The driver does not know on which cores peers run. */
static bool ep_is_oversubscribed(struct amg_ep *ep)
{
    (void)ep;
    return false;
}

static hg_return_t ep_cancel(struct amg_ep *base, struct amg_op *op)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base->domain);

    amg_bias_lock(&domain->lock);
    if (op->priv[AMG_CALL_PRIV_STATE] == AMG_OFI_OP_TRANSFER)
        amg_ofi_rma_cancel_locked(op);
    else
        amg_calls_cancel_locked(&domain->calls, op);
    amg_bias_unlock(&domain->lock);
    return HG_SUCCESS;
}

static struct amg_peer *addr_self(struct amg_domain *base)
{
    return amg_ofi_peer_ref(amg_ofi_domain_of(base)->self);
}

static void addr_unref(struct amg_domain *base, struct amg_peer *peer)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);

    amg_bias_lock(&domain->lock);
    amg_ofi_peer_unref_locked(peer);
    amg_bias_unlock(&domain->lock);
}

static bool addr_is_self(
    const struct amg_domain *base, const struct amg_peer *peer)
{
    return peer == amg_ofi_domain_of(base)->self;
}

static bool addr_is_same(const struct amg_domain *base,
    const struct amg_peer *one, const struct amg_peer *other)
{
    (void)base;
    return one == other;
}

static hg_return_t addr_format(const struct amg_domain *base,
    const struct amg_peer *peer, char *ret_text, size_t *len)
{
    char text[AMG_OFI_TEXT_CAP];
    size_t room = *len;

    (void)base;
    (void)amg_ofi_peer_text(peer, text);
    *len = strlen(text) + 1;
    if (ret_text == NULL || room < *len)
        return HG_OVERFLOW;
    memcpy(ret_text, text, *len);
    return HG_SUCCESS;
}

static hg_return_t addr_parse(
    struct amg_domain *base, const char *text, struct amg_peer **ret_peer)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);
    uint8_t addr[AMG_OFI_ADDR_MAX];
    uint16_t len = 0;
    hg_return_t rc = HG_OPNOTSUPPORTED;

    rc = amg_ofi_addrstr_read(&domain->facts, text, addr, &len);
    if (rc != HG_SUCCESS)
        return rc;
    amg_bias_lock(&domain->lock);
    rc = amg_ofi_peer_get_locked(domain, addr, len, ret_peer);
    amg_bias_unlock(&domain->lock);
    return rc;
}

const struct amg_transport amg_ofi_transport = {
    .name = "ofi",
    .schemes =
        "tcp ofi+tcp ofi ofi+net ofi+tcp;ofi_rxm ofi+net;ofi_rxm tcp;ofi_rxm "
        "tcp_rxm ofi+tcp_rxm sockets verbs;ofi_rxm verbs_rxm ofi+verbs_rxm "
        "verbs ofi+verbs ofi+verbs;ofi_rxm cxi ofi+cxi psm2 ofi+psm2 opx "
        "ofi+opx efa ofi+efa ofi+shm ofi+sockets ofi+udp ofi+udp;ofi_rxd",
    .domain =
        {
            .open = domain_open,
            .limits = domain_limits,
            .quiesce = amg_ofi_domain_quiesce,
            .report = amg_ofi_domain_report,
            .abandon = amg_ofi_domain_abandon,
            .stop = amg_ofi_domain_stop,
            .write_state = domain_write_state,
            .look = domain_look,
            .lost = domain_lost,
            .close = amg_ofi_domain_close,
        },
    .ep =
        {
            .open = ep_open,
            .close = amg_ofi_ep_close,
            .wait_fd = amg_ofi_wait_fd,
            .arm = amg_ofi_arm,
            .is_oversubscribed = ep_is_oversubscribed,
            .poll = amg_ofi_poll,
            .cancel = ep_cancel,
            .is_clear = amg_ofi_ep_is_clear,
        },
    .addr =
        {
            .self = addr_self,
            .ref = amg_ofi_peer_ref,
            .unref = addr_unref,
            .is_self = addr_is_self,
            .is_same = addr_is_same,
            .format = addr_format,
            .parse = addr_parse,
        },
    .msg =
        {
            .get_buf = amg_ofi_msg_get_buf,
            .get_long_buf = amg_ofi_msg_get_long_buf,
            .put_buf = amg_ofi_msg_put_buf,
            .send_request = amg_ofi_msg_send_request,
            .send_reply = amg_ofi_msg_send_reply,
            .request_now = amg_request_by_buf,
            .send_ack = amg_ofi_msg_send_ack,
            .reply_now = amg_reply_by_buf,
            .release = amg_ofi_msg_release,
            .release_reply = amg_ofi_msg_release_reply,
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
