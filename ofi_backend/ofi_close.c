/* SPDX-License-Identifier: BSD-3-Clause */
/* The ends of domains, endpoints and exposed memory. A domain waits for its
 * messages, reads and writes in flight, an endpoint for its reads and writes,
 * and exposed memory for its leases.
 *
 * Processes may come and go at any time. Before a process closes, it waits
 * until its messages have left; then it sends DISCONNECT to all connected
 * peers, which ends the peers' operations with that process.
 *
 * Ranks of a job close together: another transport tells each rank when all
 * ranks may end. A rank has quiesced when its messages have left, and all peers
 * have answered and returned its credits. From then on that rank sends no
 * DISCONNECT, and logs no loss of a peer.
 *
 * If memory is bound to the endpoint, the provider closes the endpoint only
 * after all memory is deregistered, and deregisters memory only after all posts
 * have ended. So the driver first cancels receives and sends, and waits for all
 * posts. If memory is not bound, the close of the endpoint ends the posts. */
#include "ofi_backend/ofi_domain.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_msg.h"
#include "ofi_backend/ofi_peer.h"
#include "ofi_backend/ofi_rma.h"

enum {
    EP_CLOSE_MS = 1000,  /* for reads and writes of an endpoint */
    DISCONNECT_MS = 200, /* for the last messages */
    CANCEL_MS = 200,     /* for cancelled posts */
};

/* Polls until `is_busy(arg)` is false. False: busy after `timeout_ms`. */
static bool settle_locked(struct amg_ofi_domain *domain, unsigned timeout_ms,
    bool (*is_busy)(void *arg), void *arg)
{
    uint64_t deadline_ns = amg_clock_deadline_ns(timeout_ms);
    unsigned tries = 0;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    while (is_busy(arg)) {
        if (amg_clock_ns() >= deadline_ns)
            return false;
        if (amg_ofi_poll_domain_locked(domain) > 0)
            continue;
        amg_bias_unlock(&domain->lock);
        if (domain->base.others != NULL)
            domain->base.others(&domain->base);
        amg_back_off(tries++);
        amg_bias_lock(&domain->lock);
    }
    return true;
}

static bool has_rma_in_flight(void *arg)
{
    return ((const struct amg_ofi_ep *)arg)->rma_in_flight > 0;
}

/* Are messages unsent or in flight, or reads or writes in flight? */
static bool is_sending(void *arg)
{
    const struct amg_ofi_domain *domain = arg;

    return !amg_list_is_empty(&domain->msgbufs.in_flight) ||
           domain->rma.in_flight > 0 || domain->peers.unsent_count > 0 ||
           !amg_packer_is_empty(&domain->packer);
}

/* Returns idle leases once no context is left to answer a peer's REVOKE. */
static void leases_return_locked(struct amg_ofi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->eps[i] != NULL)
            return;
    if (domain->leases.idle_count == 0)
        return;
    amg_ofi_lease_return_idle_locked(domain, 0);
    (void)settle_locked(domain, DISCONNECT_MS, is_sending, domain);
}

void amg_ofi_ep_close(struct amg_ep *base, struct amg_events *ret_events)
{
    struct amg_ofi_ep *ep = amg_ofi_ep_of(base);
    struct amg_ofi_domain *domain = amg_ofi_domain_of_ep(ep);

    amg_bias_lock(&domain->lock);
    amg_ofi_send_drop_locked(ep);
    amg_ofi_rma_drop_locked(ep, false);
    (void)settle_locked(domain, EP_CLOSE_MS, has_rma_in_flight, ep);
    amg_ofi_rma_drop_locked(ep, true);
    AMG_ASSERT(domain->eps[base->context_id] == ep);
    domain->eps[base->context_id] = NULL;
    leases_return_locked(domain);
    amg_ofi_wait_disarm_locked(ep);
    amg_ofi_msg_refuse_all_locked(ep);
    amg_list_splice(&ret_events->done, &ep->done);
    amg_bias_unlock(&domain->lock);
    amg_ofi_wait_fini(ep);
    amg_mem_free(ep);
}

/* A peer that has not answered all requests or transfers, or NULL. */
static struct amg_peer *pending_peer_find_locked(
    const struct amg_ofi_domain *domain)
{
    struct amg_peer *peer = amg_ofi_peer_next_watched_locked(domain, NULL);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    while (peer != NULL && peer->calls.unanswered == 0 &&
           amg_list_is_empty(&peer->rma.transfers))
        peer = amg_ofi_peer_next_watched_locked(domain, peer);
    return peer;
}

bool amg_ofi_ep_is_clear(struct amg_ep *base)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base->domain);
    bool is_clear = false;

    amg_bias_lock(&domain->lock);
    is_clear = pending_peer_find_locked(domain) == NULL;
    amg_bias_unlock(&domain->lock);
    return is_clear;
}

