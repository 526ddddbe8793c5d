/* SPDX-License-Identifier: BSD-3-Clause */
/* Loopback: calls and transfers of a process to itself. */
#ifndef AMG_TRANSPORT_SELF_H
#define AMG_TRANSPORT_SELF_H

#include <stdatomic.h>

#include "base/bias.h"
#include "base/lock.h"
#include "base/pool.h"
#include "transport/calls.h"
#include "transport/table.h"
#include "transport/transport.h"

struct amg_self_mem;

/* All exposed memory of a domain. Owned by the domain, which embeds it. */
struct amg_self_mems {
    struct amg_lock lock; /* guards all below, and the counts of users */
    struct amg_table table;
    uint32_t serials; /* next serial number; see self.c */
};

extern const struct amg_transport amg_self_transport;

/* Is `key` that of memory which this domain exposes now, with these segments?
 * Then the segments are addresses of this process. */
bool amg_self_mem_is(const struct amg_domain *domain, const struct amg_key *key,
    const struct amg_segment *segments, uint32_t count);

/* State shared by the endpoints of a domain. Owned by the domain, which embeds
 * it. Lock order: `lock`, then the pool's own. */
struct amg_self_msgs {
    struct amg_pool pool; /* the messages; guards itself */
    struct amg_limits limits;
    uint32_t max_contexts;
    struct amg_bias lock;     /* guards all below, and the endpoints' lists */
    struct amg_self_ep **eps; /* by context id; NULL: not open */
    struct amg_calls calls;
    struct amg_flow_peer peer; /* the only peer: this process */
};

/* Owned by its opener until close. */
struct amg_self_ep {
    struct amg_ep base;
    struct amg_self_msgs *msgs;
    /* The number of entries of `events`, and whether a thread blocks. Written
     * under the lock. Poll reads the state without the lock, only to decide
     * whether to take the lock, so the load is relaxed. */
    atomic_uint state;
    struct amg_events events; /* completions and arrivals for the next polls */
    int event_fd; /* wakes a blocked thread; -1: could not be created */
};

/* 0 in `message_len` or `credits` takes the default. HG_NOMEM. */
hg_return_t amg_self_msgs_init(
    struct amg_self_msgs *msgs, const struct amg_open *how);
/* Accepts the result of a failed init, and zeroed memory. */
void amg_self_msgs_fini(struct amg_self_msgs *msgs);

/* Writes what is under way; see amg_domain_ops. */
void amg_self_msgs_write_state(
    struct amg_self_msgs *msgs, struct amg_state *state);

/* Makes `ep` reachable, or ends that; see amg_ep_ops. Before join, all of `ep`
 * but its base is zero. */
hg_return_t amg_self_msgs_join(
    struct amg_self_msgs *msgs, struct amg_self_ep *ep);
void amg_self_msgs_leave(struct amg_self_ep *ep, struct amg_events *ret_events);

/* Gives `op`, which moved `len` bytes, to the next poll of `ep`. */
void amg_self_finish(
    struct amg_self_ep *ep, struct amg_op *op, hg_return_t ret, uint64_t len);

/* Slots of the contract. */
unsigned amg_self_poll(
    struct amg_ep *ep, unsigned max, struct amg_events *ret_events);
int amg_self_wait_fd(const struct amg_ep *ep);
bool amg_self_arm(struct amg_ep *ep);
hg_return_t amg_self_cancel(struct amg_ep *ep, struct amg_op *op);
hg_return_t amg_self_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf);
hg_return_t amg_self_get_long_buf(struct amg_ep *ep, struct amg_peer *peer,
    uint32_t len, struct amg_buf **ret_buf);
void amg_self_put_buf(struct amg_ep *ep, struct amg_buf *buf);
hg_return_t amg_self_send_request(struct amg_ep *ep, struct amg_target to,
    struct amg_buf *buf, uint32_t len, bool wants_reply, struct amg_op *op);
bool amg_self_request_now(struct amg_ep *ep, struct amg_target to,
    const void *bytes, uint32_t len, bool wants_reply, struct amg_op *op);
hg_return_t amg_self_send_ack(struct amg_ep *ep, struct amg_target to,
    const void *bytes, uint32_t len, struct amg_op *op);
bool amg_self_reply_now(struct amg_ep *ep, const struct amg_arrival *arrival,
    const void *bytes, uint32_t len);
hg_return_t amg_self_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op);
void amg_self_release(struct amg_ep *ep, struct amg_arrival *arrival);
void amg_self_release_reply(struct amg_ep *ep, struct amg_op *op);

#endif
