/* SPDX-License-Identifier: BSD-3-Clause */
/* Accesses that move by messages, on both sides. */
#ifndef AMG_OFI_BACKEND_OFI_SMALL_H
#define AMG_OFI_BACKEND_OFI_SMALL_H

#include "ofi_backend/ofi_rma.h"

/* Bytes of one message of a transfer. */
uint64_t amg_ofi_small_max(const struct amg_ofi_domain *domain);
/* Sends the next piece. HG_NOMEM, HG_AGAIN: not; the peer has many to answer.
 */
hg_return_t amg_ofi_small_post_locked(struct amg_ofi_transfer *transfer);
/* The piece is not waited for any more. */
void amg_ofi_small_forget_locked(struct amg_ofi_piece *piece);

/* What came in: by the exposer, and by who asked. */
void amg_ofi_small_on_get_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);
void amg_ofi_small_on_put_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);
void amg_ofi_small_on_data_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);
void amg_ofi_small_on_done_locked(
    struct amg_ofi_domain *domain, const struct amg_ofi_message *message);

/* There may be room for one more: lets the next transfer try. To be called for
 * each message that was answered, and for each transfer that ended: it may be
 * one that was let try, and posted nothing. */
void amg_ofi_small_next_locked(struct amg_peer *peer);

#endif
