/* SPDX-License-Identifier: BSD-3-Clause */
/* The domain and its endpoints, as the files of this folder share them.
 *
 * All contexts of a class share one endpoint of libfabric: an address stands
 * for a process, some NICs have few of them, and connections cost memory. The
 * head of a message tells which context it is for; the context that polls
 * serves the others, too, and wakes those that sleep.
 *
 * One lock guards a whole domain: all fields below, all calls of libfabric,
 * and all operations while they are posted. So the provider is asked for
 * FI_THREAD_DOMAIN, which has the least locks of its own. Functions that end
 * in _locked want it held. */
#ifndef AMG_OFI_BACKEND_OFI_DOMAIN_H
#define AMG_OFI_BACKEND_OFI_DOMAIN_H

#include <stdatomic.h>

#include "base/bias.h"
#include "base/list.h"
#include "base/map.h"
#include "base/pool.h"
#include "ofi_backend/ofi_call.h"
#include "ofi_backend/ofi_wire.h"
#include "transport/calls.h"
#include "transport/providers.h"
#include "transport/transport.h"

enum {
    AMG_OFI_CONTEXTS = 256, /* a context id is one byte */
    AMG_OFI_RECEIVES = 4,   /* buffers of many messages, posted at once */
    AMG_OFI_STACK_CAP = 64, /* "tcp;ofi_rxm" and its like */
    AMG_OFI_TEXT_CAP = 384, /* an address string with its NUL */
};

/* The state of a put or get, besides those of calls; PTR is its transfer. */
enum { AMG_OFI_OP_TRANSFER = AMG_CALL_STATES };

struct amg_ofi_domain;
struct amg_ofi_conn;
struct amg_peer;

/* The tokens that peers were given. As they are random, their last bits choose
 * the bucket. */
struct amg_ofi_tokens {
    struct amg_peer **buckets;
    uint32_t mask;  /* buckets - 1 */
    uint32_t count; /* of peers that have one */
};

struct amg_ofi_work;

/* Runs once for each completion; `error` is 0 or libfabric's code. */
typedef void (*amg_ofi_done_fn)(struct amg_ofi_domain *domain,
    struct amg_ofi_work *work, const struct fi_cq_data_entry *entry, int error);

/* A posted operation of libfabric. The provider may use the first bytes while
 * it is posted (FI_CONTEXT2). */
struct amg_ofi_work {
    struct fi_context2 context;
    amg_ofi_done_fn done;
};

enum amg_ofi_peer_state {
    AMG_OFI_PEER_UNKNOWN,    /* only its address is known */
    AMG_OFI_PEER_CONNECTING, /* sent a CONNECT; the deadline runs */
    AMG_OFI_PEER_CLAIMED, /* somebody sent a CONNECT in its name; no proof yet
                           */
    AMG_OFI_PEER_OPEN,    /* it has told who it is */
    AMG_OFI_PEER_INCOMPATIBLE, /* speaks another version, which it is to be told
                                */
    AMG_OFI_PEER_STATES
};

/* Another process. Lives while somebody holds it; those that are OPEN, or have
 * work, hold themselves. */
struct amg_peer {
    struct amg_ofi_domain *domain;
    atomic_int refs;
    enum amg_ofi_peer_state state; /* written by amg_ofi_peer_set_state() */
    struct amg_link all;           /* on the domain's list */
    struct amg_peer *next_alike;   /* another one of the same hash */
    uint64_t hash;                 /* of the address */
    fi_addr_t at;                  /* FI_ADDR_NOTAVAIL: not inserted yet */
    struct amg_peer *next_token;   /* another one in the same bucket */
    uint32_t number;               /* whose the slots in our tables are */
    uint64_t token;                /* its `stamp`; 0: none now */
    uint64_t my_token;             /* mine for it; 0: not known */
    uint64_t incarnation;          /* 0: not known */
    uint32_t epoch;                /* counts its incarnations and losses */
    uint32_t sent;       /* messages that were posted with `my_token`, */
    uint32_t leaving;    /* of which so many have not left, */
    uint32_t received;   /* and that came with `token` */
    uint32_t asked_sent; /* `sent` at the last CONNECT of ours, */
    uint32_t short_sent; /* and at one that not all had come before, */
    uint16_t short_ask;  /* which was this one; 0: none */
    uint16_t ask;        /* numbers those that left; never 0 then */
    uint16_t their_ask;  /* the number of its own last one */
    uint16_t room;       /* requests of ours that it takes at once */
    uint32_t open;       /* requests of its that are unanswered */
    uint32_t granted;    /* leases of our memory that it has */
    uint32_t warned;     /* a bit per kind of fault */
    uint8_t context;     /* the last one that was heard of */
    bool owes_connect;   /* one could not be sent yet; and why: */
    bool owes_accept;
    int broken;     /* libfabric's code of a post that failed for good */
    bool is_trying; /* on the list of those with something to send */
    uint16_t addr_len;
    unsigned heard_tick; /* when the last message came */
    unsigned asked_tick; /* when the last CONNECT left */
    unsigned probe_tick; /* no connection of our own to it before; see */
    int probe;           /* ofi_tcp_state.c. -1: none is being made */
    int probe_error;     /* why the last one could not be */
    uint8_t probe_wait;  /* ticks before the next one */
    uint8_t refusals;    /* of it, in a row */
    uint64_t deadline_ns;
    uint64_t retry_ns;  /* no CONNECT before; 0: now */
    uint8_t tries;      /* of the one that is owed */
    uint8_t extensions; /* how often the deadline of the first was put off */
    struct amg_flow_peer calls;
    struct amg_list unsent; /* msgbufs, oldest first */
    struct amg_link trying;
    struct amg_list leases;    /* of its memory, ours */
    struct amg_list transfers; /* our puts and gets */
    struct amg_list crowd;     /* of them, those that wait for `asked` */
    unsigned asked;   /* messages of puts and gets that it has not answered */
    unsigned revoked; /* leases of our memory that it is to return */
    unsigned busy;    /* sends, reads and writes in motion */
    bool is_stale;    /* its place in the address vector is to be given back */
    _Alignas(8) uint8_t addr[]; /* as the provider reads it */
};

