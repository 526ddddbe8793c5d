/* SPDX-License-Identifier: BSD-3-Clause */
/* The domain, its endpoints and its peers, shared by the files of this folder.
 *
 *   domain -- region        own segment
 *     |   \-- bufs          outgoing messages, most of them with a msgbuf
 *     |-- peers             by incarnation; each maps the peer's segment
 *     |      \-- links      our ring to each context of the peer, 1 claim each
 *     |-- inboxes           by context: the rings of its senders
 *     |      \-- inrings    a ring, and the peer that writes it
 *     \-- eps               by context, while it is open: uses its inbox
 *
 * One lock guards the domain: peers, links, bufs, arrivals, operations while
 * they are posted. It is cheap for the thread that usually takes it
 * (base/bias.h). A poll reads its inbox without the lock: the inbox belongs to
 * the progress owner while its endpoint is open, and is guarded by the lock
 * otherwise. Callers of functions that end in _locked hold the lock. */
#ifndef AMG_SHM_SHM_DOMAIN_H
#define AMG_SHM_SHM_DOMAIN_H

#include <stdatomic.h>

#include "base/bias.h"
#include "base/list.h"
#include "base/map.h"
#include "base/pool.h"
#include "shm/shm_keys.h"
#include "transport/table.h"
#include "shm/shm_files.h"
#include "shm/shm_ring.h"
#include "transport/calls.h"
#include "transport/transport.h"

struct amg_shm_domain;
struct amg_shm_ep;
struct amg_shm_peer;
struct amg_shm_block;

enum { AMG_SHM_REFUSED_KEPT = 16 }; /* processes whose refusal was logged */

/* States of an operation, besides those of a call. The words behind the state
 * may hold the reply. */
enum amg_shm_op_state {
    AMG_SHM_OP_HOLDING =
        AMG_CALL_STATES, /* done; PTR: the arrival with its reply */
    AMG_SHM_OP_BULK,     /* a put or get; the rest is shm_bulk.c's */
};

/* AMALGAM_SHM_COPY: which ways of copying are allowed. */
enum amg_shm_copy {
    AMG_SHM_COPY_AUTO,    /* direct, else cma, else segment */
    AMG_SHM_COPY_DIRECT,  /* direct, else segment */
    AMG_SHM_COPY_CMA,     /* cma, else segment */
    AMG_SHM_COPY_SEGMENT, /* always */
};

/* State of a domain for puts and gets. */
struct amg_shm_bulk {
    struct amg_shm_exposer exposer;
    struct amg_shm_accessor_id id; /* of this process, in tables of peers */
    enum amg_shm_copy copy;
    bool is_ptraceable;         /* ptrace_allow() returned true */
    struct amg_pool pool;       /* of transfers */
    struct amg_table transfers; /* those that peers answer; under the lock */
    uint32_t bounce_used;       /* a bit per bounce buffer; under the lock */
    uint32_t bounce_reserved;   /* those with pages; under the lock */
};

/* State of an endpoint for puts and gets; all zero but the lists at the
 * start. */
struct amg_shm_bulk_ep {
    /* Transfers that the next poll continues, and those that wait for a bounce
     * buffer; under the lock. */
    struct amg_list ready;
    struct amg_list blocked;
    /* Bytes that posts have copied since the last poll returned operations: a
     * bound, written under the lock and read without it. */
    _Atomic uint64_t copied;
};

/* State of a peer for puts and gets; all zero at the start. The first step of a
 * copy finds out which ways of copying work. */
struct amg_shm_bulk_peer {
    struct amg_lock lock; /* serialises that check */
    /* 1: the rest is set and constant. Release by the thread that checked,
     * acquire by others. */
    _Atomic uint32_t is_known;
    /* 1: cross-memory copies are allowed; withdrawn when one is refused. */
    _Atomic uint32_t has_cma;
    /* 1: the peer closed or died, and posts do not copy. A hint: a copy made
     * nevertheless ends as if that happened later. Written under the lock, read
     * without it. */
    _Atomic uint32_t is_gone;
    struct amg_shm_key_table *table;
    struct amg_shm_accessor *accessor; /* NULL: segment only */
    uint64_t area_base; /* address of the peer's area at the peer, */
    uint64_t area_len;
    char *area;           /* and here; NULL: no direct way */
    uint32_t bounce_used; /* by transfers to it; the domain's lock */
};

