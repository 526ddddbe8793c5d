/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets: reads and writes of the provider, or messages. */
#ifndef AMG_OFI_BACKEND_OFI_RMA_H
#define AMG_OFI_BACKEND_OFI_RMA_H

#include "ofi_backend/ofi_lease.h"

enum { AMG_OFI_IOVS = 8 /* pieces of memory that one post names */ };

/* One put or get. In the pool while nobody uses it. */
struct amg_ofi_transfer {
    struct amg_link link;    /* on its lease's list, or the domain's, or none */
    struct amg_link of_peer; /* on its peer's list */
    struct amg_op *op;
    struct amg_ofi_ep *ep;
    struct amg_peer *peer;       /* a share */
    struct amg_ofi_lease *lease; /* NULL: it goes by messages */
    struct amg_ofi_key key;
    struct amg_ofi_mem *mem; /* the local side's; NULL: not exposed */
    struct amg_place here;   /* what is not posted yet, and */
    struct amg_place there;  /* where it goes to or comes from */
    uint64_t len;
    uint64_t posted;
    uint64_t done;
    struct amg_list pieces; /* in motion */
    uint32_t piece_count;
    uint8_t target_context;
    bool is_put;
    bool is_over;    /* nothing more is posted: `ret` says why */
    hg_return_t ret; /* of what went wrong first */
};

/* One read, write or message of a transfer. In the pool while nobody uses it.
 */
struct amg_ofi_piece {
    struct amg_ofi_work work;
    struct amg_link link; /* on its transfer's list */
    struct amg_ofi_transfer *transfer;
    struct amg_place here; /* of a get by message: where the bytes go */
    uint64_t len;
    uint32_t cookie; /* of a message */
    uint32_t mr_count;
    struct fid_mr *mrs[AMG_OFI_IOVS]; /* for this piece alone */
};

/* The slots of the contract. */
hg_return_t amg_ofi_rma_put(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op);
hg_return_t amg_ofi_rma_get(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op);

/* Posts what can be. */
void amg_ofi_rma_move_locked(struct amg_ofi_domain *domain);

/* By the lease: `link` is that of a transfer that waited for it. */
void amg_ofi_rma_granted_locked(struct amg_link *link);
void amg_ofi_rma_denied_locked(struct amg_link *link, hg_return_t ret);
/* The memory goes away: what is not posted yet will not be. */
void amg_ofi_rma_revoked_locked(struct amg_ofi_lease *lease);

/* Posts no more of it; it ends when nothing of it moves. */
void amg_ofi_rma_stop_locked(
    struct amg_ofi_transfer *transfer, hg_return_t ret);
/* A piece is through. `transfer` may have ended then. */
void amg_ofi_rma_piece_end_locked(struct amg_ofi_piece *piece, hg_return_t ret);
/* NULL: no memory. */
struct amg_ofi_piece *amg_ofi_rma_piece_get_locked(
    struct amg_ofi_transfer *transfer, uint64_t len);

void amg_ofi_rma_cancel_locked(
    struct amg_ofi_domain *domain, struct amg_op *op);
/* The same for all of an endpoint that is closing. */
void amg_ofi_rma_drop_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_ep *ep);
/* The endpoint is closed while pieces still move: nobody is told of them. */
void amg_ofi_rma_detach_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_ep *ep);
/* The provider will tell of no piece any more, whose endpoints are all closed.
 * The transfers end with their peers. */
void amg_ofi_rma_abandon_locked(struct amg_ofi_domain *domain);
/* The peer is gone. */
void amg_ofi_rma_lost_locked(struct amg_peer *peer);

#endif
