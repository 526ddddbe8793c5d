/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers: puts and gets in fragments, from the first post to the end.
 *
 * A transfer is cut into fragments, some of them in flight at once:
 *
 *   wait for a lease --granted--> post fragments --all complete--> end
 *        (not by message)            |   ^
 *                            no room +---+ the next poll
 *
 * A write completes when its bytes have arrived. A transfer that is cancelled,
 * or whose memory is revoked, posts no more, and ends when none of its reads
 * and writes is in flight: the provider cannot stop them.
 *
 * A read or write takes runs of memory at the initiator and at the peer until
 * either side reaches the limit of segments per post, or the bytes reach
 * FRAGMENT_LEN. Segments of the peer are never merged: each has its own key.
 *
 * A fragment by message costs one round trip and no registration; many small
 * segments are gathered and scattered instead of posted to the NIC one by one.
 * The first message has the length of the whole transfer, so that the exposer
 * refuses this message if any part of the transfer is out of bounds. If
 * the transfer ends before an answer, as by a cancel, the message keeps its
 * cookie and its place among the unanswered messages until the answer comes or
 * the peer is lost. If the table slot were used again, its 1,024th use would
 * have the same cookie, and take the late bytes. */
#include "ofi_backend/ofi_rma.h"

#include <string.h>

#include "base/assert.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_peer.h"

enum {
    FRAGMENTS_MAX = 16, /* reads or writes of one transfer in flight */
    MESSAGES_MAX = 4,   /* unanswered messages of one transfer */
    /* Bytes of one read or write, so that several keep the network busy: one
     * write of 16 MiB stalled in libfabric 1.17 for a quarter of a second (net,
     * tcp). */
    FRAGMENT_LEN = 1 << 20,
    /* Unanswered messages to a peer; further transfers wait. Messages for which
     * the peer has no buffer posted use up resources that the peer needs to
     * post a buffer (shm, 1.17, has 256 for messages and buffers together). */
    UNANSWERED_MAX = 16,
};

/* Stands in the table for a fragment whose transfer has ended. */
static struct amg_ofi_fragment given_up;

/* Memory that one post names. */
struct shape {
    struct iovec local[AMG_OFI_IOVS];
    uint32_t segments[AMG_OFI_IOVS]; /* of `local`, if the memory is exposed */
    void *descs[AMG_OFI_IOVS];
    struct fi_rma_iov remote[AMG_OFI_IOVS];
    size_t local_count;
    size_t remote_count;
    uint64_t len;
};

