/* SPDX-License-Identifier: BSD-3-Clause */
/* Call engine: requests from their post to their end, for every driver.
 *
 * The driver sends, receives, and gives finished operations to the next poll;
 * this file decides the state of each operation. A request that wants a reply
 * has a slot in the table of calls from its post on; the request carries the
 * cookie of the slot, and its answer returns the cookie.
 *
 *   state     event                          then
 *   -         post, with a credit            ASKED; without reply: LEAVING
 *   -         post, no credit or no room     WAITING
 *   WAITING   there is a credit, and room    ASKED or LEAVING
 *   WAITING   cancel, or endpoint closes     DONE, HG_CANCELED; never leaves
 *   WAITING   the peer is lost               DONE, HG_HOSTUNREACH
 *   WAITING   the medium finds that nobody   DONE, the medium's code
 *             would read the request
 *   ASKED     reply                          DONE, HG_SUCCESS; credit back
 *   ASKED     refusal                        DONE, its code; credit back
 *   ASKED     cancel, or endpoint closes     DONE, HG_CANCELED; the slot stays
 *   ASKED     the peer is lost               DONE, HG_HOSTUNREACH; credit back
 *   LEAVING   the message has left, or was   DONE, HG_SUCCESS
 *             copied into another message
 *   LEAVING   cancel, or endpoint closes     DONE, HG_CANCELED; still leaves
 *   any       the send fails in the medium   DONE, its code; credit back
 *
 * A one-way request without an operation is in none of these states: it leaves
 * during the post, or the post fails.
 *
 * amg_call_cancelled fills the slot of a cancelled call until the answer comes
 * and returns the credit: until then the target holds the request. The reply to
 * a cancelled call is a late arrival for the context that polls next. An answer
 * that matches no slot, or the slot of a WAITING request, is a protocol
 * violation.
 *
 * No circular wait is possible:
 *
 *   what             held by                    until
 *   credit           a request, once it leaves  the target answers or releases
 *   slot of a call   a request, from its post   the answer; a full table grows,
 *                                               or the post fails
 *   buffer           a post                     the medium's rules: a waiting
 *                                               post needs no buffer of a
 *                                               pool (shm/shm_buf.c)
 *   place in a       a post                     the older posts have left, each
 *   queue                                       after its wait for a credit
 *
 * The target's program decides when it answers, and its answer may depend on
 * messages of the library (ACKs, credits, refusals, transfers). So such
 * messages take no credit and no slot, and wait for room in the medium alone.
 *
 * The caller of a function that ends in _locked holds the lock of the domain.
 * Model: tests/models/credits.pml. */
#ifndef AMG_TRANSPORT_CALLS_H
#define AMG_TRANSPORT_CALLS_H

#include "base/assert.h"
#include "base/bias.h"
#include "base/status.h"
#include "transport/flow.h"
#include "transport/table.h"
#include "transport/transport.h"

/* Protocol violations. Logged for each peer: the first of each enumerator. */
enum amg_violation {
    AMG_VIOLATION_FORM,    /* a message of unknown form or wrong length */
    AMG_VIOLATION_CREDITS, /* more credits came back than were taken */
    AMG_VIOLATION_LIMIT,   /* more requests than credits, or too many leases */
    AMG_VIOLATION_ANSWER,  /* an answer that matches no call or transfer */
    AMG_VIOLATION_ACCESS,  /* a put or get that this process refused */
    AMG_VIOLATION_DROPPED, /* no fault: this process dropped a one-way call */
};

/* Interval of ticks (rpc/hang.c): a hang is noticed that much later. */
#define AMG_TICK_NS 250000000ull

/* Indices into amg_op.priv while the operation is posted. */
enum { AMG_CALL_PRIV_STATE, AMG_CALL_PRIV_PTR, AMG_CALL_PRIV_EP };

/* The state of an operation. */
enum amg_call_state {
    AMG_CALL_DONE,    /* finished and on a list, or with its owner */
    AMG_CALL_WAITING, /* a request without a credit or room; PTR is its post */
    AMG_CALL_ASKED,   /* a request without its answer; PTR is its cookie */
    AMG_CALL_LEAVING, /* a message handed to the medium; PTR is its post */
    AMG_CALL_STATES   /* states of the driver, for puts and gets, begin here */
};

