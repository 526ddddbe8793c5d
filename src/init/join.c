/* SPDX-License-Identifier: BSD-3-Clause */
/* Joining of a job's ranks while a class opens: by shared memory within a node,
 * by libfabric between nodes. */
#include "init/init.h"

#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/route_map.h"
#include "init/drivers.h"
#include "init/rank_table.h"
#include "mercury_class.h"
#include "affinity/bind.h"
#include "shm/shm_transport.h"
#include "transport/registry.h"

/* Libfabric: each rank opens its own domain, and sends its address to the
 * others; no rank connects to another before the first call. After every step
 * that may fail at one rank, all ranks agree whether to continue. A rank that
 * alone took another route would wait for answers on a route that the other
 * ranks do not poll. */

enum { TEXT_CAP = 512, HOST_CAP = 64, JOINED_WAIT_MS = 100 };

/* State of internode_join() between its steps. */
struct internode {
    hg_class_t *cls;
    const struct amg_node *node;
    char text[TEXT_CAP]; /* address of this rank */
    struct amg_rank_table_maker table;
};

/* The rank that failed logs its failure; with needs_far rank 0 logs it, too. */
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

/* Returns HG_SUCCESS if `mine` is HG_SUCCESS at all ranks, else the code of the
 * first rank that failed. `word` (or NULL) becomes the maximum of all ranks. */
