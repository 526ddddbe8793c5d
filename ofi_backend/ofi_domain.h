/* SPDX-License-Identifier: BSD-3-Clause */
/* Domain, peers and endpoints of the driver.
 *
 * All contexts of a class share one endpoint of libfabric, because an address
 * stands for a process, some NICs have few addresses, and connections cost
 * memory. The header of a message names the receiving context. A context that
 * polls also receives for the other contexts, and wakes those that block.
 *
 * The lock of a domain guards three things: the fields below, except atomics
 * and pools; all calls of libfabric for the domain; and each operation while it
 * is posted. So the driver asks for FI_THREAD_DOMAIN, the level at which the
 * provider needs the fewest locks. Callers of _locked functions hold the lock.
 *
 * Resources, in the order in which a request or transfer waits for them; below
 * each resource: who holds it, how many may be held, and until when.
 *
 *   held by              bound           until
 *   place of a long request; without a place, the target pulls the arguments
 *     a long request      long_limit      its answer; if one-way, all credits
 *                                         are back
 *   credit of a peer
 *     a request           its credits     the peer's program answers or
 *                                         releases the request
 *   lease of a peer's memory; without a lease, a transfer goes by messages
 *     a transfer          4,096           the lease is returned
 *   unanswered message to a peer
 *     a put or get        16              the peer makes progress
 *   room of the provider; a request above 8 KiB also delays later requests
 *     a message or read   the provider's  the provider has moved the bytes
 *
 * Work that waits for a resource holds only resources of earlier rows. All
 * other messages of the driver need only the last row, and msgbufs are
 * allocated as needed. A transfer that waits for a lease, or for an answer,
 * holds nothing that older transfers need. HG_Bulk_free() of leased memory
 * makes progress in all classes of the process while it waits for the leases.
 * So only the program can cause a deadlock: by handlers that wait for each
 * other's answers while all credits are in use. */
#ifndef AMG_OFI_BACKEND_OFI_DOMAIN_H
#define AMG_OFI_BACKEND_OFI_DOMAIN_H

#include <stdatomic.h>

#include "base/bias.h"
#include "base/list.h"
#include "base/pool.h"
#include "ofi_backend/ofi_call.h"
#include "ofi_backend/ofi_wire.h"
#include "transport/calls.h"
#include "transport/pack.h"
#include "transport/registry.h"
#include "transport/transport.h"

enum {
    AMG_OFI_CONTEXTS = 256, /* a context id is one byte */
    AMG_OFI_RECEIVES = 4,   /* posted buffers, each for many messages */
    AMG_OFI_STACK_CAP = 64, /* a name such as "tcp;ofi_rxm" */
    AMG_OFI_TEXT_CAP = AMG_PEER_NAME_CAP, /* an address string with its NUL */
    AMG_OFI_WHEEL = 16, /* more than the ticks between two checks of a peer */
};

/* State of an operation that is a put or get: the value after those of enum
 * amg_call_state. amg_call_ptr() of such an operation is its transfer. */
enum { AMG_OFI_OP_TRANSFER = AMG_CALL_STATES };

struct amg_ofi_domain;
struct amg_peer;

/* Index of peers by 64 bits, whose low bits choose the bucket: the token that
 * this process gave the peer, or the hash of the peer's address. */
enum { AMG_OFI_BY_TOKEN, AMG_OFI_BY_ADDR, AMG_OFI_INDEXES };

struct amg_ofi_index {
    struct amg_peer **buckets;
    uint32_t mask;  /* buckets - 1 */
    uint32_t count; /* peers in the index */
};

/* Links of a sent call in the list of its peer: indices in the table of calls,
 * plus 1; 0: none. */
struct amg_ofi_call_link {
    uint32_t next;
    uint32_t prev;
    bool is_long; /* counts in `longs` of the peer */
};

struct amg_ofi_work;

/* Runs once for each completion; `error` is 0 or libfabric's code. */
typedef void (*amg_ofi_done_fn)(struct amg_ofi_domain *domain,
    struct amg_ofi_work *work, const struct fi_cq_data_entry *entry, int error);

/* A posted operation of libfabric. While an operation is posted, the provider
 * may write to `context` (FI_CONTEXT2). */
struct amg_ofi_work {
    struct fi_context2 context;
    amg_ofi_done_fn done;
};