/* An outgoing message. The driver's buffer embeds it; the driver sets sender
 * and peer before the post. */
struct amg_post {
    struct amg_link link;    /* in the queue for a credit; afterwards the
                              * driver's */
    struct amg_link waiting; /* in `waiting` of struct amg_calls; afterwards
                              * the driver's */
    struct amg_op *op;       /* the operation of the message, or NULL */
    struct amg_ep *ep;       /* the endpoint of `op` */
    struct amg_flow_peer *peer;
    uint32_t cookie;  /* set by the post; 0 without `wants_reply` */
    bool wants_reply; /* true: `op` is NULL once the medium has the message */
};

struct amg_calls;

/* Hands a request that has its credit to the medium. On success the driver owns
 * the buffer, and completes `post->op`, if there is one, when the message has
 * left. HG_AGAIN: no room now; the driver calls amg_calls_go_locked() when
 * there is room. Any other code ends the call. */
typedef hg_return_t (*amg_calls_send_fn)(
    struct amg_calls *calls, struct amg_post *post);

struct amg_calls_ops {
    amg_calls_send_fn send;
    /* Takes back the buffer of a message that will not leave. */
    void (*put)(struct amg_calls *calls, struct amg_post *post);
    /* Makes `op` DONE with `ret`, for the next poll of its endpoint. */
    void (*end)(struct amg_op *op, hg_return_t ret);
    /* Sends the peer a message that only carries the credits owed to it, with
     * amg_calls_note_locked() as its cookie. False: not possible now. */
    bool (*pay)(struct amg_calls *calls, struct amg_flow_peer *peer);
    /* The source (outlet) of log lines, and the name of a peer in log lines. */
    const char *source;
    void (*name)(const struct amg_calls *calls,
        const struct amg_flow_peer *peer, char ret_text[AMG_PEER_NAME_CAP]);
};

/* Watch over the peers that this process waits for; see calls.c. */
struct amg_calls_watch {
    uint64_t period_ns; /* AMALGAM_SILENT_MS; 0: no watch */
    uint64_t next_ns;   /* of the next check */
    uint64_t tick_ns;   /* of the next store to `look_ns` of the domain */
    unsigned checks;    /* checks so far; the first only begins a period */
    unsigned named;     /* silent peers to be logged in this check */
};

/* State of the watch over one peer, which embeds it. */
struct amg_watched {
    bool is_heard;  /* a message came since the last check */
    uint8_t silent; /* 0: nothing to wait for; else 1 + checks in silence */
};

/* The calls of a domain, which embeds the struct and guards it by its lock. */
struct amg_calls {
    const struct amg_calls_ops *ops;
    const struct amg_bias *lock; /* of the domain, for asserts */
    struct amg_flow flow;
    struct amg_table table;  /* operations that wait for an answer */
    struct amg_list waiting; /* WAITING posts, to all peers */
    struct amg_list late;    /* by the driver: replies to cancelled calls */
    struct amg_calls_watch watch;
    unsigned warnings; /* number of warnings logged about peers */
    struct amg_driver_counts counts;
};

/* Placeholder in the table for a call that was cancelled. */
extern struct amg_op amg_call_cancelled;

void amg_calls_init(struct amg_calls *calls, const struct amg_bias *lock,
    uint16_t credits, const struct amg_calls_ops *ops);
/* Limits the requests of about `peers` peers, of up to `message_len` bytes
 * each, to about `max_bytes` in sum. Called before any peer is used. */
void amg_calls_limit(struct amg_calls *calls, uint64_t max_bytes,
    uint32_t message_len, uint64_t peers);
/* Accepts zeroed memory. The driver has emptied `late`. */
void amg_calls_fini(struct amg_calls *calls);

/* May one more fault be logged? Peers could cause any number of faults. */
bool amg_calls_may_warn(struct amg_calls *calls);
/* Logs a violation by the peer, once for each `what`. `kind`: the driver's kind
 * of the message; `number`: the offending value. */
void amg_calls_violation(struct amg_calls *calls, struct amg_flow_peer *peer,
    enum amg_violation what, unsigned kind, long number);

/* Is it time to check all peers? Reads the clock: do not call in each poll. */
bool amg_calls_watch_is_due_locked(
    struct amg_calls *calls, struct amg_domain *domain);
