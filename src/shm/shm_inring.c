/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings of the senders, from the claim of a slot to its release.
 *
 * To open the ring of a sender, this process maps the sender's segment, unless
 * the sender is a peer already. Before the mapping, this process knows only the
 * claim of the sender, and the name and incarnation in the ring.
 *
 * A ring ends when its writer has released its claim, closed, or died. The
 * reader first reads the ring to its end, so that the messages in the ring
 * arrive. A ring whose writer's segment cannot be mapped here is never read.
 * The ring of a writer that refused this process is read to its end, and then
 * refused: only the writer releases its claim, while the writer lives.
 * Models: tests/models/shm_pair.pml, shm_slots.pml. */
#include "shm/shm_inbox.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "shm/shm_files.h"
#include "shm/shm_peer.h"

/* How long this process, if it lacks a descriptor or memory, tries to map the
 * segment of a new sender before it refuses the sender. */
#define MAP_WAIT_NS (1000 * AMG_NS_PER_MS)

/* Makes the slot available to the next sender. */
static void slot_free(struct amg_shm_domain *domain, uint32_t slot)
{
    _Atomic uint64_t *claim = &domain->region.claims[slot];

    AMG_ASSERT(slot < AMG_SHM_SLOTS && domain->inrings[slot] == NULL);
    amg_shm_ring_reset(&domain->region.rings[slot]);
    atomic_store_explicit(claim,
        amg_shm_claim_free(atomic_load_explicit(claim, memory_order_relaxed)),
        memory_order_release);
}

/* Whether the slot belongs to a known peer that closed or died. False for a
 * peer that refused this process: such a peer is GONE, but may be alive. */
static bool slot_is_of_gone_locked(
    const struct amg_shm_domain *domain, uint32_t slot, uint64_t claim)
{
    const struct amg_shm_peer *peer = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (amg_shm_claim_state(claim) < AMG_SHM_CLAIM_LIVE)
        return false;
    peer = amg_map_get(&domain->peers, domain->region.rings[slot].incarnation);
    return peer != NULL && peer->state == AMG_SHM_PEER_GONE &&
           !peer->has_refused;
}

/* Reads the name that the sender wrote into its ring; false: not valid. */
static bool name_read(
    const struct amg_shm_ring *ring, char ret_name[AMG_SHM_NAME_CAP])
{
    memcpy(ret_name, ring->name, AMG_SHM_NAME_CAP);
    ret_name[AMG_SHM_NAME_CAP - 1] = '\0';
    return amg_shm_name_is_valid(ret_name);
}

/* Liveness of the sender: by its pid, or by the lock of its segment if the pid
 * is of another namespace. */
static enum amg_life slot_life(
    const struct amg_shm_domain *domain, uint32_t slot, uint64_t claim)
{
    const struct amg_shm_ring *ring = &domain->region.rings[slot];
    char name[AMG_SHM_NAME_CAP];

    if (!amg_shm_claim_is_other_ns(claim))
        return amg_process_life(amg_shm_claim_pid(claim), 0);
    if (amg_shm_claim_state(claim) < AMG_SHM_CLAIM_LIVE ||
        !name_read(ring, name))
        return AMG_LIFE_UNKNOWN;
    return amg_shm_files_life_by_lock(name, ring->incarnation);
}

/* Refuses a sender that could get no reply: its segment cannot be mapped here,
 * or it refused this process before. A living sender sees REFUSED and releases
 * its claim; the slot of a dead sender is freed. A refused ring is never read:
 * the sender treats the messages in the ring as not delivered. */
