/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets of this process: start, wait for leases, and cancellation. */
#include "ofi_backend/ofi_rma.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_peer.h"

/* The lease is open: posts the transfer, if the lease allows the access. */
static void transfer_granted_locked(struct amg_ofi_transfer *transfer)
{
    const struct amg_ofi_lease *lease = transfer->lease;
    uint8_t wanted = transfer->is_put ? AMG_MEM_WRITE : AMG_MEM_READ;

    AMG_ASSERT_HELD_BIAS(&transfer->peer->domain->lock);
    AMG_ASSERT(lease->state == AMG_OFI_LEASE_OPEN);
    transfer->remote.segments = lease->segments;
    transfer->remote.count = lease->count;
    if ((lease->flags & wanted) == 0)
        amg_ofi_transfer_stop_locked(transfer, HG_PERMISSION);
    else if (!amg_seg_iter_has(&transfer->remote, transfer->len))
        amg_ofi_transfer_stop_locked(transfer, HG_OVERFLOW);
    else
        amg_ofi_transfer_move_locked(transfer);
}

/* Posts the transfers that wait for the lease, if `ret` is HG_SUCCESS; posts
 * them by messages, if `ret` is HG_AGAIN; else ends them with `ret`. */
static void lease_settle_locked(struct amg_ofi_lease *lease, hg_return_t ret)
{
    struct amg_list waiting;
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&lease->peer->domain->lock);
    lease->users++; /* keeps the lease when its last transfer ends */
    amg_list_init(&waiting);
    amg_list_splice(&waiting, &lease->waiting);
    while ((link = amg_list_pop(&waiting)) != NULL) {
        struct amg_ofi_transfer *transfer =
            amg_container_of(link, struct amg_ofi_transfer, link);

        AMG_ASSERT(transfer->lease == lease && transfer->posted == 0);
        if (ret == HG_SUCCESS) {
            transfer_granted_locked(transfer);
        } else if (ret != HG_AGAIN) {
            amg_ofi_transfer_stop_locked(transfer, ret);
        } else { /* the peer grants this process no more leases */
            transfer->lease = NULL;
            amg_ofi_transfer_move_locked(transfer);
            amg_ofi_lease_put_locked(lease);
        }
    }
    amg_ofi_lease_put_locked(lease);
}

void amg_ofi_rma_on_grant_locked(const struct amg_ofi_message *message)
{
    hg_return_t ret = HG_SUCCESS;
    struct amg_ofi_lease *lease = amg_ofi_lease_granted_locked(message, &ret);

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    if (lease != NULL)
        lease_settle_locked(lease, ret);
}

void amg_ofi_rma_on_deny_locked(const struct amg_ofi_message *message)
{
    struct amg_ofi_lease *lease = amg_ofi_lease_denied_locked(message);
    struct amg_ofi_refuse refuse;

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    memcpy(&refuse, message->body, sizeof(refuse));
    if (lease != NULL)
        lease_settle_locked(lease, amg_call_refusal(refuse.code));
}

/* The exposure ends: the transfers that use the lease post no more. */
void amg_ofi_rma_on_revoke_locked(const struct amg_ofi_message *message)
{
    struct amg_ofi_lease *lease = amg_ofi_lease_revoked_locked(message);
    struct amg_link *link = amg_list_first(&message->peer->rma.transfers);

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    if (lease == NULL)
        return;
    lease->users++;
    while (link != NULL) {
        struct amg_ofi_transfer *transfer =
            amg_container_of(link, struct amg_ofi_transfer, of_peer);

        link = amg_list_next(&message->peer->rma.transfers, link);
        if (transfer->lease == lease && transfer->posted < transfer->len)
            amg_ofi_transfer_stop_locked(transfer, HG_NOENTRY);
    }
    amg_ofi_lease_put_locked(lease);
}

static hg_return_t transfer_begin_locked(struct amg_ofi_transfer *transfer)
{
    struct amg_ofi_lease *lease = NULL;
    hg_return_t rc = amg_ofi_lease_get_locked(transfer, &lease);

    AMG_ASSERT_HELD_BIAS(&transfer->peer->domain->lock);
    if (rc != HG_SUCCESS)
        return rc;
    transfer->lease = lease;
    amg_list_push(&transfer->peer->rma.transfers, &transfer->of_peer);
    amg_ofi_peer_watch_locked(transfer->peer);
    if (lease != NULL && lease->state == AMG_OFI_LEASE_ASKED)
        amg_list_push(&lease->waiting, &transfer->link);
    else if (lease != NULL)
        transfer_granted_locked(transfer);
    else
        amg_ofi_transfer_move_locked(transfer);
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

    AMG_ASSERT_HELD_BIAS(&transfer->peer->domain->lock);
    if (transfer->posted < transfer->len || transfer->lease == NULL)
        amg_ofi_transfer_stop_locked(transfer, HG_CANCELED);
}

/* Calls `fn`, which may end the transfer, for each transfer with this `ep`. */
static void transfers_each_locked(struct amg_ofi_domain *domain,
    const struct amg_ofi_ep *ep, void (*fn)(struct amg_ofi_transfer *))
{
    struct amg_link *at = amg_list_first(&domain->peers.all);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
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
    AMG_ASSERT_HELD_BIAS(&transfer->peer->domain->lock);
    amg_ofi_transfer_stop_locked(transfer, HG_CANCELED);
}

static void transfer_detach_locked(struct amg_ofi_transfer *transfer)
{
    AMG_ASSERT_HELD_BIAS(&transfer->peer->domain->lock);
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

void amg_ofi_rma_drop_locked(struct amg_ofi_ep *ep, bool is_over)
{
    AMG_ASSERT_HELD_BIAS(&amg_ofi_domain_of_ep(ep)->lock);
    transfers_each_locked(amg_ofi_domain_of_ep(ep), ep,
        is_over ? transfer_detach_locked : transfer_cancel_locked);
}

void amg_ofi_rma_abandon_locked(struct amg_ofi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    transfers_each_locked(domain, NULL, amg_ofi_transfer_abandon_locked);
}
