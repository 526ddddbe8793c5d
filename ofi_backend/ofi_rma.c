/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets of this process: their transfers, fragments and leases.
 *
 * A transfer is cut into fragments, some of them in flight at once:
 *
 *   wait for a lease --granted--> post fragments --all complete--> end
 *        (not by message)            |   ^
 *                            no room +---+ the next poll
 *
 * A write completes when its bytes have arrived. A transfer that is short and
 * has no lease yet, or is scattered in runs shorter than RUN_SHORT, goes by
 * messages. A transfer that is cancelled, or whose memory is revoked, posts no
 * more, and ends when none of its reads and writes is in flight: the provider
 * cannot stop them.
 *
 * A lease is the right to access memory of a peer by the provider's reads and
 * writes. A transfer requests a lease unless the memory is leased already.
 * Memory that is exposed for one transfer, as for most RPCs, is freed soon: its
 * lease is returned before the transfer completes, so that the owner need not
 * wait. Memory that is leased a second time is likely to be used again: its
 * lease is kept for some time, and transfers then cost no more than a read or
 * write. Only a domain that a thread polls whatever the program does keeps
 * leases: elsewhere the program may compute for hours, and no thread would
 * return leases.
 *
 * A lease whose transfers were all cancelled before it was granted is returned
 * at once, too: when the grant comes, the program may compute. The cookie is
 * kept until the grant has come.
 *
 *     asked --all rows--> open --revoked, lost--> ended --no user--> returned
 *       |                   |                                           |
 *       +---- denied -------+-------- no user --------------------------+
 *
 * A fragment of the provider takes runs of memory at the initiator and at the
 * peer until one of them reaches the provider's limit of segments in one post,
 * or the fragment its longest length. Segments of the peer are never merged:
 * each has its own key.
 *
 * A fragment by message costs one round trip and no registration; many small
 * segments are gathered and scattered instead of posted to the NIC one by one.
 * The first message has the length of the whole transfer, so that the exposer
 * can check key, permission and bounds before the first byte moves. When the
 * transfer ends before the answer, as by a cancel, the message keeps its cookie
 * and its place among the unanswered messages until the answer comes or the
 * peer is lost: after 1,024 uses of its slot a cookie names another message,
 * whose transfer would take the late bytes. */
#include "ofi_backend/ofi_rma.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "ofi_backend/ofi_ep.h"
#include "ofi_backend/ofi_peer.h"

enum {
    FRAGMENTS_MAX = 16, /* reads or writes of one transfer in flight */
    MESSAGES_MAX = 4,   /* unanswered messages of one transfer */
    SHORT_LEN = 4096,   /* goes by a message, unless the memory is leased */
    FIRST_MESSAGES = 2, /* for a first access: a pull of 16 KiB over tcp took
                         * 42 us with a lease, and 31 us without */
    RUN_SHORT = 2048,   /* shortest run that is worth a segment of a post */
    IDLE_MAX = 64,      /* unused leases that are kept */
    ROWS_MAX = 1 << 24,
    /* Bytes of one read or write, so that several keep the network busy: one
     * write of 16 MiB stalled in libfabric 1.17 for a quarter of a second (net,
     * tcp). */
    FRAGMENT_LEN = 1 << 20,
    /* Unanswered messages to a peer; further transfers wait. Messages for which
     * the peer has no buffer posted use up resources that the peer needs to
     * post a buffer (shm, 1.17, has 256 for messages and buffers together). */
    UNANSWERED_MAX = 16,
};

/* state_edges[from] has a bit for each state that may follow. */
static const unsigned state_edges[AMG_OFI_LEASE_STATES] = {
    [AMG_OFI_LEASE_ASKED] =
        1u << AMG_OFI_LEASE_OPEN | 1u << AMG_OFI_LEASE_ENDED,
    [AMG_OFI_LEASE_OPEN] = 1u << AMG_OFI_LEASE_ENDED,
};

static void lease_set_state(
    struct amg_ofi_lease *lease, enum amg_ofi_lease_state next)
{
    AMG_ASSERT((state_edges[lease->state] >> next & 1u) != 0);
    lease->state = next;
}

/* Hash over number, serial and salt; no two domains have the same salt. */
static uint64_t hash_of(const struct amg_ofi_key *key)
{
    uint64_t hash = (uint64_t)key->serial << 32 | key->number;

    hash = (hash ^ key->salt) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 32;
}

