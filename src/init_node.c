/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins the ranks of one node by shared memory while a class opens.
 *
 * Each rank opens its segment, and the ranks of a node tell each other its name
 * and the random word in it. Each then maps the segments of all others, and
 * says whether it could. Only if all could, the node uses them: a pair that
 * took different ways to each other would answer calls by a way that nobody
 * looks at. Every step is taken by all ranks of the node, also by one that has
 * failed before. Tables are as long as the node has ranks.
 * Then the files lose their names, so that a job leaves none, however it ends.
 */
#include "init_node.h"

#include <stdio.h>
#include <string.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/route_map.h"
#include "init_far.h"
#include "mercury_class.h"
#include "place/bind.h"
#include "shm/shm_node.h"
#include "shm/shm_transport.h"

/* What a rank tells the others of its node, in two rounds. */
struct card {
    uint32_t rank;        /* in the job */
    uint32_t ret;         /* hg_return_t: how opening went, or mapping */
    uint32_t other;       /* whom it could not map */
    uint32_t needs_names; /* some peers' files are open to it only by name */
    struct amg_shm_id id;
};

/* Room for either. */
enum {
    CARD_LEN = sizeof(struct amg_place_rank) > sizeof(struct card)
                   ? sizeof(struct amg_place_rank)
                   : sizeof(struct card),
};

/* Maps the others; says in `mine` whom it cannot. */
static void others_map(hg_class_t *cls, const struct amg_node_ops *ops,
    const struct amg_node *node, struct card *mine)
{
    struct amg_domain *domain = cls->domains[AMG_ROUTE_SHM];
    struct amg_domain *all = cls->domains[cls->plan.main_route];
    const struct card *cards = node->cards;
    uint32_t i = 0;

    for (i = 0; i < node->boot->size && mine->ret == HG_SUCCESS; i++) {
        struct amg_peer *main_peer = NULL;
        struct amg_peer *near = NULL;
        hg_return_t rc = HG_SUCCESS;

        if (cards[i].rank == mine->rank)
            continue;
        rc = ops->peer(all, cards[i].rank, &main_peer);
        if (rc == HG_SUCCESS)
            rc = amg_shm_node_find(domain, &cards[i].id, &near);
        if (rc == HG_SUCCESS) {
            rc = amg_route_map_add(
                cls->route_map, AMG_ROUTE_SHM, main_peer, near);
            mine->needs_names |= !amg_shm_node_is_open_to_us(domain, near);
            domain->transport->addr.drop(domain, near);
        }
        mine->ret = (uint32_t)rc;
        mine->other = cards[i].rank;
    }
}

/* One round: all cards of the node. `ret_bad` is the first that tells of a
 * failure, or NULL; so all ranks have the same verdict. */
static hg_return_t cards_swap(const struct amg_node *node,
    const struct card *mine, const struct card **ret_bad)
{
    const struct card *cards = node->cards;
    hg_return_t rc = node->boot->ops->allgather(
        node->boot, mine, sizeof(*mine), node->cards);
    uint32_t i = 0;

    *ret_bad = NULL;
    for (i = 0; rc == HG_SUCCESS && i < node->boot->size; i++)
        if (cards[i].ret != HG_SUCCESS && *ret_bad == NULL)
            *ret_bad = &cards[i];
    return rc;
}

/* All have mapped all. Does nobody need the names of files any more? */
static bool names_are_vain(const struct amg_node *node)
{
    const struct card *cards = node->cards;
    uint32_t i = 0;

    while (i < node->boot->size && cards[i].needs_names == 0)
        i++;
    return i == node->boot->size;
}

/* Who found the failure tells of it, for all. */
static void failure_log(
    const struct amg_node *node, const struct card *bad, bool was_open)
{
    const char *why = HG_Error_to_string((hg_return_t)bad->ret);

    if (bad->rank != node->rank)
        return;
    if (was_open)
        AMG_LOG_WARNING("cls",
            "rank %u cannot map the memory of rank %u on its node (%s): the "
            "%u ranks there do not use shared memory; look for containers "
            "that do not share /dev/shm",
            bad->rank, bad->other, why, node->boot->size);
    else
        AMG_LOG_WARNING("cls",
            "rank %u cannot open a segment of shared memory (%s): the %u ranks "
            "of its node do not use it",
            bad->rank, why, node->boot->size);
}

/* The ranks of the node tell each other what they were bound to: so each knows
 * which cores are idle. A card has room for that. Without memory to keep it,
 * this rank takes its neighbours for unknown. */
static hg_return_t ranks_swap(hg_class_t *cls, const struct amg_node *node)
{
    struct amg_boot *boot = node->boot;
    size_t len = boot->size * sizeof(struct amg_place_rank);
    struct amg_place_rank *ranks = NULL;
    struct amg_place_rank mine = {
        .binding = *amg_bind_process(),
        .rank = node->rank,
        .threads = amg_bind_app_threads(),
    };
    hg_return_t rc =
        boot->ops->allgather(boot, &mine, sizeof(mine), node->cards);

    if (rc == HG_SUCCESS)
        ranks = amg_mem_alloc(len);
    if (ranks == NULL)
        return rc;
    memcpy(ranks, node->cards, len);
    amg_drive_set_ranks(
        &cls->drive, ranks, boot->size, boot->rank, node->size != boot->size);
    cls->drive.has_strangers = node->is_part;
    return HG_SUCCESS;
}

