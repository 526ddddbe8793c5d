/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets: this process copies, or the peer copies through the segment.
 *
 *   domain opens, closes      amg_shm_bulk_open, _close
 *   endpoint polls            amg_shm_bulk_poll, when AMG_SHM_DUE_BULK is set
 *   endpoint may block        not while AMG_SHM_DUE_BULK is set
 *   endpoint closes           amg_shm_bulk_ep_close_locked
 *   operation is cancelled    amg_shm_bulk_cancel_locked
 *   cell of kind >= BULK      amg_shm_transfer_message
 *   peer closed or died       amg_shm_bulk_peer_gone_locked
 *
 * amg_shm_op_end_locked() completes the operations. A transfer holds a
 * reference to its peer. */
#ifndef AMG_SHM_SHM_BULK_H
#define AMG_SHM_SHM_BULK_H

#include "shm/shm_domain.h"

/* To be called after the region was created. */
void amg_shm_bulk_open(struct amg_shm_domain *domain);
/* To be called after all memory was unregistered and all endpoints were closed,
 * while the peers still exist. */
void amg_shm_bulk_close(struct amg_shm_domain *domain);
/* Ends the puts and gets of `ep` with HG_CANCELED. No poll of `ep` may run. */
void amg_shm_bulk_ep_close_locked(struct amg_shm_ep *ep);
/* Ends the puts and gets with a peer that closed or died: HG_HOSTUNREACH. */
void amg_shm_bulk_peer_gone_locked(
    struct amg_shm_domain *domain, struct amg_shm_peer *peer);

/* Moves the transfers of `ep`: copies up to about 1 MiB, not counting copies to
 * bounce buffers, and puts ended operations on `done`. Called by the progress
 * owner without the lock. */
void amg_shm_bulk_poll(struct amg_shm_ep *ep);
/* Cancels an operation in state AMG_SHM_OP_BULK. */
void amg_shm_bulk_cancel_locked(struct amg_shm_ep *ep, struct amg_op *op);

/* Functions of the contract. */
hg_return_t amg_shm_bulk_reg(struct amg_domain *domain,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem);
hg_return_t amg_shm_bulk_unreg(
    struct amg_domain *domain, struct amg_mem *mem, unsigned timeout_ms);
hg_return_t amg_shm_bulk_put(struct amg_ep *ep, struct amg_target to,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op);
hg_return_t amg_shm_bulk_get(struct amg_ep *ep, struct amg_target to,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op);

/* Copies between this process and the memory of a peer (shm_copy.c). */

/* Checks all of `access`, copies its first bytes between `local` and the peer,
 * and moves `local` behind the copied bytes. `*budget` bounds the copied bytes,
 * and is reduced by the copied bytes and, for several runs, a cost per run.
 * HG_SUCCESS: `*ret_len` > 0 bytes were copied. HG_OPNOTSUPPORTED: the peer has
 * to copy; HG_AGAIN: try again later. Other codes end the operation; the cause
 * was logged, except for HG_HOSTUNREACH and some cases of HG_PROTOCOL_ERROR. */
hg_return_t amg_shm_copy_step(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, const struct amg_shm_access *access,
    struct amg_seg_iter *local, uint64_t *budget, uint64_t *ret_len);

/* Logs an access that was refused; `who`: the peer's segment. */
void amg_shm_access_refused(const struct amg_shm_region *who,
    const struct amg_shm_access *access, hg_return_t rc);

/* Transfer: a put or get that its post did not complete. Polls copy the bytes,
 * or ask the exposer to copy them through the segment (shm_transfer.c):
 *
 *   origin                                exposer
 *   GET {key, place, buffer} -------->    checks, copies into the buffer
 *   copies out of the buffer <--------    DONE {code}
 *
 *   copies into the buffer
 *   PUT {key, place, buffer} -------->    checks, copies out of the buffer
 *                            <--------    DONE {code}
 *
 * The buffer is a bounce buffer of 64 KiB in the segment of the origin. DONE
 * names the transfer and the number of the buffer, which identifies the
 * fragment: a buffer belongs to one fragment at a time.
 *
 *   AMG_SHM_BULK_GET, _PUT   cookie: the transfer   struct amg_shm_bulk_request
 *   AMG_SHM_BULK_DONE        cookie: the transfer   struct amg_shm_bulk_done */

enum {
    AMG_SHM_BULK_GET = AMG_SHM_BULK,
    AMG_SHM_BULK_PUT,
    AMG_SHM_BULK_DONE,
};

enum {
    AMG_SHM_BOUNCE_LEN = 65536,
    AMG_SHM_BOUNCE_COUNT = 32,
    AMG_SHM_FRAGMENTS = 4,       /* in flight, of one transfer */
    AMG_SHM_PEER_BOUNCE_MAX = 8, /* bounce buffers in use for one peer */
};

