/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared-memory driver: opens and closes domains; the operations table. */
#include "shm/shm_transport.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "shm/shm_bulk.h"
#include "shm/shm_domain.h"
#include "shm/shm_files.h"
#include "shm/shm_inbox.h"
#include "shm/shm_peer.h"
#include "shm/shm_send.h"
#include "transport/state.h"

void amg_shm_node_id(const struct amg_domain *base, struct amg_shm_id *ret_id)
{
    const struct amg_shm_region *region = &amg_shm_domain_of(base)->region;

    memset(ret_id, 0, sizeof(*ret_id));
    memcpy(ret_id->name, region->name, strlen(region->name));
    ret_id->incarnation = region->incarnation;
}

void amg_shm_node_join(
    struct amg_domain *base, struct amg_shm_rank *ranks, uint32_t count)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base);

    AMG_ASSERT(domain->ranks == NULL && count > 0);
    domain->ranks = ranks;
    domain->rank_count = count;
}

static int rank_compare(const void *rank, const void *entry)
{
    uint32_t one = *(const uint32_t *)rank;
    uint32_t other = ((const struct amg_shm_rank *)entry)->rank;

    return one < other ? -1 : one > other;
}

hg_return_t amg_shm_node_peer(
    struct amg_domain *base, uint32_t rank, struct amg_peer **ret_peer)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base);
    const struct amg_shm_rank *entry = bsearch(
        &rank, domain->ranks, domain->rank_count, sizeof(*entry), rank_compare);
    struct amg_shm_peer *peer = NULL;

    if (entry == NULL || entry->id.incarnation == domain->region.incarnation)
        return HG_NOENTRY;
    amg_bias_lock(&domain->lock);
    peer = amg_shm_peer_unmet_locked(
        domain, entry->id.name, entry->id.incarnation);
    amg_bias_unlock(&domain->lock);
    if (peer == NULL)
        return HG_NOMEM;
    *ret_peer = amg_shm_peer_base(peer);
    return HG_SUCCESS;
}

uint32_t amg_shm_node_rank(
    const struct amg_domain *base, const struct amg_peer *peer)
{
    (void)base;
    return amg_shm_peer_rank(amg_shm_peer_of(peer));
}

void amg_shm_node_unname(struct amg_domain *base)
{
    struct amg_shm_region *region = &amg_shm_domain_of(base)->region;
    char path[AMG_SHM_PATH_CAP];

    AMG_ASSERT(region->fd >= 0 && !region->is_unnamed);
    amg_shm_files_path(region->name, path);
    amg_shm_files_remove(path, region->fd);
    region->is_unnamed = true;
}

enum {
    MESSAGE_LEN_MIN = 256,
    MESSAGE_LEN_MAX = 65536,
    CREDITS_MAX = 32767,
    PEERS_EXPECTED = 256, /* processes of a node that call this process */
};

static uint32_t choose(
    uint32_t hint, enum amg_env_id otherwise, uint32_t min, uint32_t max)
{
    uint64_t value = hint != 0 ? hint : amg_env_number(otherwise);

    return (uint32_t)(value < min ? min : value > max ? max : value);
}

/* The eager limit, which is the same for all routes of a class. */
static uint32_t message_len_choose(const struct amg_open *how)
{
    return choose(how->message_len, AMG_ENV_MESSAGE_BYTES, MESSAGE_LEN_MIN,
        MESSAGE_LEN_MAX);
}

void amg_shm_node_need(
    const struct amg_open *how, uint32_t ranks, struct amg_shm_need *ret_need)
{
    const struct amg_shm_region_params params = {
        .max_contexts = how->max_contexts,
        .message_len = message_len_choose(how) * AMG_ROOM_FACTOR,
    };

    AMG_ASSERT(ranks > 0);
    ret_need->contexts = how->max_contexts;
    amg_shm_region_need(&params, (ranks - 1) * how->max_contexts, ret_need);
}

/* Once per process: removes the files that dead processes left. */
static void start_clean(void)
{
    static atomic_flag was_done = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set_explicit(&was_done, memory_order_relaxed))
        (void)amg_shm_files_clean();
}

static hg_return_t domain_fill(
    struct amg_shm_domain *domain, const struct amg_open *how)
{
    const struct amg_shm_region_params params = {
        .name = how->info == NULL ? "" : how->info,
        .is_of_job = how->is_joined,
        .max_contexts = how->max_contexts,
        .message_len = domain->message_len * AMG_ROOM_FACTOR,
        .has_membarrier = amg_shm_has_membarrier(),
        .first_credits = domain->calls.flow.first,
        .area = how->area,
    };
    hg_return_t rc = amg_shm_region_create(&params, &domain->region);

