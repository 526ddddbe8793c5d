/* SPDX-License-Identifier: BSD-3-Clause */
/* Route map of a class: ranks that are called by another route than the main
 * one.
 *
 * Every rank is a peer of the main route, which gives it its name. A rank of
 * this node may also be a peer of shared memory, and a rank of another node a
 * peer of libfabric: then calls use that route. The drivers are independent;
 * this map has the two peers of a rank. A driver has one peer for each process,
 * so pointers can be compared.
 *
 * A process calls few of the many ranks of a job: a rank is added when this
 * process first calls it, or first receives from it. Until then the ranks of
 * this node are known to the driver of shared memory only, and the addresses of
 * the others stay in a table that the ranks of a node share. So all processes
 * find the same route to a rank, whenever they first need it.
 *
 * Entries stay until the class closes. Two hash tables, by peer and by main
 * peer, find an entry without a lock. Tables that are three quarters full get
 * successors of twice the size; readers may still search the former tables,
 * which lack the latest entries, so these stay until the class closes, too. A
 * thread that adds an entry takes the lock and searches once more, so that two
 * threads get the same entry.
 *
 * Memory: 24 bytes for an entry, and at most 86 for its places in all tables; 1
 * KiB for a class that has a map. */
#include "core/route_map.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/assert.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"

enum {
    PLACES_MIN = 64, /* of the first tables; a power of two */
    TEXT_CAP = 512,
};

/* The tables of an index. */
enum { BY_MAIN, BY_PEER, TABLES };

/* A rank. Constant once it is in a table. */
struct entry {
    struct amg_peer *peers[TABLES]; /* of the main route, and of `route`; a
                                     * reference to each */
    unsigned route;
};

static_assert(sizeof(struct entry) <= 24, "the text above");

/* The release store of an entry pairs with the acquire load of a reader. */
typedef _Atomic(struct entry *) place;

struct index {
    struct index *former; /* NULL: none */
    uint32_t mask;        /* places of each table - 1 */
    place places[];       /* of all tables */
};

struct amg_route_map {
    hg_class_t *cls; /* the class whose domains have the peers */
    unsigned main_route;
    unsigned near_route;  /* AMG_ROUTE_COUNT: not to this node */
    unsigned table_route; /* AMG_ROUTE_COUNT: no table */
    const struct amg_route_near *near;
    const struct amg_node_ops *ops;
    struct amg_rank_table table;
    struct amg_lock lock; /* for threads that add an entry */
    uint32_t count;       /* entries */
    /* The release store of a new index pairs with the acquire load of a
     * reader. */
    _Atomic(struct index *) index;
};

static struct amg_domain *domain_of(
    const struct amg_route_map *map, unsigned route)
{
    return map->cls->domains[route];
}

static const struct amg_addr_ops *ops_of(
    const struct amg_route_map *map, unsigned route)
{
    return &domain_of(map, route)->transport->addr;
}

static uint32_t hash_of(const struct amg_peer *peer)
{
    /* Fibonacci hashing, as in base/map.c: low address bits vary little. */
    return (uint32_t)((uint64_t)(uintptr_t)peer * 0x9e3779b97f4a7c15ull >> 32);
}

/* The place of the entry of `peer` in that table, or the free place for it. */
static place *index_place(
    struct index *index, unsigned table, const struct amg_peer *peer)
{
    place *places = &index->places[table * (index->mask + 1)];
    uint32_t at = hash_of(peer) & index->mask;
    const struct entry *entry = NULL;

    while ((entry = atomic_load_explicit(&places[at], memory_order_acquire)) !=
               NULL &&
           entry->peers[table] != peer)
        at = (at + 1) & index->mask;
    return &places[at];
}

static const struct entry *map_find(const struct amg_route_map *map,
    unsigned table, const struct amg_peer *peer)
{
    struct index *index =
        atomic_load_explicit(&map->index, memory_order_acquire);

    return atomic_load_explicit(
        index_place(index, table, peer), memory_order_acquire);
}

static void index_put(struct index *index, struct entry *entry)
{
    for (unsigned table = 0; table < TABLES; table++)
        atomic_store_explicit(index_place(index, table, entry->peers[table]),
            entry, memory_order_release);
}

static struct index *index_create(uint32_t count)
{
    struct index *index =
        amg_mem_zalloc(sizeof(*index) + TABLES * count * sizeof(place));

    if (index != NULL)
        index->mask = count - 1;
    return index;
}

/* The index with room for a further entry, or NULL: no memory. */
static struct index *index_fit_locked(struct amg_route_map *map)
{
    struct index *former =
        atomic_load_explicit(&map->index, memory_order_relaxed);
    struct index *index = NULL;

