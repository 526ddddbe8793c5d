/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving side of a context: its inbox, which has the rings of its senders
 * from the claim of a slot to its release, and the endpoint that polls it.
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
 *
 * A poll that finds nothing reads the event bits of the context, the next cell
 * of each active ring and some private words, and takes no lock. Rare events
 * (silent rings, closed contexts, dead peers) are checked in few polls. Models:
 * tests/models/shm_ring.pml, shm_slots.pml. */
#include "shm/shm_inbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "mercury_class.h"
#include "shm/shm_bulk.h"
#include "shm/shm_files.h"
#include "shm/shm_peer.h"
#include "shm/shm_send.h"

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
    char text[AMG_SHM_WHY_CAP];

    if (why == HG_ADDRNOTAVAIL ||
        amg_shm_claim_state(claim) == AMG_SHM_CLAIM_LEAVING ||
        slot_life(domain, slot, claim) == AMG_SHM_DEAD) {
        slot_free(domain, slot);
        return;
    }
    atomic_store_explicit(
        &ring->poll_state, AMG_SHM_REFUSED, memory_order_release);
    if (amg_calls_may_warn(&domain->calls))
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

static long membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

bool amg_shm_has_membarrier(void)
{
    return amg_env_number(AMG_ENV_SHM_FENCE) == 0 &&
           membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0 &&
           membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0;
}

/* A full barrier in every process that writes to the segment. */
static void fence_all(const struct amg_shm_domain *domain)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (!domain->region.has_membarrier)
        return;
    /* ENOMEM: the kernel allocates a mask of cores for the call. */
    while (membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0 && errno == ENOMEM)
        sched_yield();
}