static_assert(
    AMG_SHM_BOUNCE_COUNT * AMG_SHM_BOUNCE_LEN <= AMG_SHM_BOUNCE_TOTAL_LEN,
    "must fit");

struct amg_shm_bulk_request {
    struct amg_shm_key key;
    uint64_t offset;
    /* Bytes of this fragment and of the later fragments. The exposer checks
     * access to all of them before it copies: a refusal changes nothing. */
    uint64_t rest;
    uint32_t segment;
    uint32_t len; /* of the fragment */
    uint32_t bounce;
    uint32_t goes_on; /* amg_shm_access.goes_on */
};

static_assert(
    sizeof(struct amg_shm_bulk_request) <= AMG_SHM_INLINE, "one cell");

struct amg_shm_bulk_done {
    uint32_t bounce;
    uint32_t code; /* an hg_return_t */
};

struct amg_shm_fragment {
    uint32_t bounce;
    uint32_t len;              /* bytes; 0: not in flight */
    struct amg_seg_iter local; /* of a get: destination of the bytes */
};

enum amg_shm_transfer_state {
    AMG_SHM_TRANSFER_READY,   /* on `ready`, for the next poll */
    AMG_SHM_TRANSFER_BLOCKED, /* on `blocked`: waits for a bounce buffer */
    AMG_SHM_TRANSFER_POLLED,  /* on no list: a poll moves the transfer now */
    AMG_SHM_TRANSFER_WAITING, /* on no list: waits for the peer's answers */
    AMG_SHM_TRANSFER_ENDED,   /* operation ended, fragments still in flight */
};

/* From bulk.pool. The domain's lock guards all members but those that only the
 * progress owner of `ep` uses: `local`, `begun`, `arrived`, `ret` and, in the
 * state POLLED, the fragments. */
struct amg_shm_transfer {
    struct amg_link link;
    enum amg_shm_transfer_state state;
    struct amg_shm_domain *domain;
    struct amg_shm_ep *ep;
    struct amg_op *op;
    struct amg_shm_peer *peer;    /* a reference */
    struct amg_seg_iter local;    /* position of the first byte not begun */
    struct amg_shm_access access; /* the whole transfer */
    uint64_t begun;               /* bytes copied, or given to fragments */
    uint64_t arrived;             /* bytes that arrived at their destination */
    uint32_t cookie;
    uint32_t in_flight; /* number of fragments in flight */
    uint8_t origin_context;
    bool is_cancelled;
    bool is_by_message; /* the peer copies; `cookie` is valid */
    bool is_gone;       /* the peer closed or died: no answers will come */
    hg_return_t ret;    /* the peer's first error */
    struct amg_shm_fragment fragments[AMG_SHM_FRAGMENTS];
};

static inline struct amg_shm_transfer *amg_shm_transfer_of(
    struct amg_link *link)
{
    return amg_container_of(link, struct amg_shm_transfer, link);
}

/* Limit of the bytes that one poll copies, in about 0.1 ms; messages wait until
 * then. Each of several runs counts as more than its bytes (shm_copy.c). */
enum { AMG_SHM_POLL_LEN = 1 << 20 };

static inline char *amg_shm_bounce_buf(
    const struct amg_shm_region *region, uint32_t bounce)
{
    AMG_ASSERT(bounce < AMG_SHM_BOUNCE_COUNT);
    return (char *)region->bounce_bufs + (size_t)bounce * AMG_SHM_BOUNCE_LEN;
}

void amg_shm_transfer_wake_locked(struct amg_shm_transfer *transfer);
/* When the domain closes: frees the transfers that still wait for answers. */
void amg_shm_transfers_drop_locked(struct amg_shm_domain *domain);

/* Handles a cell of a transfer that a peer sent to context `context_id`. For an
 * open context, the progress owner calls without the lock, because the function
 * may copy 64 KiB; for a closed context, the caller holds the lock. */
void amg_shm_transfer_message(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint8_t context_id,
    const struct amg_shm_cell *cell, bool has_lock);
/* The case of amg_shm_transfer_message() for a cell of kind DONE. */
void amg_shm_transfer_done(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint8_t context_id,
    const struct amg_shm_cell *cell, bool has_lock);

/* Takes the lock, unless the caller holds it already (closed context). */
static inline void amg_shm_bulk_lock(
    struct amg_shm_domain *domain, bool has_lock)
{
    if (!has_lock)
        amg_bias_lock(&domain->lock);
}

static inline void amg_shm_bulk_unlock(
    struct amg_shm_domain *domain, bool has_lock)
{
    if (!has_lock)
        amg_bias_unlock(&domain->lock);
}

#endif
