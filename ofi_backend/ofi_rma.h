/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets: reads and writes of the provider, or messages. */
#ifndef AMG_OFI_BACKEND_OFI_RMA_H
#define AMG_OFI_BACKEND_OFI_RMA_H

#include "ofi_backend/ofi_post.h"

/* The slots of the contract. */
hg_return_t amg_ofi_rma_put(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_seg_iter *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op);
hg_return_t amg_ofi_rma_get(struct amg_ep *ep, struct amg_peer *peer,
    uint8_t target_context, const struct amg_seg_iter *local,
    const struct amg_remote *remote, uint64_t len, struct amg_op *op);

/* Posts as much as possible. */
void amg_ofi_rma_move_locked(struct amg_ofi_domain *domain);

/* Handlers of messages. */
void amg_ofi_rma_on_grant_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);
void amg_ofi_rma_on_deny_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);
void amg_ofi_rma_on_revoke_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);

/* A piece has completed. `transfer` may then have ended. */
void amg_ofi_rma_piece_end_locked(struct amg_ofi_piece *piece, hg_return_t ret);
/* NULL: no memory. */
struct amg_ofi_piece *amg_ofi_rma_piece_get_locked(
    struct amg_ofi_transfer *transfer, uint64_t len);

void amg_ofi_rma_cancel_locked(
    struct amg_ofi_domain *domain, struct amg_op *op);
/* The same for all transfers of an endpoint that is closing. */
void amg_ofi_rma_drop_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_ep *ep);
/* The endpoint is closed while pieces are in flight: drops their completions.
 */
void amg_ofi_rma_detach_locked(
    struct amg_ofi_domain *domain, struct amg_ofi_ep *ep);
/* All endpoints are closed, so no piece will complete. The transfers end with
 * their peers. */
void amg_ofi_rma_abandon_locked(struct amg_ofi_domain *domain);
/* The peer is lost. */
void amg_ofi_rma_lost_locked(struct amg_peer *peer);

#endif
