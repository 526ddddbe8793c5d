/* SPDX-License-Identifier: BSD-3-Clause */
/* From an init string to the domains that are to be opened for it. */
#include "init_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "init_drivers.h"
#include "init_node.h"
#include "shm/shm_transport.h"
#include "transport/registry.h"
#include "transport/self.h"
#include "transport/uri.h"

enum { CONTEXTS_UNASKED = 4 };

/* Does the string leave open which way bulk data take, and nothing else? */
static bool info_is_open(const char *info)
{
    return strcmp(info, "mpi") == 0 || strcmp(info, "mpi+static") == 0;
}

static bool info_is_way(const char *info)
{
    return strcmp(info, "mpi+p2p") == 0 || strcmp(info, "mpi+rma") == 0;
}

const char *amg_init_plan_info(const char *info)
{
    const char *wanted = amg_env_text(AMG_ENV_TRANSPORT);

    if (info == NULL || strcmp(info, "auto") == 0)
        return wanted == NULL ? "auto" : wanted;
    return wanted != NULL && info_is_open(info) && info_is_way(wanted) ? wanted
                                                                       : info;
}

/* The ranks of a node may share its memory: the plan says whether. */
static hg_return_t ranks_join(hg_class_t *cls)
{
    const struct amg_node_ops *ops = amg_init_node_ops();

    return ops == NULL ? HG_PROTONOSUPPORT : amg_init_node_join(cls, ops);
}

/* Ranks have their names from MPI, whatever else leads to them. */
static void plan_ranks(struct amg_class_plan *plan)
{
    plan->transports[AMG_ROUTE_MPI] = amg_init_mpi(true);
    plan->main_route = AMG_ROUTE_MPI;
    plan->join = ranks_join;
}

/* Ranks of other nodes are to be reached by libfabric, as `uri` names it. */
static void plan_far(struct amg_class_plan *plan, const struct amg_uri *uri)
{
    size_t skip = uri->class_len > 0 ? uri->class_len + 1 : 0;

    snprintf(plan->far_protocol, sizeof(plan->far_protocol), "%.*s",
        (int)(uri->scheme_len - skip), uri->scheme + skip);
    plan->far_info = uri->rest;
}

/* In place of ranks_join(), so that no rank waits for one that cannot go on:
 * by then each knows whether all of them were to open the same. */
static hg_return_t ranks_refuse(hg_class_t *cls)
{
    (void)cls;
    return HG_PROTONOSUPPORT;
}

/* What the environment says of other nodes, where all is left to us. */
static void plan_internode(struct amg_class_plan *plan)
{
    const char *wanted = amg_env_text(AMG_ENV_INTERNODE);
    struct amg_uri uri;

    if (wanted == NULL)
        return;
    if (amg_uri_split(wanted, &uri) == HG_SUCCESS) {
        if (amg_init_scheme_is_ofi(&uri))
            plan_far(plan, &uri);
        if (amg_init_scheme_is_ofi(&uri) || amg_init_scheme_is(&uri, "mpi"))
            return;
    }
    snprintf(plan->far_protocol, sizeof(plan->far_protocol), "%s", wanted);
    plan->join = ranks_refuse;
    AMG_LOG_ERROR("cls",
        "AMALGAM_INTERNODE is '%s': mpi, or a transport of libfabric as "
        "ofi+tcp or verbs, can lead to other nodes",
        wanted);
}

/* Which drivers serve the init string. Over `is_of_ranks`, a communicator's
 * class, shared memory is a way to ranks, who keep their names. */
