/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets of this rank through windows of their targets. */
#ifndef AMG_MPI_BACKEND_MPI_RMA_H
#define AMG_MPI_BACKEND_MPI_RMA_H

#include "base/map.h"
#include "base/pool.h"
#include "mpi_backend/mpi_export.h"
#include "mpi_backend/mpi_receive.h"

struct amg_mpi_transfer;

enum {
    AMG_MPI_FRAGMENTS = 4,       /* in flight: enough to keep a wire busy */
    AMG_MPI_FRAGMENTS_TEST = 64, /* tested by one call */
};

/* What goes on with one rank; made when it is first needed. */
struct amg_mpi_rma_peer {
    struct amg_list accesses; /* that transfers may join */
    uint32_t in_flight;       /* puts and gets that MPI has not finished */
    uint32_t flush_waits;     /* transfers that want a flush; no new fragments
                               * meanwhile */
    uint32_t asked;           /* how often the rank was asked for progress */
    uint32_t answered;
    uint8_t context;        /* whose progress was asked for last, */
    uint8_t origin_context; /* and where the answer goes */
    uint64_t flushes[AMG_MPI_WAY_COUNT]; /* how many there were */
};

enum amg_mpi_rma_access_state {
    AMG_MPI_RMA_ACCESS_ACQUIRING, /* is being announced, the descriptor read */
    AMG_MPI_RMA_ACCESS_HELD,      /* the descriptor was read, and is constant */
    AMG_MPI_RMA_ACCESS_CHECKING,  /* held, and the access word is read again */
    AMG_MPI_RMA_ACCESS_FAILED,    /* MPI did not do it */
    AMG_MPI_RMA_ACCESS_RELEASING, /* is being taken back */
    AMG_MPI_RMA_ACCESS_STATE_COUNT
};

/* An access to exposed memory of a peer, shared by transfers. From the pool;
 * lives until the last transfer has released it and MPI is through. */
struct amg_mpi_rma_access {
    struct amg_link link; /* rma->pending, while MPI has its request */
    struct amg_link open; /* peer->accesses, while transfers may join */
    enum amg_mpi_rma_access_state state;
    int rank;
    uint32_t refs;
    uint32_t joined; /* transfers there were */
    bool is_revoked; /* the exposure ends: nothing more is moved */
    uint64_t moved;  /* bytes, since the access word was last checked */
    uint64_t word;   /* what the check read */
    struct amg_mpi_key key;
    MPI_Request request;
    uint64_t add[AMG_MPI_DESC_WORDS];
    uint64_t seen[AMG_MPI_DESC_WORDS]; /* valid from HELD on */
};

/* One run of bytes on its way. */
struct amg_mpi_fragment {
    MPI_Request request; /* MPI_REQUEST_NULL: MPI does not have it */
    bool is_done;        /* MPI has finished it, and nobody has taken it */
    uint64_t len;
    void *user;                  /* where it is from, or goes to */
    struct amg_mpi_stage *stage; /* the bounce buffer it uses, or NULL */
};

/* The part of a transfer that only one through a window has. */
struct amg_mpi_rma_op {
    struct amg_mpi_rma_peer *peer;
    struct amg_mpi_rma_access *access; /* NULL before ACQUIRING */
    struct amg_mpi_key key;
    enum amg_mpi_way way;
    MPI_Win window;
    bool is_direct;   /* uses the user's memory, not bounce buffers */
    bool has_asked;   /* SYNC `sync`, or one after it, is this transfer's */
    uint32_t sync;    /* which SYNC of the peer has to be answered */
    uint64_t flushes; /* of the peer, when this began to want one */
    unsigned in_flight;
    struct amg_seg_iter
        local; /* of the next fragment; not read once unwanted */
    struct amg_seg_iter remote; /* the same */
    uint64_t origin; /* what displacement 0 of the window stands for */
    uint64_t left;   /* bytes not posted */
    uint64_t done;
    hg_return_t ret; /* the first thing that went wrong */
    struct amg_mpi_fragment fragments[AMG_MPI_FRAGMENTS];
};

/* Owned by the domain; guarded by its lock. */
struct amg_mpi_rma {
    struct amg_mpi_windows *windows;
    struct amg_mpi_exports exports;
    struct amg_list ops;     /* struct amg_mpi_transfer, begun, not ended */
    struct amg_list pending; /* struct amg_mpi_rma_access, with MPI */
    struct amg_pool access_pool;
    struct amg_map peers; /* by rank */
};

/* Peers, accesses and SYNC: mpi_rma_access.c */

/* NULL: no memory. */
struct amg_mpi_rma_peer *amg_mpi_rma_peer_locked(
    struct amg_mpi_rma *rma, int rank);

/* An access to what `key` names. HG_NOMEM, HG_NA_ERROR. */
hg_return_t amg_mpi_rma_access_join_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_rma_peer *peer, int rank, const struct amg_mpi_key *key,
    struct amg_mpi_rma_access **ret_access);
/* A transfer has moved `len` bytes more; after many the word is checked. */
void amg_mpi_rma_access_moved_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_rma_access *access, uint64_t len);
/* The transfer has moved all it will; NULL is fine. */
void amg_mpi_rma_access_release_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_rma_access *access);
/* Takes what MPI has finished. */
void amg_mpi_rma_access_move_locked(struct amg_mpi_domain *domain);
/* At close: how many MPI has not finished; they are left to it. */
unsigned amg_mpi_rma_access_forget_locked(struct amg_mpi_rma *rma);

/* The number of the next SYNC; what it answers came after now. */
static inline uint32_t amg_mpi_sync_next(const struct amg_mpi_rma_peer *peer)
{
    return peer->asked + 1;
}

/* Was it, or one after it, answered? */
static inline bool amg_mpi_sync_is_answered(
    const struct amg_mpi_rma_peer *peer, uint32_t number)
{
    return (int32_t)(peer->answered - number) >= 0;
}

/* Sends the next SYNC for `transfer`. False: one between the same contexts is
 * out, or there is no buffer; the next poll tries again. */
bool amg_mpi_sync_ask_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_transfer *transfer);
/* What came in; takes the message's buffer. */
void amg_mpi_sync_on_message_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);

/* Transfers: mpi_rma_op.c */

/* Makes the windows, with all ranks, and gives the domain its one-sided part;
 * it stays without where they cannot be had. `area` may be NULL. HG_NOMEM:
 * this rank has none, and all others neither. */
hg_return_t amg_mpi_rma_open(
    struct amg_mpi_domain *domain, const struct amg_area *area);
/* Collective where `is_whole`; see amg_mpi_windows_close(). */
void amg_mpi_rma_close_locked(struct amg_mpi_domain *domain, bool is_whole);

/* Decides whether a transfer goes through a window, and prepares `transfer`,
 * whose common part is filled in, for it. */
bool amg_mpi_rma_op_plan(const struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, const struct amg_seg_iter *local,
    const struct amg_remote *remote, uint64_t len);
/* Begins a planned transfer. HG_NOMEM, HG_NA_ERROR: nothing was begun. */
hg_return_t amg_mpi_rma_op_start_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer);

/* Nothing of ours is under way to another rank. */
bool amg_mpi_rma_is_idle_locked(const struct amg_mpi_domain *domain);
/* Moves all that is under way. */
void amg_mpi_rma_move_locked(struct amg_mpi_domain *domain);

#endif
