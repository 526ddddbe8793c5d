/* SPDX-License-Identifier: BSD-3-Clause */
/* Received requests, replies and refusals, as passed to the call engine. */
#ifndef AMG_SHM_SHM_MSG_H
#define AMG_SHM_SHM_MSG_H

#include "shm/shm_domain.h"

/* Takes one cell of a ring (not of a transfer). `ep` is the open endpoint of
 * the inbox, which is polling, and `news` is of that poll; both NULL if the
 * context is closed. False: no memory; take the cell later. */
bool amg_shm_msg_take_locked(struct amg_shm_inbox *inbox, struct amg_shm_ep *ep,
    struct amg_shm_inring *ring, const struct amg_shm_cell *cell,
    struct amg_news *news);

/* Ends all requests and replies of an endpoint that is closing as canceled. */
void amg_shm_msg_drop_locked(
    struct amg_shm_domain *domain, struct amg_shm_ep *ep);
/* The peer is gone: messages not yet sent to it end with HG_HOSTUNREACH. */
void amg_shm_msg_gone_locked(struct amg_shm_peer *peer);
/* All cells of the peer in `inbox` were read: calls from there that still wait
 * for a reply end with HG_HOSTUNREACH. `is_last`: the same holds for all other
 * inboxes. */
void amg_shm_msg_silent_locked(
    struct amg_shm_peer *peer, const struct amg_shm_inbox *inbox, bool is_last);

/* The slots of the contract. */
void amg_shm_msg_release(struct amg_ep *ep, struct amg_arrival *arrival);
void amg_shm_msg_release_reply(struct amg_ep *ep, struct amg_op *op);

#endif