/* Msgbufs of the own segment, or its blocks of one kind: those taken so far
 * from its part of the segment. */
struct amg_shm_stock {
    struct amg_link *free;
    struct amg_list lent; /* with receivers; oldest first */
    uint32_t next;        /* index of the first that was never used, */
    uint32_t end;         /* and behind the last */
};

enum amg_shm_stock_id {
    AMG_SHM_STOCK_MSGBUFS, /* those that a receiver may keep */
    AMG_SHM_STOCK_TRANSIT, /* those that it copies at once */
    AMG_SHM_STOCK_BLOCKS,  /* the first of a stock for each kind of blocks */
    AMG_SHM_STOCKS = AMG_SHM_STOCK_BLOCKS + AMG_SHM_BLOCK_KINDS,
};

/* Buffer of one outgoing message. It is in a free list, with the user, waiting
 * to be sent, or its msgbuf is with a receiver. */
struct amg_shm_buf {
    struct amg_post post; /* its link while free: the next free buf */
    struct amg_buf buf;
    struct amg_shm_domain *domain;
    struct amg_shm_stock *stock;
    struct amg_shm_msgbuf *msgbuf; /* NULL: the bytes are on the heap */
    uint32_t index;                /* of the msgbuf or block */
    /* The rest is valid while it waits. */
    uint32_t len;
    uint8_t kind;
    uint8_t origin_context;
    uint8_t target_context;
    struct amg_shm_peer *peer;
    struct amg_shm_link *to;
};

/* Our ring to one context of a peer. Guarded by the lock. */
struct amg_shm_link {
    struct amg_shm_out out;
    struct amg_shm_context *context; /* at the peer */
    uint32_t slot;
    uint64_t claim; /* of the slot, live; 0: none was free yet */
    uint8_t context_id;
    int doorbell; /* its FIFO, opened at the first wakeup; or -1 */
    /* Bufs without credits that wait for room: those of the library itself,
     * which leave first, and replies. */
    struct amg_list control;
    struct amg_list queue;
    bool lacks_memory;    /* /dev/shm had no room for a ring */
    struct amg_link kept; /* on the domain's list of doorbells */
};

enum amg_shm_peer_state {
    AMG_SHM_PEER_ALIVE,
    AMG_SHM_PEER_GONE,  /* closed or died: nothing is sent to it any more */
    AMG_SHM_PEER_UNMET, /* a rank of the node: mapped at the first contact */
};

/* Another domain, or this one itself. Freed when it has no references and no
 * call is in flight; guarded by the lock. */
struct amg_shm_peer {
    struct amg_shm_domain *domain;
    uint32_t refs; /* addresses, arrivals, inrings, transfers */
    uint32_t id;   /* identifies it in the table of calls */
    enum amg_shm_peer_state state;
    uint8_t warned;        /* a bit for each warning already logged about it */
    uint8_t context;       /* source of its last request */
    bool has_failed_wake;  /* a wakeup failed; it may be blocked */
    bool has_refused;      /* it could not map our segment, and is GONE */
    uint32_t msgbufs_held; /* its msgbufs that arrivals here point into */
    uint32_t msgbufs_lent; /* our msgbufs that it has */
    struct amg_flow_peer calls;
    struct amg_watched watched;
    struct amg_link all;          /* on the domain's list of peers */
    struct amg_link blocked;      /* on its list of those without room */
    struct amg_shm_region region; /* of self: the domain's own; UNMET: all zero
                                   * but name and incarnation */
    struct amg_shm_link first;    /* to context 0 */
    struct amg_shm_link **more;   /* by context; NULL until one is used */
    int pidfd; /* readable when its process has died; -1: none */
    struct amg_shm_bulk_peer bulk;
};

/* A received request, a late reply, or the bytes of a reply. Free, or with the
 * user until it is released. Its bytes are in itself while it is free. */
struct amg_shm_arrival {
    struct amg_arrival base;
    struct amg_shm_domain *domain;
    union {
        struct amg_shm_arrival *next_free;
        struct amg_shm_msgbuf *msgbuf; /* base.data points into it, */
        void *copy;                    /* or into heap memory */
    };
    bool has_msgbuf;
    _Alignas(8) uint8_t bytes[AMG_SHM_RUN];
};