enum amg_ofi_peer_state {
    AMG_OFI_PEER_UNKNOWN,    /* only the address is known */
    AMG_OFI_PEER_CONNECTING, /* CONNECT was sent or is due; the deadline runs */
    AMG_OFI_PEER_CLAIMED,    /* a CONNECT named its address, unproved so far */
    AMG_OFI_PEER_OPEN,       /* the peer has proved its identity */
    AMG_OFI_PEER_INCOMPATIBLE, /* version or message_max differs: ACCEPT due */
    AMG_OFI_PEER_STATES
};

/* A connect() that tests whether a host refuses the port (ofi_tcp_state.c). */
struct amg_ofi_probe {
    unsigned tick;    /* no probe before this tick */
    int fd;           /* -1: none */
    int error;        /* errno of the last probe */
    uint8_t wait;     /* ticks between probes that are not refused */
    uint8_t refusals; /* refused probes since the peer's last answer */
};

/* A process, by its address. A peer lives while it is referenced; a peer that
 * is not UNKNOWN references itself. */
struct amg_peer {
    struct amg_ofi_domain *domain;
    atomic_int refs;
    enum amg_ofi_peer_state
        state;           /* written by amg_ofi_peer_set_state_locked() */
    struct amg_link all; /* in `peers.all` of the domain */
    /* The next peer in the bucket of each index. */
    struct amg_peer *next[AMG_OFI_INDEXES];
    uint64_t hash;     /* of the address */
    fi_addr_t fi_addr; /* FI_ADDR_NOTAVAIL: not inserted yet */
    uint32_t number;   /* names the peer as owner of table entries */
    int broken;        /* libfabric's code of a post that failed for good */
    bool is_pending; /* on the domain's list of peers with something to send */
    bool is_stale;   /* the address is to be inserted anew */
    uint16_t addr_len;
    unsigned heard_tick; /* when the peer's last message came */
    struct amg_watched watched;
    struct amg_flow_peer calls;
    struct amg_list unsent;      /* msgbufs, oldest first */
    struct amg_pack_peer packed; /* kept message, sent after `unsent` */
    struct amg_link pending;
    struct amg_list sends;    /* msgbufs in flight, linked by post.waiting */
    unsigned posts_in_flight; /* sends, reads and writes */
    unsigned overtakable;     /* requests above IN_ORDER_LEN in flight */
    struct amg_ofi_conn {     /* ofi_connect.c */
        uint64_t token;       /* in messages from the peer; 0: none now */
        uint64_t my_token;    /* in our messages to the peer; 0: not known */
        uint64_t incarnation; /* 0: not known */
        uint32_t epoch; /* counts losses of the peer, to recognise messages of
                           earlier connections: no message lasts 2^32 losses */
        /* Counts of messages on the connection, for CONNECT and ACCEPT. */
        uint32_t sent;     /* posted with `my_token` */
        uint32_t sending;  /* part of `sent` that the provider still sends */
        uint32_t received; /* came with `token` */
        uint32_t connect_sent; /* `sent` at our last CONNECT */
        uint32_t short_sent;   /* connect_sent of the CONNECT short_seq */
        uint16_t short_seq; /* CONNECT whose ACCEPT counted too few; 0: none */
        uint16_t seq;       /* number of our last CONNECT; 0: none was sent */
        uint16_t their_seq; /* number of the peer's last CONNECT */
        bool owes_connect;  /* a CONNECT is to be sent */
        bool owes_accept;
        uint8_t tries;         /* failed posts of CONNECT or ACCEPT in a row */
        uint8_t extensions;    /* of the deadline of the first CONNECT */
        unsigned connect_tick; /* when our last CONNECT left */
        uint64_t deadline_ns;  /* when to give up a peer that is waited for */
        uint64_t retry_ns;     /* no CONNECT or ACCEPT before then; 0: now */
    } conn;
    struct {                   /* ofi_msg.c */
        uint16_t limit;        /* most requests that the peer takes at once */
        uint16_t first;        /* our credits at the peer from the start */
        uint32_t open;         /* unanswered, unreleased requests of the peer */
        uint32_t open_longs;   /* long requests among `open` */
        uint16_t long_limit;   /* long requests that the peer takes at once */
        uint16_t longs;        /* our long requests, from get_long_buf() on */
        uint16_t long_oneways; /* in `longs` until all credits are back */
        uint32_t asked;        /* newest open call: index plus 1; 0: none */
        uint8_t context; /* context that the peer's last request came from */
    } requests;
    unsigned tcp_tick; /* clock.tcp_tick when look.tcp_states was set */
    struct {           /* ofi_peer.c: the next check of the peer by a tick */
        struct amg_link link; /* in a list of `wheel`, in `resting`, or none */
        unsigned tick;      /* of that check; in `resting`: of the last check */
        bool is_watched;    /* on a list of `wheel` */
        uint8_t tcp_states; /* AMG_OFI_TCP_ bits: ofi_tcp_state.c */
    } look;
    struct amg_ofi_probe probe;
    struct {                       /* ofi_transfer.c, ofi_lease.c, ofi_mem.c */
        struct amg_list transfers; /* our puts and gets */
        struct amg_list blocked;   /* waiting until `unanswered` falls */
        unsigned unanswered;       /* unanswered messages of puts and gets */
        struct amg_list leases;    /* ours, of the peer's memory */
        struct amg_list grants;    /* the peer's leases of our memory */
        uint32_t granted;          /* leases of our memory that the peer has */
        unsigned revoked;          /* leases that the peer has to return */
    } rma;
    _Alignas(8) uint8_t addr[]; /* in the provider's format */
};

