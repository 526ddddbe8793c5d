/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that are reached by two routes.
 *
 * A rank of this node is a peer of the main route, by which it is named, and of
 * shared memory, by which it is called. The drivers know nothing of each other;
 * this table has both, in two maps, for the ranks of this node only. Drivers
 * have one peer for each process, so that pointers can be compared. */
#include "core/twin.h"

#include "base/assert.h"
#include "base/map.h"
#include "base/mem.h"

struct amg_twins {
    hg_class_t *cls; /* whose domains the peers are of */
    unsigned main_route;
    unsigned near_route;
    struct amg_map near; /* from the main route's peers */
    struct amg_map mains;
    struct twin *first;
};

/* The shares. */
struct twin {
    struct twin *next;
    struct amg_peer *main_peer;
    struct amg_peer *near_peer;
};

static uint64_t key_of(const struct amg_peer *peer)
{
    return (uint64_t)(uintptr_t)peer;
}

static const struct amg_addr_ops *ops_of(
    const struct amg_twins *twins, unsigned route)
{
    return &twins->cls->domains[route]->transport->addr;
}

hg_return_t amg_twins_create(
    hg_class_t *cls, enum amg_route near, struct amg_twins **ret_twins)
{
    struct amg_twins *twins = amg_mem_zalloc(sizeof(*twins));

    AMG_ASSERT(near != cls->plan.main_route);
    if (twins == NULL)
        return HG_NOMEM;
    twins->cls = cls;
    twins->main_route = cls->plan.main_route;
    twins->near_route = near;
    *ret_twins = twins;
    return HG_SUCCESS;
}

hg_return_t amg_twins_add(struct amg_twins *twins, struct amg_peer *main_peer,
    struct amg_peer *near_peer)
{
    struct twin *twin = amg_mem_zalloc(sizeof(*twin));
    hg_return_t rc = HG_NOMEM;

    if (twin == NULL)
        return HG_NOMEM;
    rc = amg_map_put(&twins->near, key_of(main_peer), near_peer);
    if (rc != HG_SUCCESS)
        goto free_twin;
    rc = amg_map_put(&twins->mains, key_of(near_peer), main_peer);
    if (rc != HG_SUCCESS)
        goto unmap;
    twin->main_peer = ops_of(twins, twins->main_route)->hold(main_peer);
    twin->near_peer = ops_of(twins, twins->near_route)->hold(near_peer);
    twin->next = twins->first;
    twins->first = twin;
    return HG_SUCCESS;

unmap:
    amg_map_remove(&twins->near, key_of(main_peer));
free_twin:
    amg_mem_free(twin);
    return rc;
}

void amg_twins_destroy(struct amg_twins *twins)
{
    if (twins == NULL)
        return;
    while (twins->first != NULL) {
        struct twin *twin = twins->first;
        struct amg_domain **domains = twins->cls->domains;

        twins->first = twin->next;
        ops_of(twins, twins->near_route)
            ->drop(domains[twins->near_route], twin->near_peer);
        ops_of(twins, twins->main_route)
            ->drop(domains[twins->main_route], twin->main_peer);
        amg_mem_free(twin);
    }
    amg_map_fini(&twins->near, NULL);
    amg_map_fini(&twins->mains, NULL);
    amg_mem_free(twins);
}

struct amg_peer *amg_twin_of(const hg_class_t *cls, unsigned route,
    struct amg_peer *peer, unsigned *ret_route)
{
    const struct amg_twins *twins = cls->twins;
    bool is_main = twins != NULL && route == twins->main_route;
    struct amg_peer *other = NULL;

    if (is_main)
        other = amg_map_get(&twins->near, key_of(peer));
    else if (twins != NULL && route == twins->near_route)
        other = amg_map_get(&twins->mains, key_of(peer));
    if (other != NULL)
        *ret_route = is_main ? twins->near_route : twins->main_route;
    return other;
}
