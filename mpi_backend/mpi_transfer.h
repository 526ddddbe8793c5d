/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers: puts and gets of this rank, by messages or through a window; and
 * accesses of peers to memory of this rank, by messages. */
#ifndef AMG_MPI_BACKEND_MPI_TRANSFER_H
#define AMG_MPI_BACKEND_MPI_TRANSFER_H

#include "base/clock.h"
#include "mpi_backend/mpi_domain.h"
#include "mpi_backend/mpi_msgbuf.h"
#include "mpi_backend/mpi_pipeline.h"
#include "mpi_backend/mpi_rma.h"

enum amg_mpi_transfer_state {
    AMG_MPI_TRANSFER_QUEUED,    /* waits for other transfers to the same peer */
    AMG_MPI_TRANSFER_UNSTARTED, /* may start, but nothing was sent yet */
    /* by messages */
    AMG_MPI_TRANSFER_REQUESTED, /* the first message was sent */
    AMG_MPI_TRANSFER_MOVING,    /* a put whose peer has posted receives */
    AMG_MPI_TRANSFER_ANSWERED,  /* the peer's last message came, or none will */
    /* through a window: mpi_rma_op.c */
    AMG_MPI_TRANSFER_ACQUIRING, /* the exposer's descriptor is being read */
    AMG_MPI_TRANSFER_ACCESSING, /* fragments move */
    AMG_MPI_TRANSFER_SYNCING,   /* SYNC asks the target to make progress */
    AMG_MPI_TRANSFER_FLUSHING,  /* a flush follows the last fragment */
    AMG_MPI_TRANSFER_STATE_COUNT
};

/* A put or get, from the pool; in the table `transfers.all` until freed. */
struct amg_mpi_transfer {
    struct amg_link link; /* the peer's queue, transfers.moving or rma->ops */
    struct amg_mpi_ep *ep;
    struct amg_op *op; /* NULL: ended before the peer's last message */
    enum amg_mpi_transfer_state state;
    uint32_t cookie;
    int rank;               /* the target */
    uint8_t context;        /* the target's */
    uint8_t origin_context; /* where answers go, also if `ep` is closed */
    bool is_put;
    bool is_rma;   /* through a window; decided before the post */
    bool is_small; /* all bytes move inside of one message */
    bool is_ahead; /* a put that sends its first fragments before PUT_READY */
    bool is_cancelled;    /* by the poster, or on an error; see deadline_ns */
    bool is_stopped;      /* STOP was sent */
    bool is_withdrawn;    /* a get that cancelled its receives */
    hg_return_t ret;      /* result in the peer's last message */
    uint64_t deadline_ns; /* end of a cancelled transfer's wait for its peer */
    void *scratch;        /* receives late fragments */
    struct amg_mpi_bulk_request request;
    union {
        struct amg_mpi_pipeline pipeline;
        struct amg_mpi_rma_op rma; /* is_rma */
    };
};

/* An access of a peer by messages, in progress. From the pool; on the list of
 * its domain and, unless refused, of its memory. */
struct amg_mpi_access {
    struct amg_link link;     /* domain->accesses */
    struct amg_link mem_link; /* mem->accesses */
    uint32_t cookie;          /* the initiator's */
    uint8_t context;          /* of the initiator, for the answers */
    bool is_put;
    bool is_halted;   /* the memory is being unregistered */
    bool is_notified; /* HALT sent, or STOP received; of a get: DONE sent */
    bool is_stopped;  /* the initiator has sent STOP */
    hg_return_t code; /* HG_SUCCESS, or why the access was refused */
    struct amg_mpi_pipeline pipeline;
};

/* Transfers: mpi_transfer.c */

/* Ends the operation, if it has not ended; the transfer itself goes on. */
void amg_mpi_transfer_op_end_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, hg_return_t ret, uint64_t len);
/* Ends the transfer, with its operation, when nothing is in flight any more. */
void amg_mpi_transfer_finish_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, hg_return_t ret, uint64_t len);

enum { AMG_MPI_GRACE_MS = 2000 }; /* above a round trip, short for a user */

/* Makes the transfer end early: it waits at most that long for its peer. */
static inline void amg_mpi_transfer_hurry(struct amg_mpi_transfer *transfer)
{
    if (!transfer->is_cancelled)
        transfer->deadline_ns = amg_clock_deadline_ns(AMG_MPI_GRACE_MS);
    transfer->is_cancelled = true;
}
/* Asks that `op`, a put or get, ends early. */
void amg_mpi_transfer_cancel_locked(
    struct amg_mpi_domain *domain, struct amg_op *op);
/* Cancels all transfers of `ep` (NULL: of all) with `rank` (< 0: all). True: a
 * transfer still uses its user's memory. `is_late`: the time for peers to
 * answer is over. */
bool amg_mpi_transfers_cancel_locked(struct amg_mpi_domain *domain,
    const struct amg_mpi_ep *ep, int rank, bool is_late);
/* At close: ends the operations, although MPI may still use their memory. */
void amg_mpi_transfers_abandon_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_ep *ep);
/* At close: drops transfers without an answer. True: there were none. */
bool amg_mpi_transfers_drop_locked(struct amg_mpi_domain *domain);

static inline struct amg_mpi_transfer *amg_mpi_transfer_of(
    struct amg_link *link)
{
    return amg_container_of(link, struct amg_mpi_transfer, link);
}

/* The slots of the contract. */
hg_return_t amg_mpi_transfer_put(struct amg_ep *ep, struct amg_target to,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op);
hg_return_t amg_mpi_transfer_get(struct amg_ep *ep, struct amg_target to,
    const struct amg_seg_iter *local, const struct amg_remote *remote,
    uint64_t len, struct amg_op *op);

/* Handlers of received messages; each takes the msgbuf. */
void amg_mpi_transfer_on_data_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);
void amg_mpi_transfer_on_ready_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);
void amg_mpi_transfer_on_done_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);
void amg_mpi_transfer_on_halt_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);

/* Continues a transfer of the moving list; may unlist only that transfer. */
void amg_mpi_transfer_move_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer);

/* Accesses: mpi_target.c */

/* Handlers of received messages; each takes the msgbuf. */
void amg_mpi_access_on_request_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);
void amg_mpi_access_on_stop_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);

/* Makes progress on all transfers and accesses by messages. */
void amg_mpi_bulk_move_locked(struct amg_mpi_domain *domain);

/* Cancels receives, and drops accesses. `rank` < 0: all, at close. Else those
 * of a dead rank, but for receives that MPI does not cancel. True: there were
 * no accesses. */
bool amg_mpi_accesses_drop_locked(struct amg_mpi_domain *domain, int rank);

#endif
