/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of other nodes that are reached by another route than the main one.
 *
 * A job has many ranks, of which one calls few. So their addresses stay in a
 * table that the ranks of a node share, and a peer of the far route is made
 * when a rank is first called, or first heard of: then both ways are kept here.
 *
 * What is kept is never taken back before the end. So it hangs in chains that
 * only grow at their heads, which are read without a lock; who adds takes one,
 * and looks once more. Drivers have one peer for each process, so that pointers
 * can be compared, and who calls and who hears of a rank at the same moment
 * come to the same peer.
 *
 * Memory: 48 bytes for a rank that is in use, beside what the driver has for
 * it, and 16 KiB for a class. */
#include "core/far.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/assert.h"
#include "base/lock.h"
#include "base/mem.h"

enum {
    CHAINS = 1024, /* of 10 when 10,000 ranks are in use */
    TEXT_CAP = 512,
};

/* A rank in use. Constant once it is in the chains. */
struct met {
    struct met *next_of_rank;
    struct met *next_of_peer;
    struct amg_peer *main_peer; /* the shares */
    struct amg_peer *far_peer;
    uint32_t rank;
};

static_assert(sizeof(struct met) <= 48, "the text above");

/* The release store of a head pairs with the acquire load of who walks. */
typedef _Atomic(struct met *) chain;

struct amg_far {
    hg_class_t *cls; /* whose domains the peers are of */
    unsigned main_route;
    unsigned route;
    const struct amg_node_ops *ops;
    struct amg_far_table table;
    struct amg_lock lock; /* of who adds */
    chain by_rank[CHAINS];
    chain by_peer[CHAINS];
};

static unsigned chain_of_peer(const struct amg_peer *peer)
{
    /* Fibonacci hashing, as base/map.c; the low bits are those of the
     * allocator. */
    uint64_t hash = (uint64_t)(uintptr_t)peer * 0x9e3779b97f4a7c15ull;

    return (unsigned)(hash >> 32) % CHAINS;
}

static struct amg_domain *domain_of(const struct amg_far *far, unsigned route)
{
    return far->cls->domains[route];
}

static const struct amg_addr_ops *ops_of(
    const struct amg_far *far, unsigned route)
{
    return &domain_of(far, route)->transport->addr;
}

static struct met *met_by_rank(const struct amg_far *far, uint32_t rank)
{
    struct met *met = atomic_load_explicit(
        &far->by_rank[rank % CHAINS], memory_order_acquire);

    while (met != NULL && met->rank != rank)
        met = met->next_of_rank;
    return met;
}

static struct met *met_by_peer(
    const struct amg_far *far, const struct amg_peer *peer)
{
    struct met *met = atomic_load_explicit(
        &far->by_peer[chain_of_peer(peer)], memory_order_acquire);

    while (met != NULL && met->far_peer != peer)
        met = met->next_of_peer;
    return met;
}

/* The rank that is reached at `text`, or UINT32_MAX. */
static uint32_t rank_of_text(
    const struct amg_far_table *table, const char *text)
{
    uint32_t from = 0;
    uint32_t to = table->size;

    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        uint32_t rank = table->order[middle];
        int order = strcmp(text, amg_far_record_of(table, rank)->text);

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
    const struct amg_far *far = ranks;
    const struct met *met = met_by_peer(far, peer);
    char text[TEXT_CAP];
    size_t len = sizeof(text);

    if (met != NULL)
        return met->rank;
    return ops_of(far, far->route)
                       ->format(domain_of(far, far->route), peer, text, &len) ==
                   HG_SUCCESS
               ? rank_of_text(&far->table, text)
               : UINT32_MAX;
}

hg_return_t amg_far_create(hg_class_t *cls, enum amg_route route,
    const struct amg_node_ops *ops, const struct amg_far_table *table,
    struct amg_far **ret_far)
{
    struct amg_far *far = amg_mem_zalloc(sizeof(*far));

    AMG_ASSERT(route != cls->plan.main_route);
    if (far == NULL)
        return HG_NOMEM;
    far->cls = cls;
    far->main_route = cls->plan.main_route;
    far->route = route;
    far->ops = ops;
    far->table = *table;
    amg_lock_init(&far->lock);
    domain_of(far, route)->rank_of = rank_of_peer;
    domain_of(far, route)->ranks = far;
    *ret_far = far;
    return HG_SUCCESS;
}

