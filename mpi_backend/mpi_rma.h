/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets of this rank through MPI windows, and when windows are used. */
#ifndef AMG_MPI_BACKEND_MPI_RMA_H
#define AMG_MPI_BACKEND_MPI_RMA_H

#include "base/map.h"
#include "base/pool.h"
#include "mpi_backend/mpi_export.h"
#include "mpi_backend/mpi_pipeline.h"
#include "mpi_backend/mpi_msgbuf.h"

struct amg_mpi_transfer;

enum {
    AMG_MPI_FRAGMENTS_TEST = 64, /* fragments that one MPI_Testany() tests */
};

/* State of window operations to one rank; created when first needed. */
struct amg_mpi_rma_peer {
    struct amg_list accesses; /* accesses that transfers may join */
    uint32_t in_flight;       /* puts and gets that MPI has not finished */
    uint32_t flush_waits;     /* transfers that wait for a flush; meanwhile no
                               * fragment is posted to the rank */
    uint32_t asked;           /* number of the last SYNC sent to the rank */
    uint32_t answered;        /* highest number that the rank has answered */
    uint8_t context;          /* the context that the last SYNC went to */
    uint8_t origin_context;   /* the context that its answer comes to */
    uint64_t flushes[AMG_MPI_WAY_COUNT]; /* flushes so far of each window */
};

enum amg_mpi_rma_access_state {
    AMG_MPI_RMA_ACCESS_ACQUIRING, /* is being counted, its descriptor read */
    AMG_MPI_RMA_ACCESS_HELD,      /* the descriptor was read, and is constant */
    AMG_MPI_RMA_ACCESS_CHECKING,  /* held, and the access word is read again */
    AMG_MPI_RMA_ACCESS_FAILED,    /* MPI reported an error */
    AMG_MPI_RMA_ACCESS_RELEASING, /* is being removed from the count, maybe
                                   * while `request` is still under way */
    AMG_MPI_RMA_ACCESS_STATE_COUNT
};

/* An access to exposed memory of a peer, shared by transfers. From the pool;
 * lives until the last transfer has released it and MPI has completed its
 * requests. */
struct amg_mpi_rma_access {
    struct amg_link link; /* rma->pending, while MPI has its request */
    struct amg_link open; /* peer->accesses, while transfers may join */
    enum amg_mpi_rma_access_state state;
    int rank;
    uint32_t refs;
    uint32_t joined; /* transfers that ever joined */
    bool is_revoked; /* the exposure ends: no further fragments */
    uint64_t moved;  /* bytes since the access word was last checked */
    uint64_t word;   /* the access word, as last read */
    struct amg_mpi_key key;
    MPI_Request request; /* of the operation that acquires or checks */
    MPI_Request leaving; /* of the operation that releases */
    uint64_t leave;      /* what `leaving` adds to the access word */
    uint64_t add[AMG_MPI_DESC_WORDS];  /* what acquiring adds to the words */
    uint64_t seen[AMG_MPI_DESC_WORDS]; /* words read; valid from HELD on */
};

/* A run of bytes that one window operation moves. */
struct amg_mpi_fragment {
    MPI_Request request; /* MPI_REQUEST_NULL: no operation is with MPI */
    bool is_done;        /* completed by MPI, not yet processed */
    uint64_t len;
    void *user;                    /* source or destination */
    struct amg_mpi_bounce *bounce; /* the bounce buffer, or NULL */
};

/* The part of a transfer that is used only with windows. */
struct amg_mpi_rma_op {
    struct amg_mpi_rma_peer *peer;
    struct amg_mpi_rma_access *access; /* NULL before ACQUIRING */
    enum amg_mpi_way way;
    MPI_Win window;
    bool is_direct;   /* uses the user's memory, not bounce buffers */
    bool has_asked;   /* sent SYNC `sync`, or a later one */
    uint32_t sync;    /* the SYNC whose answer the put waits for */
    uint64_t flushes; /* peer->flushes[way] when the wait for a flush began */
    unsigned in_flight;
    struct amg_seg_iter
        local; /* of the next fragment; not read after cancellation */
    struct amg_seg_iter remote; /* of the next fragment, at the peer */
    uint64_t origin; /* the address at displacement 0 of the window */
    uint64_t left;   /* bytes not posted */
    uint64_t done;   /* bytes of fragments that ended */
    hg_return_t ret; /* the first error */
    struct amg_mpi_fragment fragments[AMG_MPI_FRAGMENTS];
};

/* Owned by the domain; guarded by its lock. */
struct amg_mpi_rma {
    struct amg_mpi_windows *windows;
    struct amg_mpi_exports exports;
    struct amg_list ops;     /* struct amg_mpi_transfer, begun and not ended */
    struct amg_list pending; /* struct amg_mpi_rma_access with requests */
    struct amg_pool access_pool;
    struct amg_map peers; /* by rank */
};