/* Number of entries that wait for the peer `owner`, without cancelled calls. */
unsigned amg_calls_waiting(const struct amg_table *table, uint32_t owner);
/* Checks a peer, whose number in the table of calls is `owner`, and for which
 * `transfers` transfers wait: logs the peer's name after a long silence. */
void amg_calls_watch_locked(struct amg_calls *calls, struct amg_flow_peer *peer,
    struct amg_watched *watched, uint32_t owner, unsigned transfers);
/* Ends the check of all peers: logs the number of peers not named. */
void amg_calls_watched_locked(const struct amg_calls *calls);

/* Starts a post, under the lock. Until the next state a cancel finds DONE. */
static inline void amg_call_begin(struct amg_op *op, struct amg_ep *ep)
{
    op->data = NULL;
    op->len = 0;
    op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
    op->priv[AMG_CALL_PRIV_EP] = (uint64_t)(uintptr_t)ep;
}

static inline void amg_call_set(
    struct amg_op *op, unsigned state, const void *ptr, const struct amg_ep *ep)
{
    op->priv[AMG_CALL_PRIV_STATE] = state;
    op->priv[AMG_CALL_PRIV_PTR] = (uint64_t)(uintptr_t)ptr;
    op->priv[AMG_CALL_PRIV_EP] = (uint64_t)(uintptr_t)ep;
}

static inline void *amg_call_ptr(const struct amg_op *op)
{
    return (void *)(uintptr_t)op->priv[AMG_CALL_PRIV_PTR];
}

static inline struct amg_ep *amg_call_ep(const struct amg_op *op)
{
    return (struct amg_ep *)(uintptr_t)op->priv[AMG_CALL_PRIV_EP];
}

/* Return code of a refusal; `code` comes from the peer and is not trusted. */
static inline hg_return_t amg_call_refusal(uint32_t code)
{
    return code == HG_SUCCESS || code >= HG_RETURN_MAX ? HG_NA_ERROR
                                                       : (hg_return_t)code;
}

/* Sends waiting posts to the peer until credits or room run out. While there is
 * room, returns recalled credits, and wishes for more (transport/flow.h). */
void amg_calls_go_locked(struct amg_calls *calls, struct amg_flow_peer *peer);

void amg_calls_wait_locked(struct amg_calls *calls, struct amg_post *post);
void amg_calls_not_sent_locked(struct amg_calls *calls, struct amg_post *post,
    struct amg_op *op, hg_return_t ret);

/* Hands a request with its credit to the medium. False: no room. */
static inline bool amg_calls_send_locked(
    struct amg_calls *calls, struct amg_post *post, amg_calls_send_fn send)
{
    struct amg_op *op = post->op;
    hg_return_t rc = HG_SUCCESS;

    if (AMG_LIKELY(post->wants_reply)) {
        op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_ASKED;
        op->priv[AMG_CALL_PRIV_PTR] = post->cookie;
        post->op = NULL;
    } else {
        op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_LEAVING;
        op->priv[AMG_CALL_PRIV_PTR] = (uint64_t)(uintptr_t)post;
    }
    rc = send(calls, post);
    if (AMG_LIKELY(rc == HG_SUCCESS))
        return true;
    amg_calls_not_sent_locked(calls, post, op, rc);
    return rc != HG_AGAIN;
}

/* Posts a one-way request without an operation. HG_AGAIN: earlier requests
 * wait; HG_BUSY: no credit, or no room; or the code of the medium. On an error
 * the buffer stays the caller's. */
static inline hg_return_t amg_calls_post_unwatched_locked(
    struct amg_calls *calls, struct amg_post *post, amg_calls_send_fn send)
{
    hg_return_t rc = HG_SUCCESS;

    AMG_ASSERT(!post->wants_reply);
    if (!AMG_LIKELY(amg_flow_take(&calls->flow, post->peer)))
        return amg_flow_is_closed(post->peer) ? HG_HOSTUNREACH
               : post->peer->waiting != NULL  ? HG_AGAIN
                                              : HG_BUSY;
    rc = send(calls, post);
    if (AMG_LIKELY(rc == HG_SUCCESS))
        return HG_SUCCESS;
    (void)amg_flow_give(post->peer, 1);
    return rc == HG_AGAIN ? HG_BUSY : rc;
}

