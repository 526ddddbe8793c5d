/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of the communicator as peers: their addresses, what is wrong with
 * their messages, and those that are silent. */
#ifndef AMG_MPI_BACKEND_MPI_PEER_H
#define AMG_MPI_BACKEND_MPI_PEER_H

#include "mpi_backend/mpi_domain.h"
#include "transport/flow.h"

/* One of the table of all ranks; its place is its rank. */
struct amg_mpi_peer {
    struct amg_flow_peer calls;
    struct amg_flow_peer bulk;
    uint32_t warned; /* a bit for each thing that was said of it already */
    uint8_t context; /* which its last request came from */
    bool is_heard;   /* something came since the last look */
    uint8_t silent;  /* looks of that in a row at which it had work of ours */
    uint8_t look;    /* the last one at which it had, a serial */
};

/* Once per peer: what was found wrong with its messages. */
enum amg_mpi_fault {
    AMG_MPI_FAULT_FORM,    /* no message of ours, or of a wrong length */
    AMG_MPI_FAULT_CREDITS, /* more credits than it was given */
    AMG_MPI_FAULT_ANSWER,  /* an answer to nothing, or one that cannot be */
    AMG_MPI_FAULT_ACCESS,  /* a refused put or get */
    AMG_MPI_FAULT_SEND,    /* MPI could not send it a message */
};

hg_return_t amg_mpi_peers_init(struct amg_mpi_domain *domain);
void amg_mpi_peers_fini(struct amg_mpi_domain *domain);

struct amg_mpi_peer *amg_mpi_peer_of(
    const struct amg_mpi_domain *domain, const struct amg_peer *peer);
uint32_t amg_mpi_rank_of(
    const struct amg_mpi_domain *domain, const struct amg_peer *peer);
struct amg_peer *amg_mpi_peer_at(
    const struct amg_mpi_domain *domain, uint32_t rank);

/* Logs the fault if it is the first of its kind from `rank`. */
void amg_mpi_peer_fault(struct amg_mpi_domain *domain, uint32_t rank,
    enum amg_mpi_fault fault, unsigned kind, long number);

/* MPI could not send a message to `rank`, with `code`: once per rank its text
 * is logged, then they are counted for the next look. Returns HG_NA_ERROR. */
hg_return_t amg_mpi_peer_lost(
    struct amg_mpi_domain *domain, uint32_t rank, int code);

/* Something came from `rank`. */
static inline void amg_mpi_peer_heard_locked(
    struct amg_mpi_domain *domain, uint32_t rank)
{
    domain->peers[rank].is_heard = true;
    domain->watch.heard++;
}

/* Called now and then: looks when it is time. */
void amg_mpi_peer_watch_locked(struct amg_mpi_domain *domain);

/* The slots of the contract. */
struct amg_peer *amg_mpi_addr_self(struct amg_domain *domain);
struct amg_peer *amg_mpi_addr_hold(struct amg_peer *peer);
void amg_mpi_addr_drop(struct amg_domain *domain, struct amg_peer *peer);
bool amg_mpi_addr_is_self(
    const struct amg_domain *domain, const struct amg_peer *peer);
bool amg_mpi_addr_is_same(const struct amg_domain *domain,
    const struct amg_peer *one, const struct amg_peer *other);
hg_return_t amg_mpi_addr_format(const struct amg_domain *domain,
    const struct amg_peer *peer, char *ret_text, size_t *len);
hg_return_t amg_mpi_addr_parse(
    struct amg_domain *domain, const char *text, struct amg_peer **ret_peer);

#endif