static uint64_t smaller(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* The next run within one segment, which has a registration of its own. */
static uint64_t segment_take(struct amg_seg_iter *iter, uint64_t max,
    void **ret_at, uint32_t *ret_segment)
{
    uint64_t len = 0;

    AMG_ASSERT(iter->segment < iter->count);
    while (iter->into >= iter->segments[iter->segment].len) {
        iter->into -= iter->segments[iter->segment].len;
        iter->segment++;
        AMG_ASSERT(iter->segment < iter->count); /* checked when granted */
    }
    len = smaller(iter->segments[iter->segment].len - iter->into, max);
    *ret_at = amg_seg_iter_at(iter);
    *ret_segment = iter->segment;
    iter->into += len;
    return len;
}

static uint64_t remote_take(const struct amg_ofi_lease *lease,
    struct amg_seg_iter *remote, uint64_t max, struct fi_rma_iov *ret_iov)
{
    void *at = NULL;
    uint32_t segment = 0;

    ret_iov->len = segment_take(remote, max, &at, &segment);
    ret_iov->addr = (uint64_t)(uintptr_t)at;
    ret_iov->key = lease->keys[segment];
    return ret_iov->len;
}

/* Takes up to `max` bytes of our memory, in at most `count` runs. Returns the
 * number of bytes. */
static uint64_t local_take(struct amg_seg_iter *local, uint64_t max,
    size_t count, bool is_exposed, struct shape *ret_shape)
{
    uint64_t len = 0;

    ret_shape->local_count = 0;
    while (len < max && ret_shape->local_count < count) {
        size_t i = ret_shape->local_count++;
        struct iovec *iov = &ret_shape->local[i];

        iov->iov_len =
            is_exposed ? segment_take(local, max - len, &iov->iov_base,
                             &ret_shape->segments[i])
                       : amg_seg_iter_take(local, max - len, &iov->iov_base);
        AMG_ASSERT(iov->iov_len > 0); /* the caller's list is long enough */
        len += iov->iov_len;
    }
    return len;
}

/* Takes the memory of the next fragment, and advances `local` and `remote`. */
static void shape_take(const struct amg_ofi_transfer *transfer,
    struct amg_seg_iter *local, struct amg_seg_iter *remote,
    struct shape *ret_shape)
{
    const struct amg_ofi_facts *facts = &transfer->peer->domain->facts;
    size_t remote_max = smaller(facts->rma_iov_max, AMG_OFI_IOVS);
    size_t local_max = smaller(facts->iov_max, AMG_OFI_IOVS);
    bool is_exposed = facts->needs_desc && transfer->mem != NULL;
    uint64_t max = smaller(transfer->len - transfer->posted,
        smaller(facts->piece_len, FRAGMENT_LEN));
    uint64_t len = 0;

    ret_shape->remote_count = 0;
    max = local_take(local, max, local_max, is_exposed, ret_shape);
    while (len < max && ret_shape->remote_count < remote_max)
        len += remote_take(transfer->lease, remote, max - len,
            &ret_shape->remote[ret_shape->remote_count++]);
    ret_shape->len = len;
    if (len == max)
        return;
    /* The peer's segments reached their limit: takes only `len` local bytes. */
    *local = transfer->local;
    (void)local_take(local, len, local_max, is_exposed, ret_shape);
}

static void mrs_close_locked(struct amg_ofi_fragment *fragment)
{
    AMG_ASSERT_HELD_BIAS(&fragment->transfer->peer->domain->lock);
    while (fragment->mr_count > 0)
        amg_ofi_unreg_locked(fragment->transfer->peer->domain,
            fragment->mrs[--fragment->mr_count]);
}

/* The registration of a local run. Memory that is not exposed is registered for
 * this fragment alone, as nothing tells when the program frees the memory. */
static hg_return_t mr_open_locked(struct amg_ofi_fragment *fragment,
    const struct shape *shape, size_t i, struct fid_mr **ret_mr)
{
    const struct amg_ofi_transfer *transfer = fragment->transfer;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&fragment->transfer->peer->domain->lock);
    if (transfer->mem != NULL)
        return amg_ofi_mem_mr_locked(transfer->mem, shape->segments[i], ret_mr);
    rc = amg_ofi_reg_locked(transfer->peer->domain, shape->local[i].iov_base,
        shape->local[i].iov_len, transfer->is_put ? FI_WRITE : FI_READ, ret_mr);
    if (rc == HG_SUCCESS)
        fragment->mrs[fragment->mr_count++] = *ret_mr;
    return rc;
}

/* Registers local memory, if the provider needs that. */
static hg_return_t descs_open_locked(
    struct amg_ofi_fragment *fragment, struct shape *shape)
{
    bool needs_desc = fragment->transfer->peer->domain->facts.needs_desc;

    AMG_ASSERT_HELD_BIAS(&fragment->transfer->peer->domain->lock);
    for (size_t i = 0; i < shape->local_count; i++) {
        struct fid_mr *mr = NULL;
        hg_return_t rc =
            needs_desc ? mr_open_locked(fragment, shape, i, &mr) : HG_SUCCESS;

        if (rc != HG_SUCCESS)
            return rc;
        shape->descs[i] = amg_ofi_reg_desc(mr);
    }
    return HG_SUCCESS;
}

/* FI_ECANCELED: the connection broke. A cancelled transfer has its code. */
static hg_return_t fragment_error(int error)
{
    switch (error) {
    case FI_EACCES:
    case FI_EPERM:
        return HG_PERMISSION;
    case FI_ENOKEY:
    case FI_EKEYREJECTED:
        return HG_NOENTRY;
    case FI_ENOMEM:
        return HG_NOMEM;
    default:
        return HG_HOSTUNREACH;
    }
}

static hg_return_t shape_post_locked(
    struct amg_ofi_fragment *fragment, const struct shape *shape)
{
    const struct amg_peer *peer = fragment->transfer->peer;
    const struct fi_msg_rma msg = {
        .msg_iov = shape->local,
        .desc = (void **)(uintptr_t)shape->descs,
        .iov_count = shape->local_count,
        .addr = peer->fi_addr,
        .rma_iov = shape->remote,
        .rma_iov_count = shape->remote_count,
        .context = &fragment->work.context,
    };
    ssize_t code =
        fragment->transfer->is_put
            ? amg_ofi_call->writemsg(peer->domain->fi.ep, &msg,
                  FI_COMPLETION | FI_DELIVERY_COMPLETE)
            : amg_ofi_call->readmsg(peer->domain->fi.ep, &msg, FI_COMPLETION);

