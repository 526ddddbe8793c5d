/* SPDX-License-Identifier: BSD-3-Clause */
/* Joining of a job's ranks while a class opens: shared memory within a node,
 * libfabric between nodes. */
#include "init/init.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/route_map.h"
#include "init/rank_table.h"
#include "mercury_class.h"
#include "affinity/bind.h"
#include "shm/shm_transport.h"
#include "transport/registry.h"

/* Each rank opens its own domain, and sends its address to the others; no rank
 * connects to another before the first call. After every step that may fail at
 * one rank, all agree on whether to continue: a rank with another route than
 * the others would wait for answers on a route that they do not poll. */

enum { TEXT_CAP = 512, HOST_CAP = 64 };

/* State of the steps. */
struct internode {
    hg_class_t *cls;
    const struct amg_node_ops *ops;
    const struct amg_node *node;
    amg_init_driver_fn find_driver;
    char text[TEXT_CAP]; /* address of this rank */
    struct amg_rank_table_maker table;
};

/* A rank that failed logs it for all; so does the first rank, if that ends the
 * open. */
static void internode_failure_log(const struct internode *join, uint32_t rank,
    hg_return_t ret, const char *what)
{
    const struct amg_class_plan *plan = &join->cls->plan;
    char host[HOST_CAP] = "?";

    (void)gethostname(host, sizeof(host) - 1);
    if (rank == join->node->rank && plan->needs_far)
        AMG_LOG_ERROR("cls",
            "rank %u on %s cannot %s ofi+%s: %s; so the class is opened on "
            "none of the %u ranks",
            rank, host, what, plan->far_protocol, HG_Error_to_string(ret),
            join->node->size);
    else if (rank == join->node->rank)
        AMG_LOG_WARNING("cls",
            "rank %u on %s cannot %s ofi+%s: %s; so all %u ranks reach other "
            "nodes by MPI instead of AMALGAM_INTERNODE",
            rank, host, what, plan->far_protocol, HG_Error_to_string(ret),
            join->node->size);
    else if (join->node->rank == 0 && plan->needs_far)
        AMG_LOG_ERROR("cls",
            "rank %u cannot %s ofi+%s: %s; see the log of that rank", rank,
            what, plan->far_protocol, HG_Error_to_string(ret));
}

/* Either all continue, or none: then returns the code of the first rank that
 * failed. */
static hg_return_t agree(
    const struct internode *join, hg_return_t mine, const char *what)
{
    uint32_t size = join->node->size;
    uint64_t worst = 0;
    hg_return_t rc = HG_SUCCESS;

    /* The largest is that of the lowest rank. */
    if (mine != HG_SUCCESS)
        worst = (uint64_t)(size - join->node->rank) << 32 | (uint32_t)mine;
    rc = join->ops->largest(join->node, &worst, 1);
    if (rc != HG_SUCCESS || worst == 0)
        return rc;
    rc = (hg_return_t)(uint32_t)worst;
    internode_failure_log(join, size - (uint32_t)(worst >> 32), rc, what);
    return rc;
}

/* The minimum of what the ranks want, as it must be the same. */
static hg_return_t wishes_agree(const struct internode *join)
{
    struct amg_open *how = &join->cls->plan.how;
    uint64_t words[2] = {
        UINT32_MAX - (how->message_len != 0
                             ? how->message_len
                             : amg_env_number(AMG_ENV_MESSAGE_BYTES)),
        UINT32_MAX - (how->credits != 0 ? how->credits
                                        : amg_env_number(AMG_ENV_CREDITS)),
    };
    hg_return_t rc = join->ops->largest(join->node, words, 2);

    if (rc != HG_SUCCESS)
        return rc;
    how->message_len = (uint32_t)(UINT32_MAX - words[0]);
    how->credits = (uint32_t)(UINT32_MAX - words[1]);
    return HG_SUCCESS;
}

static hg_return_t self_write(const hg_class_t *cls, char *ret_text, size_t cap)
{
    struct amg_domain *domain = cls->domains[AMG_ROUTE_OFI];
    const struct amg_addr_ops *ops = &domain->transport->addr;
    struct amg_peer *self = ops->self(domain);
    hg_return_t rc = ops->format(domain, self, ret_text, &cap);

    ops->unref(domain, self);
    return rc;
}

