/* SPDX-License-Identifier: BSD-3-Clause */
/* The domain and its endpoints, shared by the files of this folder.
 *
 * One lock guards a whole domain: all fields below, all MPI requests, and all
 * operations while they are posted. MPI takes one lock of its own in every
 * call, so finer locks would gain nothing. If MPI allows one call at a time
 * only (MPI_THREAD_SERIALIZED), all domains of the process share one lock.
 * Callers of functions whose names end in _locked hold the lock.
 *
 * Resources that requests and transfers wait for, first come, first served:
 *
 *   resource, held by         bound              until
 *   credit of a peer
 *     a request                the peer's credits the peer's program answers or
 *                                                 releases it
 *   place in flight to a peer
 *     a put or get             AMG_MPI_TRANSFERS  the peer makes progress
 *   room for long requests
 *     a request of a context   AMALGAM_MAX_PENDING_BYTES     its handler begins
 *   bounce buffer
 *     a fragment               64, and one for    MPI has moved the fragment;
 *                              each transfer      a first fragment never waits
 *
 * A request already has its credit when it waits for room, and a transfer
 * already has its place in flight when it waits for a bounce buffer. Answers,
 * CREDIT and other messages of the driver need none of these resources, and
 * msgbufs are allocated as needed. So only programs can deadlock: by handlers
 * that wait for each other's answers with all credits or all room in use. */
#ifndef AMG_MPI_BACKEND_MPI_DOMAIN_H
#define AMG_MPI_BACKEND_MPI_DOMAIN_H

#include <stdatomic.h>

#include "base/list.h"
#include "base/bias.h"
#include "base/pool.h"
#include "mpi_backend/mpi_comm.h"
#include "mpi_backend/mpi_disconnect_tree.h"
#include "mpi_backend/mpi_wire.h"
#include "transport/boot.h"
#include "transport/calls.h"
#include "transport/pack.h"
#include "transport/transport.h"

enum {
    /* Receives that an endpoint keeps posted. MPI searches them for each of the
     * user's own messages: with 32, a round trip of 8 bytes took 1.5 times as
     * long, with 8 no difference was measurable (MPICH 4.0.2, ch4:ucx). */
    AMG_MPI_RECEIVES = 8,
    AMG_MPI_SENDS = 8,         /* sends tested by one call */
    AMG_MPI_TRANSFERS = 64,    /* puts and gets in flight to one peer */
    AMG_MPI_CONTEXTS = 256,    /* a context id is one byte */
    AMG_MPI_TAG_CONTROL = 256, /* above the tags of contexts */
    /* Low bits of a tag, which name the context. The bits above are the
     * domain's stamp, which only guards against late messages of a closed
     * domain whose communicator had the same number: two domains share a stamp
     * in one case of 524,288 (MPICH), or of 64 with the least MPI_TAG_UB. */
    AMG_MPI_TAG_BITS = 9,
    /* Number of tags of long messages on `comm.data`, above those of transfers:
     * per context one of requests, one of replies; see mpi_long.c. */
    AMG_MPI_LONG_TAGS = 2 * AMG_MPI_CONTEXTS,
    /* Longest arguments in one message, with room for the headers. The target
     * pulls longer arguments, whose transfer outlasts the extra round trip. */
    AMG_MPI_LONG_CAP = 65536 + 4096 - 64,
};

struct amg_mpi_peer;
struct amg_mpi_bounce;

/* A put or get, beyond enum amg_call_state; amg_call_ptr() is the transfer. */
enum { AMG_MPI_OP_TRANSFER = AMG_CALL_STATES };

/* Buffer of one message: free, with core (as a buffer or an arrival), waiting
 * to be sent, being sent, or posted for receiving. */
struct amg_mpi_msgbuf {
    struct amg_post post;
    struct amg_mpi_domain *domain;
    MPI_Request request;
    int rank; /* destination, or source of a long or stalled message */
    int tag;
    uint32_t len;       /* of the message, with its header */
    atomic_uint others; /* users of a received message, minus one */
    bool is_long;       /* data[] has AMG_MPI_LONG_CAP bytes */
    struct amg_buf buf; /* buf.data points to data[] below */
    struct amg_pack_arrival arrival;
    struct amg_pack pack; /* of the packer; a long message uses head.kind */
    /* An outgoing PACK begins here: then `header` is the head of its first
     * call. In all other msgbufs `packed.kind` is 0. */
    _Alignas(64) struct amg_mpi_header packed;
    struct amg_mpi_header header; /* other and received messages begin here */
    unsigned char data[];
};

