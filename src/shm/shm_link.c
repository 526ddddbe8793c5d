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
 * also frees those of dead senders (shm_inbox.c). */
#include "shm/shm_link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "shm/shm_bell.h"
#include "shm/shm_watch.h"

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
    uint32_t pid = peer->domain->region.pid;
    uint64_t claim = amg_shm_claim(AMG_SHM_CLAIM_LIVE, link->context_id, pid);

    /* Once we are closed, the slot may be another's by now. */
    if (atomic_compare_exchange_strong_explicit(
            &peer->region.claims[link->slot], &claim,
            amg_shm_claim(AMG_SHM_CLAIM_LEAVING, link->context_id, pid),
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
        close(link->bell);
    link->bell = -1;
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

/* Finds a free slot and takes it. */
static bool slot_claim(const struct amg_shm_region *region, uint8_t context_id,
    uint32_t pid, uint32_t *ret_slot)
{
    for (uint32_t i = 0; i < AMG_SHM_SLOTS; i++) {
        uint64_t expected = 0;

        if (atomic_load_explicit(&region->claims[i], memory_order_relaxed) != 0)
            continue;
        if (atomic_compare_exchange_strong_explicit(&region->claims[i],
                &expected, amg_shm_claim(AMG_SHM_CLAIM_MAKING, context_id, pid),
                memory_order_acquire, memory_order_relaxed)) {
            *ret_slot = i;
            return true;
        }
    }
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
    const struct amg_shm_region *own = &peer->domain->region;
    struct amg_shm_region *region = &peer->region;
    struct amg_shm_link *link = NULL;
    struct amg_shm_ring *ring = NULL;
    uint32_t slot = 0;

    if (amg_shm_region_is_closed(region)) {
        amg_shm_watch_gone_locked(peer, false);
        return HG_HOSTUNREACH;
    }
    if (!context_may_come(region, context_id))
        return HG_NOENTRY;
    link = link_alloc(peer, context_id);
    if (link == NULL)
        return HG_NOMEM;
    if (!slot_claim(region, context_id, own->pid, &slot)) {
        if (context_id != 0)
            amg_mem_free(link);
        /* Some may be of the dead, which their owner finds out. */
        amg_shm_link_raise_all(peer);
        AMG_LOG_ERROR("shm",
            "na+sm://%s: all of its %d slots for senders are taken; a slot is "
            "one context of one process",
            region->name, AMG_SHM_SLOTS);
        return HG_NA_ERROR;
    }
    ring = &region->rings[slot];
    memcpy(ring->name, own->name, sizeof(ring->name));
    ring->incarnation = own->incarnation;
    amg_shm_out_init(
        &link->out, ring, !region->has_membarrier || !own->has_membarrier);
    link->context = &region->contexts[context_id];
    link->context_id = context_id;
    link->slot = slot;
    if (context_id != 0)
        peer->more[context_id] = link;
    atomic_store_explicit(&region->claims[slot],
        amg_shm_claim(AMG_SHM_CLAIM_LIVE, context_id, own->pid),
        memory_order_release);
    /* One that closes now sees the claim and tells us, or we see that. */
    atomic_thread_fence(memory_order_seq_cst);
    if (amg_shm_region_is_closed(region)) {
        amg_shm_watch_gone_locked(peer, false);
        return HG_HOSTUNREACH;
    }
    *ret_link = link;
    return HG_SUCCESS;
}

void amg_shm_link_raise_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    atomic_fetch_or_explicit(&link->context->rings[link->slot / 64],
        1ull << link->slot % 64, memory_order_relaxed);
    amg_shm_bell_raise(
        link->context, AMG_SHM_NEWS_RINGS, peer, link->context_id, &link->bell);
}

void amg_shm_link_raise_all(struct amg_shm_peer *peer)
{
    for (uint32_t i = 0; i < peer->region.max_contexts; i++) {
        struct amg_shm_context *context = &peer->region.contexts[i];
        int bell = -1;

        if (atomic_load_explicit(&context->is_open, memory_order_acquire) !=
            AMG_SHM_CONTEXT_OPEN)
            continue;
        amg_shm_bell_raise(
            context, AMG_SHM_NEWS_PEERS, peer, (uint8_t)i, &bell);
        if (bell >= 0)
            close(bell);
    }
}