static hg_return_t agree(const struct internode *join, hg_return_t mine,
    const char *what, uint64_t *word)
{
    uint32_t size = join->node->size;
    uint64_t words[2] = {0, word == NULL ? 0 : *word};
    hg_return_t rc = HG_SUCCESS;

    /* The largest words[0] is of the lowest rank that failed. */
    if (mine != HG_SUCCESS)
        words[0] = (uint64_t)(size - join->node->rank) << 32 | (uint32_t)mine;
    rc = join->cls->ranks->largest(join->node, words, 2);
    if (rc != HG_SUCCESS)
        return rc;
    if (word != NULL)
        *word = words[1];
    if (words[0] == 0)
        return HG_SUCCESS;
    rc = (hg_return_t)(uint32_t)words[0];
    internode_failure_log(join, size - (uint32_t)(words[0] >> 32), rc, what);
    return rc;
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
    const struct amg_transport *driver = amg_driver_find(AMG_DRIVER_OFI, true);
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

static hg_return_t all_join(struct internode *join)
{
    hg_class_t *cls = join->cls;
    uint64_t text_len = 0;
    struct amg_rank_table table;
    hg_return_t rc = HG_SUCCESS;

    /* All ranks must have the same limits. */
    cls->plan.how.message_len = join->node->message_len;
    cls->plan.how.credits = join->node->credits;
    rc = domain_open(join);
    text_len = strlen(join->text) + 1;
    rc = agree(join, rc, "open", &text_len);
    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_rank_table_maker_begin(
        &join->table, cls->ranks, join->node, join->text, (uint32_t)text_len);
    if (rc == HG_SUCCESS)
        rc = amg_route_map_create(cls);
    rc = agree(join, rc, "keep the addresses of", NULL);
    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_rank_table_maker_make(&join->table);
    rc = agree(join, rc, "use the addresses of", NULL);
    if (rc != HG_SUCCESS)
        return rc;
    amg_rank_table_maker_take(&join->table, &table);
    amg_route_map_add_table(cls->route_map, AMG_ROUTE_OFI, &table);
    return HG_SUCCESS;
}

/* All ranks of a node must compute the same map of threads to cores, so all
 * ranks use the NIC of the node's first rank. */
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

/* Opens libfabric for a job of several nodes: collective over the ranks. If all
 * ranks could open libfabric, `ret_is_far` is true, and ranks of other nodes
 * are called by libfabric; else by MPI (HG_SUCCESS, with one warning). If the
 * plan forbids MPI, returns the code of the first rank that failed. */
static hg_return_t internode_join(
    hg_class_t *cls, const struct amg_node *node, bool *ret_is_far)
{
    struct internode join = {.cls = cls, .node = node};
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

/* Shared memory: each rank opens its segment, and the ranks of a node exchange
 * the names and incarnations of their segments. Each rank then maps the segment
 * of the previous rank (the first rank: of the last), and reports the result.
 * Ranks that see the same files, with the right to open them, form a group: if
 * each rank can map the segment of the previous rank, all ranks can map all
 * segments. Other segments are mapped at the first contact.
 *
 * The node uses its segments only if no rank failed: if two ranks used
 * different routes, answers would come on a route that is not polled. All ranks
 * of the node take every step, also after an error. At the end the files are
 * unlinked, so that a job leaves none, however the job ends; ranks later open
 * the files by the owners' descriptors. If a rank cannot use these descriptors
 * (pid namespaces of containers), the names stay until the class closes. */

/* Record that a rank sends to the other ranks of its node, in two rounds: after
 * the open of the segment, and after the mapping. */
struct card {
    struct amg_affinity_rank affinity; /* tells which cores the rank may use */
    uint32_t rank;                     /* in the job */
    uint32_t ret;         /* hg_return_t of the open, or of the mapping */
    uint32_t other;       /* rank whose segment this rank tried to map */
    uint32_t needs_names; /* the file of `other` can be opened only by name */
    struct amg_shm_id id;
    uint32_t pid;
    uint64_t start_time; /* of amg_process_start() */
    uint64_t space;      /* of amg_process_space() */
};

static_assert(sizeof(struct card) <= AMG_NODE_CARD_LEN, "room for a card");

/* Tries to map the segment of the previous rank; `mine` gets the result. */
static void neighbour_check(
    const hg_class_t *cls, const struct amg_node *node, struct card *mine)
{
    const struct amg_boot *boot = node->boot;
    const struct card *card = (const struct card *)node->cards +
                              (boot->rank + boot->size - 1) % boot->size;
    bool needs_name = false;

    mine->ret = (uint32_t)amg_shm_node_check(
        cls->domains[AMG_ROUTE_SHM], &card->id, &needs_name);
    mine->needs_names = needs_name;
    mine->other = card->rank;
}

static const struct amg_route_near near_ranks = {
    .peer = amg_shm_node_peer,
    .rank = amg_shm_node_rank,
};

/* Passes the ranks of the node to the domain and the route map. HG_NOMEM. */
static hg_return_t ranks_tell(hg_class_t *cls, const struct amg_node *node)
{
    const struct card *cards = node->cards;
    uint32_t count = node->boot->size;
    struct amg_shm_rank *ranks = amg_mem_alloc(count * sizeof(*ranks));

    if (ranks == NULL)
        return HG_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        ranks[i] = (struct amg_shm_rank){cards[i].rank, cards[i].id};
    amg_shm_node_join(cls->domains[AMG_ROUTE_SHM], ranks, count);
    amg_route_map_add_node(cls->route_map, AMG_ROUTE_SHM, &near_ranks);
    return HG_SUCCESS;
}

/* Exchanges all cards of the node. `ret_bad` is the first card that reports a
 * failure, or NULL: all ranks of the node get the same result. */
static hg_return_t cards_swap(const struct amg_node *node,
    const struct card *mine, const struct card **ret_bad)
{
    const struct card *cards = node->cards;
    hg_return_t rc = node->boot->ops->allgather(
        node->boot, mine, sizeof(*mine), node->cards);

    *ret_bad = NULL;
    for (uint32_t i = 0; rc == HG_SUCCESS && i < node->boot->size; i++)
        if (cards[i].ret != HG_SUCCESS && *ret_bad == NULL)
            *ret_bad = &cards[i];
    return rc;
}

/* Can all ranks map all segments without the names of the files? */
static bool names_are_vain(const struct amg_node *node)
{
    const struct card *cards = node->cards;
    uint32_t i = 0;

    while (i < node->boot->size && cards[i].needs_names == 0)
        i++;
    return i == node->boot->size;
}

/* Only the rank that failed logs its failure. */
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

/* Stores the bindings of the node's ranks. If there is no memory, this rank
 * treats the bindings of the other ranks as unknown. */
static void bindings_keep(hg_class_t *cls, const struct amg_node *node)
{
    const struct card *cards = node->cards;
    uint32_t count = node->boot->size;
    struct amg_affinity_rank *ranks = amg_mem_alloc(count * sizeof(*ranks));

    if (ranks == NULL)
        return;
    for (uint32_t i = 0; i < count; i++)
        ranks[i] = cards[i].affinity;
    amg_progress_config_set_ranks(&cls->progress_config, ranks, count,
        node->boot->rank, node->size != count);
    cls->progress_config.has_strangers = node->is_part;
}

/* Stores the processes of the node's ranks, in rank order as the cards. */
static void mates_keep(hg_class_t *cls, const struct amg_node *node)
{
    const struct card *cards = node->cards;
    uint32_t count = node->boot->size;
    uint64_t space = amg_process_space();

    cls->job.mates = amg_mem_alloc(count * sizeof(*cls->job.mates));
    cls->job.mate_count = cls->job.mates == NULL ? 0 : count;
    for (uint32_t i = 0; i < cls->job.mate_count; i++)
        cls->job.mates[i] = (struct amg_class_mate){cards[i].rank,
            cards[i].space == space ? cards[i].pid : 0, cards[i].start_time};
}

/* Opens the segment of this rank. */
static hg_return_t segment_open(
    hg_class_t *cls, const struct amg_node *node, struct amg_shm_id *ret_id)
{
    const char *info = cls->plan.near_info;
    hg_return_t rc = HG_SUCCESS;

    cls->plan.how.is_clean = node->boot->rank != 0;
    rc = amg_class_add_route(
        cls, AMG_ROUTE_SHM, &amg_shm_transport, NULL, info == NULL ? "" : info);
    if (rc != HG_SUCCESS)
        return rc;
    amg_shm_node_id(cls->domains[AMG_ROUTE_SHM], ret_id);
    return amg_route_map_create(cls);
}

/* Exchanges bindings; with wants_near, joins the ranks by shared memory. */
static hg_return_t node_meet(
    hg_class_t *cls, const struct amg_node *node, bool *ret_is_near)
{
    struct card mine = {
        .affinity = {.binding = *amg_bind_process(),
            .rank = node->rank,
            .threads = amg_bind_app_threads()},
        .rank = node->rank,
        .pid = (uint32_t)getpid(),
        .start_time = amg_process_start((uint32_t)getpid()),
        .space = amg_process_space(),
    };
    const struct card *bad = NULL;
    bool wants_near = cls->plan.wants_near && node->boot->size > 1;
    bool was_open = false;
    hg_return_t rc = HG_SUCCESS;

    if (wants_near)
        mine.ret = (uint32_t)segment_open(cls, node, &mine.id);
    rc = cards_swap(node, &mine, &bad);
    if (rc == HG_SUCCESS) {
        bindings_keep(cls, node);
        mates_keep(cls, node);
    }
    was_open = bad == NULL;
    if (rc == HG_SUCCESS && was_open && wants_near) {
        neighbour_check(cls, node, &mine);
        if (mine.ret == HG_SUCCESS)
            mine.ret = (uint32_t)ranks_tell(cls, node);
        rc = cards_swap(node, &mine, &bad);
    }
    if (bad != NULL)
        intranode_failure_log(node, bad, was_open);
    *ret_is_near = rc == HG_SUCCESS && bad == NULL && wants_near;
    if (*ret_is_near && names_are_vain(node))
        amg_shm_node_unname(cls->domains[AMG_ROUTE_SHM]);
    return rc;
}

/* Waits up to JOINED_WAIT_MS until all ranks have left the collective calls of
 * the open; later, contexts check (context_look_at_joining(), init.c). */
static void others_await(hg_class_t *cls)
{
    struct amg_domain *domain = cls->domains[cls->plan.main_route];
    uint64_t deadline_ns = amg_clock_deadline_ns(JOINED_WAIT_MS);
    bool is_joining = true;

    cls->joined = cls->ranks->joined;
    while ((is_joining = cls->joined(domain) == AMG_JOINED_NOT_YET) &&
           amg_clock_ns() < deadline_ns)
        sched_yield();
    atomic_store_explicit(&cls->is_joining, is_joining, memory_order_relaxed);
}

/* The first rank that is not on this node. */
static uint32_t stranger_find(const struct amg_node *node)
{
    const struct card *cards = node->cards;
    uint32_t i = 0;

    /* The cards are of the ranks of this node, in rank order. */
    while (i < node->boot->size && cards[i].rank == i)
        i++;
    return i;
}

/* "s" unless `count` is one. */
static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static void reach_write(
    hg_class_t *cls, const struct amg_node *node, bool is_near, bool is_far)
{
    const struct amg_domain *domain = cls->domains[cls->plan.main_route];
    const char *way = cls->ranks->way(domain);
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
        cls->ranks->reason(domain));
}

/* A job of one node does not open libfabric, so a wrong name would show only in
 * a job of two nodes. Rank 0 checks the name. */
static void far_check(const hg_class_t *cls)
{
    const struct amg_class_plan *plan = &cls->plan;
    const struct amg_providers *providers = amg_driver_providers();

    AMG_ASSERT(plan->far_protocol[0] != '\0');
    if (providers == NULL ||
        !providers->has(plan->far_protocol, plan->far_info))
        AMG_LOG_WARNING("cls",
            "ofi+%s cannot be opened here; this job goes on without it, as all "
            "ranks are on one node, but a job of several nodes will fail",
            plan->far_protocol);
}

/* Opens the routes within the node and between nodes, as the plan wants. */
static hg_return_t node_use(hg_class_t *cls, const struct amg_node *node)
{
    bool is_alone = node->boot->size == 1;
    bool is_near = false;
    bool is_far = false;
    hg_return_t rc = node_meet(cls, node, &is_near);

    if (!is_near && cls->route_map != NULL)
        cls->route_map_free(cls);
    if (!is_near)
        amg_class_remove_route(cls, AMG_ROUTE_SHM);
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
    if (cls->plan.needs_far && node->node_count == 1 && node->rank == 0)
        far_check(cls);
    if (cls->plan.far_protocol[0] != '\0' && node->node_count > 1)
        rc = internode_join(cls, node, &is_far);
    if (rc != HG_SUCCESS)
        return rc;
    if (is_far)
        others_await(cls);
    /* The main route is not idle if calls to oneself use it (no_loopback). */
    cls->is_idle[cls->plan.main_route] =
        (is_far || node->size == node->boot->size) && (is_near || is_alone) &&
        !cls->plan.no_loopback;
    cls->job.rank = node->rank;
    cls->job.size = node->size;
    cls->job.node_size = node->node_size;
    cls->is_first = node->rank == 0;
    reach_write(cls, node, is_near, is_far);
    return HG_SUCCESS;
}

hg_return_t amg_init_join(hg_class_t *cls)
{
    struct amg_domain *domain = cls->domains[cls->plan.main_route];
    struct amg_node node;
    hg_return_t rc = HG_SUCCESS;

    /* Loads nothing: amg_init_plan() has loaded the MPI driver. */
    cls->ranks = amg_driver_find(AMG_DRIVER_MPI_NODE, false);
    if (cls->ranks == NULL) {
        AMG_LOG_ERROR("cls",
            "libamalgam_mpi is of another version: it lacks amg_mpi_node");
        return HG_PROTONOSUPPORT;
    }
    cls->ranks->open(domain, &node);
    rc = node_use(cls, &node);
    cls->ranks->close(&node);
    return rc;
}
