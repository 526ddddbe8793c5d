/* SPDX-License-Identifier: BSD-3-Clause */
/* The ends of endpoints and domains.
 *
 * Processes that talk by libfabric come and go; none waits for the others. Who
 * closes lets what it has sent leave first, and then says goodbye to those that
 * know it, so that what they wait for ends.
 *
 * Ranks of a job end together, which another medium sees to. Who is quiet here
 * is one that all have answered, and given their credits back: what it sent has
 * been served. From then on nobody is missed who is gone.
 *
 * Where memory belongs to the endpoint, that cannot be closed before all of it
 * is forgotten; and what is posted keeps memory from being forgotten. So all
 * posts are taken back first. Elsewhere the end of the endpoint ends them. */
#include "ofi_backend/ofi_close.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "ofi_backend/ofi_addr.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_hello.h"
#include "ofi_backend/ofi_lease.h"
#include "ofi_backend/ofi_tcp_state.h"
#include "ofi_backend/ofi_mem.h"
#include "ofi_backend/ofi_msg.h"
#include "ofi_backend/ofi_poll.h"
#include "ofi_backend/ofi_rma.h"
#include "ofi_backend/ofi_send.h"
#include "ofi_backend/ofi_slab.h"
#include "ofi_backend/ofi_token.h"
#include "ofi_backend/ofi_wait.h"

enum {
    EP_CLOSE_MS = 1000, /* for reads and writes of an endpoint's transfers */
    BYE_MS = 200,       /* for the last messages */
    RETREAT_MS = 200,   /* for posts that are taken back */
    NAP_NS = 20000,
};

/* Polls until `ep` has nothing in motion, for some time. */
static void ep_settle_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_ep *ep)
{
    uint64_t deadline_ns = amg_clock_deadline_ns(EP_CLOSE_MS);

    while (ep->moving > 0 && amg_clock_ns() < deadline_ns) {
        if (amg_ofi_poll_domain_locked(domain) > 0)
            continue;
        amg_bias_give(&domain->lock);
        amg_clock_sleep_ns(NAP_NS);
        amg_bias_take(&domain->lock);
    }
}

/* Is anything of ours still to leave? */
static bool is_sending(const struct amg_ofi_domain *domain)
{
    const struct amg_link *link = amg_list_first(&domain->trying);

    if (!amg_list_is_empty(&domain->sends) || domain->moving > 0)
        return true;
    for (; link != NULL; link = amg_list_next(&domain->trying, link))
        if (!amg_list_is_empty(
                &AMG_OBJECT(link, struct amg_peer, trying)->unsent))
            return true;
    return false;
}

/* Polls until all has left, for some time. */
static void sends_settle_locked(struct amg_ofi_domain *domain)
{
    uint64_t deadline_ns = amg_clock_deadline_ns(BYE_MS);

    while (is_sending(domain) && amg_clock_ns() < deadline_ns) {
        if (amg_ofi_poll_domain_locked(domain) > 0)
            continue;
        amg_bias_give(&domain->lock);
        amg_clock_sleep_ns(NAP_NS);
        amg_bias_take(&domain->lock);
    }
}

/* Without a context nobody polls, so that no lease could be asked back. */
static void leases_return_locked(struct amg_ofi_domain *domain)
{
    for (uint32_t i = 0; i < domain->max_contexts; i++)
        if (domain->eps[i] != NULL)
            return;
    if (domain->idle_count == 0)
        return;
    amg_ofi_lease_return_all_locked(domain);
    sends_settle_locked(domain);
}