    if (rc != HG_SUCCESS)
        return rc;
    amg_shm_liveness_init(domain);
    domain->inrings = amg_mem_zalloc(AMG_SHM_SLOTS * sizeof(*domain->inrings));
    if (domain->inrings == NULL)
        return HG_NOMEM;
    rc = amg_shm_msg_init(domain);
    if (rc == HG_SUCCESS)
        rc = amg_shm_peers_init(domain);
    if (rc != HG_SUCCESS)
        return rc;
    amg_shm_bulk_open(domain);
    return HG_SUCCESS;
}

/* Frees a domain; `is_whole`: domain_fill() has succeeded. */
static void domain_free(struct amg_shm_domain *domain, bool is_whole)
{
    if (is_whole)
        amg_shm_bulk_close(domain); /* drops references to peers */
    amg_bias_lock(&domain->lock);
    amg_shm_msg_fini_locked(domain);
    amg_shm_inbox_fini_locked(domain);
    if (domain->self != NULL)
        amg_shm_peers_fini(domain);
    amg_bias_unlock(&domain->lock);
    if (domain->region.head != NULL)
        amg_shm_liveness_fini(domain);
    amg_mem_free(domain->inrings);
    amg_shm_send_fini(domain);
    amg_shm_region_fini(&domain->region);
    amg_mem_free(domain->ranks);
    amg_spare_drop();
    amg_mem_free(domain);
}

static hg_return_t transport_open(
    const struct amg_open *how, struct amg_domain **ret_domain)
{
    struct amg_shm_domain *domain = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT_OF("HG_Init",
            how->max_contexts >= 1 && how->max_contexts <= AMG_SHM_CONTEXTS,
            "max_contexts is %u, but this transport has 1 to %u",
            how->max_contexts, (unsigned)AMG_SHM_CONTEXTS))
        return HG_INVALID_ARG;
    if (!how->is_clean)
        start_clean();
    domain = amg_mem_alloc_aligned(AMG_SHM_LINE, sizeof(*domain));
    if (domain == NULL)
        return HG_NOMEM;
    memset(domain, 0, sizeof(*domain));
    domain->base.transport = &amg_shm_transport;
    domain->message_len = message_len_choose(how);
    domain->max_contexts = how->max_contexts;
    domain->is_listening = how->is_listening;
    domain->is_joined = how->is_joined;
    amg_spare_hold();
    amg_bias_init(&domain->lock);
    rc = amg_shm_send_init(domain,
        (uint16_t)choose(how->credits, AMG_ENV_CREDITS, 1, CREDITS_MAX));
    amg_calls_limit(&domain->calls, amg_env_number(AMG_ENV_MAX_REQUEST_BYTES),
        domain->message_len * AMG_ROOM_FACTOR, PEERS_EXPECTED);
    if (rc == HG_SUCCESS)
        rc = domain_fill(domain, how);
    if (rc != HG_SUCCESS) {
        domain_free(domain, false);
        return rc;
    }
    *ret_domain = &domain->base;
    return HG_SUCCESS;
}

/* Whether this thread is bound to one hardware thread, which peers may need. */
static bool must_yield(void)
{
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 &&
           CPU_COUNT(&cpus) == 1;
}

static void transport_limits(
    const struct amg_domain *base, struct amg_limits *ret_limits)
{
    const struct amg_shm_domain *domain = amg_shm_domain_of(base);

    *ret_limits = (struct amg_limits){
        .request_len = domain->message_len,
        .reply_len = domain->message_len,
        .credits = domain->calls.flow.limit,
        .is_spinning = false,
        .must_yield = must_yield(),
        .reaches_self = domain->is_listening,
    };
}

/* Number of our requests that keep this process from closing while the peer
 * lives. The ranks of a job close together, so a rank first waits until its
 * requests were answered or handled. Outside of a job, a process waits only for
 * a peer that has not opened one of our rings yet (UNSEEN): all other peers can
 * serve the requests in our rings after this process is gone. */
static uint32_t peer_owes_locked(const struct amg_shm_peer *peer)
{
    const struct amg_shm_domain *domain = peer->domain;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer == domain->self || peer->state != AMG_SHM_PEER_ALIVE ||
        (!domain->is_joined &&
            !amg_shm_link_has_state_locked(peer, AMG_SHM_UNSEEN)))
        return 0;
    return amg_calls_owed_locked(&domain->calls, &peer->calls, peer->id);
}

/* Whether all messages were sent, and no peer keeps this process open. */
static bool is_quiet_locked(struct amg_shm_domain *domain)
{
    struct amg_shm_peer *peer = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    amg_shm_send_deferred_locked(domain);
    if (amg_shm_send_is_blocked_locked(domain))
        return false;
    while ((peer = amg_shm_peer_next_locked(domain, peer)) != NULL)
        if (peer_owes_locked(peer) > 0)
            return false;
    return true;
}

