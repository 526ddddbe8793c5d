/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts that the ranks exchange while a domain opens, and their reduction: pure
 * functions, without MPI.
 *
 * The ranks make two reductions in trees: of a struct amg_mpi_greeting, then of
 * a struct amg_mpi_facts. No version of the library may change the length or
 * the first fields of the greeting, so that ranks with different versions can
 * refuse each other. The reductions are associative and commutative. */
#ifndef AMG_MPI_BACKEND_MPI_FACTS_H
#define AMG_MPI_BACKEND_MPI_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    AMG_MPI_VERSION_CAP = 24,
    AMG_MPI_HOST_CAP = 72,
    AMG_MPI_GREETING_LEN = 256,
    AMG_MPI_LEADERS = 8, /* leaders (first ranks of nodes) known to all */
};

#define AMG_MPI_NO_RANK UINT32_MAX

/* The library of one rank. */
struct amg_mpi_library {
    uint32_t rank;   /* AMG_MPI_NO_RANK: there is no such rank */
    uint32_t layout; /* hash of the version and of its wire layouts */
    char version[AMG_MPI_VERSION_CAP];
    char host[AMG_MPI_HOST_CAP];
};

/* The first exchange. All versions of the library have the fields up to
 * `other`; the later fields are valid only if all ranks have one layout. */
struct amg_mpi_greeting {
    struct amg_mpi_library first; /* of the lowest rank */
    struct amg_mpi_library other; /* of the lowest rank with another layout */
    uint32_t message_len;         /* minimum over the ranks */
    uint32_t credits;             /* minimum over the ranks */
    uint32_t protocol;            /* hash of the protocol names: the minimum */
    uint32_t inverse; /* minimum of ~protocol, so ~inverse is its maximum */
    uint64_t nonce;   /* of the lowest rank */
    uint32_t max_kib; /* KiB of unanswered requests; the minimum */
    unsigned char unused[AMG_MPI_GREETING_LEN - 236];
};

_Static_assert(sizeof(struct amg_mpi_greeting) == AMG_MPI_GREETING_LEN &&
                   offsetof(struct amg_mpi_greeting, message_len) == 208,
    "all versions of the library send and receive these");

/* The second exchange. */
struct amg_mpi_facts {
    uint32_t failed;      /* number of ranks without memory for the domain */
    uint32_t nodes;       /* number of nodes */
    uint32_t is_part;     /* 1: MPI_COMM_WORLD has more ranks than the job */
    uint32_t last_leader; /* the highest leader */
    uint32_t leader_count;
    uint32_t leaders[AMG_MPI_LEADERS]; /* the lowest ones, ascending */
    /* Least size of the nodes but the last; 0: a node has gaps, UINT32_MAX:
     * there is one node. */
    uint32_t node_min;
    uint32_t node_max; /* greatest size of a node */
};

/* Fills in the rank, and version, layout and host of this process. */
void amg_mpi_library_fill(uint32_t rank, struct amg_mpi_library *ret_library);

void amg_mpi_greeting_reduce(
    const struct amg_mpi_greeting *one, struct amg_mpi_greeting *both);
/* Whether all ranks have one layout; else `ret_text` names two that differ. */
bool amg_mpi_greeting_fits(
    const struct amg_mpi_greeting *all, char *ret_text, size_t cap);

/* Facts of one rank; `is_leader`: the rank is the first of its node. */
void amg_mpi_facts_init(struct amg_mpi_facts *facts, uint32_t rank,
    bool is_leader, bool is_part, bool has_failed);
/* Adds the node of the rank: whether its ranks follow each other, and whether
 * it has the last rank of the job. Without this the node has one rank. */
void amg_mpi_facts_add_node(struct amg_mpi_facts *facts, uint32_t node_size,
    bool is_in_row, bool is_last);
void amg_mpi_facts_reduce(
    const struct amg_mpi_facts *one, struct amg_mpi_facts *both);
/* The size S, if each node n has the ranks from n * S on; else 0. */
uint32_t amg_mpi_facts_node_size(const struct amg_mpi_facts *facts);
/* Whether the rank is one of `facts->leaders`. */
bool amg_mpi_facts_is_leader(const struct amg_mpi_facts *facts, uint32_t rank);

#endif
