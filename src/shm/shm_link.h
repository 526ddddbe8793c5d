/* SPDX-License-Identifier: BSD-3-Clause */
/* Our rings to the contexts of a peer: claimed at first use, and how its
 * reader is told of cells it does not look for. */
#ifndef AMG_SHM_SHM_LINK_H
#define AMG_SHM_SHM_LINK_H

#include "shm/shm_domain.h"

void amg_shm_link_init(struct amg_shm_link *link);
/* Gives the claims of all links of the peer back, and frees them. */
void amg_shm_link_fini_locked(struct amg_shm_peer *peer);
/* Does something wait in one of them? */
bool amg_shm_link_is_queued_locked(const struct amg_shm_peer *peer);
/* Has the peer said that it will not read one of them? */
bool amg_shm_link_is_refused_locked(const struct amg_shm_peer *peer);
/* Gives the claims of all back. */
void amg_shm_link_leave_locked(struct amg_shm_peer *peer);
/* Has the peer opened all of them, and so mapped our segment? */
bool amg_shm_link_is_seen_locked(const struct amg_shm_peer *peer);

/* Claims a ring. HG_NOENTRY: the peer will not have that context;
 * HG_HOSTUNREACH: it has closed, and is gone now, also from memory if nobody
 * had a share of it; HG_NOMEM. Where all its slots are taken, the link has
 * none, and takes what may wait in its queue. */
hg_return_t amg_shm_link_open_locked(struct amg_shm_peer *peer,
    uint8_t context_id, struct amg_shm_link **ret_link);

/* For what waits: has it a slot, or gets one now? Else polls try again. */
bool amg_shm_link_slot_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link);

static inline bool amg_shm_link_has_slot(const struct amg_shm_link *link)
{
    return link->claim != 0;
}

/* The link of a context, or NULL where none was opened. */
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

/* The reader does not look at the ring: tells it that there is a cell. */
void amg_shm_link_raise_locked(
    struct amg_shm_peer *peer, struct amg_shm_link *link);
/* Tells all contexts of the peer to look after their peers. False: one sleeps,
 * and could not be woken. */
bool amg_shm_link_raise_all(struct amg_shm_peer *peer);

#endif
