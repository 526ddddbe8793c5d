/* SPDX-License-Identifier: BSD-3-Clause */
/* The domain, its endpoints and its peers, shared by the files of this folder.
 *
 *   domain -- region        own segment
 *     |   \-- bufs          outgoing messages, most of them with a msgbuf
 *     |-- peers             by incarnation; each maps the peer's segment
 *     |      \-- links      our ring to each context, in a slot we claim
 *     |-- inboxes           by context: the rings of its senders
 *     |      \-- inrings    a ring, and the peer that writes it
 *     \-- eps               by context, one per open context: uses its inbox
 *
 * One lock guards the domain: peers, links, bufs, arrivals, operations while
 * they are posted. The lock is cheap for the first thread that takes the lock
 * (base/bias.h). A poll may read the inbox without the lock: the inbox belongs
 * to the progress owner while its endpoint is open, and is guarded by the lock
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

/* States of an operation that enum amg_call_state lacks. A short reply is in
 * the words of amg_op.priv after the state. PTR: priv[AMG_CALL_PRIV_PTR]. */
enum amg_shm_op_state {
    AMG_SHM_OP_HOLDING =
        AMG_CALL_STATES, /* ended call; PTR: the arrival with the reply */
    AMG_SHM_OP_BULK,     /* put or get in progress; PTR: the transfer */
};

/* AMALGAM_SHM_COPY: the ways of copying (shm_copy.c) that are allowed. */
enum amg_shm_copy {
    AMG_SHM_COPY_AUTO,    /* direct; if impossible cma; else the segment */
    AMG_SHM_COPY_DIRECT,  /* direct; if impossible the segment */
    AMG_SHM_COPY_CMA,     /* cma; if impossible the segment */
    AMG_SHM_COPY_SEGMENT, /* always through the segment */
};

/* State of a domain for puts and gets. */
struct amg_shm_bulk {
    struct amg_shm_exposer exposer;
    struct amg_shm_accessor_id id; /* of this process, in the peers' tables */
    enum amg_shm_copy copy;
    bool is_ptraceable;         /* ptrace_allow() returned true */
    struct amg_pool pool;       /* of transfers */
    struct amg_table transfers; /* transfers by message; under the lock */
    uint32_t bounce_used;       /* bit i: buffer i is in use; under the lock */
    uint32_t bounce_reserved;   /* bit i: buffer i has pages; under the lock */
};

/* State of an endpoint for puts and gets; at the start all zero, except the
 * lists. */
struct amg_shm_bulk_ep {
    /* `ready`: transfers that the next poll continues; `blocked`: transfers
     * that wait for a bounce buffer. Under the lock. */
    struct amg_list ready;
    struct amg_list blocked;
    /* Cost in bytes of the copies made inside posts since a poll last took
     * operations from `done`. Written under the lock, read without the lock. */
    _Atomic uint64_t copied;
};

/* State of a peer for puts and gets; all zero at the start. The first copy to
 * or from the peer finds the ways of copying that work. */
struct amg_shm_bulk_peer {
    struct amg_lock lock; /* held while the ways are found */
    /* 1: `table`, `accessor` and the area, memory of the peer's library, are
     * set, and constant. Release by the thread that set them; else acquire. */
    _Atomic uint32_t is_known;
    /* 1: cross-memory copies are allowed; 0 after the kernel refused a copy. */
    _Atomic uint32_t has_cma;
    /* 1: the peer closed or died, and posts no longer copy. A copy by a post
     * that still reads 0 is harmless: the peer's area stays mapped until the
     * peer is freed. Written under the lock, read without the lock. */
    _Atomic uint32_t is_gone;
    struct amg_shm_key_table *table;
    struct amg_shm_accessor *accessor; /* NULL: only the peer copies */
    uint64_t area_base;   /* address of the area at the peer; self: 0 */
    uint64_t area_len;    /* 0: no direct way; self: all memory */
    char *area;           /* the area as mapped here; NULL: no area, or self */
    uint32_t bounce_used; /* our buffers used for the peer; domain's lock */
};

/* Msgbufs of the own segment, or blocks of one kind: free buffers, lent
 * buffers, and the range of buffers that were never used. */
struct amg_shm_stock {
    struct amg_link *free;
    struct amg_list lent; /* at receivers, in the order of the lending */
    uint32_t next;        /* index of the first buffer that was never used */
    uint32_t end;         /* index behind the last buffer */
};

enum amg_shm_stock_id {
    AMG_SHM_STOCK_MSGBUFS, /* msgbufs that a receiver may keep for long */
    AMG_SHM_STOCK_TRANSIT, /* msgbufs whose bytes a receiver copies at once */
    AMG_SHM_STOCK_BLOCKS,  /* the first stock of blocks; one per kind */
    AMG_SHM_STOCKS = AMG_SHM_STOCK_BLOCKS + AMG_SHM_BLOCK_KINDS,
};

