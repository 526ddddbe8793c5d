/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes of the provider. */
#ifndef AMG_OFI_BACKEND_OFI_POST_H
#define AMG_OFI_BACKEND_OFI_POST_H

#include "ofi_backend/ofi_rma.h"

/* Posts the next piece of a transfer whose lease is open. HG_AGAIN: no room,
 * and nothing has changed; HG_NOMEM, or what the provider refused it with. */
hg_return_t amg_ofi_post_next_locked(struct amg_ofi_transfer *transfer);
/* The provider uses no memory of the piece any more. */
void amg_ofi_post_left_locked(struct amg_ofi_piece *piece);

#endif
