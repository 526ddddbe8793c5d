/* SPDX-License-Identifier: BSD-3-Clause */
/* A look into a peer's table of exposed memory, before copying by ourselves.
 *
 *   claim     once per peer: a place to announce ourselves in
 *   enter     announces the copy, then checks that it is allowed
 *   leave     the copy is done; the peer may free the memory
 *
 * Between enter and leave the peer's unreg() waits, so a process stays inside
 * for one step of a copy only. */
#ifndef AMG_SHM_SHM_ACCESS_H
#define AMG_SHM_SHM_ACCESS_H

#include "shm/shm_keys.h"

/* Who we are, in the peer's table; `id` is random, above 1. */
struct amg_shm_who {
    uint64_t id;
    uint64_t start_time;
    uint32_t pid;
};

/* A place in `table`; NULL: all are taken, by nobody who is known to be dead.
 */
struct amg_shm_visitor *amg_shm_access_claim(struct amg_shm_table *table,
    const struct amg_shm_who *who, amg_shm_life_fn life);
/* NULL is fine. Nobody is inside. */
void amg_shm_access_release(struct amg_shm_visitor *visitor);

/* Exposed memory from a byte on, as the table of its exposer has it. */
struct amg_shm_view {
    uint64_t at;  /* where it is at the peer, */
    uint64_t len; /* and how much of this segment follows */
    uint64_t end; /* of this segment, from the start of the list */
    const struct amg_shm_listed *next; /* those behind it; NULL: none, */
    const struct amg_shm_listed *stop; /* up to here */
};

/* HG_SUCCESS: `*ret_view` begins where the access does, and is valid until
 * leave with `*ret_visit`. HG_NOENTRY, HG_PERMISSION, HG_OVERFLOW: not allowed.
 * HG_OPNOTSUPPORTED: the table does not hold it, ask by message. HG_AGAIN: too
 * many of our threads are inside. */
hg_return_t amg_shm_access_enter(struct amg_shm_table *table,
    struct amg_shm_visitor *visitor, const struct amg_shm_access *access,
    unsigned *ret_visit, struct amg_shm_view *ret_view);
void amg_shm_access_leave(struct amg_shm_visitor *visitor, unsigned visit);

/* Takes the longest run of adjacent bytes, at most `max`, and moves behind it.
 * 0: the list has ended, or makes no sense any more. */
uint64_t amg_shm_view_take(
    struct amg_shm_view *view, uint64_t max, uint64_t *ret_at);

#endif
