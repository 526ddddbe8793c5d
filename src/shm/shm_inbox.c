/* SPDX-License-Identifier: BSD-3-Clause */
/* Inbox of a context: the rings of its senders, from the claim of a slot to its
 * release.
 *
 * Opening the ring of a sender maps the sender's segment, which makes the
 * sender a peer. Before, this process knows only the claim and the name in the
 * ring.
 *
 * A poll reads the active rings only. The `poll_state` of an inactive ring
 * tells its writer to set the bit of the slot and the event of the context
 * after each write; so silent peers cost nothing. Up to ACTIVE_MIN silent rings
 * stay active, because a message by an event takes 0.2 us more.
 *
 * Blocking without missing a message takes a barrier in every process
 * (shm_ring.h). The barrier interrupts processes that are just waking: 5 us and
 * more of a call between two processes that block. So the first message after a
 * wait activates its ring, and the second one sets POLLED: a reader that blocks
 * again before the second message needs no barrier.
 *
 * A ring ends when its writer released its claim, closed, or died. The reader
 * first reads the ring to its end: the replies in it arrive, and requests of
 * dead processes are served, if the ring was opened while the process lived.
 * Models: tests/models/shm_ring.pml, shm_slots.pml. */
#include "shm/shm_inbox.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mercury_class.h"
#include "shm/shm_files.h"
#include "shm/shm_peer.h"

/* How long a new sender waits for a free descriptor, or memory, to map its
 * segment. */
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

/* Whether the slot belongs to a known peer that closed or died; a peer that
 * refused this process may be alive. */
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

