/* SPDX-License-Identifier: BSD-3-Clause */
/* Tokens: random numbers by which peers introduce what they send. */
#ifndef AMG_OFI_BACKEND_OFI_TOKEN_H
#define AMG_OFI_BACKEND_OFI_TOKEN_H

#include "ofi_backend/ofi_domain.h"

/* HG_NOMEM, HG_OPNOTSUPPORTED: this system gives no random numbers. */
hg_return_t amg_ofi_token_init(struct amg_ofi_domain *domain);
void amg_ofi_token_fini(struct amg_ofi_domain *domain);

/* A random number, not 0. */
uint64_t amg_ofi_token_draw_locked(struct amg_ofi_domain *domain);

/* The peer goes by this token from now on; 0: by none. */
void amg_ofi_token_give_locked(struct amg_peer *peer, uint64_t token);
/* Whose token this is, or NULL. `token` is not 0. */
static inline struct amg_peer *amg_ofi_token_find_locked(
    const struct amg_ofi_domain *domain, uint64_t token)
{
    struct amg_peer *peer = domain->tokens.buckets[token & domain->tokens.mask];

    while (peer != NULL && peer->token != token)
        peer = peer->next_token;
    return peer;
}

#endif
