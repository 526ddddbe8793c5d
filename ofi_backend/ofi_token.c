/* SPDX-License-Identifier: BSD-3-Clause */
/* Tokens: random numbers by which peers introduce what they send.
 *
 * Whoever says a peer's token is that peer, so all 64 bits of each come from
 * the system's generator: those that a process was given itself tell nothing of
 * the others. One call draws many. A message's sender is found by its token in
 * a table of chains, which grows with the peers; where there is no memory for
 * that, the chains get longer. */
#include "ofi_backend/ofi_token.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    BUCKETS_MIN = 64,
    DRAW_LEN = 256, /* bytes that getrandom(2) gives whole, or not at all */
};

static bool fresh_draw(struct amg_ofi_tokens *tokens)
{
    uint8_t *at = (uint8_t *)tokens->fresh;

    for (size_t done = 0; done < sizeof(tokens->fresh); done += DRAW_LEN)
        if (getrandom(at + done, DRAW_LEN, 0) != DRAW_LEN)
            return false;
    tokens->left = AMG_OFI_TOKENS;
    return true;
}

hg_return_t amg_ofi_token_init(struct amg_ofi_domain *domain)
{
    struct amg_ofi_tokens *tokens = &domain->tokens;

    static_assert(sizeof(tokens->fresh) % DRAW_LEN == 0, "whole draws");
    if (!fresh_draw(tokens)) {
        AMG_LOG_ERROR("cls",
            "ofi: getrandom() gives no random numbers: %s; peers are told "
            "apart by them; does a seccomp filter forbid it?",
            strerror(errno));
        return HG_OPNOTSUPPORTED;
    }
    tokens->buckets = amg_mem_zalloc(BUCKETS_MIN * sizeof(tokens->buckets[0]));
    if (tokens->buckets == NULL)
        return HG_NOMEM;
    tokens->mask = BUCKETS_MIN - 1;
    return HG_SUCCESS;
}

void amg_ofi_token_fini(struct amg_ofi_domain *domain)
{
    amg_mem_free(domain->tokens.buckets);
    domain->tokens.buckets = NULL;
}

uint64_t amg_ofi_token_draw_locked(struct amg_ofi_domain *domain)
{
    struct amg_ofi_tokens *tokens = &domain->tokens;
    uint64_t token = 0;

    while (token == 0) {
        if (tokens->left == 0 && !fresh_draw(tokens))
            /* NOTE(abort): it worked before; with numbers that can be guessed
             * anybody could speak in a peer's name. */
            AMG_ASSERT(tokens->left > 0);
        token = tokens->fresh[--tokens->left];
        tokens->fresh[tokens->left] = 0;
    }
    return token;
}

static void bucket_push(struct amg_ofi_tokens *tokens, struct amg_peer *peer)
{
    struct amg_peer **bucket = &tokens->buckets[peer->token & tokens->mask];

    peer->next_token = *bucket;
    *bucket = peer;
}

static void buckets_grow(struct amg_ofi_tokens *tokens)
{
    struct amg_peer **before = tokens->buckets;
    uint32_t count = tokens->mask + 1;
    struct amg_peer **more = amg_mem_zalloc(2 * count * sizeof(more[0]));

    if (more == NULL)
        return;
    tokens->buckets = more;
    tokens->mask = 2 * count - 1;
    for (uint32_t i = 0; i < count; i++)
        while (before[i] != NULL) {
            struct amg_peer *peer = before[i];

            before[i] = peer->next_token;
            bucket_push(tokens, peer);
        }
    amg_mem_free(before);
}

void amg_ofi_token_give_locked(struct amg_peer *peer, uint64_t token)
{
    struct amg_ofi_tokens *tokens = &peer->domain->tokens;

    if (peer->token != 0) {
        struct amg_peer **at = &tokens->buckets[peer->token & tokens->mask];

        while (*at != peer)
            at = &(*at)->next_token;
        *at = peer->next_token;
        tokens->count--;
    }
    peer->token = token;
    if (token == 0)
        return;
    bucket_push(tokens, peer);
    if (++tokens->count > tokens->mask)
        buckets_grow(tokens);
}
