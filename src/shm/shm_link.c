/* SPDX-License-Identifier: BSD-3-Clause */
/* Our rings to the contexts of a peer.
 *
 * A slot of the peer's segment is claimed by a compare and exchange of its
 * claim; then name and incarnation are written into the ring, and the claim
 * becomes live:
 *
 *   FREE --sender--> MAKING --sender--> LIVE --sender--> LEAVING --owner-->
 * FREE
 *
 * Only the owner of the segment frees a claim, after it has read all cells; it
 * also frees those of dead senders (shm_inbox.c).
 *
 * A link without a slot behaves as if its ring were full: messages queue, and
 * each attempt to send one first tries to claim a slot. */
#include "shm/shm_link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "shm/shm_doorbell.h"

/* Of links without a slot. Never seen, and never read. */
static struct amg_shm_ring no_ring;

enum { WARNED_OF_SLOTS = 1 << 15 }; /* in amg_shm_peer.warned */

void amg_shm_link_init(struct amg_shm_link *link)
{
    memset(link, 0, sizeof(*link));
    link->bell = -1;
    amg_list_init(&link->queue);
}

/* All that the peer's region has room for; NULL where none was opened. */
static struct amg_shm_link *link_at(
    const struct amg_shm_peer *peer, uint32_t context_id)
{
    return amg_shm_link_at_locked(
        (struct amg_shm_peer *)(uintptr_t)peer, (uint8_t)context_id);
}

static void link_leave_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    uint64_t claim = link->claim;

    /* Once we are closed, the slot may be another's by now. */
    if (claim != 0 && atomic_compare_exchange_strong_explicit(
                          &peer->region.claims[link->slot], &claim,
                          amg_shm_claim_in(claim, AMG_SHM_CLAIM_LEAVING),
                          memory_order_release, memory_order_relaxed))
        amg_shm_link_raise_locked(peer, link);
}

void amg_shm_link_leave_locked(struct amg_shm_peer *peer)
{
    for (uint32_t i = 0; i < peer->region.max_contexts; i++) {
        struct amg_shm_link *link = link_at(peer, i);

        if (link != NULL)
            link_leave_locked(peer, link);
    }
}

static void link_close_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    if (peer->state == AMG_SHM_PEER_ALIVE)
        link_leave_locked(peer, link);
    if (link->bell >= 0)
        amg_spare_close(link->bell);
    link->bell = -1;
    link->claim = 0;
    link->out.ring = NULL;
}

void amg_shm_link_fini_locked(struct amg_shm_peer *peer)
{
    for (uint32_t i = 0; i < peer->region.max_contexts; i++) {
        struct amg_shm_link *link = link_at(peer, i);

        if (link == NULL)
            continue;
        link_close_locked(peer, link);
        if (i > 0)
            amg_mem_free(link);
    }
    amg_mem_free(peer->more);
    peer->more = NULL;
}

bool amg_shm_link_is_queued_locked(const struct amg_shm_peer *peer)
{
    for (uint32_t i = 0; i < peer->region.max_contexts; i++) {
        const struct amg_shm_link *link = link_at(peer, i);

        if (link != NULL && !amg_list_is_empty(&link->queue))
            return true;
    }
    return false;
}

bool amg_shm_link_is_refused_locked(const struct amg_shm_peer *peer)
{
    for (uint32_t i = 0; i < peer->region.max_contexts; i++) {
        const struct amg_shm_link *link = link_at(peer, i);

        if (link != NULL && atomic_load_explicit(&link->out.ring->watch,
                                memory_order_relaxed) == AMG_SHM_REFUSED)
            return true;
    }
    return false;
}

bool amg_shm_link_is_seen_locked(const struct amg_shm_peer *peer)
{
    for (uint32_t i = 0; i < peer->region.max_contexts; i++) {
        const struct amg_shm_link *link = link_at(peer, i);

        if (link != NULL && atomic_load_explicit(&link->out.ring->watch,
                                memory_order_acquire) == AMG_SHM_UNSEEN)
            return false;
    }
    return true;
}

