/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests, replies and refusals that come in, for the call engine. */
#ifndef AMG_SHM_SHM_MSG_H
#define AMG_SHM_SHM_MSG_H

#include "shm/shm_domain.h"

/* Takes one cell of a ring (no kind of a transfer). `ep` is the open endpoint
 * of the inbox, whose poll this is, and `news` that poll's; both NULL when the
 * context is closed. False: no memory; the cell is to be taken later. */
bool amg_shm_msg_take_locked(struct amg_shm_inbox *inbox, struct amg_shm_ep *ep,
    struct amg_shm_inring *ring, const struct amg_shm_cell *cell,
    struct amg_news *news);

/* Ends all requests and replies of an endpoint that is closing as canceled. */
void amg_shm_msg_drop_locked(
    struct amg_shm_domain *domain, struct amg_shm_ep *ep);
/* The peer is gone: what has not left for it ends with HG_HOSTUNREACH. */
void amg_shm_msg_gone_locked(struct amg_shm_peer *peer);
/* All that it ever wrote to `inbox` was read: the calls from there that still
 * wait for an answer end with HG_HOSTUNREACH. `is_last`: it was so with all
 * other inboxes, too. */
void amg_shm_msg_silent_locked(
    struct amg_shm_peer *peer, const struct amg_shm_inbox *inbox, bool is_last);

/* The slots of the contract. */
void amg_shm_msg_release(struct amg_ep *ep, struct amg_arrival *arrival);
void amg_shm_msg_release_reply(struct amg_ep *ep, struct amg_op *op);

#endif