static bool epoll_add(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static int fifo_make(const char *path)
{
    /* EEXIST: an earlier call made the FIFO and could not open it. */
    if (mkfifo(path, 0600) != 0 && errno != EEXIST)
        return -1;
    return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

/* A FIFO without a name, with both ends in one descriptor. */
static int pipe_make(void)
{
    int ends[2];
    int doorbell = -1;

    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
        return -1;
    doorbell = amg_shm_files_open_of((uint32_t)getpid(), ends[0], S_IFIFO);
    close(ends[0]);
    close(ends[1]);
    return doorbell;
}

/* The word by which peers find the descriptor, and check its inode. */
static uint64_t doorbell_word(int doorbell)
{
    struct stat status;

    if (fstat(doorbell, &status) != 0)
        return 0;
    return (uint64_t)(doorbell + 1) << 32 | (uint32_t)status.st_ino;
}

/* Makes the FIFO of a context once; with a name if the segment has a name. */
static bool doorbell_make(struct amg_shm_inbox *inbox, const char *path)
{
    uint64_t word = 0;

    if (inbox->doorbell >= 0)
        return true;
    if (!inbox->domain->region.is_unnamed) {
        inbox->doorbell = fifo_make(path);
        return inbox->doorbell >= 0;
    }
    inbox->doorbell = pipe_make();
    if (inbox->doorbell < 0)
        return false;
    word = doorbell_word(inbox->doorbell);
    atomic_store_explicit(
        &inbox->context->doorbell, word, memory_order_relaxed);
    return word != 0;
}

static void doorbell_close(struct amg_shm_ep *ep)
{
    if (ep->epoll >= 0)
        close(ep->epoll);
    ep->epoll = -1;
}

/* Creates the descriptor of an endpoint, and the FIFO of its inbox.
 * HG_NA_ERROR. */
static hg_return_t doorbell_open(struct amg_shm_ep *ep)
{
    const struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);
    char path[AMG_SHM_PATH_CAP];

    AMG_ASSERT(ep->inbox->context_id == ep->base.context_id);
    amg_shm_files_doorbell(domain->region.name, domain->region.incarnation,
        ep->base.context_id, path);
    ep->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (ep->epoll >= 0 && doorbell_make(ep->inbox, path) &&
        epoll_add(ep->epoll, ep->inbox->doorbell) &&
        (domain->deaths.epoll < 0 ||
            epoll_add(ep->epoll, domain->deaths.epoll)))
        return HG_SUCCESS;
    AMG_LOG_ERROR(
        "shm", "cannot make the doorbell %s: %s", path, strerror(errno));
    doorbell_close(ep);
    return HG_NA_ERROR;
}

/* Removes the FIFO; the inbox is destroyed next. */
static void doorbell_remove(struct amg_shm_inbox *inbox)
{
    const struct amg_shm_domain *domain = inbox->domain;
    char path[AMG_SHM_PATH_CAP];

    AMG_ASSERT(!inbox->is_open);
    if (inbox->doorbell < 0)
        return;
    amg_shm_files_doorbell(domain->region.name, domain->region.incarnation,
        inbox->context_id, path);
    if (!domain->region.is_unnamed)
        unlink(path);
    close(inbox->doorbell);
    inbox->doorbell = -1;
}

enum { ACTIVE_MIN = 4, ACTIVE_FIRST = 8 };

static void poll_state_set(
    struct amg_shm_inring *ring, enum amg_shm_poll_state poll_state)
{
    atomic_store_explicit(
        &ring->in.ring->poll_state, (uint32_t)poll_state, memory_order_relaxed);
}

/* The inbox of a context, created if it does not exist. HG_NOMEM. */
static hg_return_t inbox_open_locked(struct amg_shm_domain *domain,
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

/* The endpoint closes. Replies may still arrive. */
static void inbox_close_locked(struct amg_shm_inbox *inbox)
{
    struct amg_link *link = amg_list_first(&inbox->rings);

    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    AMG_ASSERT(inbox->is_open);
    /* Writers that see the closed context also see which cells were read. */
    for (; link != NULL; link = amg_list_next(&inbox->rings, link))
        amg_shm_inring_report(
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
    fence_all(inbox->domain);
}

/* Refuses requests to a context that was never open and will not be. */
static void inbox_refuse_unopened_locked(
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
        inbox_open_locked(domain, context_id, &inbox) == HG_SUCCESS)
        inbox_close_locked(inbox);
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
        doorbell_remove(inbox);
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

/* Whether inbox_events_locked() has something to take. */
static inline bool inbox_has_events(const struct amg_shm_inbox *inbox)
{
    return atomic_load_explicit(
               &inbox->context->events, memory_order_relaxed) != 0;
}

/* Takes the events: activates rings with cells and opens new rings. NOTE(why):
 * opening maps a peer, by system calls under the lock, which is rare. */
static void inbox_events_locked(struct amg_shm_inbox *inbox)
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

/* Frees the empty rings whose writers left, closed or died. The next poll ends
 * the calls that gone writers did not answer. */
static void inbox_reap_locked(struct amg_shm_inbox *inbox)
{
    struct amg_link *link = amg_list_first(&inbox->rings);

    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    while (link != NULL) {
        struct amg_link *next = amg_list_next(&inbox->rings, link);
        struct amg_shm_inring *ring =
            amg_container_of(link, struct amg_shm_inring, link);

        if (ring->is_leaving && !amg_shm_in_has(&ring->in)) {
            uint32_t slot = ring->slot;

            if (ring->peer->state == AMG_SHM_PEER_GONE)
                peer_check_request(inbox);
            ring_drop_locked(inbox, ring);
            slot_free(inbox->domain, slot);
        }
        link = next;
    }
}

static void ring_set_dormant(struct amg_shm_inring *ring)
{
    amg_shm_inring_report(ring);
    poll_state_set(ring, AMG_SHM_DORMANT);
}

/* Stops polling the rings that were silent since the last call; a few stay. */
static void inbox_prune(struct amg_shm_inbox *inbox)
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
    fence_all(inbox->domain);
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

/* Stops polling all rings. False: a ring has a cell, or there is an event; then
 * polls go on with all rings. Executes a barrier in every process if a ring was
 * polled, or if `must_fence`. */
static bool inbox_prepare_block(struct amg_shm_inbox *inbox, bool must_fence)
{
    bool is_quiet = true;

    for (uint32_t i = 0; i < inbox->active_count; i++) {
        must_fence = must_fence || atomic_load_explicit(
                                       &inbox->active[i]->in.ring->poll_state,
                                       memory_order_relaxed) == AMG_SHM_POLLED;
        ring_set_dormant(inbox->active[i]);
    }
    if (must_fence)
        fence_all(inbox->domain);
    else /* writers of dormant rings set an event and fence */
        atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t i = 0; i < inbox->active_count && is_quiet; i++)
        is_quiet = !amg_shm_in_has(&inbox->active[i]->in);
    if (is_quiet && !inbox_has_events(inbox)) {
        while (inbox->active_count > 0)
            active_remove(inbox, inbox->active[inbox->active_count - 1]);
        return true;
    }
    for (uint32_t i = 0; i < inbox->active_count; i++)
        poll_state_set(inbox->active[i], AMG_SHM_POLLED);
    return false;
}

#define LIVENESS_NS (100 * AMG_NS_PER_MS)

enum {
    RARE_EVERY = 64, /* polls per rare step */
    PRUNE_EVERY = 8, /* rare steps per check of silent rings */
    CLOCK_EVERY = 16 /* rare steps per look at the clock */
};

/* Takes operations that ended outside of polls, and late replies. */
static AMG_INLINE unsigned done_take_locked(
    struct amg_shm_ep *ep, unsigned max, struct amg_events *events)
{
    struct amg_list *late = &amg_shm_domain_of_ep(ep)->calls.late;
    unsigned count = 0;

    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    atomic_store_explicit(&ep->bulk.copied, 0, memory_order_relaxed);
    count = amg_list_take(&events->done, &ep->done, max);
    if (!AMG_LIKELY(amg_list_is_empty(late)))
        count += amg_list_take(&events->arrived, late, max - count);
    amg_shm_due_set_locked(ep, AMG_SHM_DUE_DONE,
        !amg_list_is_empty(&ep->done) || !amg_list_is_empty(late));
    return count;
}

/* Takes the messages of a closed context; requests are refused. */
static void poll_closed_locked(struct amg_shm_inbox *inbox)
{
    uint32_t at = 0;

    AMG_ASSERT_HELD_BIAS(&inbox->domain->lock);
    AMG_ASSERT(!inbox->is_open);
    if (inbox_has_events(inbox))
        inbox_events_locked(inbox);
    /* All cells that are there now, but no endless stream of a busy peer. */
    if (amg_shm_inbox_find(inbox, &at))
        (void)amg_shm_msg_take_locked(
            inbox, NULL, at, inbox->active_count * AMG_SHM_CELLS, NULL);
    if (inbox->leaving_count > 0)
        inbox_reap_locked(inbox);
}

void amg_shm_poll_all_closed_locked(struct amg_shm_domain *domain, bool is_last)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (uint32_t i = 0; i < domain->max_contexts; i++) {
        if (domain->inboxes[i] == NULL && is_last)
            inbox_refuse_unopened_locked(domain, (uint8_t)i);
        if (domain->inboxes[i] != NULL && !domain->inboxes[i]->is_open)
            poll_closed_locked(domain->inboxes[i]);
    }
}

/* Logs peers that have been silent for long, or finds that they are dead: the
 * pidfd of a peer that called exec() does not tell. */
static void silent_check_locked(struct amg_shm_domain *domain)
{
    struct amg_shm_peer *next = NULL;
    struct amg_shm_peer *peer = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (!amg_calls_watch_is_due_locked(&domain->calls))
        return;
    next = amg_shm_peer_next_locked(domain, NULL);
    while ((peer = next) != NULL) {
        next = amg_shm_peer_next_locked(domain, peer);
        if (peer->watched.silent > 0 && !peer->watched.is_heard &&
            amg_shm_files_owner(&peer->region) == AMG_SHM_DEAD)
            domain->peer_gone_locked(peer, true);
        else
            amg_calls_watch_locked(&domain->calls, &peer->calls, &peer->watched,
                peer->id, amg_calls_waiting(&domain->bulk.transfers, peer->id));
    }
    amg_calls_watched_locked(&domain->calls);
}

/* Checks from time to time whether the peers are alive, and answer. */
static void liveness_step_locked(struct amg_shm_ep *ep)
{
    uint64_t now_ns = amg_clock_ns();

    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    if (now_ns - ep->checked_ns < LIVENESS_NS)
        return;
    ep->checked_ns = now_ns;
    amg_shm_liveness_check_all_locked(amg_shm_domain_of_ep(ep));
    silent_check_locked(amg_shm_domain_of_ep(ep));
}

/* Counts a poll that found nothing. */
static inline void idle_poll_count(struct amg_shm_domain *domain)
{
    atomic_store_explicit(&domain->idle_polls,
        atomic_load_explicit(&domain->idle_polls, memory_order_relaxed) + 1u,
        memory_order_relaxed);
}

/* Whether messages wait for room, or credits are owed. */
static inline bool has_deferred(const struct amg_shm_domain *domain)
{
    return atomic_load_explicit(&domain->has_deferred, memory_order_relaxed) !=
           0;
}

/* Retries messages that wait for room, and sends owed credits. */
static void deferred_step_locked(struct amg_shm_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (has_deferred(domain))
        amg_shm_send_deferred_locked(domain);
}

/* The work of a poll that found nothing. */
static void idle_step_locked(struct amg_shm_ep *ep, bool was_blocked)
{
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);

    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    idle_poll_count(domain);
    deferred_step_locked(domain);
    if (was_blocked) { /* not woken by a message: perhaps by a death */
        amg_shm_liveness_check_deaths_locked(domain);
        liveness_step_locked(ep);
    }
}