    AMG_ASSERT_HELD_BIAS(&fragment->transfer->peer->domain->lock);
    if (code == 0)
        return HG_SUCCESS;
    return code == -FI_EAGAIN ? HG_AGAIN : fragment_error((int)-code);
}

/* NULL: no memory. */
static struct amg_ofi_fragment *fragment_get_locked(
    struct amg_ofi_transfer *transfer)
{
    struct amg_ofi_fragment *fragment =
        amg_pool_get(&transfer->peer->domain->rma.fragment_pool);

    AMG_ASSERT_HELD_BIAS(&transfer->peer->domain->lock);
    if (fragment == NULL)
        return NULL;
    fragment->link = (struct amg_link){NULL, NULL};
    fragment->transfer = transfer;
    fragment->mr_count = 0;
    return fragment;
}

/* Adds the fragment, which was posted or is being sent, to its transfer. */
static void fragment_add_locked(struct amg_ofi_fragment *fragment, uint64_t len)
{
    struct amg_ofi_transfer *transfer = fragment->transfer;

    AMG_ASSERT_HELD_BIAS(&fragment->transfer->peer->domain->lock);
    fragment->len = len;
    transfer->posted += len;
    AMG_ASSERT(transfer->posted <= transfer->len);
    transfer->fragment_count++;
    amg_list_push(&transfer->fragments, &fragment->link);
}

static hg_return_t fragment_post_locked(
    struct amg_ofi_transfer *transfer, amg_ofi_done_fn on_completed)
{
    struct amg_ofi_domain *domain = transfer->peer->domain;
    struct amg_ofi_fragment *fragment = fragment_get_locked(transfer);
    struct amg_seg_iter local = transfer->local;
    struct amg_seg_iter remote = transfer->remote;
    struct shape shape;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT(transfer->posted < transfer->len && transfer->lease != NULL);
    if (fragment == NULL)
        return HG_NOMEM;
    fragment->work.done = on_completed;
    shape_take(transfer, &local, &remote, &shape);
    rc = descs_open_locked(fragment, &shape);
    if (rc == HG_SUCCESS)
        rc = shape_post_locked(fragment, &shape);
    if (rc != HG_SUCCESS) {
        mrs_close_locked(fragment);
        amg_pool_put(&domain->rma.fragment_pool, fragment);
        return rc;
    }
    transfer->local = local;
    transfer->remote = remote;
    fragment_add_locked(fragment, shape.len);
    domain->rma.in_flight++;
    transfer->peer->posts_in_flight++;
    transfer->ep->rma_in_flight++;
    return HG_SUCCESS;
}

static void fragment_completed_locked(struct amg_ofi_fragment *fragment)
{
    const struct amg_ofi_transfer *transfer = fragment->transfer;

    AMG_ASSERT_HELD_BIAS(&fragment->transfer->peer->domain->lock);
    AMG_ASSERT(transfer->peer->domain->rma.in_flight > 0 &&
               transfer->peer->posts_in_flight > 0);
    mrs_close_locked(fragment);
    transfer->peer->domain->rma.in_flight--;
    transfer->peer->posts_in_flight--;
    if (transfer->ep != NULL)
        transfer->ep->rma_in_flight--;
}

static hg_return_t fragment_send_locked(struct amg_ofi_transfer *transfer)
{
    struct amg_ofi_domain *domain = transfer->peer->domain;
    uint64_t left = transfer->len - transfer->posted;
    uint64_t len = smaller(left, amg_ofi_fragment_max(domain));
    const struct amg_ofi_access access = {
        .key = transfer->key,
        .segment = transfer->remote.segment,
        .into = transfer->remote.into,
        .len = len,
        .left = transfer->posted == 0 ? left : len,
    };
    struct amg_ofi_fragment *fragment = NULL;
    struct amg_ofi_msgbuf *msgbuf = NULL;
    uint32_t body_len = sizeof(access);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT(left > 0 && transfer->lease == NULL);
    if (transfer->peer->rma.unanswered >= UNANSWERED_MAX)
        return HG_AGAIN;
    fragment = fragment_get_locked(transfer);
    msgbuf = amg_ofi_msgbuf_get_locked(domain, false);
    if (fragment == NULL || msgbuf == NULL ||
        amg_table_add(&domain->rma.fragments, fragment, transfer->peer->number,
            &fragment->cookie) != HG_SUCCESS) {
        if (fragment != NULL)
            amg_pool_put(&domain->rma.fragment_pool, fragment);
        if (msgbuf != NULL)
            amg_ofi_msgbuf_put_locked(msgbuf);
        return HG_NOMEM;
    }
    fragment->local = transfer->local;
    memcpy(msgbuf->data, &access, sizeof(access));
    if (transfer->is_put) {
        amg_seg_iter_gather(msgbuf->data + body_len, &transfer->local, len);
        body_len += (uint32_t)len;
    } else {
        amg_seg_iter_skip(&transfer->local, len);
    }
    amg_seg_iter_skip(&transfer->remote, len);
    fragment_add_locked(fragment, len);
    transfer->peer->rma.unanswered++;
    msgbuf->header.cookie = fragment->cookie;
    amg_ofi_send_address_locked(msgbuf, transfer->peer,
        transfer->ep->base.context_id, transfer->target_context,
        transfer->is_put ? AMG_OFI_PUT : AMG_OFI_GET, body_len);
    amg_ofi_send_locked(msgbuf);
    return HG_SUCCESS;
}