/* Owned by core, from open to close. */
struct amg_mpi_ep {
    struct amg_ep base;
    struct amg_link orphan;  /* on domain->orphans, once closed */
    struct amg_list done;    /* operations for the next poll */
    struct amg_list arrived; /* arrivals for the next poll */
    struct amg_list longs;   /* announcements of requests that wait for room */
    struct amg_list behind;  /* places of long requests that are coming, and
                              * arrivals behind them; see mpi_long.c */
    bool was_idle;           /* the last poll found no message */
    bool has_skipped;        /* the last poll did not test for messages */
    unsigned first;          /* index of the oldest posted receive */
    unsigned posted;         /* receives in the ring */
    /* A ring of receives, in posting order; MPI_REQUEST_NULL: completed, see
     * `statuses` and `codes`. */
    MPI_Request requests[AMG_MPI_RECEIVES];
    MPI_Status statuses[AMG_MPI_RECEIVES];
    int codes[AMG_MPI_RECEIVES];
    struct amg_mpi_msgbuf *msgbufs[AMG_MPI_RECEIVES];
};

/* Counts of messages from and to all ranks. */
struct amg_mpi_liveness {
    unsigned heard; /* messages received and fragments moved */
    unsigned lost;  /* messages not sent to lost peers since the last check */
};

/* Receives a message that matched no posted receive; see mpi_progress.c. */
struct amg_mpi_unmatched {
    MPI_Request request;
    struct amg_mpi_msgbuf *msgbuf; /* NULL: there is no such message */
    int tag;                       /* of the message, or -1 */
};

/* Long messages that were announced; see mpi_long.c. */
struct amg_mpi_longs {
    struct amg_list unsent;     /* announced by this rank, not taken by MPI */
    struct amg_list coming;     /* announced by peers, being received */
    struct amg_list waiting;    /* announcements for which memory is missing */
    atomic_uint_fast64_t *held; /* pending bytes by context: see amg_ep */
    uint64_t cap;               /* limit of `held` of each context */
};

/* The program's barrier; see mpi_job.c. */
struct amg_mpi_barrier {
    MPI_Request request; /* MPI_REQUEST_NULL: none is pending */
    bool is_claimed;     /* a caller is between begin() and end() */
};

/* Detects that all ranks have opened the class; see mpi_job.c. */
struct amg_mpi_joining {
    MPI_Request request; /* a barrier after all collective calls of opening */
    bool has_begun;
    uint32_t looks; /* calls of MPI still to make after the barrier */
};

/* Kinds of exposed memory; each has a window of its own. */
enum amg_mpi_memory {
    AMG_MPI_MEMORY_LIBRARY, /* of HG_Bulk_create() without addresses */
    AMG_MPI_MEMORY_USER,    /* attached to the dynamic window */
    AMG_MPI_MEMORIES
};

/* Classes of transfer lengths; below AMG_MPI_WINDOW_LEN_MIN always messages. */
enum amg_mpi_size {
    AMG_MPI_SIZE_MEDIUM, /* up to 256 KiB, measured with 64 KiB */
    AMG_MPI_SIZE_LARGE,  /* longer, measured with 1 MiB */
    AMG_MPI_SIZES
};

enum { AMG_MPI_MEDIUM_LEN = 262144, AMG_MPI_REASON_CAP = 400 };

/* How bulk data moves; constant while the domain is open. See
 * mpi_bulk_select.c. */
struct amg_mpi_choice {
    bool is_window[AMG_MPI_MEMORIES][AMG_MPI_SIZES];
    bool is_passive; /* measured: windows work while the target is not in MPI */
    char reason[AMG_MPI_REASON_CAP]; /* text for the log */
};

/* Whether a transfer of `len` bytes uses the window of `memory`. */
static inline bool amg_mpi_choice_is_window(const struct amg_mpi_choice *choice,
    enum amg_mpi_memory memory, uint64_t len)
{
    enum amg_mpi_size size =
        len <= AMG_MPI_MEDIUM_LEN ? AMG_MPI_SIZE_MEDIUM : AMG_MPI_SIZE_LARGE;

    return choice->is_window[memory][size];
}

/* Bounce buffers; see mpi_pipeline.c. */
struct amg_mpi_bounces {
    struct amg_mpi_bounce *free; /* singly linked */
    uint32_t count;              /* all that exist */
};

/* Owned by core, from open to close. */
struct amg_mpi_domain {
    struct amg_domain base;
    struct amg_link all; /* on the list of open domains */
    struct amg_bias *lock;
    struct amg_bias own_lock;
    struct amg_mpi_comm comm;
    int stamp;            /* high bits of the tags on `comm.messages` */
    uint32_t message_len; /* longest eager message, with our header */
    uint32_t room_len;    /* longest message of a posted receive */
    uint32_t max_contexts;
    bool is_listening;
    bool is_dead;                 /* MPI_Finalize came first; all calls fail */
    struct amg_mpi_choice choice; /* windows or messages for bulk data */