/* A ring of our segment and the peer that writes it. */
struct amg_shm_inring {
    struct amg_shm_in in;
    struct amg_shm_peer *peer;
    uint32_t slot;
    uint8_t context_id; /* of its inbox; does not depend on the claim */
    uint32_t seen;      /* in.head when it was last checked for silence */
    bool is_active;
    bool is_leaving;      /* its writer stopped: freed when it is empty */
    struct amg_link link; /* on the inbox's list of all */
};

/* Inbox of one context. Belongs to the progress owner while an endpoint is
 * open, and is guarded by the lock otherwise. Created when the context is first
 * opened, and lives as long as the domain, because replies may arrive after the
 * endpoint closed. */
struct amg_shm_inbox {
    struct amg_shm_domain *domain;
    struct amg_shm_context *context; /* the shared part */
    uint8_t context_id;
    bool is_open;
    uint32_t sleeps; /* waits announced so far */
    /* Our FIFO, or -1; it outlives the endpoint, because peers keep theirs. */
    int doorbell;
    uint32_t bytes_due;             /* wakeups whose byte has not arrived yet */
    struct amg_shm_inring **active; /* read by every poll */
    uint32_t active_count;
    uint32_t active_cap;
    struct amg_list rings;  /* all */
    unsigned leaving_count; /* of `rings`, those with is_leaving */
};

/* Work for the next poll of an endpoint, besides its rings: the bits of
 * amg_shm_ep.due. */
enum amg_shm_due {
    AMG_SHM_DUE_DONE = 1,    /* there may be operations in `done`, or late
                              * replies */
    AMG_SHM_DUE_BULK = 2,    /* bulk.ready is not empty */
    AMG_SHM_DUE_LEAVING = 4, /* writers of its inbox stopped */
    AMG_SHM_DUE_WAIT = 8,    /* a wait was announced, and ends with the poll */
    AMG_SHM_DUE_ALL = 15,
};

/* Owned by core, from open to close. */
struct amg_shm_ep {
    struct amg_ep base;
    struct amg_shm_inbox *inbox;
    /* Written under the lock, read without it. */
    _Atomic uint32_t due;
    uint32_t until_rare;  /* polls until the next one that checks rare events */
    uint32_t rare_polls;  /* those that did */
    struct amg_list done; /* operations for the next poll; under the lock */
    uint64_t checked_ns;  /* when peers were last checked */
    int epoll;            /* the descriptor to wait on, or -1 */
    struct amg_shm_bulk_ep bulk;
};

/* Owned by core, from open to close. */
struct amg_shm_domain {
    struct amg_domain base;
    struct amg_shm_region region;
    uint32_t message_len; /* the eager limit; msgbufs have more room */
    uint32_t max_contexts;
    bool is_listening;
    bool is_joined; /* its peers are ranks of a job, which close together */
    /* A poll may have to retry sends: peers in `blocked`, owed credits. Written
     * under the lock, read without it. */
    _Atomic uint32_t has_deferred;
    /* Approximate count of polls that found nothing; it changes between
     * messages that are not a burst. Relaxed, see struct amg_shm_out. */
    _Atomic uint32_t idle_polls;

    struct amg_bias lock; /* guards all below */
    struct amg_calls calls;
    struct amg_map peers; /* by incarnation */
    struct amg_list all_peers;
    /* Ends the operations with a peer that closed or died (shm_liveness.c), and
     * may free the peer. */
    void (*peer_gone_locked)(struct amg_shm_peer *peer, bool has_died);
    struct amg_list blocked;
    struct amg_shm_peer *self; /* holds a reference */
    /* The ranks of the node, in their order; constant once set. */
    struct amg_shm_rank *ranks;
    uint32_t rank_count; /* 0: not in a job */
    uint32_t next_peer_id;
    /* Descriptors for peers: at most `descriptors_max` pidfds, and as many
     * doorbells, of which the oldest is closed for a new one. */
    uint32_t descriptors_max;
    uint32_t pidfd_count;
    uint32_t doorbell_count;
    struct amg_list doorbells;
    int death_epoll;   /* epoll over the pidfds of all peers; -1: none */
    int tick_timer;    /* in `death_epoll`, created when first needed; or -1 */
    uint64_t tick_ns;  /* its period; 0: disarmed */
    bool wants_retry;  /* a send waits for a slot, or a wakeup failed */
    bool lacks_pidfds; /* there may be peers without a pidfd */
    bool has_unseen;   /* there may be rings that no peer has opened yet */
    uint64_t unmapped_since_ns; /* no sender could be mapped since; or 0 */
    uint64_t refused[AMG_SHM_REFUSED_KEPT];  /* refused peers, by incarnation */
    uint64_t refusing[AMG_SHM_REFUSED_KEPT]; /* peers that refuse us */