static void fragment_next_locked(struct amg_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (peer->rma.unanswered < UNANSWERED_MAX &&
        !amg_list_is_empty(&peer->rma.blocked))
        amg_list_push(
            &peer->domain->rma.transfers, amg_list_pop(&peer->rma.blocked));
}

/* The message with this cookie was answered, or its peer is lost. */
static void cookie_end_locked(struct amg_peer *peer, uint32_t cookie)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    amg_table_remove(&peer->domain->rma.fragments, cookie);
    AMG_ASSERT(peer->rma.unanswered > 0);
    peer->rma.unanswered--;
    fragment_next_locked(peer);
}

static void fragment_put_locked(struct amg_ofi_fragment *fragment)
{
    struct amg_ofi_transfer *transfer = fragment->transfer;

    AMG_ASSERT_HELD_BIAS(&fragment->transfer->peer->domain->lock);
    AMG_ASSERT(transfer->fragment_count > 0);
    amg_list_remove(&fragment->link);
    transfer->fragment_count--;
    amg_pool_put(&transfer->peer->domain->rma.fragment_pool, fragment);
}

static void fragment_free_locked(struct amg_ofi_fragment *fragment)
{
    AMG_ASSERT_HELD_BIAS(&fragment->transfer->peer->domain->lock);
    if (fragment->transfer->lease == NULL)
        cookie_end_locked(fragment->transfer->peer, fragment->cookie);
    fragment_put_locked(fragment);
}

static void fragment_give_up_locked(struct amg_ofi_fragment *fragment)
{
    AMG_ASSERT_HELD_BIAS(&fragment->transfer->peer->domain->lock);
    AMG_ASSERT(fragment->transfer->lease == NULL);
    amg_table_at(
        &fragment->transfer->peer->domain->rma.fragments, fragment->cookie)
        ->object = &given_up;
    fragment_put_locked(fragment);
}

static struct amg_ofi_fragment *fragment_find_locked(
    const struct amg_ofi_message *message)
{
    struct amg_table_slot *slot =
        amg_table_find(&message->domain->rma.fragments, message->header->cookie,
            message->peer->number);

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    if (slot == NULL || slot->object != &given_up)
        return slot == NULL ? NULL : slot->object;
    cookie_end_locked(message->peer, slot->cookie);
    return NULL;
}

static void fragment_lost_locked(struct amg_peer *peer)
{
    const struct amg_table *table = &peer->domain->rma.fragments;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    for (uint32_t i = 0; i < table->cap && peer->rma.unanswered > 0; i++)
        if (table->slots[i].object == &given_up &&
            table->slots[i].owner_or_next == peer->number)
            cookie_end_locked(peer, table->slots[i].cookie);
    AMG_ASSERT(peer->rma.unanswered == 0);
}

/* Ends the use of the lease, completes the operation, frees the transfer. */
static void transfer_end_locked(struct amg_ofi_transfer *transfer)
{
    struct amg_ofi_domain *domain = transfer->peer->domain;
    struct amg_op *op = transfer->op;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT(
        transfer->fragment_count == 0 && !amg_link_is_listed(&transfer->link));
    amg_list_remove(&transfer->of_peer);
    fragment_next_locked(transfer->peer);
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
    AMG_ASSERT_HELD_BIAS(&transfer->peer->domain->lock);
    if (transfer->fragment_count == 0 &&
        (transfer->is_stopped || transfer->done == transfer->len))
        transfer_end_locked(transfer);
}

