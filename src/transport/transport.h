/* SPDX-License-Identifier: BSD-3-Clause */
/* The contract between core and a driver: five small tables.
 *
 * A driver is one `const struct amg_transport`. Every slot is set (registry.c
 * checks it); a driver that cannot do a thing sets a function that refuses.
 *
 *   domain    the medium of one class: one per class and driver
 *   endpoint  one per context; messages go to and come from an endpoint
 *   peer      another process (or this one) as the driver knows it
 *   memory    a registered list of segments that peers may put to or get from
 *
 * Rules for every slot, unless its text says otherwise:
 *  - the slot does not block, and returns in microseconds;
 *  - any thread may call the slot, also while other threads use the same object
 *    (the driver guards itself with leaf locks); only poll() of one endpoint
 *    has one caller at a time;
 *  - on an error nothing has changed, `ret_` pointers are not written, and the
 *    driver has logged the cause if the driver found it;
 *  - pointers passed in are the caller's, and not kept after the return;
 *  - no slot of an object is called in a child of fork(), see core/inherit.c.
 *
 * The objects begin with the public part below; the rest is private to the
 * driver.
 */
#ifndef AMG_TRANSPORT_TRANSPORT_H
#define AMG_TRANSPORT_TRANSPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/op.h"
#include "transport/seg_iter.h"

enum { AMG_PEER_NAME_CAP = 384 }; /* name of a peer in log lines, with NUL */

struct amg_pack_counts;
struct amg_state;
struct amg_transport;

/* Memory that the library allocates for bulk: a shared mapping of the class, to
 * which a driver may give its peers faster access. */
struct amg_area {
    void *base;
    uint64_t len; /* reserved; pages are allocated at first touch */
    int fd;       /* file of the mapping, from offset 0 */
};

enum {
    AMG_NIC_TEXT_CAP = 64,
    AMG_NICS_ALIKE_MAX = 32,
    AMG_NIC_WHY_CAP = 128,
};

/* A NIC as its driver knows it; "" where a field is unknown. */
struct amg_nic_id {
    char name[AMG_NIC_TEXT_CAP];  /* of the device: "mlx5_0" */
    char iface[AMG_NIC_TEXT_CAP]; /* of its network interface: "ib0" */
    char bus[AMG_NIC_TEXT_CAP];   /* PCI address: "0000:81:00.0" */
};

/* Options of a driver whose medium is that of a job (MPI). */
struct amg_open_job {
    const void *comm; /* a `const MPI_Comm *`, or NULL for the world */
    /* Protocol of the internode transport if that is another driver's; the
     * ranks compare the protocols. Or NULL. */
    const char *internode;
};

/* Options of a driver that opens a NIC (libfabric). */
struct amg_open_nic {
    const char *ip_subnet; /* "10.0.0.0/8": use an interface in it; or NULL */
    const char *auth_key;  /* key of the job at the network, or NULL */
    uint8_t addr_format;   /* value of enum na_addr_format */
    bool no_block;         /* no thread will block: no descriptor is needed */
    /* Chooses one of several equal NICs for this process, when the user has
     * named none: returns the index, or `count` if the machine description has
     * none of these NICs; writes the reason into `ret_why`, in words. `turn`:
     * number of processes of this node that chose before. May take
     * milliseconds. NULL: the distances of NICs are not known. */
    uint32_t (*nearest)(const struct amg_nic_id *nics, uint32_t count,
        uint32_t turn, char ret_why[AMG_NIC_WHY_CAP]);
    uint32_t turn; /* for nearest() */
};

/* Parameters of the open of a domain. */
struct amg_open {
    const char *info;     /* init string after the scheme, "" when none */
    const char *protocol; /* the part of the scheme after '+', or all of it if
                           * it has no '+'; NULL: the default protocol */
    bool is_listening;
    /* All peers are ranks of one job, and close together with the main domain:
     * so quiesce() waits for the calls and transfers of this process, too. */
    bool is_joined;
    /* The driver need not remove the files of dead processes: the first rank of
     * this node removes them when it opens the same medium. */
    bool is_clean;
    uint32_t message_len;  /* hint: longest message, 0 takes the default */
    uint32_t credits;      /* unanswered requests per peer; 0: the default */
    uint32_t max_contexts; /* endpoints that will be open at once, >= 1 */
    const struct amg_area *area; /* lives as long as the domain; NULL: none */
    struct amg_open_job job;
    struct amg_open_nic nic;
};

