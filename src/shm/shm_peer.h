/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers of a domain: their references and address strings, our rings to their
 * contexts, and the doorbells of the contexts. */
#ifndef AMG_SHM_SHM_PEER_H
#define AMG_SHM_SHM_PEER_H

#include "shm/shm_domain.h"

/* Creates the peer that stands for this domain itself. */
hg_return_t amg_shm_peers_init(struct amg_shm_domain *domain);
/* Frees all peers. Nothing is in flight, and the caller holds the lock. */
void amg_shm_peers_fini(struct amg_shm_domain *domain);

/* Finds, and if unknown maps, the peer of that name and incarnation (0: any
 * living peer of that name); takes a reference. HG_ADDRNOTAVAIL: no such peer;
 * HG_NOMEM; HG_AGAIN: no descriptor is left now; HG_PROTOCOL_ERROR;
 * HG_NA_ERROR. NOTE(why): mapping, which is rare, makes system calls under the
 * lock, because two threads must not map one peer twice. */
hg_return_t amg_shm_peer_find_locked(struct amg_shm_domain *domain,
    const char *name, uint64_t incarnation, struct amg_shm_peer **ret_peer);

/* The peer of that name and incarnation, with a reference; a new peer is UNMET.
 * NULL: no memory. */
struct amg_shm_peer *amg_shm_peer_unmet_locked(
    struct amg_shm_domain *domain, const char *name, uint64_t incarnation);
/* Maps an UNMET peer at the first contact, which makes the peer ALIVE.
 * HG_HOSTUNREACH: the peer was GONE, or is GONE now; HG_NOMEM, HG_NA_ERROR: its
 * segment cannot be mapped now, which is logged once per peer. Makes system
 * calls under the lock, as amg_shm_peer_find_locked() does. */
hg_return_t amg_shm_peer_meet_locked(struct amg_shm_peer *peer);
/* The peer's rank in the job; UINT32_MAX: the peer is no rank of the node. */
uint32_t amg_shm_peer_rank(const struct amg_shm_peer *peer);

/* Whether the peer is a domain of this process. */
static inline bool amg_shm_peer_is_own_process(const struct amg_shm_peer *peer)
{
    const struct amg_shm_region *own = &peer->domain->region;

    return peer->region.pid == own->pid && peer->region.pid_ns == own->pid_ns;
}

/* Closes the pidfd: the kernel no longer reports the death of the peer. */
void amg_shm_peer_pidfd_close_locked(struct amg_shm_peer *peer);

/* Unmaps the peer's area (shm_copy.c), frees our slot in its table of keys. */
void amg_shm_peer_bulk_fini(struct amg_shm_bulk_peer *bulk);
/* Frees the peer and all that belongs to it. */
void amg_shm_peer_free_locked(struct amg_shm_peer *peer);
bool amg_shm_peer_is_idle_locked(const struct amg_shm_peer *peer);

/* Frees the peer if it has no references and nothing is in flight. */
static inline void amg_shm_peer_reap_locked(struct amg_shm_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (!AMG_LIKELY(peer->refs > 0) && amg_shm_peer_is_idle_locked(peer))
        amg_shm_peer_free_locked(peer);
}

static inline void amg_shm_peer_unref_locked(struct amg_shm_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    AMG_ASSERT(peer->refs > 0);
    peer->refs--;
    amg_shm_peer_reap_locked(peer);
}

/* The slots of the contract. */
struct amg_peer *amg_shm_addr_self(struct amg_domain *domain);
struct amg_peer *amg_shm_addr_ref(struct amg_peer *peer);
void amg_shm_addr_unref(struct amg_domain *domain, struct amg_peer *peer);
bool amg_shm_addr_is_self(
    const struct amg_domain *domain, const struct amg_peer *peer);
bool amg_shm_addr_is_same(const struct amg_domain *domain,
    const struct amg_peer *one, const struct amg_peer *other);
hg_return_t amg_shm_addr_format(const struct amg_domain *domain,
    const struct amg_peer *peer, char *ret_text, size_t *len);
hg_return_t amg_shm_addr_parse(
    struct amg_domain *domain, const char *text, struct amg_peer **ret_peer);