/* Buffer of one outgoing message. The buf is in a free list, with the user, in
 * a queue of messages to be sent, or in `lent` of its stock. */
struct amg_shm_buf {
    struct amg_post post; /* while free: post.link is the next free buf */
    struct amg_buf buf;
    struct amg_shm_domain *domain;
    struct amg_shm_stock *stock;
    struct amg_shm_msgbuf *msgbuf; /* NULL: the bytes are on the heap */
    uint32_t index;                /* of the msgbuf or block */
    /* Valid while the message waits; `peer` also while the buffer is lent. */
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
    uint64_t claim; /* value of the slot's live claim; 0: no slot */
    uint8_t context_id;
    int doorbell; /* FIFO of the context, opened at the first wakeup; or -1 */
    /* Messages that take no credit, and wait for room. `control`: messages of
     * the library itself, which a retry sends first; `queue`: replies. */
    struct amg_list control;
    struct amg_list queue;
    bool lacks_memory;    /* /dev/shm lacked room at the last claim */
    struct amg_link kept; /* on the domain's list of doorbells */
};

enum amg_shm_peer_state {
    AMG_SHM_PEER_ALIVE,
    AMG_SHM_PEER_GONE,  /* closed, died, or refused us: gets no messages */
    AMG_SHM_PEER_UNMET, /* a rank of the node: mapped at the first contact */
};

/* Peer: another domain, or the domain itself. Freed when it has no references,
 * calls, lent msgbufs or waiting messages; guarded by the lock. */
struct amg_shm_peer {
    struct amg_shm_domain *domain;
    uint32_t refs; /* addresses, arrivals, inrings, transfers */
    uint32_t id;   /* of the peer in the tables of calls and transfers */
    enum amg_shm_peer_state state;
    uint8_t warned;        /* a bit per warning already logged about the peer */
    uint8_t context;       /* the peer's context that sent the last request */
    bool has_failed_wake;  /* a wakeup failed; the peer may be blocked */
    bool has_refused;      /* the peer could not map our segment: state GONE */
    uint32_t msgbufs_held; /* the peer's msgbufs and blocks that arrivals use */
    uint32_t msgbufs_lent; /* our msgbufs and blocks lent to the peer */
    struct amg_flow_peer calls;
    struct amg_watched watched;
    struct amg_link all;          /* on the domain's list of peers */
    struct amg_link blocked;      /* on the domain's list of peers to retry */
    struct amg_shm_region region; /* self: the domain's own; UNMET: only name
                                   * and incarnation */
    struct amg_shm_link first;    /* to context 0 */
    struct amg_shm_link **more;   /* by context; NULL: none but `first` */
    int pidfd; /* readable when the peer's process has died; -1: none */
    struct amg_shm_bulk_peer bulk;
};

/* A received request, a late reply, or the bytes of a reply. Free, or with the
 * user until its release. While free, base.data points to `bytes`. */
struct amg_shm_arrival {
    struct amg_arrival base;
    struct amg_shm_domain *domain;
    union {
        struct amg_shm_arrival *next_free;
        struct amg_shm_msgbuf *msgbuf; /* base.data is in this msgbuf, */
        void *copy;                    /* or in heap memory */
    };
    bool has_msgbuf;
    _Alignas(8) uint8_t bytes[AMG_SHM_RUN];
};

/* A ring of our segment and the peer that writes it. */
struct amg_shm_inring {
    struct amg_shm_in in;
    struct amg_shm_peer *peer;
    uint32_t slot;
    uint8_t context_id; /* of the inbox; the claim's can be altered by peers */
    uint32_t seen;      /* in.head at the last check for silent rings */
    bool is_active;     /* in `active` of the inbox */
    bool is_leaving;    /* the writer left or is GONE; freed once empty */
    struct amg_link link; /* on the inbox's `rings` */
};

/* Inbox of one context. Belongs to the progress owner while an endpoint is
 * open, and is guarded by the lock otherwise. Created when the context is first
 * opened, or when the domain closes and refuses requests to that context. Lives
 * as long as the domain: replies may arrive after the endpoint closed. */
struct amg_shm_inbox {
    struct amg_shm_domain *domain;
    struct amg_shm_context *context; /* the shared part */
    uint8_t context_id;
    bool is_open;
    uint32_t sleeps; /* count of announced waits * AMG_SHM_SLEEP_NEXT */
    /* FIFO of the context, kept until the domain closes; or -1. */
    int doorbell;
    uint32_t bytes_due;             /* wakeups whose byte was not read yet */
    struct amg_shm_inring **active; /* read by every poll */
    uint32_t active_count;
    uint32_t active_cap;
    struct amg_list rings;  /* all rings, active or not */
    unsigned leaving_count; /* rings with is_leaving */
};