/* The work of one poll in RARE_EVERY, also if polls find messages: a peer that
 * keeps this context busy must not keep others from their replies and slots. */
static void rare_step_locked(struct amg_shm_ep *ep)
{
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);
    struct amg_shm_inbox *inbox = ep->inbox;

    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    ep->until_rare = RARE_EVERY;
    ep->rare_polls++;
    deferred_step_locked(domain);
    for (uint32_t i = 0; i < inbox->active_count; i++)
        if (inbox->active[i]->in.reported != inbox->active[i]->in.head)
            amg_shm_inring_report(inbox->active[i]);
    if (domain->closed_inboxes > 0)
        amg_shm_poll_all_closed_locked(domain, false);
    if (ep->rare_polls % PRUNE_EVERY == 0)
        inbox_prune(inbox);
    if (ep->rare_polls % CLOCK_EVERY == 0)
        liveness_step_locked(ep);
}

/* Ends an announced wait, whether or not the owner blocked. */
static void poll_disarm_locked(struct amg_shm_ep *ep)
{
    struct amg_shm_inbox *inbox = ep->inbox;
    char bytes[16];
    ssize_t len = 0;

    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    amg_shm_due_set_locked(ep, AMG_SHM_DUE_WAIT, false);
    if ((atomic_exchange_explicit(
             &inbox->context->sleep, AMG_SHM_AWAKE, memory_order_acq_rel) &
            AMG_SHM_SLEEP_MASK) == AMG_SHM_WOKEN)
        inbox->bytes_due++;
    if (inbox->bytes_due == 0)
        return;
    /* The byte of a sender may come later; then a later wait reads it. A byte
     * that stayed in the FIFO would keep all later waits from blocking. */
    len = read(inbox->doorbell, bytes,
        inbox->bytes_due < sizeof(bytes) ? inbox->bytes_due : sizeof(bytes));
    if (len > 0)
        inbox->bytes_due -= (uint32_t)len;
}