/* Was this memory leased before? Records that the memory is leased. */
static bool was_seen_locked(struct amg_ofi_domain *domain, uint64_t hash)
{
    uint64_t *entry = &domain->leases.seen[hash % AMG_OFI_SEEN];
    bool was_seen = *entry == hash;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    *entry = hash;
    return was_seen;
}

static void lease_busy_locked(struct amg_ofi_lease *lease)
{
    AMG_ASSERT_HELD_BIAS(&lease->peer->domain->lock);
    if (!amg_link_is_listed(&lease->idle))
        return;
    AMG_ASSERT(lease->peer->domain->leases.idle_count > 0);
    amg_list_remove(&lease->idle);
    lease->peer->domain->leases.idle_count--;
}

static void lease_free_locked(struct amg_ofi_lease *lease)
{
    struct amg_ofi_domain *domain = lease->peer->domain;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT(lease->users == 0 && amg_list_is_empty(&lease->waiting));
    lease_busy_locked(lease);
    amg_list_remove(&lease->link);
    amg_table_remove(&domain->leases.all, lease->cookie);
    amg_ofi_peer_unref_locked(lease->peer);
    amg_mem_free(lease->segments);
    amg_mem_free(lease->keys);
    amg_mem_free(lease);
}

/* False: no memory for the message. */
static bool return_send_locked(const struct amg_ofi_lease *lease)
{
    AMG_ASSERT_HELD_BIAS(&lease->peer->domain->lock);
    return amg_ofi_send_control_locked(lease->peer,
        (struct amg_ofi_header){.kind = AMG_OFI_RETURN,
            .target = lease->context,
            .cookie = lease->cookie},
        NULL, 0);
}

/* Returns and frees a lease. False: no memory for the message; it stays. */
static bool lease_return_locked(struct amg_ofi_lease *lease)
{
    AMG_ASSERT_HELD_BIAS(&lease->peer->domain->lock);
    AMG_ASSERT(lease->state != AMG_OFI_LEASE_ASKED || lease->is_gone);
    if (!lease->is_gone && !return_send_locked(lease))
        return false;
    lease_free_locked(lease);
    return true;
}

static void lease_idle_locked(struct amg_ofi_lease *lease)
{
    struct amg_ofi_domain *domain = lease->peer->domain;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    /* A revoked lease that could not be returned is on the list already. */
    lease_busy_locked(lease);
    AMG_ASSERT(lease->users == 0);
    lease->idle_tick = domain->clock.tick;
    amg_list_push(&domain->leases.idle, &lease->idle);
    if (++domain->leases.idle_count > IDLE_MAX)
        (void)lease_return_locked(amg_container_of(
            amg_list_first(&domain->leases.idle), struct amg_ofi_lease, idle));
}

static void lease_put_locked(struct amg_ofi_lease *lease)
{
    AMG_ASSERT_HELD_BIAS(&lease->peer->domain->lock);
    AMG_ASSERT(lease->users > 0);
    if (--lease->users > 0)
        return;
    /* The grant or denial that is on its way ends the lease. */
    if (lease->state == AMG_OFI_LEASE_ASKED && !lease->is_gone) {
        lease->is_gone = return_send_locked(lease);
        return;
    }
    if ((lease->is_kept && lease->peer->domain->is_always_polled &&
            lease->state == AMG_OFI_LEASE_OPEN && !lease->is_gone) ||
        !lease_return_locked(lease))
        lease_idle_locked(lease);
}

static hg_return_t lease_make_locked(struct amg_peer *peer, uint8_t context,
    uint8_t target_context, const struct amg_ofi_key *key,
    struct amg_ofi_lease **ret_lease)
{
    struct amg_ofi_domain *domain = peer->domain;
    const struct amg_ofi_lease_ask ask = {.key = *key};
    struct amg_ofi_lease *lease = amg_mem_zalloc(sizeof(*lease));
    hg_return_t rc = HG_NOMEM;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (lease == NULL)
        return HG_NOMEM;
    lease->key = *key;
    lease->context = target_context;
    amg_list_init(&lease->waiting);
    rc =
        amg_table_add(&domain->leases.all, lease, peer->number, &lease->cookie);
    if (rc == HG_SUCCESS && !amg_ofi_send_control_locked(peer,
                                (struct amg_ofi_header){.kind = AMG_OFI_LEASE,
                                    .context = context,
                                    .target = target_context,
                                    .cookie = lease->cookie},
                                &ask, sizeof(ask))) {
        amg_table_remove(&domain->leases.all, lease->cookie);
        rc = HG_NOMEM;
    }
    if (rc != HG_SUCCESS) {
        amg_mem_free(lease);
        return rc;
    }
    lease->is_kept = was_seen_locked(domain, hash_of(key));
    lease->peer = amg_ofi_peer_ref(peer);
    amg_list_push(&peer->rma.leases, &lease->link);
    *ret_lease = lease;
    return HG_SUCCESS;
}

