/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes of the provider: pieces of a transfer. */
#ifndef AMG_OFI_BACKEND_OFI_POST_H
#define AMG_OFI_BACKEND_OFI_POST_H

#include "ofi_backend/ofi_lease.h"

enum { AMG_OFI_IOVS = 8 /* pieces of memory that one post names */ };

/* One put or get. In the pool while nobody uses it. */
struct amg_ofi_transfer {
    struct amg_link link;    /* on its lease's list, or the domain's, or none */
    struct amg_link of_peer; /* on its peer's list */
    struct amg_op *op;
    struct amg_ofi_ep *ep;
    struct amg_peer *peer;       /* a reference */
    struct amg_ofi_lease *lease; /* NULL: it goes by messages */
    struct amg_ofi_key key;
    struct amg_ofi_mem *mem;   /* the local side's; NULL: not exposed */
    struct amg_seg_iter here;  /* what is not posted yet, and */
    struct amg_seg_iter there; /* where it goes to or comes from */
    uint64_t len;
    uint64_t posted;
    uint64_t done;
    struct amg_list pieces; /* in flight */
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
    struct amg_seg_iter here; /* of a get by message: where the bytes go */
    uint64_t len;
    uint32_t cookie; /* of a message */
    uint32_t mr_count;
    struct fid_mr *mrs[AMG_OFI_IOVS]; /* for this piece alone */
};

/* Posts the next bytes of its transfer, whose lease is open. HG_AGAIN: no room;
 * HG_NOMEM, or what the provider refused it with. Nothing has changed then. */
hg_return_t amg_ofi_post_piece_locked(struct amg_ofi_piece *piece);
/* The provider no longer uses memory of the piece. */
void amg_ofi_post_left_locked(struct amg_ofi_piece *piece);
/* Translates libfabric's code of a failed access to ours. */
hg_return_t amg_ofi_post_error(int error);

#endif