/* Checks once; core repeats the call up to a limit of time. */
static hg_return_t transport_quiesce(struct amg_domain *base)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base);
    bool is_quiet = false;

    amg_bias_lock(&domain->lock);
    amg_shm_liveness_check_all_locked(domain);
    amg_shm_poll_all_closed_locked(domain, true);
    is_quiet = is_quiet_locked(domain);
    amg_bias_unlock(&domain->lock);
    return is_quiet ? HG_SUCCESS : HG_AGAIN;
}

/* Logs each peer that keeps this process from closing, with the number of our
 * requests that the peer has not handled. */
static bool owing_log(struct amg_shm_domain *domain, bool is_over)
{
    struct amg_shm_peer *peer = NULL;
    bool is_owed = false;

    amg_bias_lock(&domain->lock);
    while ((peer = amg_shm_peer_next_locked(domain, peer)) != NULL) {
        uint32_t owed = peer_owes_locked(peer);
        char name[AMG_PEER_NAME_CAP];

        if (owed == 0)
            continue;
        is_owed = true;
        domain->calls.ops->name(&domain->calls, &peer->calls, name);
        AMG_LOG(is_over ? HG_LOG_LEVEL_ERROR : HG_LOG_LEVEL_WARNING, "cls",
            "%s has not handled %u calls of this process%s; it must make "
            "progress and trigger until this process has closed",
            name, owed, is_over ? ", which are given up" : "");
    }
    amg_bias_unlock(&domain->lock);
    return is_owed;
}

static void transport_report(struct amg_domain *base)
{
    (void)owing_log(amg_shm_domain_of(base), false);
}

/* True: calls are given up, and were logged. transport_close() never waits. */
static bool transport_abandon(struct amg_domain *base)
{
    return owing_log(amg_shm_domain_of(base), true);
}

/* Counts of unread cells are upper bounds, because readers report in steps. */
static void links_write_state_locked(
    const struct amg_shm_peer *peer, struct amg_state *state)
{
    const struct amg_shm_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    for (uint32_t i = 0; (link = amg_shm_link_next_locked(peer, &i)) != NULL;) {
        amg_state_add_list(
            state, "library messages waiting for room", &link->control);
        amg_state_add_list(state, "answers waiting for room", &link->queue);
        if (amg_shm_link_has_slot(link))
            amg_state_print(state, ", unread cells at most %u of %d",
                (unsigned)(link->out.tail -
                           atomic_load_explicit(&link->out.ring->consumed,
                               memory_order_relaxed)),
                (int)AMG_SHM_CELLS);
        else
            amg_state_print(state, ", no ring to it");
    }
}

static void peer_write_state_locked(
    const struct amg_shm_peer *peer, struct amg_state *state)
{
    const struct amg_shm_domain *domain = peer->domain;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    amg_state_begin_peer_locked(state, &domain->calls, &peer->calls, peer->id);
    amg_state_add(
        state, "message buffers lent to it", amg_shm_buf_lent_locked(peer));
    amg_state_add(state, "its message buffers held here", peer->msgbufs_held);
    amg_state_add(state, "transfers that it serves",
        amg_calls_waiting(&domain->bulk.transfers, peer->id));
    links_write_state_locked(peer, state);
    if (peer->has_failed_wake)
        amg_state_print(state, ", could not be woken");
    if (peer->state == AMG_SHM_PEER_GONE)
        amg_state_print(state, ", has closed or died");
    amg_state_end(state);
}

static void transport_write_state(
    struct amg_domain *base, struct amg_state *state)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base);
    const struct amg_shm_peer *peer = NULL;

    amg_bias_lock(&domain->lock);
    while ((peer = amg_shm_peer_next_locked(domain, peer)) != NULL)
        peer_write_state_locked(peer, state);
    amg_state_begin(state, "shm");
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->eps[i] != NULL)
            amg_state_add_list(state, "ended operations waiting for a poll",
                &domain->eps[i]->done);
    amg_state_add_list(state, "late answers", &domain->calls.late);
    amg_state_add(
        state, "received messages in use", amg_shm_msg_held_locked(domain));
    amg_state_add(state, "message buffers being filled or waiting",
        amg_shm_buf_taken_locked(domain));
    /* NOTE(not a leaf lock): amg_pool_live() takes the pool's lock. */
    amg_state_add(state, "transfers", amg_pool_live(&domain->bulk.pool));
    amg_state_end(state);
    amg_bias_unlock(&domain->lock);
}

