/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfer: one put or get of this process, through the segment.
 *
 *   origin                               exposer
 *   GET {key, place, chunk} -------->    checks, copies into the chunk
 *   copies out of the chunk <--------    DONE {code}
 *
 *   copies into the chunk
 *   PUT {key, place, chunk} -------->    checks, copies out of the chunk
 *                           <--------    DONE {code}
 *
 * A chunk is 64 KiB of the origin's segment. Its number identifies the piece:
 * only one piece at a time has it, and an answer must name the transfer, too.
 *
 *   AMG_SHM_BULK_GET, _PUT   cookie: the transfer   struct amg_shm_ask
 *   AMG_SHM_BULK_DONE        cookie: the transfer   struct amg_shm_told */
#ifndef AMG_SHM_SHM_TRANSFER_H
#define AMG_SHM_SHM_TRANSFER_H

#include "shm/shm_domain.h"

enum {
    AMG_SHM_BULK_GET = AMG_SHM_BULK,
    AMG_SHM_BULK_PUT,
    AMG_SHM_BULK_DONE,
};

enum {
    AMG_SHM_CHUNK_LEN = 65536,
    AMG_SHM_CHUNKS = 32,
    AMG_SHM_PIECES = 4,      /* of one transfer in flight */
    AMG_SHM_PEER_CHUNKS = 8, /* of all transfers to one peer */
};

static_assert(
    AMG_SHM_CHUNKS * AMG_SHM_CHUNK_LEN <= AMG_SHM_CHUNKS_LEN, "must fit");

struct amg_shm_ask {
    struct amg_shm_key key;
    uint64_t offset;
    uint64_t
        rest; /* of the transfer, from this piece on: all of it is checked, so a
                 forbidden access is refused before any byte is copied */
    uint32_t segment;
    uint32_t len; /* of the piece */
    uint32_t chunk;
    uint32_t goes_on; /* not the transfer's first piece: the offset may be
                       * beyond its segment */
};

static_assert(sizeof(struct amg_shm_ask) <= AMG_SHM_INLINE, "one cell");

struct amg_shm_told {
    uint32_t chunk;
    uint32_t code; /* an hg_return_t */
};

struct amg_shm_piece {
    uint32_t chunk;
    uint32_t len;              /* 0: not in flight */
    struct amg_seg_iter local; /* of a get: the destination of its bytes */
};

enum amg_shm_transfer_state {
    AMG_SHM_TRANSFER_MOVING,   /* on its endpoint's list: a poll can move it */
    AMG_SHM_TRANSFER_STARVING, /* on the other list: it waits for a chunk */
    AMG_SHM_TRANSFER_HELD,     /* on no list: a poll is working on it */
    AMG_SHM_TRANSFER_WAITING,  /* on no list: for answers */
    AMG_SHM_TRANSFER_ENDED, /* its operation has ended, answers are missing */
};

/* From the pool. The lock guards all but the fields that only polls use: begun,
 * landed, and the pieces while it is HELD. */
struct amg_shm_transfer {
    struct amg_link link;
    enum amg_shm_transfer_state state;
    struct amg_shm_domain *domain;
    struct amg_shm_ep *ep;
    struct amg_op *op;
    struct amg_shm_peer *peer;    /* a reference */
    struct amg_seg_iter local;    /* of the bytes not begun yet */
    struct amg_shm_access access; /* all of it */
    uint64_t begun;               /* bytes copied, or given to pieces */
    uint64_t landed;              /* bytes that arrived at their destination */
    uint32_t cookie;
    uint32_t in_motion; /* pieces */
    uint8_t context;    /* the target's, */
    uint8_t origin_context;
    bool is_cancelled;
    bool is_by_message; /* and has a cookie */
    bool is_gone;       /* the peer is gone; no answers will come */
    hg_return_t ret;    /* the peer's first error */
    struct amg_shm_piece pieces[AMG_SHM_PIECES];
};

static inline struct amg_shm_transfer *amg_shm_transfer_of(
    struct amg_link *link)
{
    return amg_container_of(link, struct amg_shm_transfer, link);
}

/* Lets the next poll continue the transfer. */
void amg_shm_transfer_wake_locked(struct amg_shm_transfer *transfer);
/* All answers have arrived, or none will. */
void amg_shm_transfer_free_locked(struct amg_shm_transfer *transfer);

/* Called by the progress owner, with the transfer HELD. */

/* Sends the pieces that the limits allow. HG_SUCCESS: all were sent; HG_AGAIN:
 * it continues when answers arrive; HG_BUSY: no chunk is free. Other codes end
 * it. */
hg_return_t amg_shm_chunk_move(struct amg_shm_transfer *transfer);
/* Whether there is a chunk for a piece of it. After HG_BUSY the caller checks
 * again before it waits, as the last chunk may have been freed meanwhile. */
bool amg_shm_chunk_is_free_locked(const struct amg_shm_transfer *transfer);
/* Frees the chunks of pieces that will not be answered. */
void amg_shm_chunk_forget_locked(struct amg_shm_transfer *transfer);

/* Handles a cell that a peer sent to context `context_id`. Called by its
 * progress owner without the lock, because it may copy 64 KiB; with the lock if
 * the context is closed. The cell is not used after the return. */
void amg_shm_transfer_message(struct amg_shm_domain *domain,
    struct amg_shm_peer *peer, uint8_t context_id,
    const struct amg_shm_cell *cell, bool has_lock);

#endif