static void sender_refuse(struct amg_shm_domain *domain, uint32_t slot,
    uint64_t claim, const char *name, hg_return_t why)
{
    struct amg_shm_ring *ring = &domain->region.rings[slot];
    char text[AMG_SHM_WHY_CAP];

    if (why == HG_ADDRNOTAVAIL ||
        amg_shm_claim_state(claim) == AMG_SHM_CLAIM_LEAVING ||
        slot_life(domain, slot, claim) == AMG_LIFE_DEAD) {
        slot_free(domain, slot);
        return;
    }
    atomic_store_explicit(
        &ring->poll_state, AMG_SHM_REFUSED, memory_order_release);
    if (domain->refused != ring->incarnation &&
        amg_calls_may_warn(&domain->calls))
        AMG_LOG_WARNING("shm",
            "na+sm://%s sends to this process, and is refused: %s (%s)", name,
            why == HG_HOSTUNREACH ? "it refused this process before"
                                  : "its segment cannot be mapped",
            amg_shm_region_why(why, text));
    domain->refused = ring->incarnation;
}

/* Whether the wait for a descriptor or for memory has taken too long. */
static bool map_wait_is_over_locked(struct amg_shm_domain *domain)
{
    uint64_t now_ns = amg_clock_ns();

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (domain->unmapped_since_ns == 0)
        domain->unmapped_since_ns = now_ns;
    return now_ns - domain->unmapped_since_ns >= MAP_WAIT_NS;
}

/* Finds the peer that writes a ring, maps its segment, takes a reference. */
static hg_return_t sender_find_locked(struct amg_shm_domain *domain,
    const struct amg_shm_ring *ring, const char *name,
    struct amg_shm_peer **ret_peer)
{
    hg_return_t rc =
        amg_shm_peer_find_locked(domain, name, ring->incarnation, ret_peer);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (rc != HG_SUCCESS || !(*ret_peer)->has_refused)
        return rc;
    amg_shm_peer_unref_locked(*ret_peer);
    return HG_HOSTUNREACH;
}

/* Opens the ring of a new sender. HG_NOMEM: try again later; other errors: the
 * sender was refused, or its slot was freed. */
static hg_return_t slot_open_locked(struct amg_shm_inbox *inbox, uint32_t slot,
    uint64_t claim, struct amg_shm_inring **ret_ring)
{
    struct amg_shm_domain *domain = inbox->domain;
    struct amg_shm_ring *shared = &domain->region.rings[slot];
    struct amg_shm_inring *ring = amg_mem_zalloc(sizeof(*ring));
    char name[AMG_SHM_NAME_CAP];
    hg_return_t rc = HG_NOMEM;

    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    AMG_ASSERT(domain->inrings[slot] == NULL);
    if (ring == NULL)
        return HG_NOMEM;
    rc = name_read(shared, name)
             ? sender_find_locked(domain, shared, name, &ring->peer)
             : HG_PROTOCOL_ERROR;
    if (rc != HG_SUCCESS) {
        amg_mem_free(ring);
        if ((rc == HG_AGAIN || rc == HG_NOMEM) &&
            !map_wait_is_over_locked(domain))
            return HG_NOMEM;
        sender_refuse(domain, slot, claim, name, rc);
        return HG_PROTOCOL_ERROR;
    }
    domain->unmapped_since_ns = 0;
    amg_shm_in_init(&ring->in, shared,
        !domain->region.has_membarrier || !ring->peer->region.has_membarrier);
    ring->slot = slot;
    ring->context_id = inbox->context_id;
    amg_list_push(&inbox->rings, &ring->link);
    domain->inrings[slot] = ring;
    *ret_ring = ring;
    return HG_SUCCESS;
}

/* Wakes the process that claimed the slot and wrote its name into the ring. */
static void claimer_wake_locked(struct amg_shm_domain *domain, uint32_t slot)
{
    const struct amg_shm_ring *shared = &domain->region.rings[slot];
    struct amg_shm_peer *peer = NULL;
    char name[AMG_SHM_NAME_CAP];

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (!name_read(shared, name) ||
        amg_shm_peer_find_locked(domain, name, shared->incarnation, &peer) !=
            HG_SUCCESS)
        return;
    amg_shm_link_raise_all(peer);
    amg_shm_peer_unref_locked(peer);
}

