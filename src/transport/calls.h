/* SPDX-License-Identifier: BSD-3-Clause */
/* Call engine: requests from their post to their end, for every driver.
 *
 * The driver sends, receives, and gives finished operations to the next poll;
 * this file decides what becomes of an operation. A request that wants a reply
 * has a slot in the table of calls from its post on; the cookie of the slot
 * goes out with the request, and its answer brings it back.
 *
 *   state     event                          then
 *   -         post, with a credit            ASKED; without reply: LEAVING
 *   -         post, no credit                WAITING
 *   WAITING   a credit came back             ASKED or LEAVING
 *   WAITING   cancel, its endpoint closes    DONE, HG_CANCELED; never leaves
 *   WAITING   the peer is lost               DONE, HG_HOSTUNREACH
 *   ASKED     reply                          DONE, HG_SUCCESS; credit back
 *   ASKED     refusal                        DONE, its code; credit back
 *   ASKED     cancel, its endpoint closes    DONE, HG_CANCELED; the slot stays
 *   ASKED     the peer is lost               DONE, HG_HOSTUNREACH
 *   LEAVING   the message has left           DONE, HG_SUCCESS
 *   LEAVING   cancel, its endpoint closes    DONE, HG_CANCELED; still leaves
 *   any       the medium cannot send it      DONE, the medium's code
 *
 * The slot of a cancelled call is held by amg_call_cancelled until the answer
 * comes, which returns the credit: until then the target holds the request. A
 * reply to it is a late arrival for whichever context polls next. An answer
 * that fits no slot, or that of a WAITING request, breaks the protocol.
 *
 * Functions that end in _locked want the lock of the domain held.
 */
#ifndef AMG_TRANSPORT_CALLS_H
#define AMG_TRANSPORT_CALLS_H

#include "base/assert.h"
#include "transport/flow.h"
#include "transport/table.h"
#include "transport/transport.h"

/* What the words of amg_op.priv hold while it is posted. */
enum { AMG_CALL_PRIV_STATE, AMG_CALL_PRIV_PTR, AMG_CALL_PRIV_EP };

/* The state of an operation. */
enum amg_call_state {
    AMG_CALL_DONE,    /* on a list of finished ones, or with its owner */
    AMG_CALL_WAITING, /* a request without a credit or room; PTR is its post */
    AMG_CALL_ASKED,   /* a request without its answer; PTR is its cookie */
    AMG_CALL_LEAVING, /* a message that the medium has; PTR is its post */
    AMG_CALL_STATES   /* the driver's own, as for puts and gets, begin here */
};

/* A message on its way out; the driver's buffer embeds it, and says who sends
 * it to whom before the post. */
struct amg_post {
    struct amg_link link;    /* waits for a credit; after that the driver's */
    struct amg_link waiting; /* the same, among those to all peers */
    struct amg_op *op;       /* ends when it has left; NULL: none */
    struct amg_ep *ep;       /* whose `op` is */
    struct amg_flow_peer *peer;
    uint32_t cookie;  /* set by the post; 0: no answer wanted */
    bool wants_reply; /* then `op` is NULL once it was given to the medium */
};

struct amg_calls;

/* Gives the medium a request that has its credit. On success it takes the
 * buffer, and ends `post->op`, if there is one, when the message has left.
 * HG_AGAIN: no room now; the driver calls amg_calls_go_locked() when there is.
 * Any other code ends the call. */
typedef hg_return_t (*amg_calls_send_fn)(
    struct amg_calls *calls, struct amg_post *post);

struct amg_calls_ops {
    amg_calls_send_fn send;
    /* The message will not leave: the buffer is free. */
    void (*put)(struct amg_calls *calls, struct amg_post *post);
    /* `op` is DONE with `ret`: the next poll of its endpoint returns it. */
    void (*end)(struct amg_op *op, hg_return_t ret);
    /* Sends the peer a message with nothing but the credits that it is owed.
     * False: not now. */
    bool (*pay)(struct amg_calls *calls, struct amg_flow_peer *peer);
};

/* The calls of a domain, which embeds it, and whose lock guards it. */
struct amg_calls {
    const struct amg_calls_ops *ops;
    struct amg_flow flow;
    struct amg_table table;  /* operations that wait for an answer */
    struct amg_list waiting; /* posts without a credit, to all peers */
    struct amg_list late;    /* replies to cancelled calls, by the driver */
};

/* Stands in the table for a call that was cancelled. */
extern struct amg_op amg_call_cancelled;

void amg_calls_init(
    struct amg_calls *calls, uint16_t credits, const struct amg_calls_ops *ops);
/* Fine on zeroed memory. The driver has emptied `late`. */
void amg_calls_fini(struct amg_calls *calls);