/* A lease of this memory that is open or requested, or NULL. */
static struct amg_ofi_lease *lease_of_key_locked(
    const struct amg_peer *peer, const struct amg_ofi_key *key)
{
    struct amg_link *link = amg_list_first(&peer->rma.leases);

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    for (; link != NULL; link = amg_list_next(&peer->rma.leases, link)) {
        struct amg_ofi_lease *lease =
            amg_container_of(link, struct amg_ofi_lease, link);

        if (lease->state != AMG_OFI_LEASE_ENDED && !lease->is_gone &&
            memcmp(&lease->key, key, sizeof(*key)) == 0)
            return lease;
    }
    return NULL;
}

static hg_return_t lease_get_locked(struct amg_peer *peer, uint8_t context,
    uint8_t target_context, const struct amg_ofi_key *key,
    struct amg_ofi_lease **ret_lease)
{
    struct amg_ofi_lease *lease = lease_of_key_locked(peer, key);
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (lease == NULL)
        rc = lease_make_locked(peer, context, target_context, key, &lease);
    if (rc != HG_SUCCESS)
        return rc;
    if (lease->users++ > 0)
        lease->is_kept = true;
    lease_busy_locked(lease);
    *ret_lease = lease;
    return HG_SUCCESS;
}

static struct amg_ofi_lease *lease_find_locked(
    const struct amg_ofi_message *message)
{
    struct amg_table_slot *slot = amg_table_find(&message->domain->leases.all,
        message->header->cookie, message->peer->number);

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    return slot == NULL ? NULL : slot->object;
}

/* Makes room for `rows` more, and at most for twice the rows that have come: a
 * count that a peer announces must not make this process allocate memory. */
static hg_return_t rows_fit(struct amg_ofi_lease *lease, uint32_t rows)
{
    uint32_t cap = lease->got + rows;
    struct amg_segment *segments = NULL;
    uint64_t *keys = NULL;

    if (cap <= lease->cap)
        return HG_SUCCESS;
    if (cap < 2 * lease->cap)
        cap = 2 * lease->cap < lease->count ? 2 * lease->cap : lease->count;
    segments = amg_mem_realloc(lease->segments, cap * sizeof(*segments));
    if (segments == NULL)
        return HG_NOMEM;
    lease->segments = segments;
    keys = amg_mem_realloc(lease->keys, cap * sizeof(*keys));
    if (keys == NULL)
        return HG_NOMEM;
    lease->keys = keys;
    lease->cap = cap;
    return HG_SUCCESS;
}

static void rows_take(struct amg_ofi_lease *lease,
    const struct amg_ofi_message *message, uint32_t rows)
{
    const unsigned char *at = message->body + sizeof(struct amg_ofi_grant);

    AMG_ASSERT(lease->got + rows <= lease->cap);
    for (uint32_t i = 0; i < rows; i++, at += sizeof(struct amg_ofi_row)) {
        struct amg_ofi_row row;

        memcpy(&row, at, sizeof(row));
        lease->segments[lease->got] =
            (struct amg_segment){(void *)(uintptr_t)row.base, row.len};
        lease->keys[lease->got++] = row.key;
    }
}

/* Is this the next part of the grant, with the length that `head` states? */
static bool grant_fits(const struct amg_ofi_lease *lease,
    const struct amg_ofi_grant *head, uint32_t rows, uint32_t len)
{
    return head->first == lease->got && head->count <= ROWS_MAX &&
           (head->first == 0 || head->count == lease->count) &&
           rows <= head->count - head->first &&
           (rows > 0 || head->count == 0) &&
           len == sizeof(*head) + rows * sizeof(struct amg_ofi_row);
}

static void leases_lost_locked(struct amg_peer *peer)
{
    struct amg_link *link = amg_list_first(&peer->rma.leases);

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    while (link != NULL) {
        struct amg_ofi_lease *lease =
            amg_container_of(link, struct amg_ofi_lease, link);

        link = amg_list_next(&peer->rma.leases, link);
        lease->is_gone = true;
        if (lease->users == 0)
            lease_free_locked(lease);
    }
}