static hg_return_t plan_transports(struct amg_class_plan *plan,
    const char *info, const struct amg_uri *uri, bool is_of_ranks)
{
    const char *protocol = uri->scheme + uri->class_len;
    size_t protocol_len = uri->scheme_len - uri->class_len;

    if (uri->class_len > 0) { /* the '+' between the two */
        protocol++;
        protocol_len--;
    }
    snprintf(plan->protocol, sizeof(plan->protocol), "%.*s", (int)protocol_len,
        protocol);
    plan->transports[AMG_ROUTE_SELF] = &amg_self_transport;
    plan->main_route = AMG_ROUTE_SELF;
    plan->name = amg_self_transport.name;
    if ((amg_init_scheme_is(uri, "self") ||
            amg_init_scheme_is(uri, "na+self")) &&
        !is_of_ranks)
        return HG_SUCCESS;
    if (amg_init_scheme_is(uri, "mpi+dynamic")) {
        AMG_LOG_ERROR("cls",
            "mpi+dynamic: MPI cannot join two jobs dependably; use mpi within "
            "a job, or a libfabric transport between jobs");
        return HG_OPNOTSUPPORTED;
    }
    if (amg_init_scheme_is_shm(uri) && !is_of_ranks) {
        plan->transports[AMG_ROUTE_SHM] = &amg_shm_transport;
        plan->main_route = AMG_ROUTE_SHM;
        /* As Mercury says, which programs compare with. */
        plan->name = "na";
        snprintf(plan->protocol, sizeof(plan->protocol), "sm");
        return HG_SUCCESS;
    }
    if (amg_init_scheme_is_mpi(uri) || amg_init_scheme_is_shm(uri)) {
        plan_ranks(plan);
        plan->needs_near = amg_init_scheme_is_shm(uri);
        plan->wants_near = plan->needs_near || amg_init_scheme_is(uri, "auto");
        plan->name = "mpi";
        if (amg_init_scheme_is(uri, "auto"))
            plan_internode(plan);
    } else if (amg_init_scheme_is_ofi(uri) && is_of_ranks) {
        plan_ranks(plan);
        plan->wants_near = plan->needs_far = true;
        plan_far(plan, uri);
        plan->name = "ofi";
    } else if (amg_init_scheme_is_ofi(uri)) {
        plan->transports[AMG_ROUTE_OFI] = amg_init_ofi(true);
        plan->main_route = AMG_ROUTE_OFI;
        plan->name = "ofi";
    }
    if (plan->main_route == AMG_ROUTE_SELF ||
        plan->transports[plan->main_route] == NULL) {
        amg_init_refuse(info, is_of_ranks);
        return HG_PROTONOSUPPORT;
    }
    return HG_SUCCESS;
}

/* Shared memory beside the transport that is named. */
static void plan_auto_sm(struct amg_class_plan *plan, const char *info)
{
    if (plan->join != NULL)
        plan->wants_near = true;
    else
        AMG_LOG_WARNING("cls",
            "auto_sm: '%s' reaches nobody whom shared memory would reach "
            "faster; it is opened as if auto_sm were false",
            info);
}

hg_return_t amg_init_plan(
    const struct amg_init *init, struct amg_class_plan *plan)
{
    const char *info = amg_init_plan_info(init->info);
    struct amg_uri uri;
    hg_return_t rc = amg_uri_split(info, &uri);
    unsigned route = 0;

    if (rc != HG_SUCCESS) {
        AMG_LOG_ERROR("cls", "'%s' is no init string", info);
        return rc;
    }
    rc = plan_transports(plan, info, &uri, init->how.comm != NULL);
    if (rc != HG_SUCCESS)
        return rc;
    for (route = 0; route < AMG_ROUTE_COUNT; route++)
        if (plan->transports[route] != NULL &&
            amg_registry_check(plan->transports[route]) != HG_SUCCESS)
            return HG_PROTONOSUPPORT;
    plan->how = init->how;
    plan->how.info = uri.rest;
    plan->near_info = init->sm_info;
    if (plan->needs_far)
        plan->how.info = "";
    if (plan->needs_near) {
        plan->near_info = uri.rest;
        plan->how.info = "";
    }
    if (init->auto_sm)
        plan_auto_sm(plan, info);
    if (plan->how.max_contexts == 0)
        plan->how.max_contexts = 1;
    /* Programs open a second one where Mercury gives that without asking. */
    if (plan->how.max_contexts == 1 && (plan->main_route == AMG_ROUTE_SHM ||
                                           plan->main_route == AMG_ROUTE_OFI))
        plan->how.max_contexts = CONTEXTS_UNASKED;
    return HG_SUCCESS;
}
