/* SPDX-License-Identifier: BSD-3-Clause */
/* Route map of a class: ranks that are called by a route other than the main
 * route. */
#ifndef AMG_CORE_ROUTE_MAP_H
#define AMG_CORE_ROUTE_MAP_H

#include <stdint.h>

#include "core/class.h"
#include "transport/boot.h"

/* A rank and its address by the internode route, as plain bytes; all records of
 * a table have the same length. */
struct amg_rank_record {
    uint32_t node; /* number of the node of the rank */
    uint32_t rank;
    char text[]; /* NUL-terminated */
};

/* Addresses of all ranks of the job; constant, and shared by all ranks of a
 * node where possible. */
struct amg_rank_table {
    const unsigned char *records; /* in the order of ranks */
    const uint32_t *places; /* hash table of the texts: a rank plus 1, or 0 */
    uint32_t record_len;    /* a multiple of the record's alignment */
    uint32_t size;          /* ranks in the table */
    uint32_t node;          /* number of the node of this process */
    void *memory;           /* freed by `release` */
    void (*release)(void *memory);
};

/* The number of places for `size` ranks, a power of two: at most three per
 * rank. */
uint32_t amg_rank_table_places(uint32_t size);
/* Enters a rank, whose record exists, into `places` of the table. Returns the
 * rank that has the same text already, or UINT32_MAX. */
uint32_t amg_rank_table_enter(
    const struct amg_rank_table *table, uint32_t *places, uint32_t rank);

/* The ranks of this node, as the driver of their route knows them. */
struct amg_route_near {
    /* The peer of a rank, with a reference; the driver connects when the first
     * message is sent. HG_NOENTRY: not another rank of this node; HG_NOMEM. */
    hg_return_t (*peer)(
        struct amg_domain *domain, uint32_t rank, struct amg_peer **ret_peer);
    /* The rank of a peer; UINT32_MAX: no rank of this node. */
    uint32_t (*rank)(
        const struct amg_domain *domain, const struct amg_peer *peer);
};

/* Owned by the class that created it, until its domains close; also used by a
 * class that borrows these domains. */
struct amg_route_map;

/* Creates `cls->route_map`, unless it exists; `cls->route_map_free` ends it.
 * HG_NOMEM. */
hg_return_t amg_route_map_create(hg_class_t *cls);
/* Makes `route`, which is open, the route to the other ranks of this node, for
 * which `near` finds the peers. The class has its `ranks` already. */
void amg_route_map_add_node(struct amg_route_map *map, unsigned route,
    const struct amg_route_near *near);
/* Makes `route`, which is open, the route to ranks of other nodes. Takes over
 * the table. The class has its `ranks` already. */
void amg_route_map_add_table(struct amg_route_map *map, unsigned route,
    const struct amg_rank_table *table);

static inline const struct amg_rank_record *amg_rank_record_of(
    const struct amg_rank_table *table, uint32_t rank)
{
    return (
        const struct amg_rank_record *)(const void *)(table->records +
                                                      (uint64_t)rank *
                                                          table->record_len);
}

/* The functions below: any thread; accept a class without a map. */

/* Finds the route by which calls go to the process of `main_peer`, and the peer
 * of this route, with a reference. HG_NOENTRY: the calls go by the main route;
 * HG_NOMEM; or the error with which the driver refused the table's address. */
hg_return_t amg_route_map_find(const hg_class_t *cls,
    struct amg_peer *main_peer, unsigned *ret_route,
    struct amg_peer **ret_peer);
/* The rank of a peer of `route`, which is not the main route; UINT32_MAX: no
 * rank of the job. */
uint32_t amg_route_map_rank(
    const hg_class_t *cls, unsigned route, struct amg_peer *peer);

#endif