/* Buffer of a message, in one of these states: free; filled by the user;
 * waiting, kept for further calls, or in flight; read by the user, as one or
 * more arrivals and replies. */
struct amg_ofi_msgbuf {
    struct amg_ofi_work work;
    struct amg_post post;
    struct amg_ofi_domain *domain;
    struct amg_peer *peer; /* receiver or sender; a reference */
    struct amg_ofi_block *block;
    uint32_t epoch;     /* of the peer when the message came or left */
    uint32_t len;       /* with the header */
    bool is_long;       /* has room for AMG_OFI_LONG_LEN */
    bool is_counted;    /* in `longs` of the peer */
    atomic_uint others; /* arrivals and replies in this msgbuf, minus 1 */
    struct amg_pack pack;
    struct amg_buf buf;              /* buf.data points to data[] below */
    struct amg_pack_arrival arrival; /* of a message that is no PACK */
    _Alignas(64) uint64_t packed[AMG_PACK_HEAD_LEN / 8]; /* start of a PACK */
    struct amg_ofi_header header; /* start of other messages */
    unsigned char data[];
};

/* A received message. Its bytes are in a receive buffer, or in `whole`. */
struct amg_ofi_message {
    struct amg_ofi_domain *domain;
    struct amg_peer *peer; /* NULL: not known yet */
    const struct amg_ofi_header *header;
    const unsigned char *body;
    uint32_t len; /* of the body */
    /* Of a call in a PACK: a copy of the PACK, and room for the arrival in that
     * copy. NULL: there is no copy. */
    struct amg_ofi_msgbuf *whole;
    struct amg_pack_arrival *arrival;
};

/* Owned by core, from open to close. */
struct amg_ofi_ep {
    struct amg_ep base;
    struct amg_list done;    /* operations for the next poll */
    struct amg_list arrived; /* arrivals for the next poll */
    int wait_fd;             /* an epoll of all descriptors; -1: none */
    int event_fd;            /* signalled by other contexts that poll */
    int timer;               /* a timerfd, for deadlines */
    bool is_armed;           /* a thread may block on wait_fd */
    bool is_joined;          /* the epoll has the queue's descriptor */
    unsigned armed_tick;     /* when a thread blocked last */
    bool is_woken;           /* event_fd was signalled */
    uint64_t wait_ns;        /* time that the timer was set to */
    unsigned rma_in_flight; /* reads and writes of this endpoint's operations */
};

enum { AMG_OFI_SEEN = 64 };

/* A posted buffer for many messages; see ofi_receive.c. */
struct amg_ofi_receive {
    struct amg_ofi_work work;
    unsigned char *bytes;
    struct amg_ofi_block *block; /* the block that has `bytes` */
    bool is_posted;              /* the provider may still fill the buffer */
    bool is_withdrawn; /* post cancelled, or refused by the provider */
    bool wants_post;   /* to be posted when the provider has room */
    size_t end;        /* of the farthest message */
    size_t sum;        /* bytes of all messages in the buffer */
    unsigned tick;     /* of the last post, message or release */
};

