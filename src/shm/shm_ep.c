/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoint of a context: its polls, and its waits.
 *
 * A poll that finds nothing reads the event bits of the context, the next cell
 * of each active ring and some private words, and takes no lock. One poll in
 * RARE_EVERY also does a rare step (silent rings, closed contexts, dead peers).
 * Model: tests/models/shm_ring.pml. */
#include "shm/shm_inbox.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "shm/shm_bulk.h"
#include "shm/shm_files.h"
#include "shm/shm_peer.h"
#include "shm/shm_send.h"

#define LIVENESS_NS (100 * AMG_NS_PER_MS)

enum {
    RARE_EVERY = 64, /* polls per rare step */
    PRUNE_EVERY = 8, /* rare steps per check of silent rings */
    CLOCK_EVERY = 8  /* rare steps per reading of the clock */
};

static bool epoll_add(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void doorbell_close(struct amg_shm_ep *ep)
{
    if (ep->epoll >= 0)
        close(ep->epoll);
    ep->epoll = -1;
}

/* Creates the epoll set of an endpoint, and the FIFO of its inbox.
 * HG_NA_ERROR. */
static hg_return_t doorbell_open(struct amg_shm_ep *ep)
{
    const struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);
    char path[AMG_SHM_PATH_CAP];

    AMG_ASSERT(ep->inbox->context_id == ep->base.context_id);
    amg_shm_files_doorbell(domain->region.name, domain->region.incarnation,
        ep->base.context_id, path);
    ep->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (ep->epoll >= 0 && amg_shm_inbox_doorbell_make(ep->inbox, path) &&
        epoll_add(ep->epoll, ep->inbox->doorbell) &&
        (domain->deaths.epoll < 0 ||
            epoll_add(ep->epoll, domain->deaths.epoll)))
        return HG_SUCCESS;
    AMG_LOG_ERROR(
        "shm", "cannot make the doorbell %s: %s", path, strerror(errno));
    doorbell_close(ep);
    return HG_NA_ERROR;
}

/* Takes the ended operations of `done`, and late replies of the domain. */
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
    if (amg_shm_inbox_has_events(inbox))
        amg_shm_inrings_events_locked(inbox);
    /* Bounded: a busy peer may add cells without end. */
    if (amg_shm_inbox_find(inbox, &at))
        (void)amg_shm_msg_take_locked(
            inbox, NULL, at, inbox->active_count * AMG_SHM_CELLS, NULL);
    if (inbox->leaving_count > 0)
        amg_shm_inrings_reap_locked(inbox);
}

void amg_shm_poll_all_closed_locked(struct amg_shm_domain *domain, bool is_last)
{
    AMG_ASSERT_HELD_BIAS(&domain->lock);
    for (uint32_t i = 0; i < domain->max_contexts; i++) {
        if (domain->inboxes[i] == NULL && is_last)
            amg_shm_inbox_refuse_unopened_locked(domain, (uint8_t)i);
        if (domain->inboxes[i] != NULL && !domain->inboxes[i]->is_open)
            poll_closed_locked(domain->inboxes[i]);
    }
}

/* Logs peers that have not answered for long. Also detects that such a peer has
 * called exec(), which a pidfd does not report. */
static void silent_check_locked(struct amg_shm_domain *domain)
{
    struct amg_shm_peer *next = NULL;
    struct amg_shm_peer *peer = NULL;

    AMG_ASSERT_HELD_BIAS(&domain->lock);
    if (!amg_calls_watch_is_due_locked(&domain->calls, &domain->base))
        return;
    next = amg_shm_peer_next_locked(domain, NULL);
    while ((peer = next) != NULL) {
        next = amg_shm_peer_next_locked(domain, peer);
        if (peer->watched.silent > 0 && !peer->watched.is_heard &&
            amg_shm_files_owner(&peer->region) == AMG_LIFE_DEAD)
            domain->peer_gone_locked(peer, true);
        else
            amg_calls_watch_locked(&domain->calls, &peer->calls, &peer->watched,
                peer->id, amg_calls_waiting(&domain->bulk.transfers, peer->id));
    }
    amg_calls_watched_locked(&domain->calls);
}

/* At most once in LIVENESS_NS, looks for dead peers and for silent peers. */
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

/* Work of a poll that found no message. */
static void idle_step_locked(struct amg_shm_ep *ep, bool was_blocked)
{
    struct amg_shm_domain *domain = amg_shm_domain_of_ep(ep);

    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    idle_poll_count(domain);
    deferred_step_locked(domain);
    if (was_blocked) { /* no message ended the wait: perhaps a death did */
        amg_shm_liveness_check_deaths_locked(domain);
        liveness_step_locked(ep);
    }
}

/* Work of one poll in RARE_EVERY, also if polls find messages: a peer that
 * keeps this context busy must not keep other peers from replies and slots. */
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
        amg_shm_inbox_prune(inbox);
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
    /* A sender may write its byte after this read: a later call reads the byte,
     * see `bytes_due`. A byte left in the FIFO would end all later waits. */
    len = read(inbox->doorbell, bytes,
        inbox->bytes_due < sizeof(bytes) ? inbox->bytes_due : sizeof(bytes));
    if (len > 0)
        inbox->bytes_due -= (uint32_t)len;
}

/* Frees leaving rings and moves transfers, if their bits of `due` are set. */
static void due_step_locked(struct amg_shm_ep *ep)
{
    struct amg_shm_inbox *inbox = ep->inbox;

    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    if (amg_shm_is_due(ep, AMG_SHM_DUE_LEAVING)) {
        amg_shm_inrings_reap_locked(inbox);
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
    if (amg_shm_inbox_has_events(inbox))
        amg_shm_inrings_events_locked(inbox);
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

/* Takes ended operations; calls ep_poll_all() if there is any other work. */
AMG_NOINLINE static unsigned ep_poll(
    struct amg_shm_ep *ep, unsigned max, struct amg_events *ret_events)
{
    struct amg_shm_inbox *inbox = ep->inbox;
    unsigned count = 0;
    uint32_t at = 0;

    if (ep->until_rare == 0 || amg_shm_inbox_has_events(inbox) ||
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
                    !amg_shm_inbox_has_events(inbox)))
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

/* Retries deferred messages. True: a poll would find work besides its rings. */
static bool ep_is_busy_locked(struct amg_shm_ep *ep)
{
    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    deferred_step_locked(amg_shm_domain_of_ep(ep));
    return amg_shm_is_due(ep, AMG_SHM_DUE_DONE | AMG_SHM_DUE_BULK);
}

/* Announces that the owner is about to block. False: the owner must not block.
 * `*ret_is_blocked`: a message waits until a peer makes room. */
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

/* The last check, after the fence: retries deferred messages. False: there is
 * work besides the rings, so the owner must poll and not block. */
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
    bool is_blocked = false;

    cpu_publish(ep);
    if (!block_announce(ep, &is_blocked))
        return false;
    /* amg_shm_inbox_prepare_block() fences between the two checks. */
    if (amg_shm_inbox_prepare_block(ep->inbox, is_blocked) && block_confirm(ep))
        return true;
    amg_bias_lock(&amg_shm_domain_of_ep(ep)->lock);
    poll_disarm_locked(ep);
    amg_bias_unlock(&amg_shm_domain_of_ep(ep)->lock);
    return false;
}

/* Whether a context of the peer last waited on `cpu`. */
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
    rc = amg_shm_inbox_open_locked(domain, context_id, &ep->inbox);
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
    amg_shm_inbox_close_locked(ep->inbox);
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
    amg_shm_inbox_close_locked(ep->inbox);
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
