/* SPDX-License-Identifier: BSD-3-Clause */
/* Links: our rings to contexts of peers, and the doorbells of these contexts.
 *
 * A link is our ring to one context of a peer. The sender claims a slot of the
 * peer's segment by a compare and exchange of the slot's claim, writes its name
 * and incarnation into the ring, and then makes the claim live:
 *
 *   FREE --sender--> MAKING --sender--> LIVE --sender--> LEAVING
 *    ^                                                      |
 *    +--------------- owner of the segment -----------------+
 *
 * The owner of the segment frees a LEAVING claim after the owner has read all
 * cells of the ring, or has refused the sender. The owner also frees the claims
 * of dead senders (shm_inring.c). If /dev/shm has no room for the ring, the
 * sender frees its claim in MAKING. A link without a slot behaves as if its
 * ring were full: messages queue, and each attempt to send first tries to claim
 * a slot. New requests fail while /dev/shm has no room for the ring.
 *
 * The doorbell of a context consists of its event bits and a FIFO that wakes a
 * blocked thread. Dekker: a thread that is about to block stores ASLEEP in
 * `sleep`, fences, and reads the events; a sender sets an event bit, fences,
 * and reads `sleep`. (If a ring is POLLED, the thread that is about to block
 * fences by membarrier, too: shm_ring.h.) Only the first sender that finds
 * ASLEEP stores WOKEN and writes one byte into the FIFO. A sender opens the
 * FIFO before it stores WOKEN: if the open fails, other senders still find
 * ASLEEP.
 *
 * Unrelated processes can open a FIFO by its name or, where the segment has
 * lost its name (amg_shm_node_unname), through the owner's descriptor in /proc.
 * A sender opens the FIFO for reading, too, so that a write raises no signal
 * when the owner is gone.
 *
 * Work that other threads of this process leave for an endpoint needs no such
 * protocol: they add the work, and amg_shm_poll_arm() looks for it, under the
 * lock of the domain. Models: tests/models/shm_ring.pml, shm_slots.pml. */
#include "shm/shm_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "shm/shm_files.h"

/* Ring of the links without a slot; its cells are never used. */
static struct amg_shm_ring no_ring;

static bool is_asleep(const struct amg_shm_context *context)
{
    return (atomic_load_explicit(&context->sleep, memory_order_relaxed) &
               AMG_SHM_SLEEP_MASK) == AMG_SHM_ASLEEP;
}

/* If `sleep` is ASLEEP, stores WOKEN. True: the caller must wake the owner. */
static bool sleeper_claim(struct amg_shm_context *context)
{
    uint32_t sleep =
        atomic_load_explicit(&context->sleep, memory_order_relaxed);

    return (sleep & AMG_SHM_SLEEP_MASK) == AMG_SHM_ASLEEP &&
           atomic_compare_exchange_strong_explicit(&context->sleep, &sleep,
               sleep - AMG_SHM_ASLEEP + AMG_SHM_WOKEN, memory_order_acq_rel,
               memory_order_relaxed);
}

/* Called with or without the lock. */
AMG_NOINLINE static void doorbell_write(
    struct amg_shm_domain *domain, int doorbell)
{
    atomic_fetch_add_explicit(
        &domain->calls.counts.wakes, 1, memory_order_relaxed);
    /* EAGAIN: the FIFO is full, so it is readable and wakes the owner. ENOMEM:
     * tries again, because no other sender will wake the owner. */
    while (write(doorbell, "", 1) < 0 && (errno == ENOMEM || errno == EINTR))
        sched_yield();
}

/* Opens the FIFO of a context of a peer. -1: failed, see `errno`. */
static int doorbell_open(const struct amg_shm_context *context,
    const struct amg_shm_peer *peer, uint8_t context_id)
{
    uint64_t word =
        atomic_load_explicit(&context->doorbell, memory_order_relaxed);
    char path[AMG_SHM_PATH_CAP];
    struct stat status;
    int doorbell = -1;

    if (word == 0) {
        amg_shm_files_doorbell(
            peer->region.name, peer->region.incarnation, context_id, path);
        return amg_spare_open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    }
    doorbell =
        amg_shm_files_open_of(peer->region.pid, (int)(word >> 32) - 1, S_IFIFO);
    /* The owner closed or died, and the descriptor is another file now. */
    if (doorbell >= 0 && (fstat(doorbell, &status) != 0 ||
                             (uint32_t)status.st_ino != (uint32_t)word)) {
        amg_spare_close(doorbell);
        errno = ENOENT;
        doorbell = -1;
    }
    return doorbell;
}