void amg_ofi_transfer_stop_locked(
    struct amg_ofi_transfer *transfer, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(&transfer->peer->domain->lock);
    AMG_ASSERT(ret != HG_SUCCESS);
    if (transfer->ret == HG_SUCCESS)
        transfer->ret = ret;
    transfer->is_stopped = true;
    if (amg_link_is_listed(&transfer->link))
        amg_list_remove(&transfer->link); /* no longer waits */
    /* Gives up messages: late answers must not touch the user's memory. */
    while (transfer->lease == NULL && transfer->fragment_count > 0)
        fragment_give_up_locked(
            amg_container_of(amg_list_first(&transfer->fragments),
                struct amg_ofi_fragment, link));
    transfer_settle_locked(transfer);
}

static void fragment_end_locked(
    struct amg_ofi_fragment *fragment, hg_return_t ret)
{
    struct amg_ofi_transfer *transfer = fragment->transfer;
    struct amg_ofi_domain *domain = transfer->peer->domain;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (ret == HG_SUCCESS)
        transfer->done += fragment->len;
    fragment_free_locked(fragment);
    if (ret != HG_SUCCESS) {
        amg_ofi_transfer_stop_locked(transfer, ret);
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

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    (void)domain;
    (void)entry;
    fragment_completed_locked(fragment);
    if (error == 0)
        peer->watched.is_heard = true;
    else
        amg_ofi_peer_check_locked(peer);
    fragment_end_locked(
        fragment, error == 0 ? HG_SUCCESS : fragment_error(error));
}

void amg_ofi_transfer_move_locked(struct amg_ofi_transfer *transfer)
{
    struct amg_ofi_domain *domain = transfer->peer->domain;
    uint32_t max = transfer->lease == NULL ? MESSAGES_MAX : FRAGMENTS_MAX;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    while (transfer->posted < transfer->len && transfer->fragment_count < max &&
           rc == HG_SUCCESS)
        rc = transfer->lease == NULL
                 ? fragment_send_locked(transfer)
                 : fragment_post_locked(transfer, on_completed_locked);
    if (rc == HG_AGAIN) {
        if (!amg_link_is_listed(&transfer->link))
            amg_list_push(transfer->lease == NULL ? &transfer->peer->rma.blocked
                                                  : &domain->rma.transfers,
                &transfer->link);
        return;
    }
    /* The end of a fragment puts the transfer on the list again. */
    if (amg_link_is_listed(&transfer->link))
        amg_list_remove(&transfer->link);
    if (rc != HG_SUCCESS)
        amg_ofi_transfer_stop_locked(transfer, rc);
}

void amg_ofi_rma_move_locked(struct amg_ofi_domain *domain)
{
    struct amg_list all;
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    amg_list_init(&all);
    amg_list_splice(&all, &domain->rma.transfers);
    while ((link = amg_list_pop(&all)) != NULL)
        amg_ofi_transfer_move_locked(
            amg_container_of(link, struct amg_ofi_transfer, link));
}

void amg_ofi_rma_on_data_locked(const struct amg_ofi_message *message)
{
    struct amg_ofi_fragment *fragment = fragment_find_locked(message);

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
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
    struct amg_ofi_fragment *fragment = fragment_find_locked(message);
    struct amg_ofi_refuse refuse;

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    memcpy(&refuse, message->body, sizeof(refuse));
    if (fragment == NULL)
        return;
    if (refuse.code >= HG_RETURN_MAX ||
        (refuse.code == HG_SUCCESS && !fragment->transfer->is_put))
        refuse.code = HG_PROTOCOL_ERROR;
    fragment_end_locked(fragment, (hg_return_t)refuse.code);
}

void amg_ofi_transfer_abandon_locked(struct amg_ofi_transfer *transfer)
{
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&transfer->peer->domain->lock);
    while ((link = amg_list_first(&transfer->fragments)) != NULL) {
        struct amg_ofi_fragment *fragment =
            amg_container_of(link, struct amg_ofi_fragment, link);

        AMG_ASSERT(transfer->lease != NULL); /* messages ended before */
        fragment_completed_locked(fragment);
        fragment_free_locked(fragment);
    }
}

void amg_ofi_rma_lost_locked(struct amg_peer *peer)
{
    struct amg_link *link = amg_list_first(&peer->rma.transfers);

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    amg_ofi_leases_lost_locked(peer);
    while (link != NULL) {
        struct amg_ofi_transfer *transfer =
            amg_container_of(link, struct amg_ofi_transfer, of_peer);

        link = amg_list_next(&peer->rma.transfers, link);
        amg_ofi_transfer_stop_locked(transfer, HG_HOSTUNREACH);
    }
    fragment_lost_locked(peer);
}
