/* SPDX-License-Identifier: BSD-3-Clause */
/* Route map of a class: ranks that are called by another route than the main
 * one.
 *
 * Every rank is a peer of the main route, which gives it its name. A rank of
 * this node may also be a peer of shared memory, and a rank of another node one
 * of libfabric: then that route is used for calls. The drivers are independent;
 * this map has both peers of a rank. A driver has one peer for each process, so
 * pointers can be compared.
 *
 * The ranks of this node are added while the class opens. A process calls few
 * of the many other ranks of a job: their addresses stay in a table that the
 * ranks of a node share, and a rank is added when this process first calls it,
 * or first receives from it.
 *
 * Entries stay until the class closes, in chains that grow at their heads only
 * and are read without a lock. A thread that adds an entry takes the lock and
 * searches once more, so that two threads get the same entry.
 *
 * Memory: 48 bytes for an entry, and 16 KiB for a class that has a map. */
#include "core/route_map.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/assert.h"
#include "base/lock.h"
#include "base/mem.h"

enum {
    CHAINS = 1024, /* of 10 entries if 10,000 ranks are in use */
    TEXT_CAP = 512,
};

/* A rank. Constant once it is in a chain. */
struct entry {
    struct entry *next_of_main;
    struct entry *next_of_peer;
    struct amg_peer *main_peer; /* a reference to each */
    struct amg_peer *peer;
    unsigned route; /* of `peer` */
};

static_assert(sizeof(struct entry) <= 48, "the text above");

/* The release store of a head pairs with the acquire load of a reader. */
typedef _Atomic(struct entry *) chain;

struct amg_route_map {
    hg_class_t *cls; /* the class whose domains have the peers */
    unsigned main_route;
    unsigned table_route; /* AMG_ROUTE_COUNT: no table */
    const struct amg_node_ops *ops;
    struct amg_rank_table table;
    struct amg_lock lock; /* for threads that add an entry */
    chain by_main[CHAINS];
    chain by_peer[CHAINS];
};

static unsigned chain_of(const struct amg_peer *peer)
{
    /* Fibonacci hashing, as base/map.c; the low bits are the allocator's. */
    uint64_t hash = (uint64_t)(uintptr_t)peer * 0x9e3779b97f4a7c15ull;

    return (unsigned)(hash >> 32) % CHAINS;
}

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

static const struct entry *find_by_main(
    const struct amg_route_map *map, const struct amg_peer *main_peer)
{
    const struct entry *entry = atomic_load_explicit(
        &map->by_main[chain_of(main_peer)], memory_order_acquire);

    while (entry != NULL && entry->main_peer != main_peer)
        entry = entry->next_of_main;
    return entry;
}

static const struct entry *find_by_peer(
    const struct amg_route_map *map, const struct amg_peer *peer)
{
    const struct entry *entry = atomic_load_explicit(
        &map->by_peer[chain_of(peer)], memory_order_acquire);

    while (entry != NULL && entry->peer != peer)
        entry = entry->next_of_peer;
    return entry;
}

/* The rank whose address is `text`, or UINT32_MAX. */
static uint32_t rank_of_text(
    const struct amg_rank_table *table, const char *text)
{
    uint32_t from = 0;
    uint32_t to = table->size;

    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        uint32_t rank = table->order[middle];
        int order = strcmp(text, amg_rank_record_of(table, rank)->text);

        if (order == 0)
            return rank;
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return UINT32_MAX;
}

/* As amg_domain.rank_of. */
static uint32_t rank_of_peer(const void *ranks, const struct amg_peer *peer)
{
    const struct amg_route_map *map = ranks;
    const struct entry *entry = find_by_peer(map, peer);
    char text[TEXT_CAP];
    size_t len = sizeof(text);

    if (entry != NULL)
        return map->ops->rank(
            domain_of(map, map->main_route), entry->main_peer);
    if (ops_of(map, map->table_route)
            ->format(domain_of(map, map->table_route), peer, text, &len) !=
        HG_SUCCESS)
        return UINT32_MAX;
    return rank_of_text(&map->table, text);
}

static void entry_destroy(struct amg_route_map *map, struct entry *entry)
{
    ops_of(map, entry->route)->unref(domain_of(map, entry->route), entry->peer);
    ops_of(map, map->main_route)
        ->unref(domain_of(map, map->main_route), entry->main_peer);
    amg_mem_free(entry);
}