/* A context that is not open refuses; but one of a domain that has opened none
 * yet may come, and what is sent to it waits. */
static bool context_may_come(
    const struct amg_shm_region *region, uint8_t context_id)
{
    if (context_id >= region->max_contexts)
        return false;
    if (atomic_load_explicit(&region->contexts[context_id].is_open,
            memory_order_acquire) != AMG_SHM_CONTEXT_NEVER)
        return true;
    for (uint32_t i = 0; i < region->max_contexts; i++)
        if (atomic_load_explicit(&region->contexts[i].is_open,
                memory_order_acquire) != AMG_SHM_CONTEXT_NEVER)
            return false;
    return true;
}

/* Nobody looks beyond the end: it grows before the claim is live. */
static void end_raise(const struct amg_shm_region *region, uint32_t end)
{
    _Atomic uint32_t *word = &region->head->slot_end;
    uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);

    while (seen < end && !atomic_compare_exchange_weak_explicit(word, &seen,
                             end, memory_order_acq_rel, memory_order_relaxed))
        ;
}

/* Finds a free slot and takes it. */
static bool slot_claim(struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    const struct amg_shm_region *own = &peer->domain->region;
    const struct amg_shm_region *region = &peer->region;

    for (uint32_t i = 0; i < AMG_SHM_SLOTS; i++) {
        uint64_t free = 0;
        uint64_t taken = 0;

        if (i > 0 && i % AMG_SHM_CLAIMS_AT_ONCE == 0 &&
            !amg_shm_region_reserve(region,
                (void *)(uintptr_t)&region->claims[i],
                AMG_SHM_CLAIMS_AT_ONCE * sizeof(uint64_t)))
            return false;
        free = atomic_load_explicit(&region->claims[i], memory_order_relaxed);
        taken = amg_shm_claim_take(
            free, link->context_id, own->pid_ns != region->pid_ns, own->pid);

        if (amg_shm_claim_state(free) == AMG_SHM_CLAIM_FREE &&
            atomic_compare_exchange_strong_explicit(&region->claims[i], &free,
                taken, memory_order_acquire, memory_order_relaxed)) {
            link->slot = i;
            link->claim = amg_shm_claim_in(taken, AMG_SHM_CLAIM_LIVE);
            end_raise(region, i + 1);
            return true;
        }
    }
    return false;
}

/* There is no room in /dev/shm for its ring, which nobody has looked at. */
static void slot_unclaim(struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    uint64_t claim = amg_shm_claim_in(link->claim, AMG_SHM_CLAIM_MAKING);

    (void)atomic_compare_exchange_strong_explicit(
        &peer->region.claims[link->slot], &claim, amg_shm_claim_free(claim),
        memory_order_release, memory_order_relaxed);
    link->claim = 0;
    if ((peer->warned & WARNED_OF_SLOTS) == 0)
        AMG_LOG_ERROR("shm",
            "na+sm://%s: /dev/shm has no room for a ring to it; what is sent "
            "there waits for one",
            peer->region.name);
    peer->warned |= WARNED_OF_SLOTS;
}

/* Tries to claim a slot for a link that has none. */
static bool link_claim_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    const struct amg_shm_region *own = &peer->domain->region;
    struct amg_shm_region *region = &peer->region;
    struct amg_shm_ring *ring = NULL;

    if (!slot_claim(peer, link)) {
        if ((peer->warned & WARNED_OF_SLOTS) == 0)
            AMG_LOG_ERROR("shm",
                "na+sm://%s: all of its %d slots for senders are taken (a slot "
                "is one context of one process); what is sent there waits for "
                "one",
                region->name, AMG_SHM_SLOTS);
        peer->warned |= WARNED_OF_SLOTS;
        return false;
    }
    ring = &region->rings[link->slot];
    if (!amg_shm_region_reserve(region, ring, sizeof(*ring))) {
        slot_unclaim(peer, link);
        return false;
    }
    memcpy(ring->name, own->name, sizeof(ring->name));
    ring->incarnation = own->incarnation;
    amg_shm_out_init(
        &link->out, ring, !region->has_membarrier || !own->has_membarrier);
    peer->domain->has_unseen = true;
    atomic_store_explicit(
        &region->claims[link->slot], link->claim, memory_order_release);
    /* One that closes now sees the claim and tells us, or we see that. */
    atomic_thread_fence(memory_order_seq_cst);
    return true;
}

