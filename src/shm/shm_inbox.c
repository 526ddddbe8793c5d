/* SPDX-License-Identifier: BSD-3-Clause */
/* Inbox of a context: the rings of its senders, and the FIFO that wakes its
 * owner.
 *
 * A poll reads the active rings only. The `poll_state` of an inactive ring
 * tells its writer to set the bit of the slot and an event of the context after
 * each write; so silent peers cost nothing. A prune leaves at least ACTIVE_MIN
 * rings active, because a message that needs an event takes 0.2 us more.
 *
 * A reader with a POLLED ring fences all processes by membarrier before it
 * blocks, to miss no message (shm_ring.h). The membarrier interrupts processes
 * that are just waking, and adds 5 us and more to a call between two processes
 * that block. So at the first message after a wait, the reader only activates
 * the ring, and at the second it stores POLLED: a reader that blocks in between
 * needs no membarrier. Model: tests/models/shm_ring.pml. */
#include "shm/shm_inbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/env.h"
#include "base/mem.h"
#include "shm/shm_files.h"
#include "shm/shm_peer.h"

enum { ACTIVE_MIN = 4, ACTIVE_FIRST = 8 }; /* rings; first capacity */

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

/* Executes a full fence in every process that writes to the segment. */
static void fence_all(const struct amg_shm_domain *domain)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (!domain->region.has_membarrier)
        return;
    /* ENOMEM: tries again, because the kernel lacked memory for a moment. */
    while (membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) != 0 && errno == ENOMEM)
        sched_yield();
}

static int fifo_make(const char *path)
{
    /* EEXIST: an earlier call made the FIFO, but could not open it. */
    if (mkfifo(path, 0600) != 0 && errno != EEXIST)
        return -1;
    return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

/* Makes a FIFO without a name; one descriptor opens both of its ends. */
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

/* The word amg_shm_context.doorbell: descriptor + 1, and bits of the inode. */
static uint64_t doorbell_word(int doorbell)
{
    struct stat status;

    if (fstat(doorbell, &status) != 0)
        return 0;
    return (uint64_t)(doorbell + 1) << 32 | (uint32_t)status.st_ino;
}

bool amg_shm_inbox_doorbell_make(struct amg_shm_inbox *inbox, const char *path)
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

bool amg_shm_inbox_activate(
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
    /* Before `is_open`: a writer that sees CLOSED must see what was read. */
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
        (void)amg_shm_inbox_activate(inbox, ring);
    }
    fence_all(inbox->domain);
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

void amg_shm_inbox_drop_locked(
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
        /* Frees no slot: a writer may still check if the last cell was read. */
        while ((link = amg_list_first(&inbox->rings)) != NULL)
            amg_shm_inbox_drop_locked(
                inbox, amg_container_of(link, struct amg_shm_inring, link));
        doorbell_remove(inbox);
        amg_mem_free(inbox->active);
        amg_mem_free(inbox);
        domain->inboxes[i] = NULL;
    }
}

static void ring_set_dormant(struct amg_shm_inring *ring)
{
    amg_shm_inring_report(ring);
    poll_state_set(ring, AMG_SHM_DORMANT);
}

void amg_shm_inbox_prune(struct amg_shm_inbox *inbox)
{
    uint32_t resting = 0;

    if (inbox->active_count <= ACTIVE_MIN)
        return;
    for (uint32_t i = 0; i < inbox->active_count; i++) {
        struct amg_shm_inring *ring = inbox->active[i];

        if (ring->seen == ring->in.head &&
            resting < inbox->active_count - ACTIVE_MIN) {
            ring_set_dormant(ring);
            resting++;
            ring->seen = ring->in.head - 1; /* a mark for the loop below */
        } else {
            ring->seen = ring->in.head;
        }
    }
    if (resting == 0)
        return;
    fence_all(inbox->domain);
    for (uint32_t i = 0; i < inbox->active_count;) {
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
        must_fence = must_fence || atomic_load_explicit(
                                       &inbox->active[i]->in.ring->poll_state,
                                       memory_order_relaxed) == AMG_SHM_POLLED;
        ring_set_dormant(inbox->active[i]);
    }
    if (must_fence)
        fence_all(inbox->domain);
    else /* the writers of DORMANT rings set an event, then fence */
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