/* Limits and abilities of a domain; constant while it is open. */
struct amg_limits {
    uint32_t request_len; /* payload bytes of an eager request */
    uint32_t reply_len;   /* payload bytes of an eager reply */
    uint32_t credits;     /* unanswered requests per peer */
    bool is_spinning;     /* true: there is no descriptor, so a wait polls */
    bool must_yield;      /* a wait must leave its core to senders */
    bool reaches_self;    /* a process can send requests to itself */
    /* Only threads of the program may call the medium: posts of service threads
     * wait for the next poll by a thread of the program. */
    bool is_user_bound;
};

/* Numbers of events that a driver counts, which only grow. Relaxed. */
struct amg_driver_counts {
    atomic_uint_fast64_t credits_short; /* requests without a credit */
    /* Messages that found no room in the medium, for later polls to send. */
    atomic_uint_fast64_t retries;
    atomic_uint_fast64_t wakes; /* system calls that woke a peer */
};

/* Adds 1; the lock of the domain guards all writers. */
static inline void amg_driver_count(atomic_uint_fast64_t *count)
{
    atomic_store_explicit(count,
        atomic_load_explicit(count, memory_order_relaxed) + 1u,
        memory_order_relaxed);
}

struct amg_domain {
    const struct amg_transport *transport;
    /* Puts and gets cost less if their local memory is registered, too, and
     * `mem` of the operation is set. Constant. */
    bool wants_mem;
    /* NIC that leads out of this machine; NULL: not known. Constant; owned by
     * the driver. */
    const struct amg_nic_id *nic;
    /* Packed messages that have left (transport/pack.h); NULL: the driver packs
     * none. Constant; owned by the driver. */
    const struct amg_pack_counts *packs;
    const struct amg_driver_counts *counts; /* constant; the driver's */
    /* Set by core before quiesce(): calls that this process has made so far, by
     * any route. */
    uint64_t posted;
    /* Set by core for the main domain: calls stop() of the other domains of the
     * class. The driver calls stopped() repeatedly from the teardown of its
     * medium (MPI_Finalize()), when the program may make no more progress,
     * until the peers have closed. NULL: nothing to call. */
    void (*stopped)(void *arg);
    void *stopped_arg;
    /* Makes progress on all endpoints, whose next polls return the results.
     * NULL: an unreg() of a peer needs no progress of this domain. Constant. */
    void (*progress)(struct amg_domain *domain);
    /* Set by core: makes progress on the other open domains of the process. A
     * driver that waits for a peer calls others() repeatedly, without a lock:
     * the peer may wait in the same way for this process in another domain.
     * NULL: the class is not open yet. */
    void (*others)(const struct amg_domain *domain);
    /* Set by core for log lines: returns the rank of a peer, or UINT32_MAX.
     * Takes no lock. NULL: the ranks are not known. */
    uint32_t (*rank_of)(const void *ranks, const struct amg_peer *peer);
    const void *ranks;
    /* Set by core: a poll that reads the clock anyway stores 0 here some times
     * a second (amg_calls_watch_is_due_locked()), for threads that never wait.
     * Hints, so relaxed. NULL: nothing to store to; core then passes the
     * driver's lock before the memory of the word goes. */
    _Atomic(atomic_uint_fast64_t *) look_ns;
};