/* Whether the sender of the slot was refused: its ring is never opened. */
static bool slot_is_refused(const struct amg_shm_domain *domain, uint32_t slot)
{
    return atomic_load_explicit(&domain->region.rings[slot].poll_state,
               memory_order_relaxed) == AMG_SHM_REFUSED;
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
static enum amg_shm_life slot_life(
    const struct amg_shm_domain *domain, uint32_t slot, uint64_t claim)
{
    const struct amg_shm_ring *ring = &domain->region.rings[slot];
    char name[AMG_SHM_NAME_CAP];

    if (!amg_shm_claim_is_other_ns(claim))
        return amg_shm_files_life(amg_shm_claim_pid(claim), 0);
    if (amg_shm_claim_state(claim) < AMG_SHM_CLAIM_LIVE ||
        !name_read(ring, name))
        return AMG_SHM_LIFE_UNKNOWN;
    return amg_shm_files_life_by_lock(name, ring->incarnation);
}

/* Refuses a sender whose segment cannot be mapped, or that refused this process
 * and so gets no reply. A living sender sees the refusal and releases its
 * claim; the slot of a dead sender is freed. A refused ring is never read: the
 * sender treats the messages in it as not delivered. */
static void sender_refuse(struct amg_shm_domain *domain, uint32_t slot,
    uint64_t claim, const char *name, hg_return_t why)
{
    struct amg_shm_ring *ring = &domain->region.rings[slot];
    bool is_new = amg_shm_refusal_is_new(domain->refused, ring->incarnation);
    char text[AMG_SHM_WHY_CAP];

    if (why == HG_ADDRNOTAVAIL ||
        amg_shm_claim_state(claim) == AMG_SHM_CLAIM_LEAVING ||
        slot_life(domain, slot, claim) == AMG_SHM_DEAD) {
        slot_free(domain, slot);
        return;
    }
    atomic_store_explicit(
        &ring->poll_state, AMG_SHM_REFUSED, memory_order_release);
    if (is_new)
        AMG_LOG_WARNING("shm",
            "na+sm://%s sends to this process, and is refused: %s (%s)", name,
            why == HG_HOSTUNREACH ? "it refused this process before"
                                  : "its segment cannot be mapped",
            amg_shm_region_why(why, text));
}

/* Whether the wait for a descriptor, or memory, has taken too long. */
static bool map_wait_is_over_locked(struct amg_shm_domain *domain)
{
    uint64_t now_ns = amg_clock_ns();

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (domain->unmapped_since_ns == 0)
        domain->unmapped_since_ns = now_ns;
    return now_ns - domain->unmapped_since_ns >= MAP_WAIT_NS;
}

/* The peer that sends by a ring, mapped here, with a reference. */
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

/* Wakes the process that claimed the slot, found by its name in the ring. */
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

void amg_shm_inbox_wake_unopened_locked(struct amg_shm_domain *domain)
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

enum { ACTIVE_MIN = 4, ACTIVE_FIRST = 8 };

static void poll_state_set(
    struct amg_shm_inring *ring, enum amg_shm_poll_state poll_state)
{
    atomic_store_explicit(
        &ring->in.ring->poll_state, (uint32_t)poll_state, memory_order_relaxed);
}

hg_return_t amg_shm_inbox_open_locked(struct amg_shm_domain *domain,
    uint8_t context_id, struct amg_shm_inbox **ret_inbox)
{
    struct amg_shm_inbox *inbox = domain->inboxes[context_id];

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (inbox == NULL) {
        inbox = amg_mem_zalloc(sizeof(*inbox));
        if (inbox == NULL)
            return HG_NOMEM;
        inbox->domain = domain;
        inbox->doorbell = -1;
        inbox->context_id = context_id;
        inbox->context = &domain->region.contexts[context_id];
        amg_list_init(&inbox->rings);
        domain->inboxes[context_id] = inbox;
    } else {
        domain->closed_inboxes--;
    }
    AMG_ASSERT(!inbox->is_open);
    inbox->is_open = true;
    for (uint32_t i = 0; i < inbox->active_count; i++)
        poll_state_set(inbox->active[i], AMG_SHM_POLLED);
    atomic_store_explicit(
        &inbox->context->is_open, AMG_SHM_CONTEXT_OPEN, memory_order_release);
    *ret_inbox = inbox;
    return HG_SUCCESS;
}

/* Makes room for one more active ring; false: no memory. */
static bool active_grow(struct amg_shm_inbox *inbox)
{
    uint32_t cap =
        inbox->active_cap == 0 ? ACTIVE_FIRST : 2 * inbox->active_cap;
    struct amg_shm_inring **grown = NULL;

    if (inbox->active_count < inbox->active_cap)
        return true;
    grown =
        amg_mem_realloc(inbox->active, cap * sizeof(struct amg_shm_inring *));
    if (grown == NULL)
        return false;
    inbox->active = grown;
    inbox->active_cap = cap;
    return true;
}

static bool ring_is_polled(const struct amg_shm_inring *ring)
{
    return atomic_load_explicit(&ring->in.ring->poll_state,
               memory_order_relaxed) == AMG_SHM_POLLED;
}

/* Lets polls read the ring. The writer is told (POLLED) only if the ring was
 * active already. False: no memory. */
static bool ring_activate(
    struct amg_shm_inbox *inbox, struct amg_shm_inring *ring)
{
    bool was_active = ring->is_active;

    if (!was_active) {
        if (!active_grow(inbox))
            return false;
        inbox->active[inbox->active_count++] = ring;
        ring->is_active = true;
    }
    if (!inbox->is_open)
        poll_state_set(ring, AMG_SHM_CLOSED);
    else
        poll_state_set(ring, was_active ? AMG_SHM_POLLED : AMG_SHM_DORMANT);
    return true;
}

void amg_shm_inbox_close_locked(struct amg_shm_inbox *inbox)
{
    struct amg_link *link = amg_list_first(&inbox->rings);

    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    AMG_ASSERT(inbox->is_open);
    /* Writers that see the closed context also see which cells were read. */
    for (; link != NULL; link = amg_list_next(&inbox->rings, link))
        amg_shm_inbox_report(
            amg_container_of(link, struct amg_shm_inring, link));
    link = amg_list_first(&inbox->rings);
    atomic_store_explicit(
        &inbox->context->is_open, AMG_SHM_CONTEXT_CLOSED, memory_order_release);
    inbox->is_open = false;
    inbox->domain->closed_inboxes++;
    for (; link != NULL; link = amg_list_next(&inbox->rings, link)) {
        struct amg_shm_inring *ring =
            amg_container_of(link, struct amg_shm_inring, link);

        poll_state_set(ring, AMG_SHM_CLOSED);
        (void)ring_activate(inbox, ring);
    }
    amg_shm_doorbell_fence(inbox->domain);
}

void amg_shm_inbox_refuse_unopened_locked(
    struct amg_shm_domain *domain, uint8_t context_id)
{
    struct amg_shm_context *context = &domain->region.contexts[context_id];
    struct amg_shm_inbox *inbox = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    AMG_ASSERT(domain->inboxes[context_id] == NULL);
    atomic_store_explicit(
        &context->is_open, AMG_SHM_CONTEXT_CLOSED, memory_order_seq_cst);
    /* Dekker: a sender sets an event, and then reads `is_open`. */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&context->events, memory_order_relaxed) != 0 &&
        amg_shm_inbox_open_locked(domain, context_id, &inbox) == HG_SUCCESS)
        amg_shm_inbox_close_locked(inbox);
}

static void active_remove(
    struct amg_shm_inbox *inbox, struct amg_shm_inring *ring)
{
    uint32_t i = 0;

    if (!ring->is_active)
        return;
    while (inbox->active[i] != ring)
        i++;
    AMG_ASSERT(i < inbox->active_count);
    inbox->active[i] = inbox->active[--inbox->active_count];
    ring->is_active = false;
}

static void ring_drop_locked(
    struct amg_shm_inbox *inbox, struct amg_shm_inring *ring)
{
    struct amg_shm_domain *domain = inbox->domain;

    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    AMG_ASSERT(domain->inrings[ring->slot] == ring);
    active_remove(inbox, ring);
    if (ring->is_leaving)
        inbox->leaving_count--;
    amg_list_remove(&ring->link);
    domain->inrings[ring->slot] = NULL;
    amg_shm_peer_unref_locked(ring->peer);
    amg_mem_free(ring);
}

static void ring_free_locked(
    struct amg_shm_inbox *inbox, struct amg_shm_inring *ring)
{
    uint32_t slot = ring->slot;

    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    ring_drop_locked(inbox, ring);
    slot_free(inbox->domain, slot);
}

