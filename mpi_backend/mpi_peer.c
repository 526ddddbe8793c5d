/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of the communicator as peers, and their addresses.
 *
 * Memory: a table of pointers, 8 bytes per rank of the communicator, whose
 * pages exist once they are written; and a struct amg_mpi_peer of 200 bytes for
 * each rank with which this rank has exchanged a message: two structs of flow
 * control (80 bytes each), the kept message (transport/pack.h) and flags. One
 * more peer is held in reserve, because a message that MPI has delivered must
 * not be lost for want of memory: without a reserve no message is received.
 *
 * A peer of the contract is a pointer into the table, so rank and peer follow
 * from each other. No function iterates over the table. An address is
 * "mpi://NONCE/RANK": rank 0 draws the nonce each time that a domain opens, so
 * a string of another job, or of another domain, is never accepted here. */
#include "mpi_backend/mpi_peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"

enum {
    TEXT_CAP = 48,     /* "mpi://" + 16 digits + '/' + 10 digits + NUL */
    NONCE_DIGITS = 16, /* hexadecimal, small letters */
    RANK_DIGITS = 10,
};

static_assert(sizeof(struct amg_mpi_peer) == 200, "the text above says so");

bool amg_mpi_peer_reserve_make_locked(struct amg_mpi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(domain->peers.spare == NULL);
    domain->peers.spare = amg_mem_zalloc(sizeof(*domain->peers.spare));
    return domain->peers.spare != NULL;
}

struct amg_mpi_peer *amg_mpi_peer_meet_locked(
    struct amg_mpi_domain *domain, uint32_t rank)
{
    struct amg_mpi_peer *peer = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(domain->peers.all[rank] == NULL);
    if (!amg_mpi_peer_reserve_locked(domain))
        return NULL;
    peer = domain->peers.spare;
    domain->peers.spare = NULL;
    peer->rank = rank;
    peer->next = domain->peers.met;
    domain->peers.met = peer;
    domain->peers.all[rank] = peer;
    (void)amg_mpi_peer_reserve_locked(domain);
    return peer;
}

struct amg_peer *amg_mpi_addr_self(struct amg_domain *base)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);

    return amg_mpi_peer_at(domain, (uint32_t)domain->comm.rank);
}

/* Peers live as long as their domain, so nothing is counted. */
struct amg_peer *amg_mpi_addr_ref(struct amg_peer *peer)
{
    return peer;
}

void amg_mpi_addr_unref(struct amg_domain *base, struct amg_peer *peer)
{
    (void)amg_mpi_rank_of(amg_mpi_domain_of(base), peer);
}

bool amg_mpi_addr_is_self(
    const struct amg_domain *base, const struct amg_peer *peer)
{
    const struct amg_mpi_domain *domain = amg_mpi_domain_of(base);

    return peer == amg_mpi_peer_at(domain, (uint32_t)domain->comm.rank);
}

bool amg_mpi_addr_is_same(const struct amg_domain *base,
    const struct amg_peer *one, const struct amg_peer *other)
{
    (void)base;
    return one == other;
}

hg_return_t amg_mpi_addr_format(const struct amg_domain *base,
    const struct amg_peer *peer, char *ret_text, size_t *len)
{
    const struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    char text[TEXT_CAP];
    size_t room = *len;

    snprintf(text, sizeof(text), "mpi://%016" PRIx64 "/%" PRIu32,
        domain->peers.nonce, amg_mpi_rank_of(domain, peer));
    *len = strlen(text) + 1;
    if (ret_text == NULL || room < *len)
        return HG_OVERFLOW;
    memcpy(ret_text, text, *len);
    return HG_SUCCESS;
}

/* Reads "mpi://NONCE/RANK" and nothing else. */
static bool text_read(const char *text, uint64_t *ret_nonce, uint64_t *ret_rank)
{
    char nonce[NONCE_DIGITS + 1];
    char rank[RANK_DIGITS + 1];
    int len = 0;

    if (sscanf(text, "mpi://%16[0-9a-f]/%10[0-9]%n", nonce, rank, &len) != 2 ||
        text[len] != '\0' || strlen(nonce) != NONCE_DIGITS)
        return false;
    *ret_nonce = strtoull(nonce, NULL, 16);
    *ret_rank = strtoull(rank, NULL, 10);
    return true;
}

hg_return_t amg_mpi_addr_parse(
    struct amg_domain *base, const char *text, struct amg_peer **ret_peer)
{
    struct amg_mpi_domain *domain = amg_mpi_domain_of(base);
    uint64_t nonce = 0;
    uint64_t rank = 0;

    if (!text_read(text, &nonce, &rank)) {
        AMG_LOG_ERROR("addr",
            "'%s' is no address of an MPI rank; such addresses look like "
            "mpi://%016" PRIx64 "/0",
            text, domain->peers.nonce);
        return HG_INVALID_ARG;
    }
    if (nonce != domain->peers.nonce) {
        AMG_LOG_ERROR("addr",
            "'%s' is of job %016" PRIx64 ", and this is job %016" PRIx64
            "; take the string from a rank of this job and communicator",
            text, nonce, domain->peers.nonce);
        return HG_ADDRNOTAVAIL;
    }
    if (rank >= (uint64_t)domain->comm.size) {
        AMG_LOG_ERROR("addr",
            "'%s' names rank %" PRIu64 ", and the communicator has %d ranks",
            text, rank, domain->comm.size);
        return HG_ADDRNOTAVAIL;
    }
    *ret_peer = amg_mpi_peer_at(domain, (uint32_t)rank);
    return HG_SUCCESS;
}