static void entry_link_locked(struct amg_route_map *map, struct entry *entry)
{
    chain *of_main = &map->by_main[chain_of(entry->main_peer)];
    chain *of_peer = &map->by_peer[chain_of(entry->peer)];

    entry->next_of_main = atomic_load_explicit(of_main, memory_order_relaxed);
    entry->next_of_peer = atomic_load_explicit(of_peer, memory_order_relaxed);
    atomic_store_explicit(of_main, entry, memory_order_release);
    atomic_store_explicit(of_peer, entry, memory_order_release);
}

hg_return_t amg_route_map_add(struct amg_route_map *map, unsigned route,
    struct amg_peer *main_peer, struct amg_peer *peer)
{
    struct entry *entry = amg_mem_alloc(sizeof(*entry));
    bool is_new = false;

    AMG_ASSERT(route != map->main_route);
    if (entry == NULL)
        return find_by_main(map, main_peer) != NULL ? HG_SUCCESS : HG_NOMEM;
    entry->route = route;
    entry->main_peer = ops_of(map, map->main_route)->ref(main_peer);
    entry->peer = ops_of(map, route)->ref(peer);
    amg_lock_lock(&map->lock);
    is_new = find_by_main(map, main_peer) == NULL;
    if (is_new)
        entry_link_locked(map, entry);
    amg_lock_unlock(&map->lock);
    if (!is_new)
        entry_destroy(map, entry);
    return HG_SUCCESS;
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

    if (map == NULL)
        return;
    cls->route_map = NULL;
    for (unsigned i = 0; i < CHAINS; i++) {
        struct entry *entry =
            atomic_load_explicit(&map->by_main[i], memory_order_acquire);

        while (entry != NULL) {
            struct entry *next = entry->next_of_main;

            entry_destroy(map, entry);
            entry = next;
        }
    }
    route_map_remove_table(map);
    amg_mem_free(map);
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
    map->main_route = cls->plan.main_route;
    map->table_route = AMG_ROUTE_COUNT;
    amg_lock_init(&map->lock);
    cls->route_map = map;
    cls->route_map_free = amg_route_map_destroy;
    return HG_SUCCESS;
}

/* Adds a rank of another node at this process's first call to it. */
static hg_return_t find_in_table(
    struct amg_route_map *map, struct amg_peer *main_peer)
{
    uint32_t rank = map->ops->rank(domain_of(map, map->main_route), main_peer);
    const struct amg_rank_record *record =
        amg_rank_record_of(&map->table, rank);
    struct amg_domain *domain = domain_of(map, map->table_route);
    struct amg_peer *peer = NULL;
    hg_return_t rc = HG_NOENTRY;

    if (record->node == map->table.node)
        return HG_NOENTRY;
    rc = domain->transport->addr.parse(domain, record->text, &peer);
    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_route_map_add(map, map->table_route, main_peer, peer);
    domain->transport->addr.unref(domain, peer);
    return rc;
}

hg_return_t amg_route_map_find(const hg_class_t *cls,
    struct amg_peer *main_peer, unsigned *ret_route, struct amg_peer **ret_peer)
{
    struct amg_route_map *map = cls->route_map;
    const struct entry *entry = NULL;

    if (map == NULL)
        return HG_NOENTRY;
    entry = find_by_main(map, main_peer);
    if (entry == NULL && map->table_route != AMG_ROUTE_COUNT) {
        hg_return_t rc = find_in_table(map, main_peer);

        if (rc != HG_SUCCESS)
            return rc;
        entry = find_by_main(map, main_peer);
    }
    if (entry == NULL)
        return HG_NOENTRY;
    *ret_route = entry->route;
    *ret_peer = entry->peer;
    return HG_SUCCESS;
}

struct amg_peer *amg_route_map_main_peer(
    const hg_class_t *cls, unsigned route, struct amg_peer *peer)
{
    struct amg_route_map *map = cls->route_map;
    const struct entry *entry = NULL;
    struct amg_peer *main_peer = NULL;
    uint32_t rank = 0;

    if (map == NULL)
        return NULL;
    entry = find_by_peer(map, peer);
    if (entry != NULL)
        return entry->main_peer;
    if (route != map->table_route)
        return NULL;
    rank = rank_of_peer(map, peer);
    if (rank == UINT32_MAX || map->ops->peer(domain_of(map, map->main_route),
                                  rank, &main_peer) != HG_SUCCESS)
        return NULL;
    /* A rank of this node is called another way: it does not enter the map.
     * Without memory the next call finds it again. */
    if (amg_rank_record_of(&map->table, rank)->node != map->table.node)
        (void)amg_route_map_add(map, route, main_peer, peer);
    return main_peer;
}
