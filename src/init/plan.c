/* SPDX-License-Identifier: BSD-3-Clause */
/* Plan of a class: from an init string to the drivers that serve it. */
#include "init/init.h"

#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "init/drivers.h"
#include "shm/shm_transport.h"
#include "transport/registry.h"
#include "transport/self.h"

enum { OFFER_CAP = 512 };

/* Protocols of libfabric that do not need the prefix "ofi+". */
static const char *const ofi_protocols[] = {"ofi", "tcp", "tcp_rxm",
    "tcp;ofi_rxm", "sockets", "verbs", "verbs_rxm", "verbs;ofi_rxm", "cxi",
    "psm", "psm2", "psm3", "opx", "efa", "gni"};

/* Plugins of Mercury that are not here: libfabric takes their place. */
static const char *const old_plugins[] = {"bmi", "cci", "ucx"};

/* Protocols of these plugins that need InfiniBand; the others go over TCP. */
static const char *const verbs_protocols[] = {"rc", "ud", "dc", "ib"};

/* The driver, or NULL; loads its library only if `may_load`, and logs a
 * failure. */
static const struct amg_transport *mpi_driver(bool may_load)
{
    return amg_driver_find(AMG_DRIVER_MPI, may_load);
}

static const struct amg_transport *ofi_driver(bool may_load)
{
    return amg_driver_find(AMG_DRIVER_OFI, may_load);
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

static bool scheme_is_ofi(const struct amg_uri *uri)
{
    if (uri->class_len == strlen("ofi") &&
        strncmp(uri->scheme, "ofi", uri->class_len) == 0)
        return true;
    for (size_t i = 0; i < sizeof(ofi_protocols) / sizeof(ofi_protocols[0]);
         i++)
        if (scheme_is(uri, ofi_protocols[i]))
            return true;
    return false;
}

/* Has the scheme class `name`, and a protocol that begins with `protocol`? */
static bool scheme_begins(
    const struct amg_uri *uri, const char *name, const char *protocol)
{
    size_t len = strlen(name);

    return uri->class_len == len && strncmp(uri->scheme, name, len) == 0 &&
           strncmp(uri->scheme + len + 1, protocol, strlen(protocol)) == 0;
}

/* Replaces the scheme of a plugin that is not here by the nearest one. */
static void plugin_replace(struct amg_uri *uri, const char *info)
{
    for (size_t i = 0; i < sizeof(old_plugins) / sizeof(old_plugins[0]); i++) {
        const char *name = "tcp";

        if (!scheme_begins(uri, old_plugins[i], ""))
            continue;
        for (size_t k = 0;
             k < sizeof(verbs_protocols) / sizeof(verbs_protocols[0]); k++)
            if (scheme_begins(uri, old_plugins[i], verbs_protocols[k]))
                name = "verbs";
        AMG_LOG_WARNING("cls",
            "'%s': there is no plugin %s here; addresses begin with ofi+%s, "
            "which is used instead",
            info, old_plugins[i], name);
        uri->scheme = name;
        uri->scheme_len = strlen(name);
        uri->class_len = 0;
        return;
    }
}

void amg_init_transports(const char *wanted,
    const struct amg_transport *ret_all[AMG_ROUTE_COUNT + 1])
{
    struct amg_uri uri;
    bool is_uri = wanted != NULL && amg_uri_split(wanted, &uri) == HG_SUCCESS;
    const struct amg_transport *found[] = {
        &amg_self_transport,
        &amg_shm_transport,
        mpi_driver(is_uri && scheme_is_mpi(&uri)),
        ofi_driver(is_uri && scheme_is_ofi(&uri)),
    };
    unsigned count = 0;

    for (unsigned i = 0; i < sizeof(found) / sizeof(found[0]); i++)
        if (found[i] != NULL)
            ret_all[count++] = found[i];
    ret_all[count] = NULL;
}

const char *amg_init_offer(char *ret_text, size_t cap)
{
    const struct amg_transport *all[AMG_ROUTE_COUNT + 1];

    amg_init_transports(NULL, all);
    return amg_registry_offer(all, ret_text, cap);
}

/* Logs that no transport here opens the init string, and which ones could be
 * opened; for a communicator, those that reach its ranks. */
static void init_string_refuse(const char *info, bool is_of_ranks)
{
    const struct amg_transport *mpi[2] = {mpi_driver(false), NULL};
    bool has_ofi = ofi_driver(false) != NULL;
    char offer[OFFER_CAP];

    if (is_of_ranks && mpi[0] != NULL)
        AMG_LOG_ERROR("cls",
            "no transport '%s' here; this build offers: %s; and shm, where all "
            "ranks are on one node; and ofi+PROVIDER (as ofi+tcp), for "
            "libfabric between nodes",
            info, amg_registry_offer(mpi, offer, sizeof(offer)));
    else
        AMG_LOG_ERROR("cls",
            "no transport '%s' here; this build offers: %s%s%s", info,
            amg_init_offer(offer, sizeof(offer)),
            mpi[0] != NULL ? "" : " (and mpi, where libamalgam_mpi is found)",
            has_ofi ? ""
                    : " (and tcp, ofi+PROVIDER, where libamalgam_ofi is "
                      "found)");
}

enum { CONTEXTS_UNASKED = 4 };

/* Does the string only leave open how bulk data are moved? */
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

/* The names of ranks are those of MPI, whatever other routes exist. */
static void plan_ranks(struct amg_class_plan *plan)
{
    plan->transports[AMG_ROUTE_MPI] = mpi_driver(true);
    plan->main_route = AMG_ROUTE_MPI;
    plan->join = amg_init_join;
}

/* Ranks of other nodes are reached by libfabric, as `uri` names it. */
static void plan_far(struct amg_class_plan *plan, const struct amg_uri *uri)
{
    size_t skip = uri->class_len > 0 ? uri->class_len + 1 : 0;

    snprintf(plan->far_protocol, sizeof(plan->far_protocol), "%.*s",
        (int)(uri->scheme_len - skip), uri->scheme + skip);
    plan->far_info = uri->rest;
}

/* Replaces amg_init_join(), so that no rank waits for one that cannot continue:
 * by then each rank knows whether all ranks open the same. */
static hg_return_t ranks_refuse(hg_class_t *cls)
{
    (void)cls;
    return HG_PROTONOSUPPORT;
}

/* Applies the environment's setting for other nodes, if the init string leaves
 * it open. */
static void plan_internode(struct amg_class_plan *plan)
{
    const char *wanted = amg_env_text(AMG_ENV_INTERNODE);
    struct amg_uri uri;

    if (wanted == NULL)
        return;
    if (amg_uri_split(wanted, &uri) == HG_SUCCESS) {
        if (scheme_is_ofi(&uri))
            plan_far(plan, &uri);
        if (scheme_is_ofi(&uri) || scheme_is(&uri, "mpi"))
            return;
    }
    snprintf(plan->far_protocol, sizeof(plan->far_protocol), "%s", wanted);
    plan->join = ranks_refuse;
    AMG_LOG_ERROR("cls",
        "AMALGAM_INTERNODE is '%s'; it must be mpi, or a libfabric transport "
        "such as ofi+tcp or verbs",
        wanted);
}

/* Selects the drivers for the init string. With `is_of_ranks`, a class of a
 * communicator, shared memory is a route to ranks, which keep their names. */
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
            "mpi+dynamic: MPI cannot connect two jobs reliably; use mpi "
            "within a job, or a libfabric transport between jobs");
        return HG_OPNOTSUPPORTED;
    }
    if (scheme_is_shm(uri) && !is_of_ranks) {
        plan->transports[AMG_ROUTE_SHM] = &amg_shm_transport;
        plan->main_route = AMG_ROUTE_SHM;
        /* Mercury's name, which programs compare. */
        plan->name = "na";
        snprintf(plan->protocol, sizeof(plan->protocol), "sm");
        return HG_SUCCESS;
    }
    if (scheme_is_mpi(uri) || scheme_is_shm(uri)) {
        plan_ranks(plan);
        plan->needs_near = scheme_is_shm(uri);
        plan->wants_near = plan->needs_near || scheme_is(uri, "auto");
        plan->name = "mpi";
        if (scheme_is(uri, "auto"))
            plan_internode(plan);
    } else if (scheme_is_ofi(uri) && is_of_ranks) {
        plan_ranks(plan);
        plan->wants_near = plan->needs_far = true;
        plan_far(plan, uri);
        plan->name = "ofi";
    } else if (scheme_is_ofi(uri)) {
        plan->transports[AMG_ROUTE_OFI] = ofi_driver(true);
        plan->main_route = AMG_ROUTE_OFI;
        plan->name = "ofi";
    }
    if (plan->main_route == AMG_ROUTE_SELF ||
        plan->transports[plan->main_route] == NULL) {
        init_string_refuse(info, is_of_ranks);
        return HG_PROTONOSUPPORT;
    }
    return HG_SUCCESS;
}

/* Shared memory beside the named transport. */
static void plan_auto_sm(struct amg_class_plan *plan, const char *info)
{
    if (plan->join != NULL)
        plan->wants_near = true;
    else
        AMG_LOG_WARNING("cls",
            "auto_sm is ignored: shared memory is not faster for any peer of "
            "'%s'",
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
        AMG_LOG_ERROR("cls", "'%s' is not an init string", info);
        return rc;
    }
    plugin_replace(&uri, info);
    rc = plan_transports(plan, info, &uri, init->how.job.comm != NULL);
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
    /* Programs open a second context where Mercury needs no option for that. */
    if (plan->how.max_contexts == 1 && (plan->main_route == AMG_ROUTE_SHM ||
                                           plan->main_route == AMG_ROUTE_OFI))
        plan->how.max_contexts = CONTEXTS_UNASKED;
    return HG_SUCCESS;
}