void amg_ofi_lease_return_idle_locked(
    struct amg_ofi_domain *domain, unsigned ticks)
{
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    while ((link = amg_list_first(&domain->leases.idle)) != NULL) {
        struct amg_ofi_lease *lease =
            amg_container_of(link, struct amg_ofi_lease, idle);

        if (domain->clock.tick - lease->idle_tick < ticks ||
            !lease_return_locked(lease))
            return;
    }
}

/* Stands in the table for a fragment whose transfer has ended. */
static struct amg_ofi_fragment given_up;

/* Memory that one post names. */
struct shape {
    struct iovec local[AMG_OFI_IOVS];
    uint32_t segments[AMG_OFI_IOVS]; /* local ones, if that memory is exposed */
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
    /* The peer's side was the shorter one. */
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

/* The registration of a local run: that of exposed memory; else one for this
 * fragment alone, as nothing tells when the program frees the memory. */
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

static hg_return_t fragment_error(int error)
{
    switch (error) {
    case FI_ECANCELED:
        return HG_CANCELED;
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

/* The fragment, posted or sent, belongs to its transfer. */
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

/* The message with this cookie is answered, or its peer lost. */
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

/* Removes the transfer from all lists, and completes its operation. */
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
        lease_put_locked(transfer->lease);
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

/* Posts no more of the transfer, which ends with its reads and writes. */
static void transfer_stop_locked(
    struct amg_ofi_transfer *transfer, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(&transfer->peer->domain->lock);
    AMG_ASSERT(ret != HG_SUCCESS);
    if (transfer->ret == HG_SUCCESS)
        transfer->ret = ret;
    transfer->is_stopped = true;
    if (amg_link_is_listed(&transfer->link))
        amg_list_remove(&transfer->link); /* no longer waits for room */
    /* A late answer to a message then touches no memory of the user. */
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

/* Posts fragments while there is room. */
static void transfer_move_locked(struct amg_ofi_transfer *transfer)
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

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    amg_list_init(&all);
    amg_list_splice(&all, &domain->rma.transfers);
    while ((link = amg_list_pop(&all)) != NULL)
        transfer_move_locked(
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

/* The lease is open: posts the transfer, if the lease allows it. */
static void transfer_granted_locked(struct amg_ofi_transfer *transfer)
{
    const struct amg_ofi_lease *lease = transfer->lease;
    uint8_t wanted = transfer->is_put ? AMG_MEM_WRITE : AMG_MEM_READ;

    AMG_ASSERT_HELD_BIAS(&transfer->peer->domain->lock);
    AMG_ASSERT(lease->state == AMG_OFI_LEASE_OPEN);
    transfer->remote.segments = lease->segments;
    transfer->remote.count = lease->count;
    if ((lease->flags & wanted) == 0)
        transfer_stop_locked(transfer, HG_PERMISSION);
    else if (!amg_seg_iter_has(&transfer->remote, transfer->len))
        transfer_stop_locked(transfer, HG_OVERFLOW);
    else
        transfer_move_locked(transfer);
}

/* The lease is open, or with `ret` not granted: continues the transfers that
 * wait for the lease. */
static void lease_settle_locked(struct amg_ofi_lease *lease, hg_return_t ret)
{
    struct amg_list waiting;
    struct amg_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&lease->peer->domain->lock);
    lease->users++; /* also when its last transfer ends */
    amg_list_init(&waiting);
    amg_list_splice(&waiting, &lease->waiting);
    while ((link = amg_list_pop(&waiting)) != NULL) {
        struct amg_ofi_transfer *transfer =
            amg_container_of(link, struct amg_ofi_transfer, link);

        AMG_ASSERT(transfer->lease == lease && transfer->posted == 0);
        if (ret == HG_SUCCESS) {
            transfer_granted_locked(transfer);
        } else if (ret != HG_AGAIN) {
            transfer_stop_locked(transfer, ret);
        } else { /* the peer grants this process no more leases */
            transfer->lease = NULL;
            transfer_move_locked(transfer);
            lease_put_locked(lease);
        }
    }
    lease_put_locked(lease);
}

void amg_ofi_rma_on_grant_locked(const struct amg_ofi_message *message)
{
    struct amg_ofi_lease *lease = lease_find_locked(message);
    struct amg_ofi_grant head;
    uint32_t rows = (message->len - (uint32_t)sizeof(head)) /
                    (uint32_t)sizeof(struct amg_ofi_row);
    bool is_asked = lease != NULL && lease->state == AMG_OFI_LEASE_ASKED;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    memcpy(&head, message->body, sizeof(head));
    if (!is_asked || !grant_fits(lease, &head, rows, message->len)) {
        amg_ofi_peer_violation(message->peer, AMG_VIOLATION_ANSWER,
            AMG_OFI_GRANT, (long)message->len);
        if (!is_asked)
            return;
        rc = HG_PROTOCOL_ERROR;
    }
    if (rc == HG_SUCCESS) {
        lease->flags = (uint8_t)head.flags;
        lease->count = head.count;
        rc = rows_fit(lease, rows);
    }
    if (rc == HG_SUCCESS) {
        rows_take(lease, message, rows);
        if (lease->got < lease->count)
            return;
    }
    lease_set_state(
        lease, rc == HG_SUCCESS ? AMG_OFI_LEASE_OPEN : AMG_OFI_LEASE_ENDED);
    lease_settle_locked(lease, rc);
}

void amg_ofi_rma_on_deny_locked(const struct amg_ofi_message *message)
{
    struct amg_ofi_lease *lease = lease_find_locked(message);
    struct amg_ofi_refuse refuse;

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    memcpy(&refuse, message->body, sizeof(refuse));
    if (lease == NULL || lease->state == AMG_OFI_LEASE_OPEN) {
        amg_ofi_peer_violation(message->peer, AMG_VIOLATION_ANSWER,
            AMG_OFI_DENY, (long)message->header->cookie);
        return;
    }
    lease->is_gone = true;
    lease_settle_locked(lease, amg_call_refusal(refuse.code));
}

/* The exposure ends: the transfers that use it post no more. If the lease is
 * not open, its RETURN is on the way. */
void amg_ofi_rma_on_revoke_locked(const struct amg_ofi_message *message)
{
    struct amg_ofi_lease *lease = lease_find_locked(message);
    struct amg_link *link = amg_list_first(&message->peer->rma.transfers);

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    if (lease == NULL || lease->state != AMG_OFI_LEASE_OPEN)
        return;
    lease_set_state(lease, AMG_OFI_LEASE_ENDED);
    lease->users++;
    while (link != NULL) {
        struct amg_ofi_transfer *transfer =
            amg_container_of(link, struct amg_ofi_transfer, of_peer);

        link = amg_list_next(&message->peer->rma.transfers, link);
        if (transfer->lease == lease && transfer->posted < transfer->len)
            transfer_stop_locked(transfer, HG_NOENTRY);
    }
    lease_put_locked(lease);
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
    struct amg_ofi_domain *domain = transfer->peer->domain;
    const struct amg_ofi_lease *lease =
        lease_of_key_locked(transfer->peer, &transfer->key);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (is_scattered(transfer))
        return true;
    if (lease != NULL && lease->state == AMG_OFI_LEASE_OPEN)
        return false;
    if (transfer->len <= SHORT_LEN)
        return true;
    return transfer->len <= FIRST_MESSAGES * amg_ofi_fragment_max(domain) &&
           lease == NULL && !was_seen_locked(domain, hash_of(&transfer->key));
}

static hg_return_t transfer_begin_locked(struct amg_ofi_transfer *transfer)
{
    struct amg_ofi_lease *lease = NULL;
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&transfer->peer->domain->lock);
    if (!is_for_messages_locked(transfer)) {
        rc = lease_get_locked(transfer->peer, transfer->ep->base.context_id,
            transfer->target_context, &transfer->key, &lease);
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

    AMG_ASSERT_HELD_BIAS(&transfer->peer->domain->lock);
    if (transfer->posted < transfer->len || transfer->lease == NULL)
        transfer_stop_locked(transfer, HG_CANCELED);
}

/* Calls `fn`, which may end the transfer, for each transfer of an endpoint. */
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
    transfer_stop_locked(transfer, HG_CANCELED);
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

static void transfer_abandon_locked(struct amg_ofi_transfer *transfer)
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

void amg_ofi_rma_abandon_locked(struct amg_ofi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    transfers_each_locked(domain, NULL, transfer_abandon_locked);
}

void amg_ofi_rma_lost_locked(struct amg_peer *peer)
{
    struct amg_link *link = amg_list_first(&peer->rma.transfers);

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    leases_lost_locked(peer);
    while (link != NULL) {
        struct amg_ofi_transfer *transfer =
            amg_container_of(link, struct amg_ofi_transfer, of_peer);

        link = amg_list_next(&peer->rma.transfers, link);
        transfer_stop_locked(transfer, HG_HOSTUNREACH);
    }
    fragment_lost_locked(peer);
}