/* A place for one message: in the pool, with the user as a buffer, on its way
 * out, or with the user as an arrival. */
struct amg_ofi_msgbuf {
    struct amg_ofi_work work;
    struct amg_post post;
    struct amg_ofi_domain *domain;
    struct amg_peer *peer; /* where it goes to or came from; a reference */
    struct amg_ofi_block *block;
    uint32_t epoch;     /* of the peer when it came or was posted */
    uint32_t len;       /* with the header */
    bool has_credit;    /* an arrival that will give one back */
    struct amg_buf buf; /* buf.data points to data[] below */
    struct amg_arrival arrival;
    _Alignas(64) struct amg_ofi_header header; /* the message begins here */
    unsigned char data[];
};

/* A message in its receive buffer. */
struct amg_ofi_message {
    struct amg_peer *peer; /* NULL: not given (CONNECT) */
    const struct amg_ofi_header *header;
    const unsigned char *body;
    uint32_t len; /* of the body */
};

/* Owned by core, from open to close. */
struct amg_ofi_ep {
    struct amg_ep base;
    struct amg_list done;    /* operations for the next poll */
    struct amg_list arrived; /* the same, arrivals */
    int wait_fd;             /* an epoll of the three below; -1: none */
    int bell;                /* rung by other contexts that poll */
    int timer;               /* for what has a deadline */
    bool is_armed;           /* somebody sleeps on wait_fd */
    bool is_joined;          /* the queue's descriptor is one of the three */
    unsigned armed_tick;     /* when somebody slept last */
    bool is_woken;
    uint64_t wait_ns; /* how long the timer was set for then */
    unsigned moving;  /* fragments that use memory of its operations */
};

enum { AMG_OFI_SEEN = 64 };

/* One posted buffer, which many messages fit in; see ofi_ep.c. */
struct amg_ofi_receive {
    struct amg_ofi_work work;
    unsigned char *bytes;
    struct amg_ofi_block *block; /* how it is registered */
    bool is_posted;              /* the provider may still choose it */
    bool is_cut;                 /* taken back: it may be said once more */
    bool is_owed;                /* to be posted when there is room */
    size_t end;                  /* of the message that lies farthest */
    size_t sum;                  /* bytes of all messages that came */
    unsigned tick;               /* when last one came, or it came back */
};

/* Properties of the provider; constant. */
struct amg_ofi_facts {
    char stack[AMG_OFI_STACK_CAP]; /* all its layers, as in address strings */
    bool needs_desc;               /* FI_MR_LOCAL */
    bool is_virtual;               /* FI_MR_VIRT_ADDR */
    bool needs_pages;              /* FI_MR_ALLOCATED */
    bool makes_keys;               /* FI_MR_PROV_KEY */
    bool binds_memory;             /* FI_MR_ENDPOINT */
    bool can_sleep;                /* its queue has a descriptor */
    bool is_multi;                 /* a buffer takes many messages */
    bool is_tcp;                   /* its connections are the kernel's */
    uint32_t addr_format;
    size_t inject_len;
    size_t iov_max;
    size_t rma_iov_max;
    uint64_t key_max;   /* the largest key that we may choose */
    uint64_t piece_len; /* bytes of one read or write */
};

