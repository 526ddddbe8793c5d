/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets: reads and writes of the provider, or messages.
 *
 * A transfer is cut into fragments (ofi_fragment.c), some of them in flight at
 * once:
 *
 *   wait for a lease --granted--> post fragments --all complete--> end
 *        (not by message)            |   ^
 *                            no room +---+ the next poll
 *
 * A write completes when its bytes have arrived. A transfer that is short and
 * has no lease yet, or is scattered in runs shorter than RUN_SHORT, goes by
 * messages. A transfer that is cancelled, or whose memory is revoked, posts no
 * more, and ends when none of its reads and writes is in flight: the provider
 * cannot stop them. */
#include "ofi_backend/ofi_rma.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_peer.h"

enum {
    FRAGMENTS_MAX = 16, /* reads or writes of one transfer in flight */
    MESSAGES_MAX = 4,   /* unanswered messages of one transfer */
    SHORT_LEN = 4096,   /* goes by a message, unless the memory is leased */
    FIRST_MESSAGES = 2, /* for a first access: a pull of 16 KiB over tcp took
                         * 42 us with a lease, and 31 us without */
    RUN_SHORT = 2048,   /* shortest run that is worth a segment of a post */
};

/* Removes the transfer from all lists, and completes its operation. */
static void transfer_end_locked(struct amg_ofi_transfer *transfer)
{
    struct amg_ofi_domain *domain = transfer->peer->domain;
    struct amg_op *op = transfer->op;

    AMG_ASSERT(
        transfer->fragment_count == 0 && !amg_link_is_listed(&transfer->link));
    amg_list_remove(&transfer->of_peer);
    amg_ofi_fragment_next_locked(transfer->peer);
    if (transfer->lease != NULL)
        amg_ofi_lease_put_locked(transfer->lease);
    if (op != NULL) {
        op->len = transfer->done;
        amg_ofi_op_end_locked(op, transfer->ret);
    }
    amg_ofi_peer_unref_locked(transfer->peer);
    amg_pool_put(&domain->rma.transfer_pool, transfer);
}

static void transfer_settle_locked(struct amg_ofi_transfer *transfer)
{
    if (transfer->fragment_count == 0 &&
        (transfer->is_stopped || transfer->done == transfer->len))
        transfer_end_locked(transfer);
}

/* Posts no more of the transfer, which ends with its reads and writes. */
static void transfer_stop_locked(
    struct amg_ofi_transfer *transfer, hg_return_t ret)
{
    AMG_ASSERT(ret != HG_SUCCESS);
    if (transfer->ret == HG_SUCCESS)
        transfer->ret = ret;
    transfer->is_stopped = true;
    if (amg_link_is_listed(&transfer->link))
        amg_list_remove(&transfer->link); /* no longer waits for room */
    /* A late answer to a message then touches no memory of the user. */
    while (transfer->lease == NULL && transfer->fragment_count > 0)
        amg_ofi_fragment_give_up_locked(
            amg_container_of(amg_list_first(&transfer->fragments),
                struct amg_ofi_fragment, link));
    transfer_settle_locked(transfer);
}

static void fragment_end_locked(
    struct amg_ofi_fragment *fragment, hg_return_t ret)
{
    struct amg_ofi_transfer *transfer = fragment->transfer;
    struct amg_ofi_domain *domain = transfer->peer->domain;

    if (ret == HG_SUCCESS)
        transfer->done += fragment->len;
    amg_ofi_fragment_free_locked(fragment);
    if (ret != HG_SUCCESS) {
        transfer_stop_locked(transfer, ret);
        return;
    }
    if (transfer->posted < transfer->len && !transfer->is_stopped &&
        !amg_link_is_listed(&transfer->link))
        amg_list_push(&domain->rma.transfers, &transfer->link);
    transfer_settle_locked(transfer);
}

static void on_completed_locked(struct amg_ofi_domain *domain,
    struct amg_ofi_work *work, const struct fi_cq_data_entry *entry, int error)
{
    struct amg_ofi_fragment *fragment =
        amg_container_of(work, struct amg_ofi_fragment, work);
    struct amg_peer *peer = fragment->transfer->peer;

    (void)domain;
    (void)entry;
    amg_ofi_fragment_completed_locked(fragment);
    if (error == 0)
        peer->watched.is_heard = true;
    else
        amg_ofi_peer_check_locked(peer);
    fragment_end_locked(
        fragment, error == 0 ? HG_SUCCESS : amg_ofi_fragment_error(error));
}