/* Properties of the provider; constant. */
struct amg_ofi_facts {
    char stack[AMG_OFI_STACK_CAP]; /* provider's layers, as in addresses */
    bool needs_desc;               /* FI_MR_LOCAL */
    bool is_virtual;               /* FI_MR_VIRT_ADDR */
    bool needs_pages;              /* FI_MR_ALLOCATED */
    bool makes_keys;               /* FI_MR_PROV_KEY */
    bool binds_memory;             /* FI_MR_ENDPOINT */
    bool can_sleep;                /* the completion queue has a descriptor */
    bool is_multi;                 /* a buffer takes many messages */
    bool is_tcp;                   /* uses TCP connections of the kernel */
    uint32_t addr_format;
    size_t inject_len;
    size_t iov_max;
    size_t rma_iov_max;
    uint64_t key_max;   /* largest key that the driver may choose */
    uint64_t piece_len; /* most bytes of one read or write */
};

/* Owned by core, from open to close. */
struct amg_ofi_domain {
    struct amg_domain base;
    struct amg_bias lock;
    struct amg_ofi_facts facts;
    uint64_t incarnation; /* of this domain; never 0 */
    uint32_t message_len; /* of an eager message, with our header */
    uint32_t message_max; /* of the longest message that is not long */
    uint32_t receive_max; /* of the longest message that may come */
    uint16_t long_limit;  /* long requests that each peer may have here */
    uint32_t max_contexts;
    uint64_t connect_ns; /* time for a peer to answer */
    bool is_listening;
    bool no_block;         /* no thread will block */
    bool is_always_polled; /* a thread polls whatever the program does */
    bool is_closing;
    bool is_joined;       /* the peers are ranks of a job that close together */
    bool peers_may_close; /* peers of the job may close from now on */