/* Logs a failed wakeup, once per peer. */
static void cannot_wake(
    struct amg_shm_peer *peer, uint8_t context_id, int error)
{
    if ((peer->warned & AMG_SHM_WARNED_OF_DOORBELL) == 0)
        AMG_LOG_WARNING("shm",
            "cannot wake context %u of na+sm://%s (%s); trying again",
            context_id, peer->region.name, strerror(error));
    peer->warned |= AMG_SHM_WARNED_OF_DOORBELL;
}

/* Sets `events` at a context of a peer, and wakes the owner if it is blocked.
 * `*doorbell` is our end of the FIFO, opened here when first needed. False: the
 * wakeup failed, and the owner may still be blocked. */
static bool context_raise(struct amg_shm_context *context,
    enum amg_shm_event events, struct amg_shm_peer *peer, uint8_t context_id,
    int *doorbell)
{
    atomic_fetch_or_explicit(&context->events, events, memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst);
    if (!is_asleep(context))
        return true;
    if (*doorbell < 0)
        *doorbell = doorbell_open(context, peer, context_id);
    if (*doorbell < 0) {
        if (peer->state != AMG_SHM_PEER_ALIVE ||
            amg_shm_region_is_closed(&peer->region))
            return true;
        cannot_wake(peer, context_id, errno);
        return false;
    }
    if (sleeper_claim(context))
        doorbell_write(peer->domain, *doorbell);
    if (amg_spare_is_out()) { /* too few descriptors to keep the FIFO open */
        amg_spare_close(*doorbell);
        *doorbell = -1;
    }
    return true;
}

/* Closes our end of the FIFO, if it is open. */
static void doorbell_drop_locked(
    struct amg_shm_domain *domain, struct amg_shm_link *link)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (amg_link_is_listed(&link->kept)) {
        amg_list_remove(&link->kept);
        domain->doorbells.count--;
    }
    if (link->doorbell >= 0)
        amg_spare_close(link->doorbell);
    link->doorbell = -1;
}

/* Keeps the opened FIFO of a link; beyond the limit, closes the oldest FIFO. */
static void doorbell_keep_locked(
    struct amg_shm_domain *domain, struct amg_shm_link *link)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    amg_list_push(&domain->doorbells.open, &link->kept);
    if (++domain->doorbells.count > domain->descriptors_max)
        doorbell_drop_locked(
            domain, amg_container_of(amg_list_first(&domain->doorbells.open),
                        struct amg_shm_link, kept));
    AMG_ASSERT(domain->doorbells.count <= domain->descriptors_max);
}

void amg_shm_link_raise_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    uint32_t bit = link->slot % AMG_SHM_BITS;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    AMG_ASSERT(link->slot < AMG_SHM_SLOTS);
    /* Release: an event of another sender may make the owner take the bit. */
    atomic_fetch_or_explicit(&link->context->rings[bit / 64], 1ull << bit % 64,
        memory_order_release);
    if (!context_raise(link->context, AMG_SHM_EVENT_RINGS, peer,
            link->context_id, &link->doorbell)) {
        peer->has_failed_wake = true;
        peer->domain->wants_retry = true;
        amg_shm_peer_defer_locked(peer);
    }
    if (link->doorbell >= 0 && !amg_link_is_listed(&link->kept))
        doorbell_keep_locked(peer->domain, link);
}