bool amg_shm_link_slot_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    if (amg_shm_link_has_slot(link) || link_claim_locked(peer, link))
        return true;
    peer->domain->wants_retry = true;
    return false;
}

/* Room for the link of a context other than 0. */
static struct amg_shm_link *link_alloc(
    struct amg_shm_peer *peer, uint8_t context_id)
{
    struct amg_shm_link *link = NULL;

    if (context_id == 0)
        return &peer->first;
    if (peer->more == NULL)
        peer->more = amg_mem_zalloc(
            peer->region.max_contexts * sizeof(struct amg_shm_link *));
    if (peer->more == NULL)
        return NULL;
    link = amg_mem_alloc(sizeof(*link));
    if (link != NULL)
        amg_shm_link_init(link);
    return link;
}

hg_return_t amg_shm_link_open_locked(struct amg_shm_peer *peer,
    uint8_t context_id, struct amg_shm_link **ret_link)
{
    struct amg_shm_region *region = &peer->region;
    struct amg_shm_link *link = NULL;

    if (amg_shm_region_is_closed(region)) {
        peer->domain->peer_gone_locked(peer, false);
        return HG_HOSTUNREACH;
    }
    if (!context_may_come(region, context_id))
        return HG_NOENTRY;
    link = link_alloc(peer, context_id);
    if (link == NULL)
        return HG_NOMEM;
    link->context = &region->contexts[context_id];
    link->context_id = context_id;
    if (context_id != 0)
        peer->more[context_id] = link;
    amg_shm_out_init(&link->out, &no_ring, false);
    link->out.tail = AMG_SHM_CELLS; /* full */
    if (!link_claim_locked(peer, link))
        /* Some may be of the dead, which their owner finds out. */
        (void)amg_shm_link_raise_all(peer);
    if (amg_shm_region_is_closed(region)) {
        peer->domain->peer_gone_locked(peer, false);
        return HG_HOSTUNREACH;
    }
    *ret_link = link;
    return HG_SUCCESS;
}

/* It may sleep on, with news: polls try again to wake it. */
static void unrung_note_locked(struct amg_shm_peer *peer)
{
    struct amg_shm_domain *domain = peer->domain;

    peer->is_unrung = true;
    domain->wants_retry = true;
    if (!amg_link_is_listed(&peer->stuck))
        amg_list_push(&domain->stuck, &peer->stuck);
    atomic_store_explicit(&domain->has_errands, 1, memory_order_relaxed);
}

void amg_shm_link_raise_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    uint32_t bit = link->slot % AMG_SHM_BITS;

    atomic_fetch_or_explicit(&link->context->rings[bit / 64], 1ull << bit % 64,
        memory_order_relaxed);
    if (!amg_shm_doorbell_raise(link->context, AMG_SHM_NEWS_RINGS, peer,
            link->context_id, &link->bell))
        unrung_note_locked(peer);
}

bool amg_shm_link_raise_all(struct amg_shm_peer *peer)
{
    bool is_rung = true;

    for (uint32_t i = 0; i < peer->region.max_contexts; i++) {
        struct amg_shm_context *context = &peer->region.contexts[i];
        int bell = -1;

        if (atomic_load_explicit(&context->is_open, memory_order_acquire) !=
            AMG_SHM_CONTEXT_OPEN)
            continue;
        if (!amg_shm_doorbell_raise(
                context, AMG_SHM_NEWS_PEERS, peer, (uint8_t)i, &bell))
            is_rung = false;
        if (bell >= 0)
            amg_spare_close(bell);
    }
    return is_rung;
}