/* The work that is due besides the rings and the completions. */
static void due_step_locked(struct amg_shm_ep *ep)
{
    struct amg_shm_inbox *inbox = ep->inbox;

    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    if (amg_shm_is_due(ep, AMG_SHM_DUE_LEAVING)) {
        inbox_reap_locked(inbox);
        amg_shm_due_set_locked(
            ep, AMG_SHM_DUE_LEAVING, inbox->leaving_count > 0);
    }
    if (amg_shm_is_due(ep, AMG_SHM_DUE_BULK)) {
        amg_bias_unlock(&inbox->domain->lock);
        amg_shm_bulk_poll(ep);
        amg_bias_lock(&inbox->domain->lock);
    }
}

/* A poll with work besides its rings. */
AMG_NOINLINE static unsigned ep_poll_all(
    struct amg_shm_ep *ep, unsigned max, struct amg_events *ret_events)
{
    struct amg_shm_inbox *inbox = ep->inbox;
    bool was_blocked = false;
    unsigned count = 0;
    uint32_t at = 0;

    amg_bias_lock(&inbox->domain->lock);
    was_blocked = amg_shm_is_due(ep, AMG_SHM_DUE_WAIT);
    if (was_blocked)
        poll_disarm_locked(ep);
    if (inbox_has_events(inbox))
        inbox_events_locked(inbox);
    if (amg_shm_inbox_find(inbox, &at) && max > 0)
        count = amg_shm_msg_take_locked(inbox, ep, at, max, ret_events);
    due_step_locked(ep);
    if (count == 0)
        idle_step_locked(ep, was_blocked);
    if (ep->until_rare == 0)
        rare_step_locked(ep);
    if (amg_shm_is_due(ep, AMG_SHM_DUE_DONE) && count < max)
        count += done_take_locked(ep, max - count, ret_events);
    amg_bias_unlock(&inbox->domain->lock);
    return count;
}

