/* SPDX-License-Identifier: BSD-3-Clause */
/* Route map of a class: ranks that are called by a route other than the main
 * route.
 *
 * Every rank is a peer of the main route, whose address names the rank. A rank
 * of this node may also be a peer of shared memory, and a rank of another node
 * a peer of libfabric: then calls use that route. The drivers are independent;
 * this map finds, by the number of the rank, the peer of that route for a peer
 * of the main route. A driver has one peer for each process, so pointers can be
 * compared.
 *
 * The driver of shared memory knows the ranks of this node; the addresses of
 * the other ranks are in a table that the ranks of a node share. So the route
 * to a rank does not depend on the time of the first call. A peer is created
 * when this process first calls the rank, or first receives from the rank.
 * The map then keeps the peer, with its rank, until the class closes: an
 * address that is freed and made again needs no new connection, and the rank of
 * a sender is not searched in the table again.
 *
 * Memory: about 120 bytes for each rank that is called or heard. */
#include "core/route_map.h"

#include <string.h>

#include "base/assert.h"
#include "base/bias.h"
#include "base/map.h"
#include "base/mem.h"

enum { TEXT_CAP = 512 };

/* A rank that this process has called or heard. Owned by the map. */
struct known {
    struct amg_domain *domain;
    struct amg_peer *peer; /* of that domain; with a reference */
    uint32_t rank;
};

struct amg_route_map {
    hg_class_t *cls;      /* the class whose domains have the peers */
    unsigned near_route;  /* AMG_ROUTE_COUNT: none */
    unsigned table_route; /* AMG_ROUTE_COUNT: no table */
    const struct amg_route_near *near;
    struct amg_rank_table table;
    struct amg_bias lock; /* guards `known` */
    struct amg_map known; /* struct known, by peer */
};

static struct amg_domain *main_domain(const struct amg_route_map *map)
{
    return map->cls->domains[map->cls->plan.main_route];
}

uint32_t amg_rank_table_places(uint32_t size)
{
    uint64_t count = 2;

    while (count < size + (uint64_t)size / 2)
        count *= 2;
    return count <= UINT32_MAX ? (uint32_t)count : 1u << 31;
}

/* The place of the text in the hash table, or the empty place for it (linear
 * probing). */
static uint32_t text_place(const struct amg_rank_table *table,
    const uint32_t *places, const char *text)
{
    uint32_t mask = amg_rank_table_places(table->size) - 1;
    uint64_t hash = amg_hash(AMG_HASH_EMPTY, text, strlen(text));
    uint32_t at = (uint32_t)(hash >> 32 ^ hash) & mask;

    while (places[at] != 0 &&
           strcmp(amg_rank_record_of(table, places[at] - 1)->text, text) != 0)
        at = (at + 1) & mask;
    return at;
}

uint32_t amg_rank_table_enter(
    const struct amg_rank_table *table, uint32_t *places, uint32_t rank)
{
    uint32_t at = 0;

    AMG_ASSERT(rank < table->size);
    at = text_place(table, places, amg_rank_record_of(table, rank)->text);
    if (places[at] != 0)
        return places[at] - 1;
    places[at] = rank + 1;
    return UINT32_MAX;
}

/* The rank whose address is `text`, or UINT32_MAX. */
static uint32_t table_find(const struct amg_rank_table *table, const char *text)
{
    /* 0, an empty place, becomes UINT32_MAX. */
    return table->places[text_place(table, table->places, text)] - 1;
}

/* `rank_of` of a domain whose `ranks` is the map. */
static uint32_t rank_of_peer(const void *ranks, const struct amg_peer *peer)
{
    const struct amg_route_map *map = ranks;
    struct amg_domain *domain = map->cls->domains[map->table_route];
    char text[TEXT_CAP];
    size_t len = sizeof(text);

    if (domain->transport->addr.format(domain, peer, text, &len) != HG_SUCCESS)
        return UINT32_MAX;
    return table_find(&map->table, text);
}

static void known_drop(void *value)
{
    struct known *known = value;

    known->domain->transport->addr.unref(known->domain, known->peer);
    amg_mem_free(known);
}

/* Adds the peer of a rank to the map, with a reference, unless the map has that
 * peer. If there is no memory, a later call for the peer tries again. */
static void peer_keep(struct amg_route_map *map, unsigned route,
    struct amg_peer *peer, uint32_t rank)
{
    struct amg_domain *domain = map->cls->domains[route];
    struct known *known = NULL;

