/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of one node of a job, and how they come to know each other. */
#ifndef AMG_BOOT_NODE_H
#define AMG_BOOT_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "boot/boot.h"

struct amg_domain;
struct amg_peer;

/* Owned by who opened it, until close; while the class opens. */
struct amg_node {
    struct amg_boot *boot; /* over the ranks of this node alone */
    uint32_t rank;         /* in the job */
    uint32_t size;         /* ranks of the job */
    uint32_t node_count;   /* nodes of the job */
    bool is_part; /* of a larger one, whose others may be on the node */
    void *cards;  /* room for one from each rank of this node */
    void *medium; /* the implementation's */
};

struct amg_node_ops {
    /* Of the job that `domain` is of; collective over all of it. A card has
     * `card_len` bytes. HG_NOMEM, HG_NA_ERROR: on all ranks. */
    hg_return_t (*open)(
        struct amg_domain *domain, size_t card_len, struct amg_node *ret_node);
    /* The peer of a rank of the job. HG_INVALID_ARG. */
    hg_return_t (*peer)(
        struct amg_domain *domain, uint32_t rank, struct amg_peer **ret_peer);
    /* The rank of a peer of the domain; never fails. */
    uint32_t (*rank)(
        const struct amg_domain *domain, const struct amg_peer *peer);
    /* Each of `words` becomes the largest of all ranks. Collective over the
     * job. HG_NA_ERROR. */
    hg_return_t (*largest)(
        const struct amg_node *node, uint64_t *words, uint32_t count);
    /* A record of `len` bytes of each rank to the first rank of each node,
     * once: `ret_all` has room for size * len there, in which they stand in no
     * order; it is not used elsewhere. Collective over the job. HG_NOMEM (on
     * all ranks), HG_NA_ERROR. */
    hg_return_t (*collect)(const struct amg_node *node, const void *record,
        uint32_t len, void *ret_all);
    /* Which way bulk data of the domain goes, "mpi+p2p", and why, in one line
     * for a person; the domain's. */
    const char *(*way)(const struct amg_domain *domain);
    const char *(*reason)(const struct amg_domain *domain);
    /* Collective over the node. */
    void (*close)(struct amg_node *node);
};

#endif