hg_return_t amg_ofi_domain_quiesce(struct amg_domain *base)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);
    bool is_busy = false;

    amg_bias_lock(&domain->lock);
    (void)amg_ofi_poll_domain_locked(domain);
    is_busy = is_sending(domain) ||
              (domain->is_joined && pending_peer_find_locked(domain) != NULL);
    if (!is_busy && domain->is_joined && !domain->peers_may_close) {
        domain->peers_may_close = true;
        /* The peers may close soon; a closed peer takes no lease back. */
        amg_ofi_lease_return_idle_locked(domain, 0);
        is_busy = is_sending(domain);
    }
    amg_bias_unlock(&domain->lock);
    return is_busy ? HG_AGAIN : HG_SUCCESS;
}

/* Logs what the close waits for: ranks of a job wait for answers, and any
 * process waits until its messages have left. True: this process waits. */
static bool pending_log(struct amg_ofi_domain *domain, bool is_given_up)
{
    const struct amg_peer *peer = NULL;
    char text[AMG_OFI_TEXT_CAP];
    bool is_pending = false;

    amg_bias_lock(&domain->lock);
    peer = domain->is_joined ? pending_peer_find_locked(domain) : NULL;
    is_pending = peer != NULL || is_sending(domain);
    if (peer != NULL)
        AMG_LOG_WARNING("cls",
            "the rank at %s has not answered %u requests and %zu transfers%s; "
            "every rank must make progress and trigger until all have closed",
            amg_ofi_peer_name(peer, text), peer->calls.unanswered,
            amg_list_len(&peer->rma.transfers),
            is_given_up ? ", which are given up" : "");
    else if (is_pending)
        AMG_LOG_WARNING("cls",
            "%zu messages of this process have not left, and %u reads and "
            "writes have not ended%s: a peer does not read, or is not reached",
            amg_list_len(&domain->msgbufs.in_flight) +
                domain->peers.unsent_count + amg_list_len(&domain->packer.kept),
            domain->rma.in_flight, is_given_up ? ", and are given up" : "");
    domain->peers_may_close |= is_given_up;
    amg_bias_unlock(&domain->lock);
    return is_pending;
}

void amg_ofi_domain_report(struct amg_domain *base)
{
    (void)pending_log(amg_ofi_domain_of(base), false);
}

bool amg_ofi_domain_abandon(struct amg_domain *base)
{
    return pending_log(amg_ofi_domain_of(base), true);
}

/* Sends DISCONNECT to connected peers, unless they close with this process. */
static void disconnect_send_locked(struct amg_ofi_domain *domain)
{
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    /* A peer whose DISCONNECT comes in this poll gets no DISCONNECT. */
    (void)amg_ofi_poll_domain_locked(domain);
    amg_ofi_lease_return_idle_locked(domain, 0);
    if (!domain->is_joined || !domain->peers_may_close)
        link = amg_list_first(&domain->peers.all);
    for (; link != NULL; link = amg_list_next(&domain->peers.all, link)) {
        struct amg_peer *peer = amg_container_of(link, struct amg_peer, all);

        if (peer->state == AMG_OFI_PEER_OPEN && peer != domain->self)
            (void)amg_ofi_send_control_locked(peer,
                (struct amg_ofi_header){.kind = AMG_OFI_DISCONNECT,
                    .target = peer->requests.context},
                NULL, 0);
    }
    (void)settle_locked(domain, DISCONNECT_MS, is_sending, domain);
}

void amg_ofi_domain_stop(struct amg_domain *base)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);

    amg_bias_lock(&domain->lock);
    (void)amg_ofi_poll_domain_locked(domain);
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->eps[i] != NULL)
            amg_ofi_msg_refuse_all_locked(domain->eps[i]);
    amg_bias_unlock(&domain->lock);
}

/* Makes all peers UNKNOWN; afterwards only the user and `domain->self` may hold
 * references to peers. */
static void peers_end_locked(struct amg_ofi_domain *domain)
{
    struct amg_link *link = amg_list_first(&domain->peers.all);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    while (link != NULL) {
        struct amg_peer *peer =
            amg_ofi_peer_ref(amg_container_of(link, struct amg_peer, all));

        amg_ofi_connect_lost_locked(peer, NULL);
        link = amg_list_next(&domain->peers.all, link);
        amg_ofi_peer_unref_locked(peer);
    }
}

static bool is_posted(void *arg)
{
    const struct amg_ofi_domain *domain = arg;

    for (unsigned i = 0; i < AMG_OFI_RECEIVES; i++)
        if (domain->in.receives[i].is_posted)
            return true;
    return !amg_list_is_empty(&domain->msgbufs.in_flight) ||
           domain->rma.in_flight > 0;
}