void amg_ofi_close_ep(struct amg_ep *base, struct amg_news *ret_news)
{
    struct amg_ofi_ep *ep = amg_ofi_ep_of(base);
    struct amg_ofi_domain *domain = amg_ofi_domain_of_ep(ep);

    if (amg_ofi_is_child(domain))
        return;
    amg_bias_take(&domain->lock);
    amg_ofi_msg_drop_locked(domain, ep);
    amg_ofi_rma_drop_locked(domain, ep);
    ep_settle_locked(domain, ep);
    amg_ofi_rma_detach_locked(domain, ep);
    domain->eps[base->context_id] = NULL;
    leases_return_locked(domain);
    amg_ofi_wait_end_locked(ep);
    amg_ofi_msg_refuse_all_locked(ep);
    amg_list_splice(&ret_news->done, &ep->done);
    amg_bias_give(&domain->lock);
    amg_ofi_wait_fini(ep);
    amg_mem_free(ep);
}

/* One that has not done what this process asked of it, or NULL. */
static struct amg_peer *debtor_find_locked(const struct amg_ofi_domain *domain)
{
    struct amg_link *link = amg_list_first(&domain->peers);

    for (; link != NULL; link = amg_list_next(&domain->peers, link)) {
        struct amg_peer *peer = AMG_OBJECT(link, struct amg_peer, all);

        if (peer->calls.unanswered > 0 || !amg_list_is_empty(&peer->transfers))
            return peer;
    }
    return NULL;
}

hg_return_t amg_ofi_close_quiesce(struct amg_domain *base)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);
    bool is_busy = false;

    if (amg_ofi_is_child(domain))
        return HG_SUCCESS;
    amg_bias_take(&domain->lock);
    (void)amg_ofi_poll_domain_locked(domain);
    is_busy = is_sending(domain) ||
              (domain->is_joined && debtor_find_locked(domain) != NULL);
    if (!is_busy && domain->is_joined && !domain->is_leaving) {
        domain->is_leaving = true;
        /* Soon nobody may be there to take them. */
        amg_ofi_lease_return_all_locked(domain);
        is_busy = is_sending(domain);
    }
    amg_bias_give(&domain->lock);
    return is_busy ? HG_AGAIN : HG_SUCCESS;
}

static void debtor_log_locked(struct amg_ofi_domain *domain, const char *end)
{
    struct amg_peer *peer = debtor_find_locked(domain);
    char text[AMG_OFI_TEXT_CAP];

    if (peer != NULL)
        AMG_LOG_WARNING("cls",
            "the rank at %s has not answered %u requests%s; it must make "
            "progress and trigger until all have closed",
            amg_ofi_peer_name(peer, text), peer->calls.unanswered, end);
}

/* Of a job, who is waited for is named; else nobody is waited for. */
void amg_ofi_close_report(struct amg_domain *base)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);

    if (!domain->is_joined)
        return;
    amg_bias_take(&domain->lock);
    debtor_log_locked(domain, "");
    amg_bias_give(&domain->lock);
}

void amg_ofi_close_abandon(struct amg_domain *base)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);

    if (!domain->is_joined)
        return;
    amg_bias_take(&domain->lock);
    debtor_log_locked(domain, ", which are given up");
    domain->is_leaving = true;
    amg_bias_give(&domain->lock);
}

/* Tells all that know this process, and lets that leave. */
static void bye_say_locked(struct amg_ofi_domain *domain)
{
    struct amg_link *link = NULL;

    /* Who has said goodbye is told nothing. */
    (void)amg_ofi_poll_domain_locked(domain);
    amg_ofi_lease_return_all_locked(domain);
    link = amg_list_first(&domain->peers);
    for (; link != NULL; link = amg_list_next(&domain->peers, link)) {
        struct amg_peer *peer = AMG_OBJECT(link, struct amg_peer, all);

        if (peer->state == AMG_OFI_PEER_OPEN && peer != domain->self)
            (void)amg_ofi_send_control_locked(
                peer, 0, peer->context, AMG_OFI_BYE, 0, NULL, 0);
    }
    sends_settle_locked(domain);
}