bool amg_shm_link_raise_all(struct amg_shm_peer *peer)
{
    bool is_woken = true;

    for (uint32_t i = 0; i < peer->region.max_contexts; i++) {
        struct amg_shm_context *context = &peer->region.contexts[i];
        int doorbell = -1;

        if (atomic_load_explicit(&context->is_open, memory_order_acquire) !=
            AMG_SHM_CONTEXT_OPEN)
            continue;
        is_woken &= context_raise(
            context, AMG_SHM_EVENT_PEERS, peer, (uint8_t)i, &doorbell);
        if (doorbell >= 0)
            amg_spare_close(doorbell);
    }
    return is_woken;
}

void amg_shm_doorbell_self_locked(struct amg_shm_ep *ep)
{
    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    if (sleeper_claim(ep->inbox->context))
        doorbell_write(amg_shm_domain_of_ep(ep), ep->inbox->doorbell);
}

void amg_shm_link_init(struct amg_shm_link *link)
{
    *link = (struct amg_shm_link){.doorbell = -1};
    amg_list_init(&link->control);
    amg_list_init(&link->queue);
}

static void link_leave_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    uint64_t claim = link->claim;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    AMG_ASSERT(link->slot < AMG_SHM_SLOTS);
    /* If this domain is closed, the peer may have freed the slot, and another
     * process may have claimed it. */
    if (claim != 0 && atomic_compare_exchange_strong_explicit(
                          &peer->region.claims[link->slot], &claim,
                          amg_shm_claim_in(claim, AMG_SHM_CLAIM_LEAVING),
                          memory_order_release, memory_order_relaxed))
        amg_shm_link_raise_locked(peer, link);
}

void amg_shm_link_leave_locked(struct amg_shm_peer *peer)
{
    struct amg_shm_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    for (uint32_t i = 0; (link = amg_shm_link_next_locked(peer, &i)) != NULL;)
        link_leave_locked(peer, link);
}

void amg_shm_links_fini_locked(struct amg_shm_peer *peer)
{
    struct amg_shm_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    for (uint32_t i = 0; (link = amg_shm_link_next_locked(peer, &i)) != NULL;) {
        if (peer->state == AMG_SHM_PEER_ALIVE)
            link_leave_locked(peer, link);
        doorbell_drop_locked(peer->domain, link);
        link->claim = 0;
        link->out.ring = NULL;
        if (link != &peer->first)
            amg_mem_free(link);
    }
    amg_mem_free(peer->more);
    peer->more = NULL;
}

bool amg_shm_link_has_state_locked(
    const struct amg_shm_peer *peer, enum amg_shm_poll_state state)
{
    const struct amg_shm_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    for (uint32_t i = 0; (link = amg_shm_link_next_locked(peer, &i)) != NULL;)
        if (atomic_load_explicit(
                &link->out.ring->poll_state, memory_order_acquire) == state)
            return true;
    return false;
}

/* Whether a link to the context may be opened: the context is or was open,
 * maybe since a moment ago, or the peer may still open its first context. */
static bool context_may_come(
    const struct amg_shm_region *region, uint8_t context_id)
{
    if (context_id >= region->max_contexts)
        return false;
    if (atomic_load_explicit(&region->contexts[context_id].is_open,
            memory_order_acquire) != AMG_SHM_CONTEXT_NEVER)
        return true;
    AMG_TEST_POINT("shm_context_never");
    for (uint32_t i = 0; i < region->max_contexts; i++)
        if (atomic_load_explicit(&region->contexts[i].is_open,
                memory_order_acquire) != AMG_SHM_CONTEXT_NEVER)
            return atomic_load_explicit(&region->contexts[context_id].is_open,
                       memory_order_acquire) != AMG_SHM_CONTEXT_NEVER;
    return true;
}

/* Lets new requests fail, until a reservation succeeds; logs `errno` once. */
static void link_lacks_memory(
    struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    link->lacks_memory = true;
    if ((peer->warned & AMG_SHM_WARNED_OF_SLOTS) == 0)
        AMG_LOG_ERROR("shm",
            "na+sm://%s: no ring to it can be made in /dev/shm (%s): calls to "
            "it fail with HG_NOMEM, and replies wait; free some of /dev/shm",
            peer->region.name, strerror(errno));
    peer->warned |= AMG_SHM_WARNED_OF_SLOTS;
}