static void posts_cancel_locked(struct amg_ofi_domain *domain)
{
    struct amg_link *link = amg_list_first(&domain->msgbufs.in_flight);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (unsigned i = 0; i < AMG_OFI_RECEIVES; i++)
        if (domain->in.receives[i].is_posted)
            (void)amg_ofi_call->cancel(
                domain->fi.ep, &domain->in.receives[i].work.context);
    for (; link != NULL; link = amg_list_next(&domain->msgbufs.in_flight, link))
        (void)amg_ofi_call->cancel(domain->fi.ep,
            &amg_container_of(link, struct amg_ofi_msgbuf, post.link)
                 ->work.context);
    /* A domain that failed to open cannot poll. */
    if (domain->eps != NULL)
        (void)settle_locked(domain, CANCEL_MS, is_posted, domain);
}

static void object_close(struct fid *fid, const char *what)
{
    int code = amg_ofi_call->close(fid);

    if (code != 0)
        (void)amg_ofi_error(code, what);
}

static void fi_ep_close_locked(struct amg_ofi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (domain->fi.ep != NULL)
        object_close(&domain->fi.ep->fid, "closing the endpoint");
    domain->fi.ep = NULL;
}

static void objects_close_locked(struct amg_ofi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT(domain->fi.ep == NULL);
    while (domain->in.block != NULL) {
        struct amg_ofi_block *block = domain->in.block;

        domain->in.block = block->next;
        amg_ofi_block_free_locked(domain, block);
    }
    if (domain->fi.cq != NULL)
        object_close(&domain->fi.cq->fid, "closing the completion queue");
    if (domain->fi.av != NULL)
        object_close(&domain->fi.av->fid, "closing the address vector");
    if (domain->fi.domain != NULL)
        object_close(&domain->fi.domain->fid, "closing the domain");
    if (domain->fi.fabric != NULL)
        object_close(&domain->fi.fabric->fid, "closing the fabric");
    if (domain->fi.info != NULL)
        amg_ofi_call->freeinfo(domain->fi.info);
}

static void ep_end_locked(struct amg_ofi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (domain->facts.binds_memory && domain->fi.ep != NULL)
        posts_cancel_locked(domain);
    else
        fi_ep_close_locked(domain);
    amg_ofi_rma_abandon_locked(domain);
    amg_ofi_blocks_unreg_locked(domain, domain->msgbufs.blocks);
    amg_ofi_blocks_unreg_locked(domain, domain->in.block);
    amg_ofi_mem_unreg_all_locked(domain);
    fi_ep_close_locked(domain);
}

void amg_ofi_domain_free(struct amg_ofi_domain *domain)
{
    struct amg_link *late = NULL;

    amg_bias_lock(&domain->lock);
    domain->is_closing = true;
    ep_end_locked(domain);
    while ((late = amg_list_pop(&domain->calls.late)) != NULL)
        amg_ofi_msgbuf_end_locked(amg_ofi_msgbuf_of_arrival(
            amg_container_of(late, struct amg_arrival, link)));
    amg_ofi_send_abandon_locked(domain);
    peers_end_locked(domain);
    if (domain->self != NULL)
        amg_ofi_peer_unref_locked(domain->self);
    amg_ofi_msgbuf_fini_locked(domain);
    objects_close_locked(domain);
    amg_bias_unlock(&domain->lock);
    amg_pool_fini(&domain->rma.fragment_pool);
    amg_pool_fini(&domain->rma.transfer_pool);
    amg_table_fini(&domain->mems.all);
    amg_table_fini(&domain->leases.all);
    amg_table_fini(&domain->rma.fragments);
    amg_calls_fini(&domain->calls);
    amg_mem_free(domain->call_links.all);
    amg_table_fini(&domain->peers.numbers);
    amg_ofi_peers_fini(domain);
    amg_mem_free(domain->eps);
    amg_mem_free(domain);
}

void amg_ofi_domain_close(struct amg_domain *base)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);

    amg_bias_lock(&domain->lock);
    disconnect_send_locked(domain);
    amg_bias_unlock(&domain->lock);
    amg_ofi_domain_free(domain);
}

hg_return_t amg_ofi_mem_unreg(
    struct amg_domain *base, struct amg_mem *mem_base, unsigned timeout_ms)
{
    struct amg_ofi_mem *mem =
        amg_container_of(mem_base, struct amg_ofi_mem, base);
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);
    hg_return_t rc = HG_SUCCESS;

    amg_bias_lock(&domain->lock);
    if (amg_ofi_mem_is_leased_locked(mem))
        (void)amg_ofi_poll_domain_locked(domain);
    (void)settle_locked(domain, timeout_ms, amg_ofi_mem_is_leased_locked, mem);
    rc = amg_ofi_mem_free_locked(mem, timeout_ms);
    amg_bias_unlock(&domain->lock);
    return rc;
}
