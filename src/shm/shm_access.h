/* SPDX-License-Identifier: BSD-3-Clause */
/* Access to a peer's exposed memory: the check in its table before this process
 * copies.
 *
 *   claim     once per peer: takes a slot for announcements
 *   enter     announces the copy, then checks that it is allowed
 *   leave     ends the copy; the peer may free the memory
 *
 * The peer's unreg() waits between enter and leave, so a process holds an
 * access for one step of a copy only. */
#ifndef AMG_SHM_SHM_ACCESS_H
#define AMG_SHM_SHM_ACCESS_H

#include "shm/shm_keys.h"

/* Identity of this process in the peer's table; `id` is random, above 1. */
struct amg_shm_who {
    uint64_t id;
    uint64_t start_time;
    uint32_t pid;
};

/* A slot in `table`; NULL: all are taken, none by a process known to be
 * dead. */
struct amg_shm_visitor *amg_shm_access_claim(struct amg_shm_table *table,
    const struct amg_shm_who *who, amg_shm_life_fn life);
/* Accepts NULL. No access is in progress. */
void amg_shm_access_release(struct amg_shm_visitor *visitor);

/* Rest of a peer's exposed memory from one byte on, as its table describes
 * it. */
struct amg_shm_view {
    uint64_t at;  /* address at the peer, */
    uint64_t len; /* and bytes left in this segment */
    uint64_t end; /* of this segment, from the start of the list */
    const struct amg_shm_listed *next; /* the segments behind it; NULL: none, */
    const struct amg_shm_listed *stop; /* and their end */
};

/* HG_SUCCESS: `*ret_view` starts at the access and is valid until leave with
 * `*ret_visit`. HG_NOENTRY, HG_PERMISSION, HG_OVERFLOW: not allowed.
 * HG_OPNOTSUPPORTED: not in the table, ask by message. HG_AGAIN: too many
 * threads of this process have an access. */
hg_return_t amg_shm_access_enter(struct amg_shm_table *table,
    struct amg_shm_visitor *visitor, const struct amg_shm_access *access,
    unsigned *ret_visit, struct amg_shm_view *ret_view);
void amg_shm_access_leave(struct amg_shm_visitor *visitor, unsigned visit);

/* Takes the longest run of adjacent bytes, at most `max`, and moves behind it.
 * 0: the list has ended, or is no longer consistent. */
uint64_t amg_shm_view_take(
    struct amg_shm_view *view, uint64_t max, uint64_t *ret_at);

#endif
