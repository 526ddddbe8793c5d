/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens libfabric between the nodes of a job while a class opens.
 *
 * Each rank opens its own domain, and tells the others where it is reached; no
 * rank connects to another before it is called. After every step that may fail
 * at one rank, all agree on whether to go on: a rank that went by another way
 * than the others would wait for answers on one that nobody looks at. */
#include "init_far.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"
#include "core/route_map.h"
#include "init_drivers.h"
#include "init_far_table.h"
#include "mercury_class.h"
#include "transport/registry.h"

enum { TEXT_CAP = 512, HOST_CAP = 64 };

/* What the steps share. */
struct far_join {
    hg_class_t *cls;
    const struct amg_node_ops *ops;
    const struct amg_node *node;
    char text[TEXT_CAP]; /* where this rank is reached */
    struct amg_init_far_table table;
};

/* Who failed says so, for all; and the first rank, where that is an end. */
static void failure_log(const struct far_join *join, uint32_t rank,
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
            "nodes by MPI, not as AMALGAM_INTERNODE asks for",
            rank, host, what, plan->far_protocol, HG_Error_to_string(ret),
            join->node->size);
    else if (join->node->rank == 0 && plan->needs_far)
        AMG_LOG_ERROR("cls",
            "rank %u cannot %s ofi+%s: %s; what that rank has logged says why",
            rank, what, plan->far_protocol, HG_Error_to_string(ret));
}

/* All go on, or none does: then what the first that failed got. */
static hg_return_t agree(
    const struct far_join *join, hg_return_t mine, const char *what)
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
    failure_log(join, size - (uint32_t)(worst >> 32), rc, what);
    return rc;
}

/* The smallest of what the ranks wish, as they must be the same. */
static hg_return_t wishes_agree(const struct far_join *join)
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

    ops->drop(domain, self);
    return rc;
}

static hg_return_t domain_open(struct far_join *join)
{
    hg_class_t *cls = join->cls;
    const struct amg_transport *driver = amg_init_ofi(true);
    hg_return_t rc = HG_PROTONOSUPPORT;

    if (driver != NULL)
        rc = amg_registry_check(driver);
    cls->plan.how.nic_turn = join->node->boot->rank;
    if (rc == HG_SUCCESS)
        rc = amg_class_add_route(cls, AMG_ROUTE_OFI, driver,
            cls->plan.far_protocol, cls->plan.far_info);
    if (rc == HG_SUCCESS)
        rc = self_write(cls, join->text, sizeof(join->text));
    return rc;
}

/* Until all have the addresses of all. */
static hg_return_t addresses_swap(struct far_join *join)
{
    struct amg_init_far_table *table = &join->table;
    uint64_t text_len = strlen(join->text) + 1;
    hg_return_t rc = join->ops->largest(join->node, &text_len, 1);

    if (rc == HG_SUCCESS) {
        rc = amg_init_far_table_begin(
            table, join->ops, join->node, (uint32_t)text_len);
        rc = agree(join, rc, "keep the addresses of");
    }
    if (rc == HG_SUCCESS) {
        rc = amg_init_far_table_swap(table, join->text);
        rc = agree(join, rc, "tell the addresses of");
    }
    if (rc == HG_SUCCESS) {
        rc = amg_init_far_table_sort(table);
        rc = agree(join, rc, "use the addresses of");
    }
    if (rc == HG_SUCCESS) {
        rc = amg_init_far_table_share(table);
        rc = agree(join, rc, "get the addresses of");
    }
    return rc;
}

static hg_return_t all_join(struct far_join *join)
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
    amg_init_far_table_take(&join->table, &table);
    amg_route_map_add_table(cls->route_map, AMG_ROUTE_OFI, join->ops, &table);
    return HG_SUCCESS;
}

/* The NIC that the threads of this node keep to: that of its first rank, for
 * all of them make one map. */
static void nic_agree(const struct far_join *join)
{
    struct amg_drive *drive = &join->cls->drive;
    const struct amg_nic_id *nic = join->cls->domains[AMG_ROUTE_OFI]->nic;
    const char *text = "";

    if (nic != NULL)
        text = nic->bus[0] != '\0'     ? nic->bus
               : nic->iface[0] != '\0' ? nic->iface
                                       : nic->name;
    if (strlen(text) < sizeof(drive->nic))
        memcpy(drive->nic, text, strlen(text) + 1);
    if (join->node->boot->ops->bcast(
            join->node->boot, drive->nic, sizeof(drive->nic), 0) != HG_SUCCESS)
        drive->nic[0] = '\0';
}

hg_return_t amg_init_far_join(hg_class_t *cls, const struct amg_node_ops *ops,
    const struct amg_node *node, bool *ret_is_far)
{
    struct far_join join = {.cls = cls, .ops = ops, .node = node};
    hg_return_t rc = all_join(&join);

    if (rc == HG_SUCCESS)
        nic_agree(&join);
    amg_init_far_table_end(&join.table);
    *ret_is_far = rc == HG_SUCCESS;
    if (rc == HG_SUCCESS)
        return HG_SUCCESS;
    amg_class_remove_route(cls, AMG_ROUTE_OFI);
    return cls->plan.needs_far ? rc : HG_SUCCESS;
}

const char *amg_init_far_way(const hg_class_t *cls, char *ret_text, size_t cap)
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