struct amg_ep {
    /* Changed once, by rpc/traced.c, perhaps while other threads call. */
    const struct amg_transport *transport;
    struct amg_domain *domain;
    /* 0 while a poll would find nothing: the caller may skip the poll; relaxed.
     * NULL: the driver cannot know. The pointer is constant. */
    const atomic_uint *pending;
    /* Number of packed messages (transport/pack.h) that further calls may still
     * join; all leave with the next poll. Relaxed. NULL: the driver packs none.
     * The pointer is constant. */
    const atomic_uint *kept;
    /* Bytes of long requests (get_long_buf) that are arriving, or wait for
     * their handler: beyond AMALGAM_MAX_PENDING_BYTES the driver leaves further
     * requests at their origin. The driver adds the bytes; amg_arrival_begin()
     * subtracts them when a handler begins, or release() if none has begun.
     * Relaxed: a count, which publishes nothing. Valid until the domain closes.
     * NULL: no arrival has `is_long`. The pointer is constant. */
    atomic_uint_fast64_t *held;
    uint8_t context_id;
};

/* The handler of a long request begins: takes its bytes off `held`. */
static inline void amg_arrival_begin(
    struct amg_arrival *arrival, atomic_uint_fast64_t *held)
{
    arrival->is_long = false;
    atomic_fetch_sub_explicit(held, arrival->len, memory_order_relaxed);
}

/* Room of a message, in multiples of the eager length: somewhat longer
 * arguments cost a longer message instead of a second round trip (over MPI 8
 * KiB of arguments took 2.9 times as long as 4 KiB when they were pulled, and
 * now take 1.4 times as long). Unused room is never touched. */
enum { AMG_ROOM_FACTOR = 4 };

/* Longest arguments that core puts into a long buffer (get_long_buf), and room
 * for the headers; the buffers of a driver may be shorter. */
enum { AMG_LONG_ARGS_LEN = 1 << 18, AMG_LONG_HEADERS_LEN = 4096 - 64 };

/* Longest message that needs no buffer (request_now). */
enum { AMG_NOW_LEN = 48 };

/* Buffer for one message. The driver's header precedes `data`. Owned by the
 * caller of get_buf, until a send consumes it or put_buf returns it. */
struct amg_buf {
    void *data;   /* aligned to 8 */
    uint32_t cap; /* at least the limit of its kind of message */
};

enum { AMG_KEY_LEN_MAX = 16 };

/* Key by which a peer names exposed memory; plain bytes for the wire. */
struct amg_key {
    uint8_t len;
    uint8_t bytes[AMG_KEY_LEN_MAX];
};

/* A context of a peer. */
struct amg_target {
    struct amg_peer *peer;
    uint8_t context_id;
};

/* A position in exposed memory, as the descriptor of its handle states it, in
 * addresses of the exposer. The exposer refuses the access if the position, or
 * the end of the access, is beyond its own list of segments. */
struct amg_remote {
    struct amg_key key;
    struct amg_seg_iter at;
};

/* Exposed memory; owned by the driver from reg() to unreg(). */
struct amg_mem {
    const struct amg_transport *transport;
};

enum amg_mem_flags {
    AMG_MEM_READ = 1,  /* peers may get */
    AMG_MEM_WRITE = 2, /* peers may put */
};

/* The stage and the peer of an operation. */
struct amg_whereabouts {
    uint32_t rank;    /* of the peer; UINT32_MAX: not known */
    uint8_t stage;    /* enum amg_stage, as far as this process knows */
    uint16_t taken;   /* requests that the peer has not answered */
    uint16_t credits; /* requests that the peer may have at once */
    uint32_t waiting; /* requests to the peer that have not left */
    char name[AMG_PEER_NAME_CAP]; /* of the peer, for log lines */
};