    struct amg_shm_stock stocks[AMG_SHM_STOCKS];
    struct amg_link *short_bufs; /* free ones on the heap, single linked */
    struct amg_shm_buf *bufs;    /* one for each msgbuf and block */
    bool has_warned_full;        /* of /dev/shm */
    struct amg_shm_arrival *free_arrivals;
    struct amg_shm_block *blocks; /* the memory of the arrivals */

    struct amg_shm_inring **inrings; /* by slot; NULL: not opened */
    struct amg_shm_inbox *inboxes[AMG_SHM_CONTEXTS]; /* NULL: never opened */
    struct amg_shm_ep *eps[AMG_SHM_CONTEXTS];        /* NULL: not open */
    unsigned closed_inboxes;
    struct amg_shm_bulk bulk;
};

static inline struct amg_shm_domain *amg_shm_domain_of(
    const struct amg_domain *domain)
{
    return amg_container_of(domain, struct amg_shm_domain, base);
}

static inline struct amg_shm_ep *amg_shm_ep_of(struct amg_ep *ep)
{
    return amg_container_of(ep, struct amg_shm_ep, base);
}

static inline struct amg_shm_domain *amg_shm_domain_of_ep(
    const struct amg_shm_ep *ep)
{
    return amg_shm_domain_of(ep->base.domain);
}

static inline struct amg_shm_peer *amg_shm_peer_of(const struct amg_peer *peer)
{
    return (struct amg_shm_peer *)(void *)(uintptr_t)peer;
}

/* The next peer of the domain, or NULL; `peer` NULL: the first. */
static inline struct amg_shm_peer *amg_shm_peer_next_locked(
    const struct amg_shm_domain *domain, const struct amg_shm_peer *peer)
{
    struct amg_link *link = peer == NULL
                                ? amg_list_first(&domain->all_peers)
                                : amg_list_next(&domain->all_peers, &peer->all);

    return link == NULL ? NULL
                        : amg_container_of(link, struct amg_shm_peer, all);
}

static inline struct amg_peer *amg_shm_peer_base(struct amg_shm_peer *peer)
{
    return (struct amg_peer *)(void *)peer;
}

/* Whether this incarnation is not yet in `logged`, to which it is added. */
static inline bool amg_shm_refusal_is_new(
    uint64_t logged[AMG_SHM_REFUSED_KEPT], uint64_t incarnation)
{
    uint64_t *slot = &logged[incarnation % AMG_SHM_REFUSED_KEPT];
    bool is_new = *slot != incarnation;

    *slot = incarnation;
    return is_new;
}

/* Lets the next polls do some work, and no longer. */
static inline void amg_shm_due_set_locked(
    struct amg_shm_ep *ep, enum amg_shm_due due, bool is_due)
{
    uint32_t now = atomic_load_explicit(&ep->due, memory_order_relaxed);

    now = is_due ? now | (uint32_t)due : now & ~(uint32_t)due;
    atomic_store_explicit(&ep->due, now, memory_order_relaxed);
}

static inline bool amg_shm_is_due(
    const struct amg_shm_ep *ep, enum amg_shm_due due)
{
    return (atomic_load_explicit(&ep->due, memory_order_relaxed) &
               (uint32_t)due) != 0;
}

/* Lets the next poll of its endpoint return the operation. */
static inline void amg_shm_op_end_locked(
    struct amg_shm_ep *ep, struct amg_op *op, hg_return_t ret)
{
    op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
    op->ret = ret;
    amg_list_push(&ep->done, &op->link);
    amg_shm_due_set_locked(ep, AMG_SHM_DUE_DONE, true);
}

#endif