void amg_shm_inrings_wake_unopened_locked(struct amg_shm_domain *domain)
{
    uint32_t end = amg_shm_region_slot_end(&domain->region);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (uint32_t i = 0; i < end; i++) {
        uint64_t claim = atomic_load_explicit(
            &domain->region.claims[i], memory_order_acquire);

        if (domain->inrings[i] == NULL &&
            amg_shm_claim_state(claim) == AMG_SHM_CLAIM_LIVE)
            claimer_wake_locked(domain, i);
    }
}

static void ring_leave_locked(
    struct amg_shm_inbox *inbox, struct amg_shm_inring *ring)
{
    struct amg_shm_ep *ep = inbox->domain->eps[inbox->context_id];

    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    if (ring->is_leaving)
        return;
    ring->is_leaving = true;
    inbox->leaving_count++;
    if (ep != NULL)
        amg_shm_due_set_locked(ep, AMG_SHM_DUE_LEAVING, true);
}

/* Handles an event of a slot. False: no memory or descriptor; try again. */
static bool slot_take_locked(struct amg_shm_inbox *inbox, uint32_t slot)
{
    struct amg_shm_domain *domain = inbox->domain;
    uint64_t claim = atomic_load_explicit(
        &domain->region.claims[slot], memory_order_acquire);
    enum amg_shm_claim_state state = amg_shm_claim_state(claim);
    struct amg_shm_inring *ring = domain->inrings[slot];

    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    if (amg_shm_claim_context(claim) != inbox->context_id ||
        (state != AMG_SHM_CLAIM_LIVE && state != AMG_SHM_CLAIM_LEAVING))
        return true;
    if (ring == NULL &&
        atomic_load_explicit(&domain->region.rings[slot].poll_state,
            memory_order_relaxed) == AMG_SHM_REFUSED) {
        if (state == AMG_SHM_CLAIM_LEAVING ||
            slot_is_of_gone_locked(domain, slot, claim))
            slot_free(domain, slot);
        return true;
    }
    if (ring == NULL) {
        hg_return_t rc = slot_open_locked(inbox, slot, claim, &ring);

        if (rc != HG_SUCCESS)
            return rc != HG_NOMEM;
    }
    if (ring->context_id != inbox->context_id)
        return true; /* a faulty sender changed the claim */
    if (state == AMG_SHM_CLAIM_LEAVING)
        ring_leave_locked(inbox, ring);
    return amg_shm_inbox_activate(inbox, ring);
}

static bool slots_of_bit_take_locked(struct amg_shm_inbox *inbox, uint32_t bit)
{
    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    /* Reads the end after the bit was taken: a new sender first raises the end,
     * then sets the bit. */
    uint32_t end = amg_shm_region_slot_end(&inbox->domain->region);
    bool is_done = true;

    for (uint32_t slot = bit; slot < end; slot += AMG_SHM_BITS)
        is_done = slot_take_locked(inbox, slot) && is_done;
    return is_done;
}

static void slots_take_locked(struct amg_shm_inbox *inbox)
{
    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    AMG_TEST_POINT("shm_slots_event");
    for (uint32_t i = 0; i < AMG_SHM_BITS / 64; i++) {
        _Atomic uint64_t *word = &inbox->context->rings[i];
        uint64_t bits = atomic_load_explicit(word, memory_order_relaxed);

        if (bits != 0)
            bits = atomic_exchange_explicit(word, 0, memory_order_acquire);
        while (bits != 0) {
            uint32_t bit = i * 64 + (uint32_t)__builtin_ctzll(bits);

            bits &= bits - 1;
            if (slots_of_bit_take_locked(inbox, bit))
                continue;
            atomic_fetch_or_explicit(
                word, 1ull << bit % 64, memory_order_relaxed);
            atomic_fetch_or_explicit(&inbox->context->events,
                AMG_SHM_EVENT_RINGS, memory_order_release);
        }
    }
}

/* Checks the claims whose ring is not open here: opens the rings of known peers
 * that closed or died, and frees the slots of senders that died before their
 * ring was opened. False: no memory or no descriptor. */