/* Posts fragments while there is room. */
static void transfer_move_locked(struct amg_ofi_transfer *transfer)
{
    struct amg_ofi_domain *domain = transfer->peer->domain;
    uint32_t max = transfer->lease == NULL ? MESSAGES_MAX : FRAGMENTS_MAX;
    hg_return_t rc = HG_SUCCESS;

    while (transfer->posted < transfer->len && transfer->fragment_count < max &&
           rc == HG_SUCCESS)
        rc = transfer->lease == NULL
                 ? amg_ofi_fragment_send_locked(transfer)
                 : amg_ofi_fragment_post_locked(transfer, on_completed_locked);
    if (rc == HG_AGAIN) {
        if (!amg_link_is_listed(&transfer->link))
            amg_list_push(transfer->lease == NULL ? &transfer->peer->rma.blocked
                                                  : &domain->rma.transfers,
                &transfer->link);
        return;
    }
    /* A fragment that ends lists the transfer again. */
    if (amg_link_is_listed(&transfer->link))
        amg_list_remove(&transfer->link);
    if (rc != HG_SUCCESS)
        transfer_stop_locked(transfer, rc);
}

void amg_ofi_rma_move_locked(struct amg_ofi_domain *domain)
{
    struct amg_list all;
    struct amg_link *link = NULL;

    amg_list_init(&all);
    amg_list_splice(&all, &domain->rma.transfers);
    while ((link = amg_list_pop(&all)) != NULL)
        transfer_move_locked(
            amg_container_of(link, struct amg_ofi_transfer, link));
}

void amg_ofi_rma_on_data_locked(const struct amg_ofi_message *message)
{
    struct amg_ofi_fragment *fragment = amg_ofi_fragment_find_locked(message);

    if (fragment == NULL)
        return;
    if (fragment->transfer->is_put || fragment->len != message->len) {
        amg_ofi_peer_violation(message->peer, AMG_VIOLATION_ANSWER,
            AMG_OFI_DATA, (long)message->len);
        fragment_end_locked(fragment, HG_PROTOCOL_ERROR);
        return;
    }
    amg_seg_iter_scatter(&fragment->local, message->body, message->len);
    fragment_end_locked(fragment, HG_SUCCESS);
}

void amg_ofi_rma_on_done_locked(const struct amg_ofi_message *message)
{
    struct amg_ofi_fragment *fragment = amg_ofi_fragment_find_locked(message);
    struct amg_ofi_refuse refuse;

    memcpy(&refuse, message->body, sizeof(refuse));
    if (fragment == NULL)
        return;
    if (refuse.code >= HG_RETURN_MAX ||
        (refuse.code == HG_SUCCESS && !fragment->transfer->is_put))
        refuse.code = HG_PROTOCOL_ERROR;
    fragment_end_locked(fragment, (hg_return_t)refuse.code);
}

/* Does the lease allow the transfer? */
static hg_return_t granted_check(const struct amg_ofi_transfer *transfer)
{
    uint8_t wanted = transfer->is_put ? AMG_MEM_WRITE : AMG_MEM_READ;

    if ((transfer->lease->flags & wanted) == 0)
        return HG_PERMISSION;
    return amg_seg_iter_has(&transfer->remote, transfer->len) ? HG_SUCCESS
                                                              : HG_OVERFLOW;
}

static void transfer_granted_locked(struct amg_ofi_transfer *transfer)
{
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT(transfer->lease->state == AMG_OFI_LEASE_OPEN);
    transfer->remote.segments = transfer->lease->segments;
    transfer->remote.count = transfer->lease->count;
    rc = granted_check(transfer);
    if (rc == HG_SUCCESS)
        transfer_move_locked(transfer);
    else
        transfer_stop_locked(transfer, rc);
}

static void transfer_denied_locked(
    struct amg_ofi_transfer *transfer, hg_return_t ret)
{
    struct amg_ofi_lease *lease = transfer->lease;

    if (ret != HG_AGAIN) {
        transfer_stop_locked(transfer, ret);
        return;
    }
    /* The peer grants no more leases to this process: goes by messages. */
    transfer->lease = NULL;
    transfer_move_locked(transfer);
    amg_ofi_lease_put_locked(lease);
}

/* Continues the transfers that wait for the lease, and ends its use by the
 * caller. */
static void lease_settle_locked(struct amg_ofi_lease *lease, hg_return_t ret)
{
    struct amg_list waiting;
    struct amg_link *link = NULL;

    amg_list_init(&waiting);
    amg_list_splice(&waiting, &lease->waiting);
    while ((link = amg_list_pop(&waiting)) != NULL) {
        struct amg_ofi_transfer *transfer =
            amg_container_of(link, struct amg_ofi_transfer, link);

        AMG_ASSERT(transfer->lease == lease && transfer->posted == 0);
        if (ret == HG_SUCCESS)
            transfer_granted_locked(transfer);
        else
            transfer_denied_locked(transfer, ret);
    }
    amg_ofi_lease_put_locked(lease);
}