    if (map->count < (former->mask + 1) / 4 * 3)
        return former;
    index = index_create(2 * (former->mask + 1));
    if (index == NULL)
        return NULL;
    for (uint32_t i = 0; i <= former->mask; i++) {
        struct entry *entry =
            atomic_load_explicit(&former->places[i], memory_order_relaxed);

        if (entry != NULL)
            index_put(index, entry);
    }
    index->former = former;
    atomic_store_explicit(&map->index, index, memory_order_release);
    return index;
}

uint32_t amg_rank_table_places(uint32_t size)
{
    uint64_t count = 2;

    while (count < size + (uint64_t)size / 2)
        count *= 2;
    return count <= UINT32_MAX ? (uint32_t)count : 1u << 31;
}

/* The place of the text, or the empty place for it: by its hash, and from a
 * taken place on to the next. */
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
    uint32_t at =
        text_place(table, places, amg_rank_record_of(table, rank)->text);

    AMG_ASSERT(rank < table->size);
    if (places[at] != 0)
        return places[at] - 1;
    places[at] = rank + 1;
    return UINT32_MAX;
}

uint32_t amg_rank_table_find(
    const struct amg_rank_table *table, const char *text)
{
    /* 0, an empty place, becomes UINT32_MAX. */
    return table->places[text_place(table, table->places, text)] - 1;
}

/* `rank_of` of a domain whose `ranks` is the map. */
static uint32_t rank_of_peer(const void *ranks, const struct amg_peer *peer)
{
    const struct amg_route_map *map = ranks;
    const struct entry *entry = map_find(map, BY_PEER, peer);
    char text[TEXT_CAP];
    size_t len = sizeof(text);

    if (entry != NULL)
        return map->ops->rank(
            domain_of(map, map->main_route), entry->peers[BY_MAIN]);
    if (ops_of(map, map->table_route)
            ->format(domain_of(map, map->table_route), peer, text, &len) !=
        HG_SUCCESS)
        return UINT32_MAX;
    return amg_rank_table_find(&map->table, text);
}

static void entry_destroy(struct amg_route_map *map, struct entry *entry)
{
    ops_of(map, entry->route)
        ->unref(domain_of(map, entry->route), entry->peers[BY_PEER]);
    ops_of(map, map->main_route)
        ->unref(domain_of(map, map->main_route), entry->peers[BY_MAIN]);
    amg_mem_free(entry);
}

/* From now on `main_peer` is called by `route`, as `peer`; takes a reference to
 * each. HG_NOMEM: nothing was added. */
static hg_return_t entry_add(struct amg_route_map *map, unsigned route,
    struct amg_peer *main_peer, struct amg_peer *peer)
{
    struct entry *entry = amg_mem_alloc(sizeof(*entry));
    struct index *index = NULL;
    bool is_known = false;

    AMG_ASSERT(route != map->main_route);
    if (entry == NULL)
        return map_find(map, BY_MAIN, main_peer) != NULL ? HG_SUCCESS
                                                         : HG_NOMEM;
    entry->route = route;
    entry->peers[BY_MAIN] = ops_of(map, map->main_route)->ref(main_peer);
    entry->peers[BY_PEER] = ops_of(map, route)->ref(peer);
    amg_lock_lock(&map->lock);
    is_known = map_find(map, BY_MAIN, main_peer) != NULL;
    if (!is_known)
        index = index_fit_locked(map);
    if (index != NULL) {
        index_put(index, entry);
        map->count++;
    }
    amg_lock_unlock(&map->lock);
    if (index == NULL)
        entry_destroy(map, entry);
    return is_known || index != NULL ? HG_SUCCESS : HG_NOMEM;
}

void amg_route_map_add_node(struct amg_route_map *map, unsigned route,
    const struct amg_node_ops *ops, const struct amg_route_near *near)
{
    AMG_ASSERT(route != map->main_route);
    AMG_ASSERT(map->near_route == AMG_ROUTE_COUNT);
    map->near_route = route;
    map->ops = ops;
    map->near = near;
}

void amg_route_map_add_table(struct amg_route_map *map, unsigned route,
    const struct amg_node_ops *ops, const struct amg_rank_table *table)
{
    AMG_ASSERT(route != map->main_route);
    AMG_ASSERT(map->table_route == AMG_ROUTE_COUNT);
    map->table_route = route;
    map->ops = ops;
    map->table = *table;
    domain_of(map, route)->rank_of = rank_of_peer;
    domain_of(map, route)->ranks = map;
}

/* Removes the table again, while the class opens. */
static void route_map_remove_table(struct amg_route_map *map)
{
    struct amg_domain *domain = NULL;

    if (map->table_route == AMG_ROUTE_COUNT)
        return;
    domain = domain_of(map, map->table_route);
    domain->rank_of = NULL;
    domain->ranks = NULL;
    map->table_route = AMG_ROUTE_COUNT;
    map->table.release(map->table.memory);
}