struct amg_domain_ops {
    /* Opens the medium. Collective where the medium is (MPI: over the
     * communicator). May block as long as its bootstrap does.
     * HG_INVALID_ARG     this driver does not understand the info string
     * HG_OPNOTSUPPORTED  no medium (no MPI, or its thread level is too low)
     * HG_NOMEM, HG_NA_ERROR  the log has the cause */
    hg_return_t (*open)(
        const struct amg_open *how, struct amg_domain **ret_domain);
    void (*limits)(
        const struct amg_domain *domain, struct amg_limits *ret_limits);
    /* Announces to the peers that this process is about to close, and checks
     * whether all peers have announced that. Never blocks; HG_AGAIN: not yet,
     * call again. HG_SUCCESS: all have, or there is no peer to wait for.
     * HG_TIMEOUT: a peer stopped waiting; the log names the missing peers.
     * Before HG_SUCCESS peers may send requests and access memory. */
    hg_return_t (*quiesce)(struct amg_domain *domain);
    /* Logs the peers for which quiesce(), or calls of this process, wait. */
    void (*report)(struct amg_domain *domain);
    /* After a deadline: stops waiting for the peers, and logs the missing ones;
     * may take some seconds to find them. True: calls that this process has
     * made are given up; the log has their number. Optional before close. */
    bool (*abandon)(struct amg_domain *domain);
    /* Ends the calls of peers to this process, which makes no more progress.
     * Called repeatedly until the peers have closed; optional before close. */
    void (*stop)(struct amg_domain *domain);
    /* Writes what is under way with each peer, and what belongs to no peer.
     * Takes the locks of the driver for some microseconds, longer where many
     * calls and transfers are under way; logs nothing. */
    void (*write_state)(struct amg_domain *domain, struct amg_state *state);
    /* Finds an operation, which may end meanwhile: only the pointer is compared
     * with those of the operations under way. Takes the locks of the driver as
     * write_state() does. False: the driver does not have the operation. */
    bool (*look)(struct amg_domain *domain, const struct amg_op *op,
        struct amg_whereabouts *ret_where);
    /* The process of a peer has died: operations with the peer, and later ones,
     * end with HG_HOSTUNREACH, at once or by a poll. May be called again. No
     * effect if the driver notices deaths itself. */
    void (*lost)(struct amg_domain *domain, struct amg_peer *peer);
    /* All endpoints are closed and all memory is unregistered. Frees the
     * domain. Does not wait for peers. */
    void (*close)(struct amg_domain *domain);
};

struct amg_ep_ops {
    /* Opens the endpoint of context `context_id`, which is unique within the
     * domain. The endpoint then receives replies, and requests if the domain
     * listens. HG_NOMEM; HG_INVALID_ARG: id not below max_contexts, or open
     * already. */
    hg_return_t (*open)(
        struct amg_domain *domain, uint8_t context_id, struct amg_ep **ret_ep);
    /* Operations still posted complete with HG_CANCELED, in `ret_events`;
     * arrivals not yet polled are dropped. Arrivals that the caller still holds
     * stay valid until released, which must be before the domain is closed.
     * Frees the endpoint. May take as long as the medium needs to return
     * buffers, about a second at most. */
    void (*close)(struct amg_ep *ep, struct amg_events *ret_events);
    /* A descriptor that becomes readable when something completes or arrives
     * after arm(); -1: the driver has none, and a wait polls. Constant while
     * the endpoint is open; the caller polls it, but does not read it. */
    int (*wait_fd)(const struct amg_ep *ep);
    /* The progress owner announces that it is about to block on wait_fd: until
     * the next poll, which also drains the descriptor, a sender makes the
     * descriptor readable. False: a completion or arrival is there, so poll
     * instead. An operation that ended in a post or cancel of this process
     * counts, too: arm checks under the lock that post and cancel take (for
     * later posts and cancels, core wakes the owner). Always true without a
     * descriptor. May make system calls. */
    bool (*arm)(struct amg_ep *ep);
    /* Does a peer that sends to this endpoint run on the caller's core? Then a
     * busy poll only keeps that peer from sending. A guess, for a progress
     * owner that found nothing for some time. */
    bool (*is_oversubscribed)(struct amg_ep *ep);
    /* Makes progress, and adds finished operations and arrivals to
     * `ret_events`, at most about `max`. Returns their number. One caller at a
     * time per endpoint. No system call when nothing happened. */
    unsigned (*poll)(
        struct amg_ep *ep, unsigned max, struct amg_events *ret_events);
    /* Asks a posted operation (request, reply, put or get) to end early.
     * HG_SUCCESS: the operation will end, or has. The reply to a cancelled
     * request becomes an arrival at any endpoint of the domain, also one that
     * is opened later; a driver whose only peer is this process may drop it. */
    hg_return_t (*cancel)(struct amg_ep *ep, struct amg_op *op);
    /* Are all requests that this process has sent by any endpoint of the domain
     * over, cancelled ones, too: answered or, if one-way, released? */
    bool (*is_clear)(struct amg_ep *ep);
};