/* A poll whose only work besides its rings is ended operations. */
AMG_NOINLINE static unsigned ep_poll(
    struct amg_shm_ep *ep, unsigned max, struct amg_events *ret_events)
{
    struct amg_shm_inbox *inbox = ep->inbox;
    unsigned count = 0;
    uint32_t at = 0;

    if (ep->until_rare == 0 || inbox_has_events(inbox) ||
        atomic_load_explicit(&ep->due, memory_order_relaxed) !=
            AMG_SHM_DUE_DONE)
        return ep_poll_all(ep, max, ret_events);
    amg_bias_lock(&inbox->domain->lock);
    count = done_take_locked(ep, max, ret_events);
    if (!AMG_LIKELY(!amg_shm_inbox_find(inbox, &at)) && count < max)
        count +=
            amg_shm_msg_take_locked(inbox, ep, at, max - count, ret_events);
    amg_bias_unlock(&inbox->domain->lock);
    return count;
}

unsigned amg_shm_poll(
    struct amg_ep *base, unsigned max, struct amg_events *ret_events)
{
    struct amg_shm_ep *ep = amg_shm_ep_of(base);
    struct amg_shm_inbox *inbox = ep->inbox;
    uint32_t at = 0;

    if (!AMG_LIKELY(--ep->until_rare != 0 &&
                    atomic_load_explicit(&ep->due, memory_order_relaxed) == 0 &&
                    !inbox_has_events(inbox)))
        return ep_poll(ep, max, ret_events);
    if (amg_shm_inbox_find(inbox, &at) && AMG_LIKELY(max > 0))
        return amg_shm_msg_take(ep, at, max, ret_events);
    if (!AMG_LIKELY(!has_deferred(inbox->domain)))
        return ep_poll(ep, max, ret_events);
    idle_poll_count(inbox->domain);
    return 0;
}