static void met_free(struct amg_far *far, struct met *met)
{
    ops_of(far, far->route)->drop(domain_of(far, far->route), met->far_peer);
    ops_of(far, far->main_route)
        ->drop(domain_of(far, far->main_route), met->main_peer);
    amg_mem_free(met);
}

void amg_far_destroy(struct amg_far *far)
{
    if (far == NULL)
        return;
    domain_of(far, far->route)->rank_of = NULL;
    domain_of(far, far->route)->ranks = NULL;
    for (unsigned i = 0; i < CHAINS; i++) {
        struct met *met =
            atomic_load_explicit(&far->by_rank[i], memory_order_acquire);

        while (met != NULL) {
            struct met *next = met->next_of_rank;

            met_free(far, met);
            met = next;
        }
    }
    far->table.release(far->table.memory);
    amg_mem_free(far);
}

static void met_link_locked(struct amg_far *far, struct met *met)
{
    chain *of_rank = &far->by_rank[met->rank % CHAINS];
    chain *of_peer = &far->by_peer[chain_of_peer(met->far_peer)];

    met->next_of_rank = atomic_load_explicit(of_rank, memory_order_relaxed);
    met->next_of_peer = atomic_load_explicit(of_peer, memory_order_relaxed);
    atomic_store_explicit(of_rank, met, memory_order_release);
    atomic_store_explicit(of_peer, met, memory_order_release);
}

/* Keeps both peers of a rank, unless they are there already. Takes shares.
 * NULL: no memory. */
static struct met *met_add(struct amg_far *far, uint32_t rank,
    struct amg_peer *main_peer, struct amg_peer *far_peer)
{
    struct met *met = amg_mem_alloc(sizeof(*met));
    struct met *before = NULL;

    if (met == NULL)
        return met_by_rank(far, rank);
    met->rank = rank;
    met->main_peer = ops_of(far, far->main_route)->hold(main_peer);
    met->far_peer = ops_of(far, far->route)->hold(far_peer);
    amg_lock_take(&far->lock);
    before = met_by_rank(far, rank);
    if (before == NULL)
        met_link_locked(far, met);
    amg_lock_give(&far->lock);
    if (before == NULL)
        return met;
    met_free(far, met);
    return before;
}

hg_return_t amg_far_find(const hg_class_t *cls, struct amg_peer *main_peer,
    unsigned *ret_route, struct amg_peer **ret_peer)
{
    struct amg_far *far = cls->far;
    const struct amg_far_record *record = NULL;
    const struct met *met = NULL;
    struct amg_domain *domain = NULL;
    struct amg_peer *peer = NULL;
    uint32_t rank = 0;
    hg_return_t rc = HG_SUCCESS;

    if (far == NULL)
        return HG_NOENTRY;
    rank = far->ops->rank(domain_of(far, far->main_route), main_peer);
    met = met_by_rank(far, rank);
    if (met == NULL) {
        record = amg_far_record_of(&far->table, rank);
        if (record->node == far->table.node)
            return HG_NOENTRY;
        domain = domain_of(far, far->route);
        rc = domain->transport->addr.parse(domain, record->text, &peer);
        if (rc != HG_SUCCESS)
            return rc;
        met = met_add(far, rank, main_peer, peer);
        domain->transport->addr.drop(domain, peer);
        if (met == NULL)
            return HG_NOMEM;
    }
    *ret_route = far->route;
    *ret_peer = met->far_peer;
    return HG_SUCCESS;
}

struct amg_peer *amg_far_main_of(
    const hg_class_t *cls, unsigned route, struct amg_peer *peer)
{
    struct amg_far *far = cls->far;
    const struct met *met = NULL;
    struct amg_peer *main_peer = NULL;
    uint32_t rank = 0;

    if (far == NULL || route != far->route)
        return NULL;
    met = met_by_peer(far, peer);
    if (met != NULL)
        return met->main_peer;
    rank = rank_of_peer(far, peer);
    if (rank == UINT32_MAX || far->ops->peer(domain_of(far, far->main_route),
                                  rank, &main_peer) != HG_SUCCESS)
        return NULL;
    /* One of this node is called another way: it is only known. Without memory
     * it is found once more the next time. */
    if (amg_far_record_of(&far->table, rank)->node != far->table.node)
        (void)met_add(far, rank, main_peer, peer);
    return main_peer;
}
