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

/* "self://" + 10 digits + '-' + 16 digits + NUL */
enum { AMG_SELF_TEXT_CAP = 48 };

/* Bits of the state of an endpoint. */
enum {
    AMG_SELF_ARMED = 1, /* a thread blocks on the descriptor, or is about to */
    AMG_SELF_RUNG = 2,  /* the descriptor must be drained */
    AMG_SELF_ENTRY = 4, /* an entry; this and higher bits count entries */
};

struct amg_self_ep;

/* All exposed memory of a domain. Owned by the domain, which embeds it. */
struct amg_self_mems {
    struct amg_lock lock; /* guards all below, and `users` of each memory */
    struct amg_table table;
    uint32_t serials; /* next serial number */
};

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
    int event_fd; /* wakes a blocked thread; -1: none could be created */
};

/* Owned by its opener, until close. */
struct amg_self_domain {
    struct amg_domain base;
    char text[AMG_SELF_TEXT_CAP]; /* address of the domain */
    struct amg_self_msgs msgs;
    struct amg_self_mems mems;
};

static inline struct amg_self_domain *amg_self_domain_of(
    const struct amg_domain *domain)
{
    return amg_container_of(domain, struct amg_self_domain, base);
}

static inline struct amg_self_ep *amg_self_ep_of(struct amg_ep *ep)
{
    return amg_container_of(ep, struct amg_self_ep, base);
}

extern const struct amg_transport amg_self_transport;

/* Does this domain expose memory with this key and these segments now? If so,
 * the segments are addresses of this process. */
bool amg_self_mem_is(const struct amg_domain *domain, const struct amg_key *key,
    const struct amg_segment *segments, uint32_t count);

/* Expects `limits` and `max_contexts`, and zeros in all the rest. HG_NOMEM. */
hg_return_t amg_self_msgs_init(struct amg_self_msgs *msgs);
/* Accepts the result of a failed init. */
void amg_self_msgs_fini(struct amg_self_msgs *msgs);

static inline unsigned amg_self_state(const struct amg_self_ep *ep)
{
    return atomic_load_explicit(&ep->state, memory_order_relaxed);
}

static inline void amg_self_set_state_locked(
    struct amg_self_ep *ep, unsigned state)
{
    AMG_ASSERT_HELD_BIAS(&ep->msgs->lock);
    atomic_store_explicit(&ep->state, state, memory_order_relaxed);
}

static inline void amg_self_add_entry_locked(struct amg_self_ep *ep)
{
    unsigned state = amg_self_state(ep) + AMG_SELF_ENTRY;

    AMG_ASSERT_HELD_BIAS(&ep->msgs->lock);
    /* NOTE(system call under the lock): only if a thread blocks; without the
     * lock the endpoint, and its descriptor, could be closed before the call.
     */
    if ((state & (AMG_SELF_ARMED | AMG_SELF_RUNG)) == AMG_SELF_ARMED) {
        state |= AMG_SELF_RUNG;
        amg_eventfd_signal(ep->event_fd);
        amg_driver_count(&ep->msgs->calls.counts.wakes);
    }
    amg_self_set_state_locked(ep, state);
}

static inline void amg_self_finish_locked(
    struct amg_self_ep *ep, struct amg_op *op, hg_return_t ret)
{
    AMG_ASSERT_HELD_BIAS(&ep->msgs->lock);
    op->priv[AMG_CALL_PRIV_STATE] = AMG_CALL_DONE;
    op->ret = ret;
    amg_list_push(&ep->events.done, &op->link);
    amg_self_add_entry_locked(ep);
}

/* Gives `op`, which moved `len` bytes, to the next poll of `ep`. */
static inline void amg_self_finish(
    struct amg_ep *base, struct amg_op *op, hg_return_t ret, uint64_t len)
{
    struct amg_self_ep *ep = amg_self_ep_of(base);

    amg_bias_lock(&ep->msgs->lock);
    op->data = NULL;
    op->len = len;
    amg_self_finish_locked(ep, op, ret);
    amg_bias_unlock(&ep->msgs->lock);
}

/* Number of calls that are not handled; cancelled calls do not count. */
uint32_t amg_self_owed(struct amg_self_msgs *msgs);

/* Slots of the contract. */
void amg_self_msgs_write_state(
    struct amg_domain *domain, struct amg_state *state);
hg_return_t amg_self_ep_open(
    struct amg_domain *domain, uint8_t context_id, struct amg_ep **ret_ep);
void amg_self_ep_close(struct amg_ep *ep, struct amg_events *ret_events);
int amg_self_wait_fd(const struct amg_ep *ep);
bool amg_self_arm(struct amg_ep *ep);
unsigned amg_self_poll(
    struct amg_ep *ep, unsigned max, struct amg_events *ret_events);
hg_return_t amg_self_cancel(struct amg_ep *ep, struct amg_op *op);
hg_return_t amg_self_get_buf(
    struct amg_ep *ep, struct amg_peer *peer, struct amg_buf **ret_buf);
hg_return_t amg_self_get_long_buf(struct amg_ep *ep, struct amg_peer *peer,
    uint32_t len, struct amg_buf **ret_buf);
void amg_self_put_buf(struct amg_ep *ep, struct amg_buf *buf);
hg_return_t amg_self_send_request(struct amg_ep *ep, struct amg_target to,
    struct amg_buf *buf, uint32_t len, bool wants_reply, struct amg_op *op);
hg_return_t amg_self_send_reply(struct amg_ep *ep,
    const struct amg_arrival *arrival, struct amg_buf *buf, uint32_t len,
    struct amg_op *op);
bool amg_self_request_now(struct amg_ep *ep, struct amg_target to,
    const void *bytes, uint32_t len, bool wants_reply, struct amg_op *op);
hg_return_t amg_self_send_ack(struct amg_ep *ep, struct amg_target to,
    const void *bytes, uint32_t len, struct amg_op *op);
bool amg_self_is_clear(struct amg_ep *ep);
void amg_self_release(struct amg_ep *ep, struct amg_arrival *arrival);
void amg_self_release_reply(struct amg_ep *ep, struct amg_op *op);

#endif