int amg_shm_poll_fd(const struct amg_ep *base)
{
    return amg_container_of(base, const struct amg_shm_ep, base)->epoll;
}

static void cpu_publish(struct amg_shm_ep *ep)
{
    int cpu = sched_getcpu();

    atomic_store_explicit(&ep->inbox->context->cpu,
        cpu < 0 ? 0 : (uint32_t)cpu + 1, memory_order_relaxed);
}

/* Whether a poll would find something now. */
static bool ep_is_busy_locked(struct amg_shm_ep *ep)
{
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);

    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    deferred_step_locked(domain);
    return amg_shm_is_due(ep, AMG_SHM_DUE_DONE | AMG_SHM_DUE_BULK);
}

/* Announces that the owner is about to block. False: there is something to do.
 * `*ret_is_blocked`: a message waits for room at a peer. */
static bool block_announce(struct amg_shm_ep *ep, bool *ret_is_blocked)
{
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);
    bool is_busy = false;

    amg_bias_lock(&domain->lock);
    is_busy = ep_is_busy_locked(ep);
    if (!is_busy) {
        *ret_is_blocked = amg_shm_send_is_blocked_locked(domain);
        if (*ret_is_blocked)
            amg_shm_send_ask_for_room_locked(domain);
        is_busy = !amg_shm_liveness_tick_locked(domain);
    }
    if (!is_busy) {
        amg_shm_due_set_locked(ep, AMG_SHM_DUE_WAIT, true);
        ep->inbox->sleeps += AMG_SHM_SLEEP_NEXT;
        atomic_store_explicit(&ep->inbox->context->sleep,
            ep->inbox->sleeps | AMG_SHM_ASLEEP, memory_order_release);
    }
    amg_bias_unlock(&domain->lock);
    return !is_busy;
}

/* The last check, after the fence. False: deferred messages have room now. */
static bool block_confirm(struct amg_shm_ep *ep)
{
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);
    bool is_busy = false;

    if (!has_deferred(domain))
        return true;
    amg_bias_lock(&domain->lock);
    is_busy = ep_is_busy_locked(ep);
    amg_bias_unlock(&domain->lock);
    return !is_busy;
}

bool amg_shm_poll_arm(struct amg_ep *base)
{
    struct amg_shm_ep *ep = amg_shm_ep_of(base);
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);
    bool is_blocked = false;

    cpu_publish(ep);
    if (!block_announce(ep, &is_blocked))
        return false;
    /* inbox_prepare_block() fences between the two checks. */
    if (inbox_prepare_block(ep->inbox, is_blocked) && block_confirm(ep))
        return true;
    amg_bias_lock(&domain->lock);
    poll_disarm_locked(ep);
    amg_bias_unlock(&domain->lock);
    return false;
}

/* Whether a context of the peer last waited on that cpu. */
static bool peer_is_on(const struct amg_shm_peer *peer, uint32_t cpu)
{
    for (uint32_t i = 0; i < peer->region.max_contexts; i++)
        if (atomic_load_explicit(
                &peer->region.contexts[i].cpu, memory_order_relaxed) == cpu)
            return true;
    return false;
}

bool amg_shm_poll_is_oversubscribed(struct amg_ep *base)
{
    struct amg_shm_ep *ep = amg_shm_ep_of(base);
    const struct amg_shm_inbox *inbox = ep->inbox;
    uint32_t cpu = 0;

    cpu_publish(ep);
    cpu = atomic_load_explicit(&inbox->context->cpu, memory_order_relaxed);
    for (uint32_t i = 0; cpu != 0 && i < inbox->active_count; i++)
        if (inbox->active[i]->peer != amg_shm_domain_of_ep(ep)->self &&
            peer_is_on(inbox->active[i]->peer, cpu))
            return true;
    return false;
}