/* Claims a free slot; false: no slot is free, or /dev/shm is full (logged). */
static bool slot_claim(struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    const struct amg_shm_region *own = &peer->domain->region;
    const struct amg_shm_region *region = &peer->region;

    AMG_ASSERT(link->claim == 0);
    for (uint32_t i = 0; i < AMG_SHM_SLOTS; i++) {
        uint64_t free = 0, taken = 0;

        if (i > 0 && i % AMG_SHM_CLAIMS_AT_ONCE == 0 &&
            !amg_shm_region_reserve(region,
                (void *)(uintptr_t)&region->claims[i],
                AMG_SHM_CLAIMS_AT_ONCE * sizeof(uint64_t))) {
            link_lacks_memory(peer, link);
            return false;
        }
        free = atomic_load_explicit(&region->claims[i], memory_order_relaxed);
        taken = amg_shm_claim_take(
            free, link->context_id, own->pid_ns != region->pid_ns, own->pid);

        if (amg_shm_claim_state(free) == AMG_SHM_CLAIM_FREE &&
            atomic_compare_exchange_strong_explicit(&region->claims[i], &free,
                taken, memory_order_acquire, memory_order_relaxed)) {
            link->slot = i;
            link->claim = amg_shm_claim_in(taken, AMG_SHM_CLAIM_LIVE);
            amg_shm_end_raise(&region->head->slot_end, i + 1);
            return true;
        }
    }
    return false;
}

/* Frees a claimed slot whose ring could not be reserved (`errno`). */
static void slot_unclaim(struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    uint64_t claim = amg_shm_claim_in(link->claim, AMG_SHM_CLAIM_MAKING);

    (void)atomic_compare_exchange_strong_explicit(
        &peer->region.claims[link->slot], &claim, amg_shm_claim_free(claim),
        memory_order_release, memory_order_relaxed);
    link->claim = 0;
    link_lacks_memory(peer, link);
}

/* Tries to claim a slot for a link that has none. */
static bool link_claim_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    const struct amg_shm_region *own = &peer->domain->region;
    struct amg_shm_region *region = &peer->region;
    struct amg_shm_ring *ring = NULL;

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    link->lacks_memory = false;
    if (!slot_claim(peer, link)) {
        if ((peer->warned & AMG_SHM_WARNED_OF_SLOTS) == 0)
            AMG_LOG_ERROR("shm",
                "na+sm://%s: all of its %d slots for senders are taken (a "
                "sender takes one for each context that it sends to); messages "
                "to it wait until a sender closes its class",
                region->name, AMG_SHM_SLOTS);
        peer->warned |= AMG_SHM_WARNED_OF_SLOTS;
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
    peer->domain->deaths.has_unseen = true;
    atomic_store_explicit(
        &region->claims[link->slot], link->claim, memory_order_release);
    /* Dekker: an owner that closes now sees the claim and wakes this process,
     * or this process sees that the owner closed. */
    atomic_thread_fence(memory_order_seq_cst);
    return true;
}

bool amg_shm_link_slot_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (amg_shm_link_has_slot(link) || link_claim_locked(peer, link))
        return true;
    peer->domain->wants_retry = true;
    return false;
}

/* The link of a context; NULL: no memory. */
static struct amg_shm_link *link_alloc(
    struct amg_shm_peer *peer, uint8_t context_id)
{
    struct amg_shm_link *link = NULL;

    if (context_id == 0)
        return &peer->first;
    if (peer->more == NULL)
        peer->more = amg_mem_zalloc(
            peer->region.max_contexts * sizeof(struct amg_shm_link *));
    if (peer->more != NULL)
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

    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    AMG_ASSERT(amg_shm_link_at_locked(peer, context_id) == NULL);
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
    link->out.room = 0;
    if (!link_claim_locked(peer, link))
        (void)amg_shm_link_raise_all(peer); /* peer frees dead senders' slots */
    if (amg_shm_region_is_closed(region)) {
        peer->domain->peer_gone_locked(peer, false);
        return HG_HOSTUNREACH;
    }
    *ret_link = link;
    return HG_SUCCESS;
}