static hg_return_t domain_open(struct internode *join)
{
    hg_class_t *cls = join->cls;
    const struct amg_transport *driver = join->find_driver();
    hg_return_t rc = HG_PROTONOSUPPORT;

    if (driver != NULL)
        rc = amg_registry_check(driver);
    cls->plan.how.nic.turn = join->node->boot->rank;
    if (rc == HG_SUCCESS)
        rc = amg_class_add_route(cls, AMG_ROUTE_OFI, driver,
            cls->plan.far_protocol, cls->plan.far_info);
    if (rc == HG_SUCCESS)
        rc = self_write(cls, join->text, sizeof(join->text));
    return rc;
}

/* Returns when every rank has the addresses of all. */
static hg_return_t addresses_swap(struct internode *join)
{
    struct amg_rank_table_maker *table = &join->table;
    uint64_t text_len = strlen(join->text) + 1;
    hg_return_t rc = join->ops->largest(join->node, &text_len, 1);

    if (rc == HG_SUCCESS) {
        rc = amg_rank_table_maker_begin(
            table, join->ops, join->node, (uint32_t)text_len);
        rc = agree(join, rc, "keep the addresses of");
    }
    if (rc == HG_SUCCESS) {
        rc = amg_rank_table_maker_swap(table, join->text);
        rc = agree(join, rc, "tell the addresses of");
    }
    if (rc == HG_SUCCESS) {
        rc = amg_rank_table_maker_sort(table);
        rc = agree(join, rc, "use the addresses of");
    }
    if (rc == HG_SUCCESS) {
        rc = amg_rank_table_maker_share(table);
        rc = agree(join, rc, "get the addresses of");
    }
    return rc;
}

static hg_return_t all_join(struct internode *join)
{
    hg_class_t *cls = join->cls;
    struct amg_rank_table table;
    hg_return_t rc = wishes_agree(join);

    if (rc == HG_SUCCESS) {
        rc = domain_open(join);
        rc = agree(join, rc, "open");
    }
    if (rc == HG_SUCCESS)
        rc = addresses_swap(join);
    if (rc != HG_SUCCESS)
        return rc;
    rc = agree(join, amg_route_map_create(cls), "use");
    if (rc != HG_SUCCESS)
        return rc;
    amg_rank_table_maker_take(&join->table, &table);
    amg_route_map_add_table(cls->route_map, AMG_ROUTE_OFI, join->ops, &table);
    return HG_SUCCESS;
}

/* The NIC for the threads of this node: that of its first rank, as all ranks
 * compute one map. */
static void nic_agree(const struct internode *join)
{
    struct amg_progress_config *config = &join->cls->progress_config;
    const struct amg_nic_id *nic = join->cls->domains[AMG_ROUTE_OFI]->nic;
    const char *text = "";

    if (nic != NULL)
        text = nic->bus[0] != '\0'     ? nic->bus
               : nic->iface[0] != '\0' ? nic->iface
                                       : nic->name;
    if (strlen(text) < sizeof(config->nic))
        memcpy(config->nic, text, strlen(text) + 1);
    if (join->node->boot->ops->bcast(join->node->boot, config->nic,
            sizeof(config->nic), 0) != HG_SUCCESS)
        config->nic[0] = '\0';
}

/* Opens libfabric for a job of several nodes: collective over all its ranks. If
 * all could open it, ranks of other nodes are called by it from now on, and
 * `ret_is_far` is true; else none are: then HG_SUCCESS, with one warning, or,
 * if the plan allows nothing else, the code of the first rank that failed. */
static hg_return_t internode_join(hg_class_t *cls,
    const struct amg_node_ops *ops, const struct amg_node *node,
    amg_init_driver_fn find_driver, bool *ret_is_far)
{
    struct internode join = {
        .cls = cls, .ops = ops, .node = node, .find_driver = find_driver};
    hg_return_t rc = all_join(&join);

    if (rc == HG_SUCCESS)
        nic_agree(&join);
    amg_rank_table_maker_end(&join.table);
    *ret_is_far = rc == HG_SUCCESS;
    if (rc == HG_SUCCESS)
        return HG_SUCCESS;
    amg_class_remove_route(cls, AMG_ROUTE_OFI);
    return cls->plan.needs_far ? rc : HG_SUCCESS;
}

/* Writes the route to other nodes: "ofi+net". Returns `ret_text`. */
static const char *internode_way(
    const hg_class_t *cls, char *ret_text, size_t cap)
{
    char *mark = NULL;

    ret_text[0] = '\0';
    if (self_write(cls, ret_text, cap) == HG_SUCCESS)
        mark = strstr(ret_text, "://");
    if (mark != NULL)
        *mark = '\0';
    else
        snprintf(ret_text, cap, "ofi+%s", cls->plan.far_protocol);
    return ret_text;
}