/* All peers are strangers again, and only the user may still hold some. */
static void peers_end_locked(struct amg_ofi_domain *domain)
{
    struct amg_link *link = amg_list_first(&domain->peers);

    while (link != NULL) {
        struct amg_peer *peer =
            amg_ofi_peer_hold(AMG_OBJECT(link, struct amg_peer, all));

        amg_ofi_hello_lost_locked(peer, NULL);
        link = amg_list_next(&domain->peers, link);
        amg_ofi_peer_drop_locked(peer);
    }
}

static bool is_posted(const struct amg_ofi_domain *domain)
{
    for (unsigned i = 0; i < AMG_OFI_RECEIVES; i++)
        if (domain->receives[i].is_posted)
            return true;
    return !amg_list_is_empty(&domain->sends) || domain->moving > 0;
}

static void retreat_locked(struct amg_ofi_domain *domain)
{
    uint64_t deadline_ns = amg_clock_deadline_ns(RETREAT_MS);
    struct amg_link *link = amg_list_first(&domain->sends);

    for (unsigned i = 0; i < AMG_OFI_RECEIVES; i++)
        if (domain->receives[i].is_posted)
            (void)amg_ofi_call->cancel(
                domain->ep, &domain->receives[i].work.context);
    for (; link != NULL; link = amg_list_next(&domain->sends, link))
        (void)amg_ofi_call->cancel(domain->ep,
            &AMG_OBJECT(link, struct amg_ofi_slab, post.link)->work.context);
    /* Nothing can arrive in a domain that was never quite open. */
    while (domain->eps != NULL && is_posted(domain) &&
           amg_clock_ns() < deadline_ns) {
        if (amg_ofi_poll_domain_locked(domain) > 0)
            continue;
        amg_bias_give(&domain->lock);
        amg_clock_sleep_ns(NAP_NS);
        amg_bias_take(&domain->lock);
    }
}

/* Ends the endpoint, and the provider's knowledge of our memory. */
static void ep_end_locked(struct amg_ofi_domain *domain)
{
    bool goes_first = domain->facts.binds_memory && domain->ep != NULL;

    if (goes_first)
        retreat_locked(domain);
    else
        amg_ofi_ep_close(domain);
    amg_ofi_rma_abandon_locked(domain);
    amg_ofi_slab_unreg_locked(domain);
    amg_ofi_mem_forget_all_locked(domain);
    amg_ofi_ep_close(domain);
}

void amg_ofi_close_free(struct amg_ofi_domain *domain)
{
    struct amg_link *late = NULL;

    amg_bias_take(&domain->lock);
    domain->is_closing = true;
    ep_end_locked(domain);
    while ((late = amg_list_pop(&domain->calls.late)) != NULL)
        amg_ofi_slab_put_locked(
            AMG_OBJECT(late, struct amg_ofi_slab, arrival.link));
    amg_ofi_send_abandon_locked(domain);
    peers_end_locked(domain);
    if (domain->self != NULL)
        amg_ofi_peer_drop_locked(domain->self);
    amg_ofi_slab_fini(domain);
    amg_ofi_ep_fini(domain);
    amg_bias_give(&domain->lock);
    amg_pool_fini(&domain->piece_pool);
    amg_pool_fini(&domain->transfer_pool);
    amg_table_fini(&domain->mems);
    amg_table_fini(&domain->grants);
    amg_table_fini(&domain->leases);
    amg_table_fini(&domain->pieces);
    amg_calls_fini(&domain->calls);
    amg_table_fini(&domain->peer_numbers);
    amg_ofi_token_fini(domain);
    amg_ofi_tcp_fini(domain);
    amg_map_fini(&domain->peers_by_hash, NULL);
    amg_mem_free(domain->eps);
    amg_mem_free(domain);
}

void amg_ofi_close_domain(struct amg_domain *base)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base);

    if (amg_ofi_is_child(domain))
        return;
    amg_bias_take(&domain->lock);
    bye_say_locked(domain);
    amg_bias_give(&domain->lock);
    amg_ofi_close_free(domain);
}