/* Posts a request to the peer with number `owner`, and takes its buffer. `send`
 * is `ops->send`, passed so that the compiler can inline it. HG_NOMEM: nothing
 * has changed. Without an operation: as amg_calls_post_unwatched_locked(). */
static inline hg_return_t amg_calls_post_locked(struct amg_calls *calls,
    struct amg_post *post, uint32_t owner, amg_calls_send_fn send)
{
    struct amg_op *op = post->op;

    post->cookie = 0;
    if (!AMG_LIKELY(op != NULL))
        return amg_calls_post_unwatched_locked(calls, post, send);
    if (post->wants_reply && !AMG_LIKELY(amg_table_add(&calls->table, op, owner,
                                             &post->cookie) == HG_SUCCESS))
        return HG_NOMEM;
    op->cookie = post->cookie;
    amg_call_begin(op, post->ep);
    if (AMG_LIKELY(amg_flow_take(&calls->flow, post->peer)))
        (void)amg_calls_send_locked(calls, post, send);
    else
        amg_calls_wait_locked(calls, post);
    return HG_SUCCESS;
}

/* Makes an operation ASKED, with a credit and a slot in the table, for a driver
 * that then sends the request, and cannot fail. False: nothing has changed; the
 * driver calls amg_calls_post_locked() instead. */
static AMG_INLINE bool amg_calls_ask_locked(struct amg_calls *calls,
    struct amg_flow_peer *peer, uint32_t owner, struct amg_ep *ep,
    struct amg_op *op, uint32_t *ret_cookie)
{
    if (!AMG_LIKELY(amg_table_has_room(&calls->table)) ||
        !AMG_LIKELY(amg_flow_take(&calls->flow, peer)))
        return false;
    *ret_cookie = amg_table_put(&calls->table, op, owner);
    op->data = NULL;
    op->len = 0;
    op->cookie = *ret_cookie;
    amg_call_set(op, AMG_CALL_ASKED, (void *)(uintptr_t)*ret_cookie, ep);
    return true;
}

/* The peer returned `count` credits: sends posts that waited for them. */
static inline void amg_calls_credit_locked(
    struct amg_calls *calls, struct amg_flow_peer *peer, uint16_t count)
{
    if (!AMG_LIKELY(amg_flow_give(peer, count)))
        amg_calls_violation(calls, peer, AMG_VIOLATION_CREDITS, 0, count);
    else if (!AMG_LIKELY(peer->waiting == NULL && peer->debt == 0))
        amg_calls_go_locked(calls, peer);
}

/* The operation that an answer with this cookie from the peer `owner`
 * completes; may be amg_call_cancelled. NULL: there was no such request. */
static inline struct amg_op *amg_calls_find_locked(
    const struct amg_calls *calls, uint32_t cookie, uint32_t owner)
{
    const struct amg_table_slot *slot =
        amg_table_find(&calls->table, cookie, owner);
    struct amg_op *op = slot == NULL ? NULL : slot->object;

    return AMG_LIKELY(op != NULL) &&
                   op->priv[AMG_CALL_PRIV_STATE] != AMG_CALL_WAITING
               ? op
               : NULL;
}

/* Removes the answered call that amg_calls_find_locked() found, and takes its
 * credit back. */
static inline void amg_calls_settle_locked(
    struct amg_calls *calls, uint32_t cookie, struct amg_flow_peer *peer)
{
    amg_table_remove(&calls->table, cookie);
    amg_calls_credit_locked(calls, peer, 1);
}

/* A one-way request was released: owes its credit to the peer, and sends the
 * owed credits if they are enough for a message. False: not sent yet. */
static inline bool amg_calls_owe_locked(
    struct amg_calls *calls, struct amg_flow_peer *peer)
{
    return amg_flow_owe(&calls->flow, peer) && calls->ops->pay(calls, peer);
}
/* Takes the note due to the peer, for `pay` to send as its message's cookie. */
static inline uint32_t amg_calls_note_locked(
    struct amg_calls *calls, struct amg_flow_peer *peer)
{
    return amg_flow_take_note(&calls->flow, peer);
}