/* Each rank opens its segment, and the ranks of a node exchange its name and
 * the random word in it. Each then maps the segments of all others, and reports
 * whether it could. The node uses them only if all could: with different routes
 * in a pair, calls would be answered on a route that is not polled. All ranks
 * of the node take every step, also after an error. Tables have one entry per
 * rank of the node. Then the files are unlinked, so that a job leaves none,
 * however it ends. */

/* Record that a rank sends to the others of its node, in two rounds. */
struct card {
    uint32_t rank;        /* in the job */
    uint32_t ret;         /* hg_return_t of the open, or of the mapping */
    uint32_t other;       /* the rank that it could not map */
    uint32_t needs_names; /* it can open some peers' files only by name */
    struct amg_shm_id id;
};

/* Capacity of either. */
enum {
    CARD_LEN = sizeof(struct amg_affinity_rank) > sizeof(struct card)
                   ? sizeof(struct amg_affinity_rank)
                   : sizeof(struct card),
};

/* Maps the others; sets in `mine` the one that failed. */
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
            domain->transport->addr.unref(domain, near);
        }
        mine->ret = (uint32_t)rc;
        mine->other = cards[i].rank;
    }
}

/* One round: exchanges all cards of the node. `ret_bad` is the first that
 * reports a failure, or NULL; so all ranks come to the same result. */
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

/* All ranks have mapped all. Are the names of the files unused now? */
static bool names_are_vain(const struct amg_node *node)
{
    const struct card *cards = node->cards;
    uint32_t i = 0;

    while (i < node->boot->size && cards[i].needs_names == 0)
        i++;
    return i == node->boot->size;
}

/* The rank that found the failure logs it for all. */
static void intranode_failure_log(
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

/* The ranks of the node exchange their bindings, so that each knows which cores
 * are idle. A card has room for that. Without memory for them, this rank treats
 * its neighbours as unknown. */
static hg_return_t ranks_swap(hg_class_t *cls, const struct amg_node *node)
{
    struct amg_boot *boot = node->boot;
    size_t len = boot->size * sizeof(struct amg_affinity_rank);
    struct amg_affinity_rank *ranks = NULL;
    struct amg_affinity_rank mine = {
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
    amg_progress_config_set_ranks(&cls->progress_config, ranks, boot->size,
        boot->rank, node->size != boot->size);
    cls->progress_config.has_strangers = node->is_part;
    return HG_SUCCESS;
}

/* Opens the segment, and joins the other ranks of the node. */
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
        intranode_failure_log(node, bad, was_open);
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

    /* They are in rank order. */
    while (i < node->boot->size && cards[i].rank == i)
        i++;
    return i;
}

/* "s" unless `count` is one. */
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
            is_far ? internode_way(cls, far, sizeof(far)) : way, there,
            plural(there), nodes, plural(nodes));
    snprintf(cls->reason, sizeof(cls->reason), "%s%s",
        is_far ? "libfabric leads to other nodes, as was asked for; "
        : there == 0 && cls->plan.far_protocol[0] != '\0'
            ? "libfabric is not opened, as no rank is on another node; "
            : "",
        ops->reason(domain));
}

/* Opens the node's domains as the plan wants. */
static hg_return_t node_use(hg_class_t *cls, const struct amg_node_ops *ops,
    const struct amg_node *node, amg_init_driver_fn find_driver)
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
        AMG_LOG_ERROR("cls", "shm: the ranks of this node cannot use shared "
                             "memory; see the log of the rank that failed");
        return HG_OPNOTSUPPORTED;
    }
    if (cls->plan.far_protocol[0] != '\0' && node->node_count > 1)
        rc = internode_join(cls, ops, node, find_driver, &is_far);
    if (rc != HG_SUCCESS)
        return rc;
    /* Calls to oneself use the main route, if they must not be local. */
    cls->is_idle[cls->plan.main_route] =
        (is_far || node->size == node->boot->size) && (is_near || is_alone) &&
        !cls->plan.no_loopback;
    cls->is_first = node->rank == 0;
    reach_write(cls, ops, node, is_near, is_far);
    return HG_SUCCESS;
}

hg_return_t amg_init_join(hg_class_t *cls, const struct amg_node_ops *ops,
    amg_init_driver_fn find_driver)
{
    struct amg_domain *domain = cls->domains[cls->plan.main_route];
    struct amg_node node;
    hg_return_t rc = ops->open(domain, CARD_LEN, &node);

    if (rc != HG_SUCCESS)
        return rc;
    rc = ranks_swap(cls, &node);
    if (rc == HG_SUCCESS)
        rc = node_use(cls, ops, &node, find_driver);
    ops->close(&node);
    return rc;
}
