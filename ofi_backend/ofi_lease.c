/* SPDX-License-Identifier: BSD-3-Clause */
/* Leases: the right to access memory of a peer by the provider's reads and
 * writes.
 *
 * A transfer goes by messages if its runs average less than RUN_SHORT, or if it
 * is short and the memory is not leased yet. Any other transfer uses the lease
 * of the memory, or requests a lease. Memory that is exposed for one transfer,
 * as for most RPCs, is freed soon: its lease is returned before the transfer
 * completes, so that the owner need not wait. Memory that is accessed a second
 * time is likely to be used again: its lease is kept for some time, and
 * transfers then cost no more than a read or write. A domain keeps leases only
 * if a thread polls whatever the program does: otherwise the program may
 * compute for hours, and no thread would return leases.
 *
 * If all transfers of a lease are cancelled before the grant comes, RETURN is
 * sent at once, as perhaps no thread polls when the grant comes. The cookie is
 * kept until the grant or denial has come.
 *
 *     asked --all rows--> open --revoked--> ended
 *       +-------- bad GRANT, or no memory ----^
 *     An unused lease is freed, a kept one later; is_gone: without RETURN. */
#include "ofi_backend/ofi_rma.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "ofi_backend/ofi_peer.h"

enum {
    SHORT_LEN = 4096,   /* up to this length, no transfer requests a lease */
    FIRST_MESSAGES = 2, /* most for a first access without a lease: 16 KiB over
                         * tcp took 31 us, and 42 us with a lease */
    RUN_SHORT = 2048,   /* shortest run that is worth a segment of a post */
    IDLE_MAX = 64,      /* unused leases that are kept */
    ROWS_MAX = 1 << 24,
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

/* Was this memory accessed recently? Records the access. */
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

/* Sends RETURN. False: no memory for the message. */
static bool return_send_locked(const struct amg_ofi_lease *lease)
{
    AMG_ASSERT_HELD_BIAS(&lease->peer->domain->lock);
    return amg_ofi_send_control_locked(lease->peer,
        (struct amg_ofi_header){.kind = AMG_OFI_RETURN,
            .target = lease->context,
            .cookie = lease->cookie},
        NULL, 0);
}

/* Returns and frees a lease. False: no memory for RETURN; the lease stays. */
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
    /* A revoked lease that could not be returned may be on the list already. */
    lease_busy_locked(lease);
    AMG_ASSERT(lease->users == 0);
    lease->idle_tick = domain->clock.tick;
    amg_list_push(&domain->leases.idle, &lease->idle);
    if (++domain->leases.idle_count > IDLE_MAX)
        (void)lease_return_locked(amg_container_of(
            amg_list_first(&domain->leases.idle), struct amg_ofi_lease, idle));
}

void amg_ofi_lease_put_locked(struct amg_ofi_lease *lease)
{
    AMG_ASSERT_HELD_BIAS(&lease->peer->domain->lock);
    AMG_ASSERT(lease->users > 0);
    if (--lease->users > 0)
        return;
    /* The grant or denial that is on its way frees the lease. */
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

/* Are the runs so short that messages, which copy them, are faster? */
static bool is_scattered(const struct amg_ofi_transfer *transfer)
{
    uint64_t runs_max = transfer->len / RUN_SHORT + 1;

    return amg_seg_iter_runs(&transfer->local, transfer->len, runs_max + 1) >
               runs_max ||
           amg_seg_iter_runs(&transfer->remote, transfer->len, runs_max + 1) >
               runs_max;
}

/* A lease costs two messages, and a third one to return it. So a transfer of up
 * to SHORT_LEN uses only an open lease, and the first access to memory requests
 * no lease if FIRST_MESSAGES messages are enough. */
static bool is_for_messages_locked(
    const struct amg_ofi_transfer *transfer, const struct amg_ofi_lease *lease)
{
    struct amg_ofi_domain *domain = transfer->peer->domain;

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

hg_return_t amg_ofi_lease_get_locked(
    const struct amg_ofi_transfer *transfer, struct amg_ofi_lease **ret_lease)
{
    struct amg_peer *peer = transfer->peer;
    struct amg_ofi_lease *lease = lease_of_key_locked(peer, &transfer->key);
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (is_for_messages_locked(transfer, lease)) {
        *ret_lease = NULL;
        return HG_SUCCESS;
    }
    if (lease == NULL)
        rc = lease_make_locked(peer, transfer->ep->base.context_id,
            transfer->target_context, &transfer->key, &lease);
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

/* Makes room for `rows` more rows, or doubles the room up to `count` if that is
 * more. A count that a peer announces must not by itself allocate memory. */
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

/* Is this the next part of the grant, of whole rows and no surplus ones? */
static bool grant_fits(const struct amg_ofi_lease *lease,
    const struct amg_ofi_grant *head, uint32_t rows, uint32_t len)
{
    return head->first == lease->got && head->count <= ROWS_MAX &&
           (head->first == 0 || head->count == lease->count) &&
           rows <= head->count - head->first &&
           (rows > 0 || head->count == 0) &&
           len == sizeof(*head) + rows * sizeof(struct amg_ofi_row);
}

struct amg_ofi_lease *amg_ofi_lease_granted_locked(
    const struct amg_ofi_message *message, hg_return_t *ret)
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
            return NULL;
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
            return NULL;
    }
    lease_set_state(
        lease, rc == HG_SUCCESS ? AMG_OFI_LEASE_OPEN : AMG_OFI_LEASE_ENDED);
    *ret = rc;
    return lease;
}

struct amg_ofi_lease *amg_ofi_lease_denied_locked(
    const struct amg_ofi_message *message)
{
    struct amg_ofi_lease *lease = lease_find_locked(message);

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    if (lease == NULL || lease->state == AMG_OFI_LEASE_OPEN) {
        amg_ofi_peer_violation(message->peer, AMG_VIOLATION_ANSWER,
            AMG_OFI_DENY, (long)message->header->cookie);
        return NULL;
    }
    lease->is_gone = true;
    return lease;
}

struct amg_ofi_lease *amg_ofi_lease_revoked_locked(
    const struct amg_ofi_message *message)
{
    struct amg_ofi_lease *lease = lease_find_locked(message);

    AMG_ASSERT_HELD_BIAS(&message->domain->lock);
    if (lease == NULL || lease->state != AMG_OFI_LEASE_OPEN)
        return NULL; /* the RETURN is on the way */
    lease_set_state(lease, AMG_OFI_LEASE_ENDED);
    return lease;
}

void amg_ofi_leases_lost_locked(struct amg_peer *peer)
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
