/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of the communicator as peers, and their addresses. */
#ifndef AMG_MPI_BACKEND_MPI_PEER_H
#define AMG_MPI_BACKEND_MPI_PEER_H

#include "mpi_backend/mpi_domain.h"
#include "transport/flow.h"

/* State of a rank, from its first contact with this rank on. Owned by the
 * domain, and guarded by its lock. */
struct amg_mpi_peer {
    struct amg_flow_peer calls;
    struct amg_flow_peer bulk;
    struct amg_pack_peer pack;
    struct amg_mpi_peer *next; /* the peer created before this one */
    uint32_t rank;
    struct amg_watched watched;
    uint8_t context; /* from which the peer's last request came */
    bool is_lost;    /* MPI could not send a message to this rank */
    bool is_stuck;   /* MPI refused our oldest long message to this rank */
    bool is_dead;    /* the process of the rank has died */
    uint16_t open;   /* requests of the peer not yet answered or released */
    uint16_t long_requests; /* announced by the peer, not yet received */
    uint16_t long_replies;  /* announced by the peer, not yet received */
};

/* A peer of the contract is the address of the rank's slot in `peers.all`. */
static inline uint32_t amg_mpi_rank_of(
    const struct amg_mpi_domain *domain, const struct amg_peer *peer)
{
    ptrdiff_t rank =
        (struct amg_mpi_peer *const *)(const void *)peer - domain->peers.all;

    AMG_ASSERT(rank >= 0 && rank < domain->comm.size);
    return (uint32_t)rank;
}

static inline struct amg_peer *amg_mpi_peer_at(
    const struct amg_mpi_domain *domain, uint32_t rank)
{
    AMG_ASSERT(rank < (uint32_t)domain->comm.size);
    return (struct amg_peer *)(void *)&domain->peers.all[rank];
}

/* Creates the peer of a rank at the first contact. NULL: no memory. */
struct amg_mpi_peer *amg_mpi_peer_meet_locked(
    struct amg_mpi_domain *domain, uint32_t rank);
/* Allocates the reserve for the next new peer. False: no memory. */
bool amg_mpi_peer_reserve_make_locked(struct amg_mpi_domain *domain);

/* Makes sure of a reserve. False: no memory; messages must wait in MPI. */
static inline bool amg_mpi_peer_reserve_locked(struct amg_mpi_domain *domain)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    return AMG_LIKELY(domain->peers.spare != NULL) ||
           amg_mpi_peer_reserve_make_locked(domain);
}

/* The peer of a rank, which is created if necessary. NULL: no memory. */
static inline struct amg_mpi_peer *amg_mpi_peer_get_locked(
    struct amg_mpi_domain *domain, uint32_t rank)
{
    struct amg_mpi_peer *peer = NULL;

    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(rank < (uint32_t)domain->comm.size);
    peer = domain->peers.all[rank];
    return AMG_LIKELY(peer != NULL) ? peer
                                    : amg_mpi_peer_meet_locked(domain, rank);
}

/* The existing peer of a rank; never NULL. */
static inline struct amg_mpi_peer *amg_mpi_peer_of_locked(
    const struct amg_mpi_domain *domain, uint32_t rank)
{
    AMG_ASSERT_HELD_BIAS(domain->lock);
    AMG_ASSERT(
        rank < (uint32_t)domain->comm.size && domain->peers.all[rank] != NULL);
    return domain->peers.all[rank];
}

static inline bool amg_mpi_peer_is_dead(
    const struct amg_mpi_domain *domain, int rank)
{
    const struct amg_mpi_peer *peer = domain->peers.all[rank];

    return peer != NULL && peer->is_dead;
}

/* Calls amg_calls_violation() for the peer of `rank`. */
static inline void amg_mpi_peer_violation(struct amg_mpi_domain *domain,
    uint32_t rank, enum amg_violation what, unsigned kind, long number)
{
    struct amg_mpi_peer *peer = amg_mpi_peer_get_locked(domain, rank);

    if (peer != NULL)
        amg_calls_violation(&domain->calls, &peer->calls, what, kind, number);
}

/* Records that a message came from `rank`. */
static inline void amg_mpi_peer_heard_locked(
    struct amg_mpi_domain *domain, uint32_t rank)
{
    amg_mpi_peer_of_locked(domain, rank)->watched.is_heard = true;
    domain->liveness.heard++;
}

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
