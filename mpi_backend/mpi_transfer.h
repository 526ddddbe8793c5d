/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfer: one put or get of this rank, its states and its completion. */
#ifndef AMG_MPI_BACKEND_MPI_TRANSFER_H
#define AMG_MPI_BACKEND_MPI_TRANSFER_H

#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_rma.h"
#include "mpi_backend/mpi_pipeline.h"

enum amg_mpi_transfer_state {
    AMG_MPI_TRANSFER_QUEUED,    /* waits for others to the same peer */
    AMG_MPI_TRANSFER_UNSTARTED, /* may start, but nothing was sent yet */
    /* by messages: mpi_origin.c */
    AMG_MPI_TRANSFER_REQUESTED, /* the first message was sent */
    AMG_MPI_TRANSFER_MOVING,    /* a put whose peer has posted receives */
    AMG_MPI_TRANSFER_ANSWERED,  /* the peer's last message was received */
    /* through a window: mpi_rma_op.c */
    AMG_MPI_TRANSFER_ACQUIRING, /* the descriptor is being read */
    AMG_MPI_TRANSFER_ACCESSING, /* fragments move */
    AMG_MPI_TRANSFER_SYNCING,   /* SYNC asks the target to make progress */
    AMG_MPI_TRANSFER_FLUSHING,  /* other fragments end before the flush */
    AMG_MPI_TRANSFER_STATE_COUNT
};

/* From the pool; in the table of transfers until it ends. */
struct amg_mpi_transfer {
    struct amg_link link; /* the peer's queue, domain->moving or rma->ops */
    struct amg_mpi_ep *ep;
    struct amg_op *op; /* NULL: ended before the peer's last message */
    enum amg_mpi_transfer_state state;
    uint32_t cookie;
    int rank;               /* the target */
    uint8_t context;        /* the target's */
    uint8_t origin_context; /* where answers go; the endpoint may be closed */
    bool is_put;
    bool is_rma;   /* through a window; decided before the post */
    bool is_small; /* moves inside of messages */
    bool is_ahead; /* a put that sends its first fragments before PUT_READY */
    bool is_cancelled;    /* by the poster */
    bool is_stopped;      /* no further fragment is sent, and the peer knows */
    bool is_withdrawn;    /* a get that cancelled its receives */
    hg_return_t ret;      /* result in the peer's last message */
    uint64_t deadline_ns; /* of a cancelled get */
    void *scratch;        /* receives late fragments */
    struct amg_mpi_bulk_request request;
    union {
        struct amg_mpi_pipeline pipeline;
        struct amg_mpi_rma_op rma; /* is_rma */
    };
};

/* Bytes of one, for the pool. */
size_t amg_mpi_transfer_len(void);

/* Puts it on the moving list, if it is not there. */
void amg_mpi_transfer_list_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer);
/* Its operation ends, if it has not; the transfer goes on. */
void amg_mpi_transfer_op_end_locked(
    struct amg_mpi_transfer *transfer, hg_return_t ret, uint64_t len);
/* The peer's last message was received, and nothing is in flight. */
void amg_mpi_transfer_finish_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, hg_return_t ret, uint64_t len);
/* The queue of transfers to the same peer. */
struct amg_flow_peer *amg_mpi_transfer_queue(
    struct amg_mpi_domain *domain, const struct amg_mpi_transfer *transfer);

/* Early ends; for the messages see mpi_origin.c. */

/* Sends STOP: no fragment follows. Uses `msgbuf`, or one of the pool. */
void amg_mpi_stop_send_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, struct amg_mpi_msgbuf *msgbuf);
/* A cancelled transfer: ends its operation as soon as MPI no longer uses the
 * user's memory, even if the peer has not answered. */
void amg_mpi_stop_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer);

/* Cancels the receives of a cancelled get whose peer did not answer in time. */
void amg_mpi_stop_withdraw_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer);
/* Receives fragments in flight to a get that cancelled its receives. */
void amg_mpi_stop_sink_locked(struct amg_mpi_transfer *transfer);

/* Asks that `op`, a put or get, ends early. */
void amg_mpi_stop_cancel_locked(
    struct amg_mpi_domain *domain, struct amg_op *op);
/* The same for all of `ep` (NULL: all endpoints). True: one of them still uses
 * its user's memory. `is_late`: the time for peers to answer is over. */
bool amg_mpi_stop_drop_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep, bool is_late);
/* The time is over: ends the operations although MPI may use their memory. */
void amg_mpi_stop_force_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep);
/* At close: drops transfers that peers never answered. Returns their number. */
unsigned amg_mpi_stop_forget_locked(struct amg_mpi_domain *domain);

static inline struct amg_mpi_transfer *amg_mpi_transfer_of(
    struct amg_link *link)
{
    return amg_container_of(link, struct amg_mpi_transfer, link);
}

#endif