/* Work for the next poll of an endpoint, besides its rings: the bits of
 * amg_shm_ep.due. */
enum amg_shm_due {
    AMG_SHM_DUE_DONE = 1,    /* there may be operations in `done`, or late
                              * replies in the list of the domain */
    AMG_SHM_DUE_BULK = 2,    /* bulk.ready is not empty */
    AMG_SHM_DUE_LEAVING = 4, /* rings with is_leaving are to be freed */
    AMG_SHM_DUE_WAIT = 8,    /* a wait was announced; the poll ends the wait */
    AMG_SHM_DUE_ALL = 15,
};

/* Owned by core, from open to close. */
struct amg_shm_ep {
    struct amg_ep base;
    struct amg_shm_inbox *inbox;
    /* Written under the lock, read without the lock. */
    _Atomic uint32_t due;
    uint32_t until_rare;  /* polls until the next check of rare events */
    uint32_t rare_polls;  /* polls that checked rare events */
    struct amg_list done; /* ended operations; under the lock */
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
    bool is_joined; /* the peers are ranks of a job, which closes as a whole */
    /* 1: peers may be in `blocked`, or credits may be owed, so polls try to
     * send. Written under the lock, read without the lock. */
    _Atomic uint32_t has_deferred;
    /* Approximate count of polls that found nothing. The count does not change
     * within a burst of messages. Relaxed: for prefetches only. */
    _Atomic uint32_t idle_polls;

    struct amg_bias lock; /* guards all below */
    struct amg_calls calls;
    struct amg_map peers; /* by incarnation */
    struct amg_list all_peers;
    /* Ends the operations with a peer that closed or died (shm_liveness.c), and
     * may free the peer. */
    void (*peer_gone_locked)(struct amg_shm_peer *peer, bool has_died);
    struct amg_list blocked;   /* peers to which messages wait */
    struct amg_shm_peer *self; /* the domain as a peer; a reference */
    /* The ranks of the node, sorted by rank; constant once set. */
    struct amg_shm_rank *ranks;
    uint32_t rank_count; /* 0: not in a job */
    uint32_t next_peer_id;
    bool wants_retry; /* a send waits for a slot, or a wakeup failed */
    /* Limit of the pidfds of peers, and limit of the open doorbells of peers: a
     * doorbell beyond the limit closes the doorbell that was opened first. */
    uint32_t descriptors_max;
    struct { /* shm_link.c: doorbells of peers, in the order of opening */
        struct amg_list open;
        uint32_t count;
    } doorbells;
    struct {               /* shm_liveness.c */
        int epoll;         /* epoll over the pidfds of all peers; -1: none */
        int timer;         /* in `epoll`, created when first needed; or -1 */
        uint64_t tick_ns;  /* period of `timer`; 0: disarmed */
        uint32_t pidfds;   /* number of pidfds */
        bool lacks_pidfds; /* there may be peers without a pidfd */
        bool has_unseen;   /* a ring of ours may still be UNSEEN */
    } deaths;
    uint64_t unmapped_since_ns; /* when mapping senders began to fail; or 0 */
    uint64_t refused;  /* incarnation of the last peer that was refused; or 0 */
    uint64_t refusing; /* incarnation of the last peer that refused us; or 0 */

    struct { /* shm_buf.c */
        struct amg_shm_stock stocks[AMG_SHM_STOCKS];
        struct amg_link *on_heap; /* free bufs on the heap, singly linked */
        struct amg_shm_buf *all;  /* by index of the msgbuf or block */
        bool has_warned;          /* warned that /dev/shm is full */
    } bufs;
    struct { /* shm_msg.c */
        struct amg_shm_arrival *free;
        struct amg_shm_block *blocks; /* the memory of all arrivals */
    } arrivals;

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

/* Sets or clears the bits of work for the next polls of the endpoint. */
static inline void amg_shm_due_set_locked(
    struct amg_shm_ep *ep, enum amg_shm_due due, bool is_due)
{
    uint32_t now = atomic_load_explicit(&ep->due, memory_order_relaxed);

    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    now = is_due ? now | (uint32_t)due : now & ~(uint32_t)due;
    atomic_store_explicit(&ep->due, now, memory_order_relaxed);
}

static inline bool amg_shm_is_due(
    const struct amg_shm_ep *ep, enum amg_shm_due due)
{
    return (atomic_load_explicit(&ep->due, memory_order_relaxed) &
               (uint32_t)due) != 0;
}

/* Ends the operation: the next poll of the endpoint returns it. */
static inline void amg_shm_op_end_locked(
    struct amg_shm_ep *ep, struct amg_op *op, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(&amg_shm_domain_of_ep(ep)->lock);
    op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
    op->ret = ret;
    amg_list_push(&ep->done, &op->link);
    amg_shm_due_set_locked(ep, AMG_SHM_DUE_DONE, true);
}

#endif
