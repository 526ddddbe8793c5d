/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets, from post to completion.
 *
 *   domain opens, closes      amg_shm_bulk_open, _close
 *   endpoint polls            amg_shm_bulk_poll, when has_moving is set
 *   endpoint is to block      not while has_moving is set
 *   endpoint closes           amg_shm_bulk_ep_close
 *   operation is cancelled    amg_shm_bulk_cancel_locked
 *   cell of kind >= BULK      amg_shm_transfer_message
 *   peer is gone              amg_shm_bulk_peer_gone_locked
 *   peer's segment is unmapped  amg_shm_copy_fini
 *
 * amg_shm_op_end_locked() completes the operations. A transfer holds a
 * reference to its peer. */
#ifndef AMG_SHM_SHM_BULK_H
#define AMG_SHM_SHM_BULK_H

#include "shm/shm_domain.h"

/* Call after the region was created. */
void amg_shm_bulk_open(struct amg_shm_domain *domain);
/* All memory is unregistered and all endpoints are closed; the peers still
 * exist. */
void amg_shm_bulk_close(struct amg_shm_domain *domain);
void amg_shm_bulk_ep_open(struct amg_shm_ep *ep);
/* No poll is running. Its operations end with HG_CANCELED, on `done`. */
void amg_shm_bulk_ep_close_locked(struct amg_shm_ep *ep);
/* Nothing is sent to the peer or copied from it any more: operations that wait
 * for its answer end with HG_HOSTUNREACH. */
void amg_shm_bulk_peer_gone_locked(
    struct amg_shm_domain *domain, struct amg_shm_peer *peer);

/* Copies a step of at most about 1 MiB; called by the progress owner, without
 * the lock. Completed operations are on the endpoint's done list. */
void amg_shm_bulk_poll(struct amg_shm_ep *ep);
static inline bool amg_shm_bulk_is_moving(const struct amg_shm_bulk_ep *bulk)
{
    return atomic_load_explicit(&bulk->has_moving, memory_order_relaxed) != 0;
}
/* The operation is in state AMG_SHM_OP_BULK. */
void amg_shm_bulk_cancel_locked(struct amg_shm_ep *ep, struct amg_op *op);

/* The slots of the contract. */
hg_return_t amg_shm_bulk_reg(struct amg_domain *domain,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem);
hg_return_t amg_shm_bulk_unreg(
    struct amg_domain *domain, struct amg_mem *mem, unsigned timeout_ms);
void amg_shm_bulk_key(const struct amg_mem *mem, struct amg_key *ret_key);
hg_return_t amg_shm_bulk_put(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_seg_iter *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op);
hg_return_t amg_shm_bulk_get(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_seg_iter *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op);

#endif