/* Owned by core, from open to close. */
struct amg_ofi_domain {
    struct amg_domain base;
    struct amg_bias lock;
    struct amg_ofi_facts facts;
    struct fi_info *info;
    struct amg_nic_id nic; /* that `info` is of */
    struct fid_fabric *fabric;
    struct fid_domain *fid;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    int cq_fd;             /* -1: it has none, or one that wakes for nothing */
    unsigned false_alarms; /* of that, in a row */
    int muted_fd;          /* the one that did; -1: none does */
    unsigned muted_tick;   /* since when it is left alone */
    bool was_muted;

    uint64_t incarnation; /* of this domain; never 0 */
    uint64_t salt;        /* in its keys */
    uint32_t serials;     /* the same: how many there were */
    uint32_t message_len; /* of an eager message, with our header */
    uint32_t room_len;    /* of the longest one */
    uint32_t max_contexts;
    uint64_t connect_ns; /* how long a peer may take to answer */
    unsigned forks;      /* before it was opened; see amg_ofi_is_child() */
    bool is_listening;
    bool no_block; /* nobody will sleep */
    bool is_closing;
    bool is_joined;  /* peers close together, when somebody else says so, */
    bool is_leaving; /* which may be at any time now */

    struct amg_ofi_ep **eps; /* by context; NULL where none is open */
    unsigned armed_count;    /* those that somebody sleeps on */
    struct amg_peer *self;
    struct amg_map peers_by_hash;
    struct amg_list peers;  /* all of them */
    struct amg_list trying; /* those with something to send */
    struct amg_table peer_numbers;
    struct amg_ofi_tokens tokens;
    unsigned universe; /* peers that the provider makes room for */
    unsigned accepts;  /* peers that are owed one */
    bool has_warned;   /* of messages from nobody known */
    unsigned warnings; /* of peers' faults, all of them */

    struct amg_calls calls;
    struct amg_table fragments; /* struct amg_ofi_fragment, by message */
    struct amg_table leases;    /* struct amg_ofi_lease, ours */
    struct amg_table grants;    /* struct amg_ofi_grant_of, to others */
    struct amg_table mems;      /* struct amg_ofi_mem */

    struct amg_link *msgbufs; /* free ones, single linked */
    struct amg_ofi_block *blocks;
    size_t msgbuf_count;
    struct amg_list sends; /* msgbufs the provider has not finished */
    unsigned moving;       /* reads and writes the same */
    struct amg_ofi_receive receives[AMG_OFI_RECEIVES];
    struct amg_ofi_block *receive_block; /* the newest one; see ofi_ep.c */
    unsigned left_count;                 /* those that were added */
    bool owes_receive; /* one could not be posted for want of room */

    struct amg_pool transfer_pool;
    struct amg_pool fragment_pool;
    struct amg_list transfers; /* that have something to post */
    struct amg_list idle;      /* leases that nobody uses, oldest first */
    unsigned idle_count;
    uint64_t next_key;
    uint64_t seen[AMG_OFI_SEEN]; /* hashes of keys that were leased before */

    struct amg_ofi_conn *conns; /* connections, as they last were; */
    unsigned conn_count;        /* see ofi_tcp_state.c */
    unsigned conn_cap;
    unsigned conns_tick; /* when that was */
    bool has_conns;

    unsigned polls;   /* counts; now and then one looks at the clock */
    unsigned tick;    /* counts intervals of the clock */
    uint64_t tick_ns; /* when this one ends */
};

static inline struct amg_ofi_domain *amg_ofi_domain_of(
    const struct amg_domain *domain)
{
    return amg_container_of(domain, struct amg_ofi_domain, base);
}

static inline struct amg_ofi_ep *amg_ofi_ep_of(const struct amg_ep *ep)
{
    return amg_container_of(ep, struct amg_ofi_ep, base);
}

static inline struct amg_ofi_domain *amg_ofi_domain_of_ep(
    const struct amg_ofi_ep *ep)
{
    return amg_ofi_domain_of(ep->base.domain);
}

/* Is this process a child of the one that opened the domain? Nothing of
 * libfabric may be used after a fork(): connections and queues are the
 * parent's, pinned pages may be missing, and a lock may be held by a thread
 * that is not there. So every slot of the contract asks this first, and in a
 * child refuses what begins anything, and ignores what ends anything, which
 * leaves the parent's objects alone. The first time, the log says so. */
bool amg_ofi_is_child(const struct amg_ofi_domain *domain);

/* The operation comes back with the next poll of its endpoint. */
void amg_ofi_op_end_locked(struct amg_op *op, hg_return_t ret);

extern const struct amg_transport amg_ofi_transport;
/* For amalgam_info, which looks it up by this name. */
extern const struct amg_providers amg_ofi_providers;

#endif
