/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets: what a domain, an endpoint and a peer keep for them, and where
 * the other files call in.
 *
 *   domain opens, closes      amg_shm_bulk_open, _close
 *   endpoint polls            amg_shm_bulk_poll, when has_moving is set
 *   endpoint is to sleep      not while has_moving is set
 *   endpoint closes           amg_shm_bulk_ep_close
 *   operation is cancelled    amg_shm_bulk_cancel_locked
 *   cell of kind >= BULK      amg_shm_bulk_message
 *   peer is gone              amg_shm_bulk_peer_gone_locked
 *   peer's segment is let go  amg_shm_bulk_peer_fini
 *
 * Ends of operations come through amg_shm_op_end_locked(). A transfer holds a
 * share of its peer. */
#ifndef AMG_SHM_SHM_BULK_H
#define AMG_SHM_SHM_BULK_H

#include "base/pool.h"
#include "shm/shm_keys.h"
#include "shm/shm_visit.h"
#include "transport/table.h"
#include "transport/transport.h"

struct amg_shm_cell;
struct amg_shm_domain;
struct amg_shm_ep;
struct amg_shm_peer;

/* AMALGAM_SHM_COPY: which ways may be taken. */
enum amg_shm_copy {
    AMG_SHM_COPY_AUTO,    /* direct, else cma, else segment */
    AMG_SHM_COPY_DIRECT,  /* direct, else segment */
    AMG_SHM_COPY_CMA,     /* cma, else segment */
    AMG_SHM_COPY_SEGMENT, /* always */
};

/* In the domain. */
struct amg_shm_bulk {
    struct amg_shm_keys keys;
    struct amg_shm_who who;
    enum amg_shm_copy copy;
    bool lets_peers_in;   /* counts among those for whom Yama was told so */
    struct amg_pool pool; /* of transfers */
    struct amg_table transfers; /* those that peers answer; the lock's */
    uint32_t chunks_used;       /* a bit per chunk; the lock's */
    uint32_t chunks_reserved;   /* those that may be written to; the same */
};

/* In the endpoint; all zero but the lists at the start. */
struct amg_shm_bulk_ep {
    struct amg_list moving;   /* transfers that a poll can move; the lock's */
    struct amg_list starving; /* that wait for a chunk; the lock's */
    /* `moving` is not empty: a hint, looked at without the lock. */
    _Atomic uint32_t has_moving;
    /* What posts have copied since a poll told ends: a bound, written under the
     * lock and looked at without it. */
    _Atomic uint64_t copied;
};

/* In the peer; all zero at the start. What was found out about the ways to it,
 * when the first transfer wanted to know. */
struct amg_shm_bulk_peer {
    struct amg_lock lock; /* guards the finding out */
    /* 1: the rest is set and constant. Release by who found out, acquire. */
    _Atomic uint32_t is_known;
    /* 1: cross-memory copies are allowed; withdrawn when one is refused. */
    _Atomic uint32_t has_cma;
    /* 1: posts leave it alone. A hint: what is copied nevertheless ends as if
     * the peer had gone later. Written under the lock, read without it. */
    _Atomic uint32_t is_gone;
    struct amg_shm_table *table;
    struct amg_shm_visitor *visitor; /* NULL: segment only */
    uint64_t area_base;              /* where the peer's area is at the peer, */
    uint64_t area_len;
    char *area;           /* and here; NULL: no direct way */
    uint32_t chunks_used; /* by transfers to it; the domain's lock */
};

/* The region is made. */
void amg_shm_bulk_open(struct amg_shm_domain *domain);
/* All memory is unregistered, all endpoints are closed; the peers are there
 * still. */
void amg_shm_bulk_close(struct amg_shm_domain *domain);
void amg_shm_bulk_ep_open(struct amg_shm_ep *ep);
/* No poll is under way: its operations end with HG_CANCELED, on `done`. */
void amg_shm_bulk_ep_close_locked(struct amg_shm_ep *ep);
/* Nothing is sent to the peer or copied from it any more: what waits for its
 * answer ends with HG_HOSTUNREACH. */
void amg_shm_bulk_peer_gone_locked(
    struct amg_shm_domain *domain, struct amg_shm_peer *peer);
/* Before the peer's segment is unmapped. */
void amg_shm_bulk_peer_fini(struct amg_shm_peer *peer);

/* Copies a step, at most about a MiB; by the progress owner, without the
 * lock. What ended is on the endpoint's done list. */
void amg_shm_bulk_poll(struct amg_shm_ep *ep);
static inline bool amg_shm_bulk_is_moving(const struct amg_shm_bulk_ep *bulk)
{
    return atomic_load_explicit(&bulk->has_moving, memory_order_relaxed) != 0;
}
/* The operation is in state AMG_SHM_OP_BULK. */
void amg_shm_bulk_cancel_locked(struct amg_shm_ep *ep, struct amg_op *op);
/* What a peer sent to context `context_id`. By its progress owner without the
 * lock, because it may copy 64 KiB; with it where the context is closed. The
 * cell is not used after the return. */
void amg_shm_bulk_message(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint8_t context_id,
    const struct amg_shm_cell *cell, bool has_lock);

/* The slots of the contract. */
hg_return_t amg_shm_bulk_reg(struct amg_domain *domain,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem);
hg_return_t amg_shm_bulk_unreg(
    struct amg_domain *domain, struct amg_mem *mem, unsigned timeout_ms);
void amg_shm_bulk_key(const struct amg_mem *mem, struct amg_key *ret_key);
hg_return_t amg_shm_bulk_put(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op);
hg_return_t amg_shm_bulk_get(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op);

#endif
