/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of other nodes that are reached by another route than the main one. */
#ifndef AMG_CORE_FAR_H
#define AMG_CORE_FAR_H

#include <stdint.h>

#include "boot/node.h"
#include "core/class.h"

/* Where a rank is reached: plain bytes, one length for all of a table. */
struct amg_far_record {
    uint32_t rank;
    uint32_t node; /* the same number for all ranks of a node */
    char text[];   /* its address by the far route, with its NUL */
};

/* Of all ranks of the job; constant, and the same memory for all ranks of a
 * node where that can be. */
struct amg_far_table {
    const unsigned char *records; /* in the order of ranks, */
    const uint32_t *order;        /* and ranks in that of their texts */
    uint32_t record_len;          /* a multiple of their alignment */
    uint32_t size;                /* ranks */
    uint32_t node;                /* that of this process */
    void *memory;                 /* what `release` gives back */
    void (*release)(void *memory);
};

/* Owned by the class that made it, while it opens and until its domains close;
 * a class that borrows them has it, too. */
struct amg_far;

/* From now on ranks of other nodes are to be called by `route`, which is open;
 * `ops` knows the ranks of the main one. Takes the table, on success. HG_NOMEM.
 */
hg_return_t amg_far_create(hg_class_t *cls, enum amg_route route,
    const struct amg_node_ops *ops, const struct amg_far_table *table,
    struct amg_far **ret_far);
/* Gives the shares and the table back; fine with NULL. */
void amg_far_destroy(struct amg_far *far);

static inline const struct amg_far_record *amg_far_record_of(
    const struct amg_far_table *table, uint32_t rank)
{
    return (const struct amg_far_record *)(const void *)(table->records +
                                                         (uint64_t)rank *
                                                             table->record_len);
}

/* Any thread. Without a share: peers once found are held until the class
 * closes. Fine when the class has no such ranks. */

/* The peer by which a peer of the main route is to be called; `ret_route` leads
 * to it. HG_NOENTRY: it is of this node; else what the driver said of its
 * address, or HG_NOMEM. */
hg_return_t amg_far_find(const hg_class_t *cls, struct amg_peer *main_peer,
    unsigned *ret_route, struct amg_peer **ret_peer);
/* Who a peer of `route` is on the main route, or NULL: no rank of the job. */
struct amg_peer *amg_far_main_of(
    const hg_class_t *cls, unsigned route, struct amg_peer *peer);

#endif
