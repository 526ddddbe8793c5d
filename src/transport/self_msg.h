/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between the endpoints of one process. */
#ifndef AMG_TRANSPORT_SELF_MSG_H
#define AMG_TRANSPORT_SELF_MSG_H

#include <stdatomic.h>

#include "base/bias.h"
#include "base/pool.h"
#include "transport/flow.h"
#include "transport/transport.h"

struct amg_self_call;

/* What the endpoints of a domain share. Owned by the domain, which embeds it.
 * Lock order: `lock`, then the pool's own. */
struct amg_self_msgs {
    struct amg_pool pool; /* the messages; guards itself */
    struct amg_limits limits;
    uint32_t max_contexts;
    struct amg_bias lock;     /* guards all below, and the endpoints' lists */
    struct amg_self_ep **eps; /* by context id; NULL: not open */
    struct amg_self_call *calls; /* one for each credit */
    uint32_t call_free;          /* the first free one; credits: none is */
    struct amg_flow flow;
    struct amg_flow_peer peer; /* the only one: this process */
};

/* Owned by who opened it, until close. */
struct amg_self_ep {
    struct amg_ep base;
    struct amg_self_msgs *msgs;
    /* See self_news.c. Written under the lock; poll reads it without, only to
     * see whether the lock is worth taking, so it is relaxed. */
    atomic_uint state;
    struct amg_news news; /* what the next polls give out */
    int bell;             /* rung for who sleeps; -1: none could be made */
};

/* What the words of amg_op.priv hold here. */
enum { AMG_SELF_PRIV_STATE, AMG_SELF_PRIV_MSG, AMG_SELF_PRIV_TOKEN };

/* Where an operation stands. */
enum amg_self_op_state {
    AMG_SELF_OP_DONE,    /* with its owner, or about to be */
    AMG_SELF_OP_WAITING, /* a request without a credit; MSG is its message */
    AMG_SELF_OP_POSTED, /* a request that waits for its reply; TOKEN names it */
};

/* 0 in `message_len` or `credits` takes the default. HG_NOMEM. */
hg_return_t amg_self_msgs_init(
    struct amg_self_msgs *msgs, const struct amg_open *how);
/* Fine after a failed init, and on zeroed memory. */
void amg_self_msgs_fini(struct amg_self_msgs *msgs);

/* Makes `ep` reachable, or not any more; see amg_ep_ops. */
hg_return_t amg_self_msgs_join(
    struct amg_self_msgs *msgs, struct amg_self_ep *ep);
void amg_self_msgs_leave(struct amg_self_ep *ep, struct amg_news *ret_news);

/* Slots of the contract. */
hg_return_t amg_self_cancel(struct amg_ep *ep, struct amg_op *op);
hg_return_t amg_self_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf);
void amg_self_put_buf(struct amg_ep *ep, struct amg_buf *buf);
hg_return_t amg_self_send_request(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, struct amg_buf *buf, uint32_t len, bool wants_reply,
    struct amg_op *op);
hg_return_t amg_self_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op);
void amg_self_release(struct amg_ep *ep, struct amg_arrival *arrival);
void amg_self_release_reply(struct amg_ep *ep, struct amg_op *op);

#endif
