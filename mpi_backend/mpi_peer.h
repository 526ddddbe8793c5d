/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of the communicator as peers: their addresses, and detection of
 * silent ones. */
#ifndef AMG_MPI_BACKEND_MPI_PEER_H
#define AMG_MPI_BACKEND_MPI_PEER_H

#include "mpi_backend/mpi_domain.h"
#include "transport/flow.h"

/* One of the table of all ranks; indexed by rank. */
struct amg_mpi_peer {
    struct amg_flow_peer calls;
    struct amg_flow_peer bulk;
    uint8_t context; /* source of its last request */
    bool is_heard;   /* a message came since the last check */
    uint8_t silent;  /* checks in a row with work of ours and no message */
    uint8_t check;   /* serial of the last check at which it had work */
    bool is_ready;   /* rank 0: it has sent DISCONNECT */
    bool is_lost;    /* MPI could not send it a message */
};

uint32_t amg_mpi_rank_of(
    const struct amg_mpi_domain *domain, const struct amg_peer *peer);
struct amg_peer *amg_mpi_peer_at(
    const struct amg_mpi_domain *domain, uint32_t rank);

/* As amg_calls_violation(), of a rank. */
static inline void amg_mpi_peer_violation(struct amg_mpi_domain *domain,
    uint32_t rank, enum amg_violation what, unsigned kind, long number)
{
    AMG_ASSERT(rank < (uint32_t)domain->comm.size);
    amg_calls_violation(
        &domain->calls, &domain->peers[rank].calls, what, kind, number);
}

/* MPI could not send a message to `rank`, with `code`: logs MPI's text once per
 * rank, then counts them for the next check. Returns HG_NA_ERROR. */
hg_return_t amg_mpi_peer_lost(
    struct amg_mpi_domain *domain, uint32_t rank, int code);

/* A message came from `rank`. */
static inline void amg_mpi_peer_heard_locked(
    struct amg_mpi_domain *domain, uint32_t rank)
{
    domain->peers[rank].is_heard = true;
    domain->liveness.heard++;
}

/* Called from time to time: checks when a period is over. */
void amg_mpi_peer_check_locked(struct amg_mpi_domain *domain);

/* The slots of the contract. */
struct amg_peer *amg_mpi_addr_self(struct amg_domain *domain);
struct amg_peer *amg_mpi_addr_ref(struct amg_peer *peer);
void amg_mpi_addr_unref(struct amg_domain *domain, struct amg_peer *peer);
bool amg_mpi_addr_is_self(
    const struct amg_domain *domain, const struct amg_peer *peer);
bool amg_mpi_addr_is_same(const struct amg_domain *domain,
    const struct amg_peer *one, const struct amg_peer *other);
hg_return_t amg_mpi_addr_format(const struct amg_domain *domain,
    const struct amg_peer *peer, char *ret_text, size_t *len);
hg_return_t amg_mpi_addr_parse(
    struct amg_domain *domain, const char *text, struct amg_peer **ret_peer);

#endif
