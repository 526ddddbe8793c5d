/* SPDX-License-Identifier: BSD-3-Clause */
/* Doorbell of a context: its event bits, and the FIFO that wakes its owner.
 *
 * Dekker: an owner that is about to block stores ASLEEP in `sleep`, fences, and
 * reads the events; a sender sets an event bit, fences, and reads `sleep`. (The
 * owner fences by membarrier where the rings need that, see shm_inbox.c.) Only
 * the first sender that finds ASLEEP stores WOKEN and writes one byte into the
 * FIFO. A sender opens the FIFO before it stores WOKEN: if the open fails, the
 * sender tries again later, and other senders still find ASLEEP.
 *
 * Unrelated processes can open a FIFO by its name or, where the segment has
 * lost its name (amg_shm_node_unname), as a descriptor of its owner. A sender
 * opens the FIFO for reading, too, so that a write raises no signal when the
 * owner is gone.
 *
 * Other threads of this process put their posts on lists of the endpoint, under
 * the lock; amg_shm_poll_arm() reads the lists under the lock, too. Models:
 * tests/models/shm_ring.pml, shm_slots.pml. */
#include "shm/shm_peer.h"

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
#include "base/env.h"
#include "base/log.h"
#include "base/process.h"
#include "shm/shm_files.h"

enum { WARNED_OF_DOORBELL = 2 }; /* in amg_shm_peer.warned */

static long membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0);
}

bool amg_shm_doorbell_has_membarrier(void)
{
    return amg_env_number(AMG_ENV_SHM_FENCE) == 0 &&
           membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0 &&
           membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0;
}

void amg_shm_doorbell_fence(const struct amg_shm_domain *domain)
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

hg_return_t amg_shm_doorbell_open(struct amg_shm_ep *ep)
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
    amg_shm_doorbell_close(ep);
    return HG_NA_ERROR;
}

void amg_shm_doorbell_close(struct amg_shm_ep *ep)
{
    if (ep->epoll >= 0)
        close(ep->epoll);
    ep->epoll = -1;
}

void amg_shm_doorbell_remove(struct amg_shm_inbox *inbox)
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

static bool is_asleep(const struct amg_shm_context *context)
{
    return (atomic_load_explicit(&context->sleep, memory_order_relaxed) &
               AMG_SHM_SLEEP_MASK) == AMG_SHM_ASLEEP;
}

/* Whether this sender has to wake the owner; true for one sender only. */
static bool sleeper_claim(struct amg_shm_context *context)
{
    uint32_t sleep =
        atomic_load_explicit(&context->sleep, memory_order_relaxed);

    return (sleep & AMG_SHM_SLEEP_MASK) == AMG_SHM_ASLEEP &&
           atomic_compare_exchange_strong_explicit(&context->sleep, &sleep,
               sleep - AMG_SHM_ASLEEP + AMG_SHM_WOKEN, memory_order_acq_rel,
               memory_order_relaxed);
}

static void doorbell_write(int doorbell)
{
    /* EAGAIN: the FIFO is full, and so readable. ENOMEM: retried, as no other
     * sender wakes the owner. */
    while (write(doorbell, "", 1) < 0 && (errno == ENOMEM || errno == EINTR))
        sched_yield();
}

/* Opens the doorbell of a peer; -1 and `errno`: failed. */
static int doorbell_open(const struct amg_shm_context *context,
    const struct amg_shm_peer *peer, uint8_t context_id)
{
    uint64_t word =
        atomic_load_explicit(&context->doorbell, memory_order_relaxed);
    char path[AMG_SHM_PATH_CAP];
    int doorbell = -1;

    if (word == 0) {
        amg_shm_files_doorbell(
            peer->region.name, peer->region.incarnation, context_id, path);
        return amg_spare_open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    }
    doorbell =
        amg_shm_files_open_of(peer->region.pid, (int)(word >> 32) - 1, S_IFIFO);
    /* The owner closed or died, and another file has the descriptor. */
    if (doorbell >= 0 && (uint32_t)doorbell_word(doorbell) != (uint32_t)word) {
        amg_spare_close(doorbell);
        errno = ENOENT;
        doorbell = -1;
    }
    return doorbell;
}

/* Logs the failure once per peer. */
static void cannot_wake(
    struct amg_shm_peer *peer, uint8_t context_id, int error)
{
    if ((peer->warned & WARNED_OF_DOORBELL) == 0)
        AMG_LOG_WARNING("shm",
            "cannot wake context %u of na+sm://%s (%s); trying again",
            context_id, peer->region.name, strerror(error));
    peer->warned |= WARNED_OF_DOORBELL;
}

/* Sets `events` at a context of a peer, and wakes the context if it is blocked.
 * `*doorbell` is our end of the FIFO, opened here when first needed. False: the
 * wakeup failed, and polls try again. */
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
        doorbell_write(*doorbell);
    if (amg_spare_is_out()) { /* no descriptor to keep */
        amg_spare_close(*doorbell);
        *doorbell = -1;
    }
    return true;
}

void amg_shm_doorbell_drop_locked(
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

/* Keeps the opened FIFO of a link, and closes the oldest of too many. */
static void doorbell_keep_locked(
    struct amg_shm_domain *domain, struct amg_shm_link *link)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    amg_list_push(&domain->doorbells.open, &link->kept);
    if (++domain->doorbells.count > domain->descriptors_max)
        amg_shm_doorbell_drop_locked(
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
    /* Release: the owner may take the bit by the event of another sender. */
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
        if (!context_raise(
                context, AMG_SHM_EVENT_PEERS, peer, (uint8_t)i, &doorbell))
            is_woken = false;
        if (doorbell >= 0)
            amg_spare_close(doorbell);
    }
    return is_woken;
}

void amg_shm_doorbell_self_locked(struct amg_shm_ep *ep)
{
    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    if (sleeper_claim(ep->inbox->context))
        doorbell_write(ep->inbox->doorbell);
}