static bool transport_look(struct amg_domain *base, const struct amg_op *op,
    struct amg_whereabouts *ret_where)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base);
    const struct amg_table *all = &domain->bulk.transfers;
    struct amg_flow_peer *flow = NULL;
    struct amg_shm_peer *peer = NULL;
    enum amg_stage stage = AMG_STAGE_NONE;
    uint32_t id = 0;

    amg_bias_lock(&domain->lock);
    stage = amg_calls_stage_locked(&domain->calls, op, &flow, &id);
    for (uint32_t i = 0; i < all->cap && stage == AMG_STAGE_NONE; i++) {
        const struct amg_shm_transfer *transfer = all->slots[i].object;

        if (transfer == NULL || transfer->op != op)
            continue;
        stage = AMG_STAGE_MOVES;
        flow = &transfer->peer->calls;
    }
    if (flow != NULL)
        peer = amg_container_of(flow, struct amg_shm_peer, calls);
    while (stage != AMG_STAGE_NONE && flow == NULL &&
           (peer = amg_shm_peer_next_locked(domain, peer)) != NULL &&
           peer->id != id)
        continue;
    if (peer != NULL) {
        amg_calls_where_locked(&domain->calls, &peer->calls, stage, ret_where);
        ret_where->rank = amg_shm_peer_rank(peer);
    }
    amg_bias_unlock(&domain->lock);
    return peer != NULL;
}

/* Marks our segment as closed, and wakes the peers to see the mark. */
static void close_tell_locked(struct amg_shm_domain *domain)
{
    struct amg_shm_peer *peer = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    atomic_store_explicit(
        &domain->region.head->is_closed, 1, memory_order_seq_cst);
    /* Dekker with amg_shm_link_open_locked(). */
    atomic_thread_fence(memory_order_seq_cst);
    amg_shm_inrings_wake_unopened_locked(domain);
    while ((peer = amg_shm_peer_next_locked(domain, peer)) != NULL)
        if (peer != domain->self && peer->state == AMG_SHM_PEER_ALIVE)
            amg_shm_link_raise_all(peer);
}

/* After this call, the domain sends nothing, and its peers free our rings. */
static void transport_stop(struct amg_domain *base)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base);
    struct amg_shm_peer *peer = NULL;

    amg_bias_lock(&domain->lock);
    close_tell_locked(domain);
    peer = amg_shm_peer_next_locked(domain, NULL);
    while (peer != NULL) {
        struct amg_shm_peer *next = amg_shm_peer_next_locked(domain, peer);

        domain->peer_gone_locked(peer, false);
        peer = next;
    }
    amg_bias_unlock(&domain->lock);
}

static bool transport_is_clear(struct amg_ep *ep)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(ep->domain);
    const struct amg_shm_peer *peer = NULL;

    amg_bias_lock(&domain->lock);
    do {
        peer = amg_shm_peer_next_locked(domain, peer);
    } while (peer != NULL && peer->calls.unanswered == 0);
    amg_bias_unlock(&domain->lock);
    return peer == NULL;
}

static void transport_close(struct amg_domain *base)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base);

    amg_bias_lock(&domain->lock);
    close_tell_locked(domain);
    amg_bias_unlock(&domain->lock);
    domain_free(domain, true);
}

const struct amg_transport amg_shm_transport = {
    .name = "shm",
    .schemes = "na+sm sm shm",
    .domain =
        {
            .open = transport_open,
            .limits = transport_limits,
            .quiesce = transport_quiesce,
            .report = transport_report,
            .abandon = transport_abandon,
            .stop = transport_stop,
            .write_state = transport_write_state,
            .look = transport_look,
            .lost = amg_lost_ignore,
            .close = transport_close,
        },
    .ep =
        {
            .open = amg_shm_ep_open,
            .close = amg_shm_ep_close,
            .wait_fd = amg_shm_poll_fd,
            .arm = amg_shm_poll_arm,
            .is_oversubscribed = amg_shm_poll_is_oversubscribed,
            .poll = amg_shm_poll,
            .cancel = amg_shm_ep_cancel,
            .is_clear = transport_is_clear,
        },
    .addr =
        {
            .self = amg_shm_addr_self,
            .ref = amg_shm_addr_ref,
            .unref = amg_shm_addr_unref,
            .is_self = amg_shm_addr_is_self,
            .is_same = amg_shm_addr_is_same,
            .format = amg_shm_addr_format,
            .parse = amg_shm_addr_parse,
        },
    .msg =
        {
            .get_buf = amg_shm_buf_get,
            .get_long_buf = amg_shm_buf_get_long,
            .put_buf = amg_shm_buf_put,
            .send_request = amg_shm_send_request,
            .send_reply = amg_shm_send_reply,
            .request_now = amg_shm_request_now,
            .send_ack = amg_shm_send_ack,
            .reply_now = amg_shm_reply_now,
            .release = amg_shm_msg_release,
            .release_reply = amg_shm_msg_release_reply,
        },
    .bulk =
        {
            .reg = amg_shm_bulk_reg,
            .unreg = amg_shm_bulk_unreg,
            .key = amg_shm_key_write,
            .put = amg_shm_bulk_put,
            .get = amg_shm_bulk_get,
        },
};