void amg_route_map_destroy(hg_class_t *cls)
{
    struct amg_route_map *map = cls->route_map;
    struct index *index = NULL;

    if (map == NULL)
        return;
    cls->route_map = NULL;
    index = atomic_load_explicit(&map->index, memory_order_acquire);
    for (uint32_t i = 0; i <= index->mask; i++) {
        struct entry *entry =
            atomic_load_explicit(&index->places[i], memory_order_acquire);

        if (entry != NULL)
            entry_destroy(map, entry);
    }
    while (index != NULL) {
        struct index *former = index->former;

        amg_mem_free(index);
        index = former;
    }
    route_map_remove_table(map);
    amg_mem_free(map);
}

hg_return_t amg_route_map_create(hg_class_t *cls)
{
    struct amg_route_map *map = cls->route_map;
    struct index *index = NULL;

    if (map != NULL)
        return HG_SUCCESS;
    map = amg_mem_zalloc(sizeof(*map));
    if (map == NULL)
        return HG_NOMEM;
    index = index_create(PLACES_MIN);
    if (index == NULL) {
        amg_mem_free(map);
        return HG_NOMEM;
    }
    atomic_init(&map->index, index);
    map->cls = cls;
    map->main_route = cls->plan.main_route;
    map->near_route = AMG_ROUTE_COUNT;
    map->table_route = AMG_ROUTE_COUNT;
    amg_lock_init(&map->lock);
    cls->route_map = map;
    cls->route_map_free = amg_route_map_destroy;
    return HG_SUCCESS;
}

/* The peer of a rank of another node, with a reference. */
static hg_return_t peer_of_table(
    struct amg_route_map *map, uint32_t rank, struct amg_peer **ret_peer)
{
    const struct amg_rank_record *record =
        amg_rank_record_of(&map->table, rank);

    if (record->node == map->table.node)
        return HG_NOENTRY;
    return ops_of(map, map->table_route)
        ->parse(domain_of(map, map->table_route), record->text, ret_peer);
}

/* Adds a rank when this process first looks for it. HG_NOENTRY: only the main
 * route leads to the rank. */
static hg_return_t rank_add(
    struct amg_route_map *map, struct amg_peer *main_peer)
{
    uint32_t rank = map->ops->rank(domain_of(map, map->main_route), main_peer);
    unsigned route = map->near_route;
    struct amg_peer *peer = NULL;
    hg_return_t rc = HG_NOENTRY;

    if (map->near != NULL)
        rc = map->near->peer(domain_of(map, route), rank, &peer);
    if (rc == HG_NOENTRY && map->table_route != AMG_ROUTE_COUNT) {
        route = map->table_route;
        rc = peer_of_table(map, rank, &peer);
    }
    if (rc != HG_SUCCESS)
        return rc;
    rc = entry_add(map, route, main_peer, peer);
    ops_of(map, route)->unref(domain_of(map, route), peer);
    return rc;
}

hg_return_t amg_route_map_find(const hg_class_t *cls,
    struct amg_peer *main_peer, unsigned *ret_route, struct amg_peer **ret_peer)
{
    struct amg_route_map *map = cls->route_map;
    const struct entry *entry = NULL;

    if (map == NULL)
        return HG_NOENTRY;
    entry = map_find(map, BY_MAIN, main_peer);
    if (entry == NULL && map->ops != NULL) {
        hg_return_t rc = rank_add(map, main_peer);

        if (rc != HG_SUCCESS)
            return rc;
        entry = map_find(map, BY_MAIN, main_peer);
    }
    if (entry == NULL)
        return HG_NOENTRY;
    *ret_route = entry->route;
    *ret_peer = entry->peers[BY_PEER];
    return HG_SUCCESS;
}

struct amg_peer *amg_route_map_main_peer(
    const hg_class_t *cls, unsigned route, struct amg_peer *peer)
{
    struct amg_route_map *map = cls->route_map;
    const struct entry *entry = NULL;
    struct amg_peer *main_peer = NULL;
    uint32_t rank = UINT32_MAX;
    bool is_called_so = true;

    if (map == NULL)
        return NULL;
    entry = map_find(map, BY_PEER, peer);
    if (entry != NULL)
        return entry->peers[BY_MAIN];
    if (route == map->near_route)
        rank = map->near->rank(domain_of(map, route), peer);
    else if (route == map->table_route)
        rank = rank_of_peer(map, peer);
    if (rank == UINT32_MAX || map->ops->peer(domain_of(map, map->main_route),
                                  rank, &main_peer) != HG_SUCCESS)
        return NULL;
    /* A rank of this node that came by the route to other nodes is called
     * another way: the map does not get that peer. */
    if (route == map->table_route)
        is_called_so =
            amg_rank_record_of(&map->table, rank)->node != map->table.node;
    /* Without memory the next call finds the rank again. */
    if (is_called_so)
        (void)entry_add(map, route, main_peer, peer);
    return main_peer;
}