    struct amg_ofi_ep **eps; /* by context; NULL where none is open */
    struct amg_peer *self;
    struct amg_calls calls;
    struct amg_packer packer;
    struct { /* ofi_transport.c */
        struct fi_info *info;
        struct amg_nic_id nic; /* of `info` */
        struct fid_fabric *fabric;
        struct fid_domain *domain;
        struct fid_av *av;
        struct fid_cq *cq;
        struct fid_ep *ep;
        unsigned universe; /* peers that the provider makes room for */
    } fi;
    struct { /* ofi_receive.c: buffers for messages that come */
        struct amg_ofi_receive receives[AMG_OFI_RECEIVES];
        struct amg_ofi_block *block; /* the newest block */
        unsigned replaced_count; /* blocks made to replace a buffer's memory */
        bool wants_receive;      /* a buffer was not posted for lack of room */
    } in;
    struct { /* ofi_send.c: buffers for messages that leave */
        struct amg_link *free[2]; /* singly linked; [1]: long msgbufs */
        struct amg_ofi_block *blocks;
        size_t count;
        struct amg_list in_flight;
    } msgbufs;
    struct { /* ofi_peer.c, ofi_connect.c */
        struct amg_ofi_index indexes[AMG_OFI_INDEXES];
        struct amg_list all;
        struct amg_list pending; /* peers with something to send now */
        size_t unsent_count;     /* messages in `unsent` of all peers */
        struct amg_list wheel[AMG_OFI_WHEEL]; /* watched peers, by tick */
        struct amg_list resting; /* idle peers, oldest check first */
        struct amg_table numbers;
        unsigned accepts; /* peers with `owes_accept` */
        bool has_warned;  /* logged an unknown sender or form */
    } peers;
    struct { /* ofi_msg.c: per slot of calls.table */
        struct amg_ofi_call_link *all;
        uint32_t cap;
    } call_links;
    struct {                  /* ofi_mem.c */
        struct amg_table all; /* struct amg_ofi_mem */
        uint64_t salt;        /* in our keys */
        uint32_t serials;     /* serial of the next key: counts exposures */
        uint64_t next_key;    /* unless the provider makes keys */
    } mems;
    struct {                  /* ofi_lease.c: ours */
        struct amg_table all; /* struct amg_ofi_lease */
        struct amg_list idle; /* unused leases, oldest first */
        unsigned idle_count;
        uint64_t seen[AMG_OFI_SEEN]; /* hashes of keys used before */
    } leases;
    struct {                        /* ofi_transfer.c */
        struct amg_list transfers;  /* transfers with something to post */
        struct amg_table fragments; /* struct amg_ofi_fragment, by cookie */
        struct amg_pool transfer_pool;
        struct amg_pool fragment_pool;
        unsigned in_flight; /* reads and writes */
    } rma;
    struct {                   /* ofi_wait.c */
        int fd;                /* of the queue; -1: none, or muted */
        unsigned false_alarms; /* in a row: readable, but the queue was empty */
        int muted_fd;          /* `fd`, ignored for a while; -1: not muted */
        unsigned muted_tick;   /* since when */
        bool was_muted;
        unsigned armed_count; /* endpoints that are armed */
    } wait;
    struct { /* ofi_poll.c */
        unsigned polls;
        unsigned tick;     /* counts intervals of 0.1 s */
        uint64_t tick_ns;  /* end of the current tick */
        uint64_t away_ns;  /* time without polls that deadlines do not count */
        unsigned tcp_tick; /* ofi_tcp_state.c: the next look at connections */
    } clock;
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

/* Room for the body of a PACK and its arrivals; equal at all our peers. */
static inline uint32_t amg_ofi_pack_room(const struct amg_ofi_domain *domain)
{
    return (domain->message_max - (uint32_t)sizeof(struct amg_ofi_header)) /
           AMG_PACK_ALIGN * AMG_PACK_ALIGN;
}

/* Longest body of a PACK. */
static inline uint32_t amg_ofi_pack_len(const struct amg_ofi_domain *domain)
{
    return amg_ofi_pack_room(domain) / (AMG_ROOM_FACTOR * AMG_PACK_ALIGN) *
           AMG_PACK_ALIGN;
}

/* The functions below choose the provider that an init string names
 * (ofi_select.c), by the string's address (ofi_bind_addr.c) and the environment
 * of the job (ofi_env.c), and read and write addresses (ofi_peer.c). */

static inline bool amg_ofi_format_is_ip(uint32_t format)
{
    return format == FI_SOCKADDR || format == FI_SOCKADDR_IN ||
           format == FI_SOCKADDR_IN6;
}

static inline const char *amg_ofi_text_of(const char *text)
{
    return text == NULL ? "" : text;
}

enum {
    AMG_OFI_HOST_CAP = 128,
    AMG_OFI_PORT_CAP = 8,
    AMG_OFI_IP_LEN = 16, /* bytes of the longest network address */
};

/* "[iface|host|NIC][:port]", the subnet, the format of addresses, as read. */
struct amg_ofi_bind_addr {
    char given[AMG_OFI_HOST_CAP]; /* text of the user */
    char host[AMG_OFI_HOST_CAP];  /* address or name of the host; "": any */
    char port[AMG_OFI_PORT_CAP];  /* "": any */
    bool is_any;                  /* the wildcard address was given */
    bool is_name;                 /* `given` names a host, or libfabric's NIC */
    const char *unknown;          /* error of the resolver, or NULL */
    bool has_subnet;
    int family; /* AF_UNSPEC: IPv4 or IPv6 */
    int subnet_family;
    uint8_t subnet[AMG_OFI_IP_LEN];
    unsigned subnet_bits;
};

/* HG_INVALID_ARG: the text, subnet or format is wrong, or two of them
 * contradict each other; the log says which. */
hg_return_t amg_ofi_bind_addr_read(
    const struct amg_open *how, struct amg_ofi_bind_addr *ret_bind);

/* Resolves the name of a host, which may block. If the resolver does not know
 * the name, the provider gets the name. */
void amg_ofi_bind_addr_resolve(struct amg_ofi_bind_addr *bind);

/* The best of libfabric's results `all` for `stack`, a stack of ofi_select.c;
 * of equal results, that of the NIC nearest to this process, else the first.
 * `by_nic`: only results of the NIC that the user named. NULL: none fits. */
const struct fi_info *amg_ofi_bind_addr_best(const struct amg_open *how,
    const struct amg_ofi_bind_addr *bind, const struct fi_info *all,
    const char *stack, bool by_nic);

/* Is this the wildcard address? */
bool amg_ofi_addr_is_any(uint32_t format, const void *addr);

/* Name, interface and bus address of the NIC of a result. */
void amg_ofi_nic_read(const struct fi_info *info, struct amg_nic_id *ret_nic);

enum {
    AMG_OFI_AUTH_LEN_MAX = 256,
    AMG_OFI_DEVICE_CAP = 64,
    AMG_OFI_AUTH_TEXT_CAP = 96,
};

/* Authorization key of a job (auth_key of libfabric). */
struct amg_ofi_auth {
    size_t len; /* 0: the provider's default */
    uint8_t bytes[AMG_OFI_AUTH_LEN_MAX];
    char device[AMG_OFI_DEVICE_CAP]; /* NIC that the key is for; "": any */
};

/* Reads `how->nic.auth_key`, or on Slingshot the key of the job's list that
 * AMALGAM_SLINGSHOT_VNI chooses. `device`: the NIC that the user named, or "".
 * HG_INVALID_ARG; the log says why. */
hg_return_t amg_ofi_auth_read(const struct amg_open *how, const char *device,
    struct amg_ofi_auth *ret_key);

/* For log lines: ", VNI 5 of service 2" if the provider has such a key, or "".
 * `ret_text`, which is returned, has AMG_OFI_AUTH_TEXT_CAP bytes. */
const char *amg_ofi_auth_text(const struct fi_info *info, char *ret_text);

/* Calls fi_getinfo(). Libfabric reads its environment in the first fi_getinfo()
 * of a process; so the first call sets variables that the user has not set. */
int amg_ofi_env_getinfo(uint32_t version, const char *node, const char *service,
    const struct fi_info *hints, struct fi_info **ret_info);

/* Expected peers: as the user has set, or the job's size; at least 256. */
unsigned amg_ofi_env_universe(void);

/* For tests: the next fi_getinfo() counts as the first one. */
void amg_ofi_env_forget(void);

/* "ofi+STACK://" and the address; see the table in ofi_peer.c. */
void amg_ofi_addrstr_write(const struct amg_ofi_facts *facts, const void *addr,
    size_t len, char *ret_text);

/* Reads the address in `text`, of at most AMG_OFI_ADDR_MAX bytes.
 * HG_INVALID_ARG: no address; HG_ADDRNOTAVAIL: another stack, or an unknown
 * host; the log says why. */
hg_return_t amg_ofi_addrstr_read(const struct amg_ofi_facts *facts,
    const char *text, void *ret_addr, uint16_t *ret_len);

/* Are these bytes, which a peer sent, an address? `own_len`: the length of our
 * own address. */
bool amg_ofi_addrstr_is_addr(const struct amg_ofi_facts *facts,
    const void *addr, size_t len, size_t own_len);

/* Chooses the provider by `how` (protocol, info, ip_subnet, addr_format,
 * auth_key). freeinfo() frees the result. HG_INVALID_ARG: `how` is wrong;
 * HG_OPNOTSUPPORTED: no provider fits; the log says why. HG_NOMEM. */
hg_return_t amg_ofi_select(const struct amg_open *how,
    struct fi_info **ret_info, struct amg_ofi_facts *ret_facts);

/* Ends an operation: the next poll of its endpoint returns the operation. */
void amg_ofi_op_end_locked(struct amg_op *op, hg_return_t ret);

/* Ends of domains and endpoints (ofi_close.c). The slots of the contract. */
void amg_ofi_ep_close(struct amg_ep *base, struct amg_events *ret_events);
bool amg_ofi_ep_is_clear(struct amg_ep *base);
hg_return_t amg_ofi_domain_quiesce(struct amg_domain *base);
void amg_ofi_domain_report(struct amg_domain *base);
bool amg_ofi_domain_abandon(struct amg_domain *base);
void amg_ofi_domain_stop(struct amg_domain *base);
void amg_ofi_domain_close(struct amg_domain *base);

/* Frees a domain that is no longer in use, or failed to open. */
void amg_ofi_domain_free(struct amg_ofi_domain *domain);

extern const struct amg_transport amg_ofi_transport;
/* For amalgam_info; src/init/drivers_*.c look the table up by this name. */
extern const struct amg_providers amg_ofi_providers;

#endif