hg_return_t amg_shm_ep_open(
    struct amg_domain *base, uint8_t context_id, struct amg_ep **ret_ep)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(base);
    struct amg_shm_ep *ep = NULL;
    hg_return_t rc = HG_INVALID_ARG;

    if (!AMG_CONTRACT_OF("HG_Context_create_id",
            context_id < domain->max_contexts,
            "id is %u, but the class was opened for ids below %u; set "
            "max_contexts",
            (unsigned)context_id, (unsigned)domain->max_contexts))
        return HG_INVALID_ARG;
    ep = amg_mem_zalloc(sizeof(*ep));
    if (ep == NULL)
        return HG_NOMEM;
    ep->base.transport = base->transport;
    ep->base.domain = base;
    ep->base.context_id = context_id;
    amg_list_init(&ep->done);
    amg_list_init(&ep->bulk.ready);
    amg_list_init(&ep->bulk.blocked);
    amg_bias_lock(&domain->lock);
    if (domain->eps[context_id] != NULL)
        goto free_ep;
    if (domain->inboxes[context_id] != NULL) /* refuses earlier requests */
        poll_closed_locked(domain->inboxes[context_id]);
    rc = inbox_open_locked(domain, context_id, &ep->inbox);
    if (rc != HG_SUCCESS)
        goto free_ep;
    rc = doorbell_open(ep);
    if (rc != HG_SUCCESS)
        goto close_inbox;
    domain->eps[context_id] = ep;
    atomic_init(&ep->due, AMG_SHM_DUE_ALL & ~AMG_SHM_DUE_WAIT);
    ep->until_rare = 1;
    amg_bias_unlock(&domain->lock);
    *ret_ep = &ep->base;
    return HG_SUCCESS;

close_inbox:
    inbox_close_locked(ep->inbox);
free_ep:
    amg_bias_unlock(&domain->lock);
    amg_mem_free(ep);
    return rc;
}

/* Cancels all requests and replies of a closing endpoint. */
static void cancel_all_locked(
    struct amg_shm_domain *domain, struct amg_shm_ep *ep)
{
    struct amg_shm_peer *peer = NULL;
    struct amg_shm_link *link = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    amg_calls_drop_locked(&domain->calls, &ep->base);
    while ((peer = amg_shm_peer_next_locked(domain, peer)) != NULL)
        for (uint32_t i = 0;
             (link = amg_shm_link_next_locked(peer, &i)) != NULL;)
            amg_calls_detach_locked(&domain->calls, &link->queue, &ep->base);
}

void amg_shm_ep_close(struct amg_ep *base, struct amg_events *ret_events)
{
    struct amg_shm_ep *ep = amg_shm_ep_of(base);
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);

    amg_bias_lock(&domain->lock);
    if (amg_shm_is_due(ep, AMG_SHM_DUE_WAIT))
        poll_disarm_locked(ep);
    AMG_ASSERT(domain->eps[base->context_id] == ep);
    amg_shm_bulk_ep_close_locked(ep);
    cancel_all_locked(domain, ep);
    inbox_close_locked(ep->inbox);
    poll_closed_locked(ep->inbox);
    amg_list_splice(&ret_events->done, &ep->done);
    domain->eps[base->context_id] = NULL;
    amg_bias_unlock(&domain->lock);
    doorbell_close(ep);
    amg_mem_free(ep);
}

hg_return_t amg_shm_ep_cancel(struct amg_ep *base, struct amg_op *op)
{
    struct amg_shm_ep *ep = amg_shm_ep_of(base);
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);

    amg_bias_lock(&domain->lock);
    if (op->priv[AMG_CALL_PRIV_STATE] == AMG_SHM_OP_BULK)
        amg_shm_bulk_cancel_locked(ep, op);
    else
        amg_calls_cancel_locked(&domain->calls, op);
    amg_bias_unlock(&domain->lock);
    return HG_SUCCESS;
}