/* Peers are counted: each slot that returns a peer gives the caller a
 * reference, which unref() ends. Peers that live as long as the domain need no
 * count. */
struct amg_addr_ops {
    struct amg_peer *(*self)(struct amg_domain *domain);
    struct amg_peer *(*ref)(struct amg_peer *peer);
    void (*unref)(struct amg_domain *domain, struct amg_peer *peer);
    bool (*is_self)(
        const struct amg_domain *domain, const struct amg_peer *peer);
    bool (*is_same)(const struct amg_domain *domain, const struct amg_peer *one,
        const struct amg_peer *other);
    /* Writes the address string with its NUL. `*len` is the room given, and
     * becomes the room needed. HG_OVERFLOW: too little room, or `ret_text` is
     * NULL; only `*len` was written. */
    hg_return_t (*format)(const struct amg_domain *domain,
        const struct amg_peer *peer, char *ret_text, size_t *len);
    /* HG_INVALID_ARG: no address of this driver. HG_ADDRNOTAVAIL: well formed,
     * but of another job, or of no process. Sends no message. */
    hg_return_t (*parse)(struct amg_domain *domain, const char *text,
        struct amg_peer **ret_peer);
};

struct amg_msg_ops {
    /* A buffer for one request or one reply to `peer`. HG_NOMEM. */
    hg_return_t (*get_buf)(
        struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf);
    /* A buffer for a longer message to `peer`, of at least `len` bytes.
     * HG_AGAIN: all such buffers are in use; HG_MSGSIZE: this driver has none
     * that long. The caller can do without a long buffer, and should not wait
     * for one. */
    hg_return_t (*get_long_buf)(struct amg_ep *ep, struct amg_peer *peer,
        uint32_t len, struct amg_buf **ret_buf);
    /* Returns an unused buffer. */
    void (*put_buf)(struct amg_ep *ep, struct amg_buf *buf);
    /* Sends the first `len` bytes of `buf` to the target, and takes `buf`. With
     * `wants_reply` the operation completes when the reply is here (`op->data`,
     * `op->len`; return it by release_reply) or the peer refused. Otherwise the
     * operation completes when the request has left or was packed (pack.h). The
     * driver queues a call beyond the credits of the peer, in order, until
     * credits come back. On an error `buf` stays the caller's. Completes with
     * HG_SUCCESS, HG_CANCELED, HG_HOSTUNREACH (the peer is gone), HG_NOENTRY
     * (the peer has no such context open), HG_OPNOTSUPPORTED (the peer does not
     * listen), HG_NA_ERROR. Returns HG_MSGSIZE (longer than `buf->cap`),
     * HG_NOMEM, HG_OPNOTSUPPORTED (this thread may not use the medium).
     *
     * Without `wants_reply`, `op` may be NULL: then nothing completes, and the
     * request does not wait for a credit or room. Instead the call returns
     * HG_AGAIN if earlier requests to the peer wait, HG_BUSY if there is no
     * credit or room, or the code with which an operation would complete. */
    hg_return_t (*send_request)(struct amg_ep *ep, struct amg_target to,
        struct amg_buf *buf, uint32_t len, bool wants_reply, struct amg_op *op);
    /* Answers `arrival`, once, and takes `buf`. `op` completes when the reply
     * has left; NULL: no completion. The arrival may be released before that.
     * Errors as send_request. */
    hg_return_t (*send_reply)(struct amg_ep *ep,
        const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
        struct amg_op *op);
    /* Send a message of at most AMG_NOW_LEN bytes without a buffer of the
     * caller; AMG_NOW_LEN bytes can be read at `bytes`. False: the driver
     * cannot do that now, and nothing has changed; the slots above send the
     * message, or tell why not. reply_now completes no operation. */
    bool (*request_now)(struct amg_ep *ep, struct amg_target to,
        const void *bytes, uint32_t len, bool wants_reply, struct amg_op *op);
    bool (*reply_now)(struct amg_ep *ep, const struct amg_arrival *arrival,
        const void *bytes, uint32_t len);
    /* Sends a one-way request of the library itself, of at most AMG_NOW_LEN
     * bytes; AMG_NOW_LEN bytes can be read at `bytes`. The request takes no
     * credit, and waits for none: the target may need the request to answer
     * requests that took credits. Completion and errors as send_request. */
    hg_return_t (*send_ack)(struct amg_ep *ep, struct amg_target to,
        const void *bytes, uint32_t len, struct amg_op *op);
    /* Free the bytes of an arrival, or of a reply; release() also returns the
     * credit of a one-way request. The caller may still call these slots after
     * the endpoint was closed, until the domain is closed. */
    void (*release)(struct amg_ep *ep, struct amg_arrival *arrival);
    void (*release_reply)(struct amg_ep *ep, struct amg_op *op);
};