    amg_bias_lock(&map->lock);
    if (amg_map_get(&map->known, (uintptr_t)peer) == NULL)
        known = amg_mem_alloc(sizeof(*known));
    if (known != NULL) {
        *known = (struct known){
            domain, domain->transport->addr.ref(peer), .rank = rank};
        if (amg_map_put(&map->known, (uintptr_t)peer, known) == HG_SUCCESS)
            known = NULL;
    }
    amg_bias_unlock(&map->lock);
    if (known != NULL)
        known_drop(known);
}

void amg_route_map_add_node(struct amg_route_map *map, unsigned route,
    const struct amg_route_near *near)
{
    AMG_ASSERT(route != map->cls->plan.main_route);
    AMG_ASSERT(map->near_route == AMG_ROUTE_COUNT);
    map->near_route = route;
    map->near = near;
}

void amg_route_map_add_table(struct amg_route_map *map, unsigned route,
    const struct amg_rank_table *table)
{
    AMG_ASSERT(route != map->cls->plan.main_route);
    AMG_ASSERT(map->table_route == AMG_ROUTE_COUNT);
    map->table_route = route;
    map->table = *table;
    map->cls->domains[route]->rank_of = rank_of_peer;
    map->cls->domains[route]->ranks = map;
}

static void route_map_destroy(hg_class_t *cls)
{
    struct amg_route_map *map = cls->route_map;

    amg_map_fini(&map->known, known_drop);
    if (map->table_route != AMG_ROUTE_COUNT) {
        cls->domains[map->table_route]->rank_of = NULL;
        map->table.release(map->table.memory);
    }
    amg_mem_free(map);
    cls->route_map = NULL;
}

hg_return_t amg_route_map_create(hg_class_t *cls)
{
    struct amg_route_map *map = cls->route_map;

    if (map != NULL)
        return HG_SUCCESS;
    map = amg_mem_zalloc(sizeof(*map));
    if (map == NULL)
        return HG_NOMEM;
    map->cls = cls;
    map->near_route = AMG_ROUTE_COUNT;
    map->table_route = AMG_ROUTE_COUNT;
    amg_bias_init(&map->lock);
    cls->route_map = map;
    cls->route_map_free = route_map_destroy;
    return HG_SUCCESS;
}

/* The peer of a rank, with a reference. HG_NOENTRY: a rank of this node. */
static hg_return_t peer_of_table(
    const struct amg_route_map *map, uint32_t rank, struct amg_peer **ret_peer)
{
    const struct amg_rank_record *record =
        amg_rank_record_of(&map->table, rank);
    struct amg_domain *domain = map->cls->domains[map->table_route];

    if (record->node == map->table.node)
        return HG_NOENTRY;
    return domain->transport->addr.parse(domain, record->text, ret_peer);
}

hg_return_t amg_route_map_find(const hg_class_t *cls,
    struct amg_peer *main_peer, unsigned *ret_route, struct amg_peer **ret_peer)
{
    struct amg_route_map *map = cls->route_map;
    hg_return_t rc = HG_NOENTRY;
    unsigned route = 0;
    uint32_t rank = 0;

    if (map == NULL)
        return HG_NOENTRY;
    rank = cls->ranks->rank(main_domain(map), main_peer);
    route = map->near_route;
    if (map->near != NULL)
        rc = map->near->peer(cls->domains[route], rank, ret_peer);
    if (rc == HG_NOENTRY && map->table_route != AMG_ROUTE_COUNT) {
        route = map->table_route;
        rc = peer_of_table(map, rank, ret_peer);
    }
    if (rc != HG_SUCCESS)
        return rc;
    peer_keep(map, route, *ret_peer, rank);
    *ret_route = route;
    return HG_SUCCESS;
}

uint32_t amg_route_map_rank(
    const hg_class_t *cls, unsigned route, struct amg_peer *peer)
{
    struct amg_route_map *map = cls->route_map;
    const struct known *known = NULL;
    uint32_t rank = UINT32_MAX;

    if (map == NULL)
        return UINT32_MAX;
    amg_bias_lock(&map->lock);
    known = amg_map_get(&map->known, (uintptr_t)peer);
    amg_bias_unlock(&map->lock);
    if (known != NULL)
        return known->rank;
    if (route == map->near_route)
        rank = map->near->rank(cls->domains[route], peer);
    else if (route == map->table_route)
        rank = rank_of_peer(map, peer);
    /* A rank of this node that sent by the route to other nodes is called by
     * another route: the map does not keep this peer. */
    if (rank != UINT32_MAX &&
        (route != map->table_route ||
            amg_rank_record_of(&map->table, rank)->node != map->table.node))
        peer_keep(map, route, peer, rank);
    return rank;
}
