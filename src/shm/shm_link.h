/* SPDX-License-Identifier: BSD-3-Clause */
/* Our rings to the contexts of a peer: their claims, made at first use, and the
 * wakeup of readers that do not poll. */
#ifndef AMG_SHM_SHM_LINK_H
#define AMG_SHM_SHM_LINK_H

#include "shm/shm_domain.h"

void amg_shm_link_init(struct amg_shm_link *link);
/* Releases the claims of all links of the peer, and frees the links. */
void amg_shm_link_fini_locked(struct amg_shm_peer *peer);
/* Whether a message waits in one of them. */
bool amg_shm_link_is_queued_locked(const struct amg_shm_peer *peer);
/* Whether the peer refuses to read one of them. */
bool amg_shm_link_is_refused_locked(const struct amg_shm_peer *peer);
/* Releases the claims of all links. */
void amg_shm_link_leave_locked(struct amg_shm_peer *peer);
/* Whether the peer has opened all of them, and so mapped our segment. */
bool amg_shm_link_is_seen_locked(const struct amg_shm_peer *peer);

/* Claims a ring. HG_NOENTRY: the peer will never have that context;
 * HG_HOSTUNREACH: it has closed and is marked gone, and is freed if it had no
 * references; HG_NOMEM. If all its slots are taken, the link has none and only
 * queues. */
hg_return_t amg_shm_link_open_locked(struct amg_shm_peer *peer,
    uint8_t context_id, struct amg_shm_link **ret_link);

/* Whether the link has a slot or gets one now. If not, polls try again. */
bool amg_shm_link_slot_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link);

static inline bool amg_shm_link_has_slot(const struct amg_shm_link *link)
{
    return link->claim != 0;
}

/* The link of a context, or NULL if none was opened. */
static inline struct amg_shm_link *amg_shm_link_at_locked(
    struct amg_shm_peer *peer, uint8_t context_id)
{
    if (AMG_LIKELY(context_id == 0))
        return peer->first.out.ring == NULL ? NULL : &peer->first;
    return peer->more == NULL || context_id >= peer->region.max_contexts
               ? NULL
               : peer->more[context_id];
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

/* Raises news for a cell in a ring that the reader does not poll. */
void amg_shm_link_raise_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link);
/* Raises news at all contexts of the peer so that they check their peers.
 * False: one is blocked and could not be woken. */
bool amg_shm_link_raise_all(struct amg_shm_peer *peer);

#endif