struct amg_bulk_ops {
    /* Exposes the segments to all peers. The list is copied, the memory is
     * not. HG_NOMEM. */
    hg_return_t (*reg)(struct amg_domain *domain,
        const struct amg_segment *segments, uint32_t count, uint8_t flags,
        struct amg_mem **ret_mem);
    /* Ends the exposure: no new access begins once unreg() is called; accesses
     * in flight are finished or stopped before unreg() returns HG_SUCCESS, and
     * `mem` is freed. HG_BUSY: a peer did not answer within `timeout_ms`; `mem`
     * stays (closed to new accesses), call again. May block that long; other
     * operations of the domain progress meanwhile, and are not lost. */
    hg_return_t (*unreg)(
        struct amg_domain *domain, struct amg_mem *mem, unsigned timeout_ms);
    void (*key)(const struct amg_mem *mem, struct amg_key *ret_key);
    /* Moves `len` bytes (> 0, any 64 bit length), starting at `local`, to
     * exposed memory of `to.peer`; completes when they are in that memory. On
     * both sides the bytes may be in several segments. When put() has returned,
     * the caller may drop its reference to the peer and change `local` and
     * `remote`, but not the lists that they point to before the operation
     * completes. The progress of context `to.context_id` serves the access.
     * Completes with HG_SUCCESS, HG_CANCELED, HG_PERMISSION (not exposed for
     * writing), HG_OVERFLOW (outside what is exposed; nothing was moved),
     * HG_NOENTRY (no such key: freed or never exposed), HG_HOSTUNREACH,
     * HG_NOMEM (here or at the peer; nothing was moved), HG_NA_ERROR. Returns
     * HG_NOMEM, HG_INVALID_ARG (malformed key), HG_OPNOTSUPPORTED, or
     * HG_HOSTUNREACH if the peer is known to be lost. */
    hg_return_t (*put)(struct amg_ep *ep, struct amg_target to,
        const struct amg_seg_iter *local, const struct amg_remote *remote,
        uint64_t len, struct amg_op *op);
    /* Moves bytes the other way; completes when they are in local memory. */
    hg_return_t (*get)(struct amg_ep *ep, struct amg_target to,
        const struct amg_seg_iter *local, const struct amg_remote *remote,
        uint64_t len, struct amg_op *op);
};

struct amg_transport {
    const char *name;    /* name in addresses and reports: "self", "mpi" */
    const char *schemes; /* init strings it opens, space separated */
    struct amg_domain_ops domain;
    struct amg_ep_ops ep;
    struct amg_addr_ops addr;
    struct amg_msg_ops msg;
    struct amg_bulk_ops bulk;
};

#endif