/* Lets polls try again to send to the peer or to wake it. */
static inline void amg_shm_peer_defer_locked(struct amg_shm_peer *peer)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (!amg_link_is_listed(&peer->blocked))
        amg_list_push(&peer->domain->blocked, &peer->blocked);
    atomic_store_explicit(&peer->domain->has_deferred, 1, memory_order_relaxed);
}

/* Bits of amg_shm_peer.warned. */
enum {
    AMG_SHM_WARNED_OF_SLOTS = 1,
    AMG_SHM_WARNED_OF_DOORBELL = 2,
    AMG_SHM_WARNED_OF_MAP = 4
};

/* Links: our rings to the contexts of a peer, each in a slot of that peer's
 * segment, claimed at first use, and the messages that wait (shm_link.c). */

void amg_shm_link_init(struct amg_shm_link *link);
/* Releases the claims of all links of the peer, and frees the links. */
void amg_shm_links_fini_locked(struct amg_shm_peer *peer);

/* Whether `poll_state` of one of our rings to the peer is `state`. */
bool amg_shm_link_has_state_locked(
    const struct amg_shm_peer *peer, enum amg_shm_poll_state state);
/* Releases the claims of all links. */
void amg_shm_link_leave_locked(struct amg_shm_peer *peer);

/* Opens the link to a context. HG_NOENTRY: the id is too large, or the peer has
 * opened contexts, but never this context; HG_HOSTUNREACH: the peer has closed,
 * so the call has made it GONE, and freed it if it had no references; HG_NOMEM.
 * Without a free slot, or room in /dev/shm, the link's messages wait. */
hg_return_t amg_shm_link_open_locked(struct amg_shm_peer *peer,
    uint8_t context_id, struct amg_shm_link **ret_link);

/* Whether the link has a slot, or gets a slot now. If not, polls try again. */
bool amg_shm_link_slot_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link);

/* Whether a message that takes no credit waits in the link. */
static inline bool amg_shm_link_is_waiting(const struct amg_shm_link *link)
{
    return !amg_list_is_empty(&link->control) ||
           !amg_list_is_empty(&link->queue);
}

static inline bool amg_shm_link_has_slot(const struct amg_shm_link *link)
{
    return link->claim != 0;
}

/* The link of a context, or NULL if none was opened. */
static inline struct amg_shm_link *amg_shm_link_at_locked(
    struct amg_shm_peer *peer, uint8_t context_id)
{
    AMG_ASSERT_HELD_BIAS(&peer->domain->lock);
    if (AMG_LIKELY(context_id == 0))
        return peer->first.out.ring == NULL ? NULL : &peer->first;
    return peer->more == NULL || context_id >= peer->region.max_contexts
               ? NULL
               : peer->more[context_id];
}

/* The next opened link of the peer from context `*at` on; moves `*at` behind
 * the context. NULL: no further link. */
static inline struct amg_shm_link *amg_shm_link_next_locked(
    const struct amg_shm_peer *peer, uint32_t *at)
{
    struct amg_shm_link *link = NULL;

    while (link == NULL && *at < peer->region.max_contexts)
        link = amg_shm_link_at_locked(
            (struct amg_shm_peer *)(uintptr_t)peer, (uint8_t)(*at)++);
    return link;
}

static inline hg_return_t amg_shm_link_find_locked(struct amg_shm_peer *peer,
    uint8_t context_id, struct amg_shm_link **ret_link)
{
    struct amg_shm_link *link = amg_shm_link_at_locked(peer, context_id);

    if (!AMG_LIKELY(link != NULL))
        return amg_shm_link_open_locked(peer, context_id, ret_link);
    *ret_link = link;
    return HG_SUCCESS;
}

/* Doorbells: the event bits of a context, and the FIFO that wakes its owner. */

/* Sets AMG_SHM_EVENT_RINGS for our ring, and wakes a blocked reader. */
void amg_shm_link_raise_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link);
/* Sets AMG_SHM_EVENT_PEERS at all open contexts of the peer, and wakes the
 * blocked owners. False: a wakeup failed. */
bool amg_shm_link_raise_all(struct amg_shm_peer *peer);

/* Wakes `ep` for work that another thread of this process posted. */
void amg_shm_doorbell_self_locked(struct amg_shm_ep *ep);

#endif