void amg_shm_inbox_fini_locked(struct amg_shm_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (uint32_t i = 0; i < domain->max_contexts; i++) {
        struct amg_shm_inbox *inbox = domain->inboxes[i];
        struct amg_link *link = NULL;

        if (inbox == NULL)
            continue;
        /* The slot stays: the writer may check if its last message was read. */
        while ((link = amg_list_first(&inbox->rings)) != NULL)
            ring_drop_locked(
                inbox, amg_container_of(link, struct amg_shm_inring, link));
        amg_shm_doorbell_remove(inbox);
        amg_mem_free(inbox->active);
        amg_mem_free(inbox);
        domain->inboxes[i] = NULL;
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

/* Handles the event of one slot. False: no memory or descriptor; try again. */
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
    if (ring == NULL && slot_is_refused(domain, slot)) {
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
    return ring_activate(inbox, ring);
}

static bool slots_of_bit_take_locked(struct amg_shm_inbox *inbox, uint32_t bit)
{
    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    /* Read after the bit: a new sender raises the end before its bit. */
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

/* Checks the claims without an open ring: opens rings of known peers that
 * closed or died, and frees the slots of senders that died before their ring
 * was opened. False: no memory. */
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
        else if (slot_life(domain, i, claim) == AMG_SHM_DEAD)
            slot_free(domain, i);
    }
    return is_done;
}

/* Lets polls read the rings of peers that closed or died to their ends. False:
 * no memory. */
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
        is_done = ring_activate(inbox, ring) && is_done;
    }
    return is_done;
}

/* Lets the next poll check which peers closed or died. */
static void peer_check_request(struct amg_shm_inbox *inbox)
{
    atomic_fetch_or_explicit(
        &inbox->context->events, AMG_SHM_EVENT_PEERS, memory_order_release);
}

void amg_shm_inbox_events_locked(struct amg_shm_inbox *inbox)
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

void amg_shm_inbox_reap_locked(struct amg_shm_inbox *inbox)
{
    struct amg_link *link = amg_list_first(&inbox->rings);

    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    while (link != NULL) {
        struct amg_link *next = amg_list_next(&inbox->rings, link);
        struct amg_shm_inring *ring =
            amg_container_of(link, struct amg_shm_inring, link);

        if (ring->is_leaving && !amg_shm_in_has(&ring->in)) {
            if (ring->peer->state == AMG_SHM_PEER_GONE)
                peer_check_request(inbox);
            ring_free_locked(inbox, ring);
        }
        link = next;
    }
}

void amg_shm_inbox_report(struct amg_shm_inring *ring)
{
    if (!amg_shm_in_report(&ring->in))
        return;
    amg_shm_in_woken(&ring->in);
    amg_shm_link_raise_all(ring->peer);
}

static void ring_set_dormant(struct amg_shm_inring *ring)
{
    amg_shm_inbox_report(ring);
    poll_state_set(ring, AMG_SHM_DORMANT);
}

void amg_shm_inbox_prune(struct amg_shm_inbox *inbox)
{
    uint32_t resting = 0;
    uint32_t i = 0;

    if (inbox->active_count <= ACTIVE_MIN)
        return;
    for (i = 0; i < inbox->active_count; i++) {
        struct amg_shm_inring *ring = inbox->active[i];

        if (ring->seen == ring->in.head &&
            resting < inbox->active_count - ACTIVE_MIN) {
            ring_set_dormant(ring);
            resting++;
            ring->seen = ring->in.head - 1; /* marks the ring as silent */
        } else {
            ring->seen = ring->in.head;
        }
    }
    if (resting == 0)
        return;
    amg_shm_doorbell_fence(inbox->domain);
    for (i = 0; i < inbox->active_count;) {
        struct amg_shm_inring *ring = inbox->active[i];

        if (ring->seen == ring->in.head) {
            i++;
            continue;
        }
        ring->seen = ring->in.head;
        if (amg_shm_in_has(&ring->in)) {
            poll_state_set(ring, AMG_SHM_POLLED);
            i++;
        } else {
            active_remove(inbox, ring);
        }
    }
}

bool amg_shm_inbox_prepare_block(struct amg_shm_inbox *inbox, bool must_fence)
{
    bool is_quiet = true;

    for (uint32_t i = 0; i < inbox->active_count; i++) {
        must_fence = must_fence || ring_is_polled(inbox->active[i]);
        ring_set_dormant(inbox->active[i]);
    }
    if (must_fence)
        amg_shm_doorbell_fence(inbox->domain);
    else /* writers of dormant rings set an event and fence */
        atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t i = 0; i < inbox->active_count && is_quiet; i++)
        is_quiet = !amg_shm_in_has(&inbox->active[i]->in);
    if (is_quiet && !amg_shm_inbox_has_events(inbox)) {
        while (inbox->active_count > 0)
            active_remove(inbox, inbox->active[inbox->active_count - 1]);
        return true;
    }
    for (uint32_t i = 0; i < inbox->active_count; i++)
        poll_state_set(inbox->active[i], AMG_SHM_POLLED);
    return false;
}
