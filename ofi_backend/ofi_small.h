/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets by messages, both sides. */
#ifndef AMG_OFI_BACKEND_OFI_SMALL_H
#define AMG_OFI_BACKEND_OFI_SMALL_H

#include "ofi_backend/ofi_rma.h"

/* Bytes of one message of a transfer. */
uint64_t amg_ofi_small_max(const struct amg_ofi_domain *domain);
/* Sends the next piece. HG_NOMEM, HG_AGAIN: not sent; too many unanswered ones.
 */
hg_return_t amg_ofi_small_post_locked(struct amg_ofi_transfer *transfer);
/* Stops waiting for the piece. */
void amg_ofi_small_forget_locked(struct amg_ofi_piece *piece);

/* Handlers of messages, of the exposer and of the initiator. */
void amg_ofi_small_on_get_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);
void amg_ofi_small_on_put_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);
void amg_ofi_small_on_data_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);
void amg_ofi_small_on_done_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);

/* There may be room for one more: lets the next transfer try. Call it for each
 * answered message, and for each transfer that ended, which may have had its
 * turn without a post. */
void amg_ofi_small_next_locked(struct amg_peer *peer);

#endif
