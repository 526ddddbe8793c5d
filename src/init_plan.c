/* SPDX-License-Identifier: BSD-3-Clause */
/* From an init string to the drivers that serve it.
 *
 * This file alone names the drivers. The MPI driver is in a library of its
 * own, so that a program without MPI does not carry one: it is looked up among
 * what is loaded, and loaded when an init string asks for it. */
#include "init_plan.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "init_node.h"
#include "shm/shm_transport.h"
#include "transport/registry.h"
#include "transport/self.h"
#include "transport/uri.h"

#define MPI_LIBRARY "libamalgam_mpi.so.0"
#define MPI_SYMBOL  "amg_mpi_transport"
#define NODE_SYMBOL "amg_mpi_node"

enum { NAME_CAP = 256 };

/* The MPI driver, or NULL; loads its library only when `may_load`. */
static const struct amg_transport *mpi_find(bool may_load)
{
    const struct amg_transport *found = dlsym(RTLD_DEFAULT, MPI_SYMBOL);
    void *library = NULL;

    if (found != NULL || !may_load)
        return found;
    /* Stays loaded: MPI cannot be unloaded and started again. */
    library = dlopen(MPI_LIBRARY, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (library == NULL) {
        AMG_LOG_ERROR(
            "cls", "the MPI transport cannot be loaded: %s", dlerror());
        return NULL;
    }
    return dlsym(library, MPI_SYMBOL);
}

static bool scheme_is(const struct amg_uri *uri, const char *name)
{
    return strlen(name) == uri->scheme_len &&
           strncmp(uri->scheme, name, uri->scheme_len) == 0;
}

static bool scheme_is_shm(const struct amg_uri *uri)
{
    return scheme_is(uri, "na+sm") || scheme_is(uri, "sm") ||
           scheme_is(uri, "shm");
}

static bool scheme_is_mpi(const struct amg_uri *uri)
{
    return scheme_is(uri, "mpi") || scheme_is(uri, "mpi+p2p") ||
           scheme_is(uri, "mpi+rma") || scheme_is(uri, "mpi+static") ||
           scheme_is(uri, "auto");
}

void amg_init_transports(const char *wanted,
    const struct amg_transport *ret_all[AMG_ROUTE_COUNT + 1])
{
    struct amg_uri uri;
    bool wants_mpi = wanted != NULL &&
                     amg_uri_split(wanted, &uri) == HG_SUCCESS &&
                     scheme_is_mpi(&uri);

    ret_all[0] = &amg_self_transport;
    ret_all[1] = &amg_shm_transport;
    ret_all[2] = mpi_find(wants_mpi);
    ret_all[3] = NULL;
}

const char *amg_init_offer(char *ret_text, size_t cap)
{
    const struct amg_transport *all[AMG_ROUTE_COUNT + 1];

    amg_init_transports(NULL, all);
    return amg_registry_offer(all, ret_text, cap);
}

/* Lists what there is; for the ranks of a communicator, what reaches them. */
static void refuse_log(const char *info, bool is_of_ranks)
{
    const struct amg_transport *mpi[2] = {mpi_find(false), NULL};
    char offer[NAME_CAP];

    if (is_of_ranks && mpi[0] != NULL)
        AMG_LOG_ERROR("cls",
            "no transport '%s' here; this build offers: %s; and shm, where all "
            "ranks are on one node",
            info, amg_registry_offer(mpi, offer, sizeof(offer)));
    else
        AMG_LOG_ERROR("cls", "no transport '%s' here; this build offers: %s%s",
            info, amg_init_offer(offer, sizeof(offer)),
            mpi[0] == NULL ? " (and mpi, where " MPI_LIBRARY " is found)" : "");
}

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
    const struct amg_node_ops *ops = dlsym(RTLD_DEFAULT, NODE_SYMBOL);

    if (ops != NULL)
        return amg_init_node_join(cls, ops);
    AMG_LOG_ERROR(
        "cls", "%s is of another version: it has no " NODE_SYMBOL, MPI_LIBRARY);
    return HG_PROTONOSUPPORT;
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
    if ((scheme_is(uri, "self") || scheme_is(uri, "na+self")) && !is_of_ranks)
        return HG_SUCCESS;
    if (scheme_is(uri, "mpi+dynamic")) {
        AMG_LOG_ERROR("cls",
            "mpi+dynamic: MPI cannot join two jobs dependably; use mpi within "
            "a job, or a libfabric transport between jobs");
        return HG_OPNOTSUPPORTED;
    }
    if (scheme_is_shm(uri) && !is_of_ranks) {
        plan->transports[AMG_ROUTE_SHM] = &amg_shm_transport;
        plan->main_route = AMG_ROUTE_SHM;
        /* As Mercury says, which programs compare with. */
        plan->name = "na";
        snprintf(plan->protocol, sizeof(plan->protocol), "sm");
        return HG_SUCCESS;
    }
    if (scheme_is_mpi(uri) || scheme_is_shm(uri)) {
        plan->transports[AMG_ROUTE_MPI] = mpi_find(true);
        plan->main_route = AMG_ROUTE_MPI;
        plan->join = ranks_join;
        plan->needs_near = scheme_is_shm(uri);
        plan->wants_near = plan->needs_near || scheme_is(uri, "auto");
        plan->name = "mpi";
    }
    if (plan->transports[AMG_ROUTE_MPI] == NULL) {
        refuse_log(info, is_of_ranks);
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
    if (plan->needs_near) {
        plan->near_info = uri.rest;
        plan->how.info = "";
    }
    if (init->auto_sm)
        plan_auto_sm(plan, info);
    if (plan->how.max_contexts == 0)
        plan->how.max_contexts = 1;
    return HG_SUCCESS;
}