/* Peers and accesses: mpi_rma_access.c */

/* The state of `rank`, which is created if necessary. NULL: no memory. */
struct amg_mpi_rma_peer *amg_mpi_rma_peer_locked(
    struct amg_mpi_domain *domain, int rank);

/* Joins or acquires an access to the memory of `key`. HG_NOMEM, HG_NA_ERROR. */
hg_return_t amg_mpi_rma_access_join_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_rma_peer *peer, int rank, const struct amg_mpi_key *key,
    struct amg_mpi_rma_access **ret_access);
/* Counts `len` bytes that moved; after many, rereads the access word. */
void amg_mpi_rma_access_moved_locked(struct amg_mpi_domain *domain,
    struct amg_mpi_rma_access *access, uint64_t len);
/* Gives up a transfer's share of the access; `access` may be NULL. */
void amg_mpi_rma_access_release_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_rma_access *access);
/* Processes requests of accesses that MPI has completed. */
void amg_mpi_rma_access_move_locked(struct amg_mpi_domain *domain);

/* Transfers: mpi_rma_op.c */

/* Creates the windows, with all ranks, and the domain's RMA state, or neither
 * if windows cannot be created. `area` may be NULL. HG_OPNOTSUPPORTED: no rank
 * has windows; `is_asked`: as in amg_mpi_windows_open(). */
hg_return_t amg_mpi_rma_open(
    struct amg_mpi_domain *domain, const struct amg_area *area, bool is_asked);
/* Frees the RMA state, and closes the windows: collective if `is_whole`. */
void amg_mpi_rma_close_locked(struct amg_mpi_domain *domain, bool is_whole);

/* Decides whether a transfer goes through a window; if so, prepares `transfer`,
 * whose common part the caller has filled in. */
bool amg_mpi_rma_op_plan(const struct amg_mpi_domain *domain,
    struct amg_mpi_transfer *transfer, const struct amg_seg_iter *local,
    const struct amg_remote *remote, uint64_t len);
/* Begins a planned transfer. HG_NOMEM, HG_NA_ERROR: nothing was begun. */
hg_return_t amg_mpi_rma_op_start_locked(
    struct amg_mpi_domain *domain, struct amg_mpi_transfer *transfer);

/* Whether no window operation of this rank is in flight. */
bool amg_mpi_rma_is_idle_locked(const struct amg_mpi_domain *domain);
/* Makes progress on all window operations of this rank. */
void amg_mpi_rma_move_locked(struct amg_mpi_domain *domain);
/* Handler of SYNC and its answer; takes the message's buffer. */
void amg_mpi_sync_on_message_locked(
    struct amg_mpi_domain *domain, const struct amg_mpi_message *message);

/* Selection between windows and messages: mpi_bulk_select.c */

/* Bytes of the pulls that are measured, by enum amg_mpi_size. */
enum { AMG_MPI_MEASURED_MEDIUM = 65536, AMG_MPI_MEASURED_LARGE = 1048576 };

/* Measured times of a get; a time that was not measured is 0. One reduction
 * with MPI_MAX combines all words. No word exceeds INT64_MAX, because MPICH
 * 4.0.2 compares MPI_UINT64_T as signed. */
struct amg_mpi_figures {
    uint64_t window_ns[AMG_MPI_MEMORIES][AMG_MPI_SIZES]; /* slowest rank */
    /* INT64_MAX minus the time of the fastest rank, in ns */
    uint64_t message_inverse[AMG_MPI_MEMORIES][AMG_MPI_SIZES];
    uint64_t needs_target; /* 1: a get needs the target to call MPI */
    uint64_t is_blocking;  /* 1: the post of an access waits for the target */
    uint64_t failed;       /* 1 + the rank whose log says what failed */
    uint64_t ranks;        /* number of ranks that measured */
    uint64_t took_ns;      /* duration of the measurement */
};

/* Decides, with all ranks of the domain, how its bulk data moves; fills
 * `domain->choice`, and opens the windows if some transfers use them. `how` is
 * what the domain is opened with; its protocol is the same on all ranks.
 * HG_NA_ERROR: MPI failed. */
hg_return_t amg_mpi_bulk_select(
    struct amg_mpi_domain *domain, const struct amg_open *how);

/* Computes the choice and its reason from the times. */
void amg_mpi_choice_make(
    const struct amg_mpi_figures *figures, struct amg_mpi_choice *ret_choice);
/* The choice as a report names it: "mpi+p2p", "mpi+rma", or both. */
const char *amg_mpi_choice_name(const struct amg_mpi_choice *choice);

#endif