/* Opens the segment, and meets the others there. */
static hg_return_t node_meet(hg_class_t *cls, const struct amg_node_ops *ops,
    const struct amg_node *node, bool *ret_is_near)
{
    struct card mine = {.rank = node->rank};
    const struct card *bad = NULL;
    const char *info = cls->plan.near_info;
    hg_return_t rc = amg_class_add_route(
        cls, AMG_ROUTE_SHM, &amg_shm_transport, NULL, info == NULL ? "" : info);
    bool was_open = false;

    if (rc == HG_SUCCESS) {
        amg_shm_node_id(cls->domains[AMG_ROUTE_SHM], &mine.id);
        rc = amg_route_map_create(cls);
    }
    mine.ret = (uint32_t)rc;
    rc = cards_swap(node, &mine, &bad);
    was_open = bad == NULL;
    if (rc == HG_SUCCESS && was_open) {
        others_map(cls, ops, node, &mine);
        rc = cards_swap(node, &mine, &bad);
    }
    if (bad != NULL)
        failure_log(node, bad, was_open);
    *ret_is_near = rc == HG_SUCCESS && bad == NULL;
    if (*ret_is_near && names_are_vain(node))
        amg_shm_node_unname(cls->domains[AMG_ROUTE_SHM]);
    return rc;
}

/* The first rank that is not on this node; the cards are of this node. */
static uint32_t stranger_find(const struct amg_node *node)
{
    const struct card *cards = node->cards;
    uint32_t i = 0;

    /* They are in the order of their ranks. */
    while (i < node->boot->size && cards[i].rank == i)
        i++;
    return i;
}

/* "s" unless there is one. */
static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static void reach_write(hg_class_t *cls, const struct amg_node_ops *ops,
    const struct amg_node *node, bool is_near, bool is_far)
{
    const struct amg_domain *domain = cls->domains[cls->plan.main_route];
    const char *way = ops->way(domain);
    char far[AMG_CLASS_REACH_CAP / 2];
    uint32_t here = node->boot->size - 1;
    uint32_t there = node->size - node->boot->size;
    uint32_t nodes = node->node_count - 1;
    size_t len = 0;

    if (here + there == 0)
        snprintf(cls->reach, sizeof(cls->reach), "the only rank");
    if (here > 0)
        len = (size_t)snprintf(cls->reach, sizeof(cls->reach),
            "%s to %u rank%s of this node%s", is_near ? "shm" : way, here,
            plural(here), there > 0 ? ", " : "");
    if (there > 0)
        snprintf(cls->reach + len, sizeof(cls->reach) - len,
            "%s to %u rank%s of %u other node%s",
            is_far ? amg_init_far_way(cls, far, sizeof(far)) : way, there,
            plural(there), nodes, plural(nodes));
    snprintf(cls->reason, sizeof(cls->reason), "%s%s",
        is_far ? "libfabric leads to other nodes, as was asked for; "
        : there == 0 && cls->plan.far_protocol[0] != '\0'
            ? "libfabric is not opened, as no rank is on another node; "
            : "",
        ops->reason(domain));
}

/* What the plan wants, with the node open. */
static hg_return_t node_use(hg_class_t *cls, const struct amg_node_ops *ops,
    const struct amg_node *node)
{
    bool is_alone = node->boot->size == 1;
    bool is_near = false;
    bool is_far = false;
    hg_return_t rc = HG_SUCCESS;

    if (cls->plan.wants_near && !is_alone)
        rc = node_meet(cls, ops, node, &is_near);
    if (!is_near) {
        amg_route_map_destroy(cls);
        amg_class_remove_route(cls, AMG_ROUTE_SHM);
    }
    if (rc != HG_SUCCESS)
        return rc;
    if (cls->plan.needs_near && node->size != node->boot->size) {
        AMG_LOG_ERROR("cls",
            "shm: rank %u is on another node than rank %u; ask for auto, which "
            "uses shared memory within each node and MPI between them",
            is_alone ? (node->rank == 0) : stranger_find(node), node->rank);
        return HG_OPNOTSUPPORTED;
    }
    if (cls->plan.needs_near && !is_near && !is_alone) {
        AMG_LOG_ERROR("cls", "shm: the ranks of this node cannot use it, as "
                             "one of them has said");
        return HG_OPNOTSUPPORTED;
    }
    if (cls->plan.far_protocol[0] != '\0' && node->node_count > 1)
        rc = amg_init_far_join(cls, ops, node, &is_far);
    if (rc != HG_SUCCESS)
        return rc;
    /* Calls to oneself go by the main route, where they must not stay inside.
     */
    cls->is_idle[cls->plan.main_route] =
        (is_far || node->size == node->boot->size) && (is_near || is_alone) &&
        !cls->plan.no_loopback;
    cls->is_first = node->rank == 0;
    reach_write(cls, ops, node, is_near, is_far);
    return HG_SUCCESS;
}

hg_return_t amg_init_node_join(hg_class_t *cls, const struct amg_node_ops *ops)
{
    struct amg_domain *domain = cls->domains[cls->plan.main_route];
    struct amg_node node;
    hg_return_t rc = ops->open(domain, CARD_LEN, &node);

    if (rc != HG_SUCCESS)
        return rc;
    rc = ranks_swap(cls, &node);
    if (rc == HG_SUCCESS)
        rc = node_use(cls, ops, &node);
    ops->close(&node);
    return rc;
}