void amg_ofi_rma_on_grant_locked(const struct amg_ofi_message *message)
{
    hg_return_t rc = HG_SUCCESS;
    struct amg_ofi_lease *lease = amg_ofi_lease_granted_locked(message, &rc);

    if (lease != NULL)
        lease_settle_locked(lease, rc);
}

void amg_ofi_rma_on_deny_locked(const struct amg_ofi_message *message)
{
    hg_return_t rc = HG_SUCCESS;
    struct amg_ofi_lease *lease = amg_ofi_lease_denied_locked(message, &rc);

    if (lease != NULL)
        lease_settle_locked(lease, rc);
}

/* The exposure ends: the transfers that use it post no more. */
void amg_ofi_rma_on_revoke_locked(const struct amg_ofi_message *message)
{
    struct amg_ofi_lease *lease = amg_ofi_lease_revoked_locked(message);
    struct amg_link *link =
        lease == NULL ? NULL : amg_list_first(&message->peer->rma.transfers);

    while (link != NULL) {
        struct amg_ofi_transfer *transfer =
            amg_container_of(link, struct amg_ofi_transfer, of_peer);

        link = amg_list_next(&message->peer->rma.transfers, link);
        if (transfer->lease == lease && transfer->posted < transfer->len)
            transfer_stop_locked(transfer, HG_NOENTRY);
    }
    if (lease != NULL)
        amg_ofi_lease_put_locked(lease);
}

/* Are the runs so short that messages, which copy them, are faster? */
static bool is_scattered(const struct amg_ofi_transfer *transfer)
{
    uint64_t runs_max = transfer->len / RUN_SHORT + 1;

    return amg_seg_iter_runs(&transfer->local, transfer->len, runs_max + 1) >
               runs_max ||
           amg_seg_iter_runs(&transfer->remote, transfer->len, runs_max + 1) >
               runs_max;
}

/* A lease costs two messages, and two more if the lease is not kept. So a
 * transfer of few messages goes without a lease, unless the memory is leased
 * already, or was accessed before. */
static bool is_for_messages_locked(const struct amg_ofi_transfer *transfer)
{
    struct amg_peer *peer = transfer->peer;

    if (is_scattered(transfer))
        return true;
    if (amg_ofi_lease_is_open_locked(peer, &transfer->key))
        return false;
    if (transfer->len <= SHORT_LEN)
        return true;
    return transfer->len <=
               FIRST_MESSAGES * amg_ofi_fragment_max(peer->domain) &&
           amg_ofi_lease_is_new_locked(peer, &transfer->key);
}

static hg_return_t transfer_begin_locked(struct amg_ofi_transfer *transfer)
{
    struct amg_ofi_lease *lease = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!is_for_messages_locked(transfer)) {
        rc = amg_ofi_lease_get_locked(transfer->peer,
            transfer->ep->base.context_id, transfer->target_context,
            &transfer->key, &lease);
        if (rc != HG_SUCCESS)
            return rc;
    }
    transfer->lease = lease;
    amg_list_push(&transfer->peer->rma.transfers, &transfer->of_peer);
    amg_ofi_peer_watch_locked(transfer->peer);
    if (lease != NULL && lease->state == AMG_OFI_LEASE_ASKED)
        amg_list_push(&lease->waiting, &transfer->link);
    else if (lease != NULL)
        transfer_granted_locked(transfer);
    else
        transfer_move_locked(transfer);
    return HG_SUCCESS;
}

/* `what` has the length, direction, local side and target context. */
static hg_return_t transfer_post(struct amg_ep *base, struct amg_peer *peer,
    const struct amg_remote *remote, struct amg_op *op,
    const struct amg_ofi_transfer *what)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(base->domain);
    struct amg_ofi_transfer *transfer = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT_OF("HG_Bulk_transfer",
            remote->key.len == sizeof(transfer->key) && what->len > 0,
            "the key of the remote memory has %u bytes, but this transport "
            "makes keys of %u",
            (unsigned)remote->key.len, (unsigned)sizeof(transfer->key)))
        return HG_INVALID_ARG;
    transfer = amg_pool_get(&domain->rma.transfer_pool);
    if (transfer == NULL)
        return HG_NOMEM;
    *transfer = *what;
    transfer->op = op;
    transfer->ep = amg_ofi_ep_of(base);
    transfer->peer = amg_ofi_peer_ref(peer);
    transfer->mem = op->mem == NULL
                        ? NULL
                        : amg_container_of(op->mem, struct amg_ofi_mem, base);
    transfer->remote = remote->at;
    amg_list_init(&transfer->fragments);
    memcpy(&transfer->key, remote->key.bytes, sizeof(transfer->key));
    amg_bias_lock(&domain->lock);
    amg_call_begin(op, &transfer->ep->base);
    amg_call_set(op, AMG_OFI_OP_TRANSFER, transfer, &transfer->ep->base);
    rc = transfer_begin_locked(transfer);
    if (rc != HG_SUCCESS) {
        op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
        amg_ofi_peer_unref_locked(peer);
        amg_pool_put(&domain->rma.transfer_pool, transfer);
    }
    amg_ofi_wait_shorten_locked(domain);
    amg_bias_unlock(&domain->lock);
    return rc;
}