/* A post takes the operation, under the lock: a cancel that comes before it
 * finds the operation DONE. */
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

/* The code in a refusal, which may be anything. */
static inline hg_return_t amg_call_refusal(uint32_t code)
{
    return code == HG_SUCCESS || code >= HG_RETURN_MAX ? HG_NA_ERROR
                                                       : (hg_return_t)code;
}

/* Sends what waits for the peer, as far as credits and room go. */
void amg_calls_go_locked(struct amg_calls *calls, struct amg_flow_peer *peer);

void amg_calls_wait_locked(struct amg_calls *calls, struct amg_post *post);
void amg_calls_not_sent_locked(struct amg_calls *calls, struct amg_post *post,
    struct amg_op *op, hg_return_t ret);

/* A request with its credit goes to the medium. False: there is no room. */
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

/* Posts a request to the peer that `owner` numbers, and takes its buffer.
 * `send` is that of the table of the driver, named for the compiler. HG_NOMEM:
 * nothing has changed. */
static inline hg_return_t amg_calls_post_locked(struct amg_calls *calls,
    struct amg_post *post, uint32_t owner, amg_calls_send_fn send)
{
    struct amg_op *op = post->op;

    post->cookie = 0;
    if (post->wants_reply && !AMG_LIKELY(amg_table_add(&calls->table, op, owner,
                                             &post->cookie) == HG_SUCCESS))
        return HG_NOMEM;
    amg_call_begin(op, post->ep);
    if (AMG_LIKELY(amg_flow_take(&calls->flow, post->peer)))
        (void)amg_calls_send_locked(calls, post, send);
    else
        amg_calls_wait_locked(calls, post);
    return HG_SUCCESS;
}

/* The peer gave `count` credits back: sends what waited for them. False: they
 * are more than it was given. */
static inline bool amg_calls_credit_locked(
    struct amg_calls *calls, struct amg_flow_peer *peer, uint16_t count)
{
    if (!AMG_LIKELY(amg_flow_give(peer, count)))
        return false;
    if (!AMG_LIKELY(peer->waiting == NULL))
        amg_calls_go_locked(calls, peer);
    return true;
}

/* The operation that the answer of `owner` with this cookie is for, which may
 * be amg_call_cancelled; NULL: there was no such request. */
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

/* The call that amg_calls_find_locked() found is answered, and its credit is
 * back. False: it had none, as the peer gave back more than it was given. */
static inline bool amg_calls_settle_locked(
    struct amg_calls *calls, uint32_t cookie, struct amg_flow_peer *peer)
{
    amg_table_remove(&calls->table, cookie);
    return amg_calls_credit_locked(calls, peer, 1);
}

/* A request without reply was released: its peer is owed the credit, and paid
 * when that is worth a message. False: not yet. */
static inline bool amg_calls_owe_locked(
    struct amg_calls *calls, struct amg_flow_peer *peer)
{
    return amg_flow_owe(&calls->flow, peer) && calls->ops->pay(calls, peer);
}
/* Pays one peer that is owed credits. False: none is, or it could not be. */
bool amg_calls_pay_one_locked(struct amg_calls *calls);

/* Ends a posted operation as canceled; another one, or one that has ended, is
 * left alone. */
void amg_calls_cancel_locked(struct amg_calls *calls, struct amg_op *op);
/* Ends an ASKED operation with `ret` before its answer. */
void amg_calls_abandon_locked(
    struct amg_calls *calls, struct amg_op *op, hg_return_t ret);
/* The endpoint closes: cancels all of its requests. */
void amg_calls_drop_locked(struct amg_calls *calls, const struct amg_ep *ep);
/* The same for the posts on a list of the driver's: their operations end. */
void amg_calls_detach_locked(struct amg_calls *calls,
    const struct amg_list *posts, const struct amg_ep *ep);

/* The medium took a request, and could not send it. */
void amg_calls_unsent_locked(struct amg_calls *calls, struct amg_post *post,
    uint32_t owner, hg_return_t ret);
/* The peer is lost: ends with HG_HOSTUNREACH what waits for a credit of it. */
void amg_calls_lost_waiting_locked(
    struct amg_calls *calls, struct amg_flow_peer *peer);
/* The same for what it will not answer: all, or those calls of which `is_lost`
 * says so; `op` may be amg_call_cancelled. Their credits are back. */
void amg_calls_lost_asked_locked(struct amg_calls *calls,
    struct amg_flow_peer *peer, uint32_t owner,
    bool (*is_lost)(const struct amg_op *op, const void *arg), const void *arg);

/* Does somebody here wait for the peer to answer or to give credits back? */
bool amg_calls_is_waiting_locked(const struct amg_calls *calls,
    const struct amg_flow_peer *peer, uint32_t owner);

#endif