    struct amg_mpi_ep **eps;  /* by context; NULL where none is open */
    struct amg_list orphans;  /* endpoints closed by a thread without MPI */
    unsigned polls;           /* number of polls; each 64th probes */
    struct amg_calls calls;   /* the peers hold their parts of the credits */
    struct amg_packer packer; /* the peers point to their kept messages */
    uint32_t oneways; /* one-way requests whose credit has not returned */
    uint32_t asked;   /* a slot of calls.table to look at first when closing */
    struct {          /* mpi_job.c: while the class opens */
        struct amg_boot boot; /* of this node */
        void *cards;          /* of the ranks of this node */
        uint32_t wanted_len;  /* the least message_len that a rank asked for */
        uint32_t wanted_credits; /* the fewest credits that a rank asked for */
    } job;
    struct {                        /* mpi_peer.c */
        struct amg_mpi_peer **all;  /* by rank; NULL before the first contact */
        struct amg_mpi_peer *met;   /* all that exist, singly linked */
        struct amg_mpi_peer *spare; /* memory of the next new peer, or NULL */
        uint64_t nonce;             /* drawn by rank 0 for this domain */
        bool has_dead; /* operations to dead ranks are to be ended */
    } peers;
    struct { /* mpi_msgbuf.c */
        /* A free msgbuf, taken without the lock: the exchange that takes it
         * (acquire) pairs with the exchange that stored it (release). */
        _Atomic(struct amg_mpi_msgbuf *) hot;
        struct amg_link *free;        /* singly linked */
        struct amg_mpi_block *blocks; /* the memory of the msgbufs */
        size_t count;                 /* all that exist */
        struct amg_link *free_long;   /* long ones, singly linked */
        unsigned long_count;          /* length of `free_long` */
    } msgbufs;
    struct {                       /* mpi_send.c */
        struct amg_list in_flight; /* msgbufs given to MPI, not yet freed */
        unsigned count;            /* length of `in_flight` */
        struct amg_list deferred; /* msgbufs of threads that may not call MPI */
    } sends;
    struct {                  /* mpi_transfer.c */
        struct amg_table all; /* struct amg_mpi_transfer */
        struct amg_pool pool;
        struct amg_list moving; /* transfers that polls start or continue */
        struct amg_flow flow;   /* limits transfers in flight per peer */
        uint32_t small_len; /* longest put or get that goes inside a message */
        uint32_t fragment_len;
        /* Number of tags of gets; as many tags of puts follow. A transfer of
         * this rank has the tag of its slot in `all` until the peer's last
         * message about it; without a free slot a post returns HG_NOMEM. */
        int tags_half;
    } transfers;
    struct {                 /* mpi_target.c */
        struct amg_list all; /* accesses of peers by messages */
        struct amg_pool pool;
        struct amg_list stalled; /* msgbufs: accesses that wait for memory, and
                                    later messages about them */
        void *sink;              /* memory for refused fragments, once needed */
    } accesses;
    struct {                  /* mpi_export.c */
        struct amg_table all; /* struct amg_mpi_mem */
        uint64_t salt;        /* of this domain; part of its keys */
        /* Serial number of the newest exposed memory. When the serial wraps,
         * the salt changes, so no key of this domain is used twice. */
        uint32_t serial;
    } mems;
    struct amg_mpi_bounces bounces;
    struct amg_mpi_tree disconnect;
    struct amg_mpi_liveness liveness;
    struct amg_mpi_unmatched unmatched;
    struct amg_mpi_longs longs;
    struct amg_mpi_barrier barrier;
    struct amg_mpi_joining joining;
    struct amg_mpi_rma *rma;         /* NULL: the domain has no windows */
    struct amg_mpi_exports *exports; /* of `rma`, or NULL */
};

static inline struct amg_mpi_domain *amg_mpi_domain_of(
    const struct amg_domain *domain)
{
    return amg_container_of(domain, struct amg_mpi_domain, base);
}

static inline struct amg_mpi_ep *amg_mpi_ep_of(struct amg_ep *ep)
{
    return amg_container_of(ep, struct amg_mpi_ep, base);
}

static inline struct amg_mpi_domain *amg_mpi_domain_of_ep(
    const struct amg_mpi_ep *ep)
{
    return amg_mpi_domain_of(ep->base.domain);
}

/* Whether this thread may call MPI for the domain now. */
static inline bool amg_mpi_may_call(const struct amg_mpi_domain *domain)
{
    return amg_mpi_comm_may_call(&domain->comm) && !domain->is_dead;
}

static inline int amg_mpi_tag(const struct amg_mpi_domain *domain, int context)
{
    return domain->stamp + context;
}

/* Ends the operation: the next poll of its endpoint returns it. */
static inline void amg_mpi_op_end_locked(struct amg_op *op, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(
        amg_mpi_domain_of_ep(amg_mpi_ep_of(amg_call_ep(op)))->lock);
    op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
    op->ret = ret;
    amg_list_push(&amg_mpi_ep_of(amg_call_ep(op))->done, &op->link);
}

#endif
