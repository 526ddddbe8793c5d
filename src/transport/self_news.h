/* SPDX-License-Identifier: BSD-3-Clause */
/* What an endpoint of the loopback has for its next poll. */
#ifndef AMG_TRANSPORT_SELF_NEWS_H
#define AMG_TRANSPORT_SELF_NEWS_H

#include "transport/self_msg.h"

/* `ep` is zeroed. Before it is joined, and after it has left. */
void amg_self_news_init(struct amg_self_ep *ep);
void amg_self_news_fini(struct amg_self_ep *ep);

/* Makes an arrival news of `ep`. */
void amg_self_arrive_locked(
    struct amg_self_ep *ep, struct amg_arrival *arrival);
/* Makes `op`, which has ended, news of `ep`. */
void amg_self_finish_locked(struct amg_self_ep *ep, struct amg_op *op,
    hg_return_t ret, void *data, uint64_t len);
/* The same for one that moved `len` bytes. Takes the lock. */
void amg_self_finish(
    struct amg_self_ep *ep, struct amg_op *op, hg_return_t ret, uint64_t len);

/* Slots of the contract. */
unsigned amg_self_poll(
    struct amg_ep *ep, unsigned max, struct amg_news *ret_news);
int amg_self_wait_fd(const struct amg_ep *ep);
bool amg_self_arm(struct amg_ep *ep);

#endif
