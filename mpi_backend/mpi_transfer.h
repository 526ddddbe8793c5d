/* SPDX-License-Identifier: BSD-3-Clause */
/* One put or get of ours: how it begins, and how it ends. */
#ifndef AMG_MPI_BACKEND_MPI_TRANSFER_H
#define AMG_MPI_BACKEND_MPI_TRANSFER_H

#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_stream.h"

/* Where a transfer stands, as the peer sees it. */
enum amg_mpi_transfer_state {
    AMG_MPI_TRANSFER_QUEUED,    /* waits for others to the same peer */
    AMG_MPI_TRANSFER_UNSTARTED, /* its turn, but nothing was sent yet */
    AMG_MPI_TRANSFER_ASKED,     /* the first message is out */
    AMG_MPI_TRANSFER_MOVING,    /* a put whose peer has posted receives */
    AMG_MPI_TRANSFER_ANSWERED,  /* the peer has said its last word */
    AMG_MPI_TRANSFER_AWAY,      /* goes by a window: its trip has it */
};

/* From the pool; in the table of transfers until it ends. */
struct amg_mpi_transfer {
    struct amg_link link; /* in the peer's queue, or on the moving list */
    struct amg_mpi_ep *ep;
    struct amg_op *op; /* NULL: ended before the peer's last word */
    enum amg_mpi_transfer_state state;
    uint32_t cookie;
    uint8_t context;        /* the target's */
    uint8_t origin_context; /* where answers go; the endpoint may be closed */
    bool is_put;
    bool is_small;        /* moves inside of messages */
    bool is_ahead;        /* a put whose first pieces go unasked */
    bool is_cancelled;    /* by the poster */
    bool is_stopped;      /* no further piece is sent, and the peer knows */
    bool is_withdrawn;    /* a get that took its receives back */
    hg_return_t ret;      /* the peer's last word */
    uint64_t deadline_ns; /* of a cancelled get */
    void *scratch;        /* where late pieces go */
    struct amg_mpi_trip *trip; /* through a window; NULL: by messages */
    struct amg_mpi_access access;
    struct amg_mpi_stream stream;
};

/* Bytes of one, for the pool. */
size_t amg_mpi_transfer_len(void);

/* The slots of the contract. */
hg_return_t amg_mpi_transfer_put(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op);
hg_return_t amg_mpi_transfer_get(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op);

/* Sends the first message. HG_NOMEM: nothing was sent. */
hg_return_t amg_mpi_transfer_start_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer);
/* Puts it on the moving list, if it is not there. */
void amg_mpi_transfer_list_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer);
/* Its operation ends, if it has not; the transfer goes on. */
void amg_mpi_transfer_op_end_locked(
    struct amg_mpi_transfer *transfer, hg_return_t ret, uint64_t len);
/* The peer has said its last word, and nothing is in motion. */
void amg_mpi_transfer_finish_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, hg_return_t ret, uint64_t len);
/* Without a word to the next in the queue, and with no credit of it. */
void amg_mpi_transfer_free_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer);
/* Where those to the same peer wait. */
struct amg_flow_peer *amg_mpi_transfer_queue(
    struct amg_mpi_domain *domain, const struct amg_mpi_transfer *transfer);

static inline struct amg_mpi_transfer *amg_mpi_transfer_of(
    struct amg_link *link)
{
    return AMG_OBJECT(link, struct amg_mpi_transfer, link);
}

#endif