hg_return_t amg_ofi_rma_put(struct amg_ep *ep, struct amg_target to,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op)
{
    return transfer_post(ep, to.peer, remote, op,
        &(const struct amg_ofi_transfer){.local = *local,
            .len = len,
            .target_context = to.context_id,
            .is_put = true});
}

hg_return_t amg_ofi_rma_get(struct amg_ep *ep, struct amg_target to,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op)
{
    return transfer_post(ep, to.peer, remote, op,
        &(const struct amg_ofi_transfer){
            .local = *local, .len = len, .target_context = to.context_id});
}

void amg_ofi_rma_cancel_locked(struct amg_op *op)
{
    struct amg_ofi_transfer *transfer = amg_call_ptr(op);

    if (transfer->posted < transfer->len || transfer->lease == NULL)
        transfer_stop_locked(transfer, HG_CANCELED);
}

/* Calls `fn`, which may end the transfer, for each transfer of an endpoint. */
static void transfers_each_locked(struct amg_ofi_domain *domain,
    const struct amg_ofi_ep *ep, void (*fn)(struct amg_ofi_transfer *))
{
    struct amg_link *at = amg_list_first(&domain->peers.all);

    while (at != NULL) {
        struct amg_peer *peer =
            amg_ofi_peer_ref(amg_container_of(at, struct amg_peer, all));
        struct amg_link *link = amg_list_first(&peer->rma.transfers);

        while (link != NULL) {
            struct amg_ofi_transfer *transfer =
                amg_container_of(link, struct amg_ofi_transfer, of_peer);

            link = amg_list_next(&peer->rma.transfers, link);
            if (transfer->ep == ep)
                fn(transfer);
        }
        at = amg_list_next(&domain->peers.all, at);
        amg_ofi_peer_unref_locked(peer);
    }
}

static void transfer_cancel_locked(struct amg_ofi_transfer *transfer)
{
    transfer_stop_locked(transfer, HG_CANCELED);
}

static void transfer_detach_locked(struct amg_ofi_transfer *transfer)
{
    if (transfer->op == NULL)
        return;
    AMG_LOG_WARNING("bulk",
        "ofi: a transfer of %llu bytes did not stop in time when its context "
        "was closed; its memory must not be used again before the class is "
        "closed",
        (unsigned long long)transfer->len);
    amg_ofi_op_end_locked(transfer->op, HG_CANCELED);
    transfer->op = NULL;
    transfer->ep = NULL;
}

void amg_ofi_rma_drop_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_ep *ep)
{
    transfers_each_locked(domain, ep, transfer_cancel_locked);
}

void amg_ofi_rma_detach_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_ep *ep)
{
    transfers_each_locked(domain, ep, transfer_detach_locked);
}

static void transfer_abandon_locked(struct amg_ofi_transfer *transfer)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_first(&transfer->fragments)) != NULL) {
        struct amg_ofi_fragment *fragment =
            amg_container_of(link, struct amg_ofi_fragment, link);

        AMG_ASSERT(transfer->lease != NULL); /* messages ended before */
        amg_ofi_fragment_completed_locked(fragment);
        amg_ofi_fragment_free_locked(fragment);
    }
}

void amg_ofi_rma_abandon_locked(struct amg_ofi_domain *domain)
{
    transfers_each_locked(domain, NULL, transfer_abandon_locked);
}

void amg_ofi_rma_lost_locked(struct amg_peer *peer)
{
    struct amg_link *link = amg_list_first(&peer->rma.transfers);

    while (link != NULL) {
        struct amg_ofi_transfer *transfer =
            amg_container_of(link, struct amg_ofi_transfer, of_peer);

        link = amg_list_next(&peer->rma.transfers, link);
        transfer_stop_locked(transfer, HG_HOSTUNREACH);
    }
    amg_ofi_fragment_lost_locked(peer);
}