static bool claims_check_locked(struct amg_shm_inbox *inbox)
{
    struct amg_shm_domain *domain = inbox->domain;
    uint32_t end = amg_shm_region_slot_end(&domain->region);
    bool is_done = true;

    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    for (uint32_t i = 0; i < end; i++) {
        uint64_t claim = atomic_load_explicit(
            &domain->region.claims[i], memory_order_acquire);

        if (amg_shm_claim_state(claim) == AMG_SHM_CLAIM_FREE ||
            domain->inrings[i] != NULL ||
            amg_shm_claim_context(claim) != inbox->context_id)
            continue;
        if (slot_is_of_gone_locked(domain, i, claim))
            is_done = slot_take_locked(inbox, i) && is_done;
        else if (slot_life(domain, i, claim) == AMG_LIFE_DEAD)
            slot_free(domain, i);
    }
    return is_done;
}

/* Marks the rings of GONE peers as leaving, and makes them active, so that
 * polls read the rest of each ring. False: no memory. */
static bool rings_check_locked(struct amg_shm_inbox *inbox)
{
    struct amg_link *link = amg_list_first(&inbox->rings);
    bool is_done = true;

    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    for (; link != NULL; link = amg_list_next(&inbox->rings, link)) {
        struct amg_shm_inring *ring =
            amg_container_of(link, struct amg_shm_inring, link);

        if (ring->peer->state == AMG_SHM_PEER_ALIVE)
            continue;
        ring_leave_locked(inbox, ring);
        is_done = amg_shm_inbox_activate(inbox, ring) && is_done;
    }
    return is_done;
}

/* Lets the next poll check which peers closed or died. */
static void peer_check_request(struct amg_shm_inbox *inbox)
{
    atomic_fetch_or_explicit(
        &inbox->context->events, AMG_SHM_EVENT_PEERS, memory_order_release);
}

void amg_shm_inrings_events_locked(struct amg_shm_inbox *inbox)
{
    uint32_t events = atomic_exchange_explicit(
        &inbox->context->events, 0, memory_order_seq_cst);
    bool is_done = false;

    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    if ((events & AMG_SHM_EVENT_RINGS) != 0)
        slots_take_locked(inbox);
    if ((events & AMG_SHM_EVENT_PEERS) == 0)
        return;
    amg_shm_liveness_check_closed_locked(inbox->domain);
    is_done = claims_check_locked(inbox);
    if (rings_check_locked(inbox) && is_done)
        amg_shm_liveness_end_calls_locked(inbox);
    else
        peer_check_request(inbox);
}

/* Refuses a writer that refused this process and still has its claim: calls of
 * the writer could get no reply. Else frees the slot. */
static void slot_end_locked(
    struct amg_shm_domain *domain, uint32_t slot, struct amg_shm_peer *peer)
{
    uint64_t claim = atomic_load_explicit(
        &domain->region.claims[slot], memory_order_acquire);

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (!peer->has_refused ||
        amg_shm_claim_state(claim) == AMG_SHM_CLAIM_LEAVING) {
        slot_free(domain, slot);
        return;
    }
    atomic_store_explicit(&domain->region.rings[slot].poll_state,
        AMG_SHM_REFUSED, memory_order_release);
    amg_shm_link_raise_all(peer);
}

void amg_shm_inrings_reap_locked(struct amg_shm_inbox *inbox)
{
    struct amg_link *link = amg_list_first(&inbox->rings);

    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    while (link != NULL) {
        struct amg_link *next = amg_list_next(&inbox->rings, link);
        struct amg_shm_inring *ring =
            amg_container_of(link, struct amg_shm_inring, link);

        if (ring->is_leaving && !amg_shm_in_has(&ring->in)) {
            struct amg_shm_peer *peer = ring->peer;
            uint32_t slot = ring->slot;

            if (peer->state == AMG_SHM_PEER_GONE)
                peer_check_request(inbox);
            peer->refs++;
            amg_shm_inbox_drop_locked(inbox, ring);
            slot_end_locked(inbox->domain, slot, peer);
            amg_shm_peer_unref_locked(peer);
        }
        link = next;
    }
}
