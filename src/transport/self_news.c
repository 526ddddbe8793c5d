/* SPDX-License-Identifier: BSD-3-Clause */
/* What an endpoint of the loopback has for its next poll.
 *
 * Its state is one word: how many entries its two lists have, and whether a
 * thread sleeps on its bell. So a poll that finds nothing reads one word, and
 * who brings news to an endpoint that is awake pays for no bell. Arm and
 * everything that brings news hold the lock: one of the two sees the other. */
#include "transport/self_news.h"

#include "base/assert.h"
#include "base/bell.h"
#include "base/log.h"

enum {
    ARMED = 1, /* somebody sleeps on the bell, or is about to */
    RUNG = 2,  /* the bell is to be drained */
    ENTRY = 4, /* each entry counts so much */
};

void amg_self_news_init(struct amg_self_ep *ep)
{
    atomic_init(&ep->state, 0);
    ep->base.pending = &ep->state;
    amg_news_init(&ep->news);
    ep->bell = amg_bell_open();
    if (ep->bell < 0)
        AMG_LOG_WARNING("ctx",
            "self: no descriptor left to sleep on; waiting will look now and "
            "then, which takes time of the core (see ulimit -n)");
}

void amg_self_news_fini(struct amg_self_ep *ep)
{
    amg_bell_close(ep->bell);
}

static unsigned state_get(const struct amg_self_ep *ep)
{
    return atomic_load_explicit(&ep->state, memory_order_relaxed);
}

static void state_set_locked(struct amg_self_ep *ep, unsigned state)
{
    atomic_store_explicit(&ep->state, state, memory_order_relaxed);
}

static void entry_add_locked(struct amg_self_ep *ep)
{
    unsigned state = state_get(ep) + ENTRY;

    /* NOTE(system call under the lock): only for who sleeps, and then the
     * endpoint cannot be closed, with its bell, before it has rung. */
    if ((state & (ARMED | RUNG)) == ARMED) {
        state |= RUNG;
        amg_bell_ring(ep->bell);
    }
    state_set_locked(ep, state);
}

void amg_self_arrive_locked(struct amg_self_ep *ep, struct amg_arrival *arrival)
{
    amg_list_push(&ep->news.arrived, &arrival->link);
    entry_add_locked(ep);
}

void amg_self_finish_locked(struct amg_self_ep *ep, struct amg_op *op,
    hg_return_t ret, void *data, uint64_t len)
{
    op->priv[AMG_SELF_PRIV_STATE] = AMG_SELF_OP_DONE;
    op->ret = ret;
    op->data = data;
    op->len = len;
    amg_list_push(&ep->news.done, &op->link);
    entry_add_locked(ep);
}

void amg_self_finish(
    struct amg_self_ep *ep, struct amg_op *op, hg_return_t ret, uint64_t len)
{
    amg_bias_take(&ep->msgs->lock);
    amg_self_finish_locked(ep, op, ret, NULL, len);
    amg_bias_give(&ep->msgs->lock);
}

static unsigned list_move(
    struct amg_list *to, struct amg_list *from, unsigned max)
{
    unsigned count = 0;

    while (count < max && !amg_list_is_empty(from)) {
        amg_list_push(to, amg_list_pop(from));
        count++;
    }
    return count;
}

unsigned amg_self_poll(
    struct amg_ep *base, unsigned max, struct amg_news *ret_news)
{
    struct amg_self_ep *ep = AMG_OBJECT(base, struct amg_self_ep, base);
    unsigned state = state_get(ep);
    unsigned count = 0;

    if (state == 0)
        return 0;
    amg_bias_take(&ep->msgs->lock);
    count = list_move(&ret_news->done, &ep->news.done, max);
    count += list_move(&ret_news->arrived, &ep->news.arrived, max - count);
    state = state_get(ep);
    state_set_locked(ep, (state & ~(unsigned)(ARMED | RUNG)) - count * ENTRY);
    amg_bias_give(&ep->msgs->lock);
    if ((state & RUNG) != 0)
        amg_bell_drain(ep->bell);
    return count;
}

int amg_self_wait_fd(const struct amg_ep *base)
{
    return AMG_OBJECT(base, struct amg_self_ep, base)->bell;
}

bool amg_self_arm(struct amg_ep *base)
{
    struct amg_self_ep *ep = AMG_OBJECT(base, struct amg_self_ep, base);
    bool is_quiet = false;

    if (ep->bell < 0)
        return true;
    amg_bias_take(&ep->msgs->lock);
    is_quiet = state_get(ep) < ENTRY;
    if (is_quiet)
        state_set_locked(ep, state_get(ep) | ARMED);
    amg_bias_give(&ep->msgs->lock);
    return is_quiet;
}