/* A message of the peer's `pay` came with the cookie `note`. */
void amg_calls_on_note_locked(
    struct amg_calls *calls, struct amg_flow_peer *peer, uint32_t note);

/* Sends one peer the credits and the note due to it. False: nothing is due to
 * any peer, or the message could not be sent. */
bool amg_calls_pay_one_locked(struct amg_calls *calls);

/* Ends a posted operation with HG_CANCELED; no effect on an operation that has
 * ended or was not posted. */
void amg_calls_cancel_locked(struct amg_calls *calls, struct amg_op *op);
/* Ends an ASKED operation with `ret` before its answer. */
void amg_calls_abandon_locked(
    struct amg_calls *calls, struct amg_op *op, hg_return_t ret);
/* Ends a WAITING request with `ret`: the request never leaves. */
void amg_calls_end_waiting_locked(
    struct amg_calls *calls, struct amg_post *post, hg_return_t ret);
/* The endpoint closes: cancels its WAITING and ASKED requests. */
void amg_calls_drop_locked(struct amg_calls *calls, const struct amg_ep *ep);
/* Ends with HG_CANCELED the operations of `ep` in the list `posts`. */
void amg_calls_detach_locked(struct amg_calls *calls,
    const struct amg_list *posts, const struct amg_ep *ep);

/* The medium accepted a request, but could not send it: takes the credit back,
 * and ends an operation that waits for the reply with `ret`. */
void amg_calls_unsent_locked(struct amg_calls *calls, struct amg_post *post,
    uint32_t owner, hg_return_t ret);
/* The peer is lost: ends its WAITING requests with HG_HOSTUNREACH. */
void amg_calls_lost_waiting_locked(
    struct amg_calls *calls, struct amg_flow_peer *peer);
/* The peer is lost: ends the call at this index of the table; the caller takes
 * the credit of the call back. */
void amg_calls_lost_at_locked(struct amg_calls *calls, uint32_t index);
/* The peer is lost: ends its ASKED requests, all or those for which `is_lost`
 * returns true (`op` may be amg_call_cancelled). Takes their credits back. */
void amg_calls_lost_asked_locked(struct amg_calls *calls,
    struct amg_flow_peer *peer, uint32_t owner,
    bool (*is_lost)(const struct amg_op *op, const void *arg), const void *arg);

/* The process of the peer has died: requests to the peer, and later posts, end
 * with HG_HOSTUNREACH. Returns the number of unreleased one-way requests. */
unsigned amg_calls_lose_locked(
    struct amg_calls *calls, struct amg_flow_peer *peer, uint32_t owner);
/* For `lost` of a driver that notices deaths itself, or has no other peer. */
void amg_lost_ignore(struct amg_domain *domain, struct amg_peer *peer);

/* Number of requests to the peer that were not answered (one-way: not
 * released), or that wait for a credit; without cancelled calls. */
uint32_t amg_calls_owed_locked(const struct amg_calls *calls,
    const struct amg_flow_peer *peer, uint32_t owner);

/* The stage of an operation, or AMG_STAGE_NONE: it is no call under way. Its
 * peer is `*ret_peer`, or if that is NULL the peer with the number
 * `*ret_owner`. */
enum amg_stage amg_calls_stage_locked(const struct amg_calls *calls,
    const struct amg_op *op, struct amg_flow_peer **ret_peer,
    uint32_t *ret_owner);
/* Counts the requests to the peer, and names it. */
void amg_calls_where_locked(const struct amg_calls *calls,
    const struct amg_flow_peer *peer, enum amg_stage stage,
    struct amg_whereabouts *ret_where);

/* The slot of a call that waits for its answer and was not cancelled, or NULL.
 * `at`: in: index to check first, 0 at the start; out: index of the slot. */
const struct amg_table_slot *amg_calls_pending_locked(
    const struct amg_calls *calls, uint32_t *at);

/* request_now and reply_now for a driver whose messages need a buffer: copy the
 * bytes into a buffer, and send the buffer. */
bool amg_request_by_buf(struct amg_ep *ep, struct amg_target to,
    const void *bytes, uint32_t len, bool wants_reply, struct amg_op *op);
bool amg_reply_by_buf(struct amg_ep *ep, const struct amg_arrival *arrival,
    const void *bytes, uint32_t len);

#endif
