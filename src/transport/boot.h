/* SPDX-License-Identifier: BSD-3-Clause */
/* Bootstrap of a job: its ranks, the ranks of one node, and how they exchange
 * bytes at the start. */
#ifndef AMG_TRANSPORT_BOOT_H
#define AMG_TRANSPORT_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mercury_core_types.h"

struct amg_boot;

/* Every slot is collective over the ranks: all ranks call it, in the same
 * order, with the same `len` and `root`. A call may block until all ranks have
 * called. Threads: one at a time. Errors: HG_NA_ERROR when the communication
 * failed; the log has the cause, and the output is undefined then. */
struct amg_boot_ops {
    /* Sends `len` bytes of each rank to all: `ret_all` has room for size * len,
     * and the bytes of rank r are at r * len. */
    hg_return_t (*allgather)(
        struct amg_boot *boot, const void *mine, size_t len, void *ret_all);
    /* Sends `len` bytes of `root` to the `bytes` of all others. */
    hg_return_t (*bcast)(
        struct amg_boot *boot, void *bytes, size_t len, uint32_t root);
};

/* Embedded at the front of an implementation's struct. Constant once made,
 * owned by its creator. */
struct amg_boot {
    const struct amg_boot_ops *ops;
    uint32_t rank; /* below size */
    uint32_t size; /* ranks that exchange, >= 1 */
};

struct amg_domain;
struct amg_peer;

/* Bytes of a card: a record that ranks of a node exchange (init/join.c). */
enum { AMG_NODE_CARD_LEN = 256 };

/* Owned by its opener, until close; exists while the class opens. */
struct amg_node {
    struct amg_boot *boot; /* for the ranks of this node only */
    uint32_t rank;         /* in the job */
    uint32_t first;        /* the first rank of this node */
    uint32_t size;         /* ranks of the job */
    uint32_t node_count;   /* nodes of the job */
    uint32_t node_size;    /* node n has the ranks from n * node_size on; 0: the
                            * ranks are placed in another way */
    uint32_t message_len;  /* the least message_len that a rank asks for */
    uint32_t credits;      /* the fewest credits that a rank asks for */
    bool is_part;          /* ranks outside of the job may be on this node */
    void *cards;           /* room for a card of each rank of this node */
};

/* See amg_node_ops.joined. */
#define AMG_JOINED_NOT_YET UINT32_MAX
#define AMG_JOINED_LOOK_NS 1000000ull

struct amg_node_ops {
    /* Returns the node of this rank in the job of `domain`. Called once. */
    void (*open)(struct amg_domain *domain, struct amg_node *ret_node);
    /* The peer of a rank of the job. HG_INVALID_ARG: no such rank. */
    hg_return_t (*peer)(
        struct amg_domain *domain, uint32_t rank, struct amg_peer **ret_peer);
    /* The rank of a peer of the domain; never fails. */
    uint32_t (*rank)(
        const struct amg_domain *domain, const struct amg_peer *peer);
    /* Replaces each of `words` by its maximum over all ranks. Collective over
     * the job. HG_NA_ERROR. */
    hg_return_t (*largest)(
        const struct amg_node *node, uint64_t *words, uint32_t count);
    /* Gives the first rank of each node a record of `len` bytes of each rank of
     * the job, unordered, in `ret_all` (room for size * len); the other ranks
     * do not use `ret_all`. A record begins with the first rank of its node
     * (uint32_t). Called once. Collective over the job. HG_NA_ERROR. */
    hg_return_t (*collect)(const struct amg_node *node, const void *record,
        uint32_t len, void *ret_all);
    /* AMG_JOINED_NOT_YET: a rank may still be in a collective call of opening.
     * Later: how often this rank has to call again, as MPI may send the rest of
     * a message only when the sender calls MPI again; 0: never. Between calls
     * the caller waits AMG_JOINED_LOOK_NS. Each rank first calls after the same
     * collective call. Never blocks. */
    uint32_t (*joined)(struct amg_domain *domain);
    /* The path of bulk data of the domain, such as "mpi+p2p", and in one line
     * why that path was chosen; owned by the domain. */
    const char *(*way)(const struct amg_domain *domain);
    const char *(*reason)(const struct amg_domain *domain);
    void (*close)(struct amg_node *node);
};

#endif
