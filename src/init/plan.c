/* SPDX-License-Identifier: BSD-3-Clause */
/* Init strings: the plan of a class, and the strings that can be opened. */
#include "init/init.h"

#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "init/drivers.h"
#include "mercury_class.h"
#include "shm/shm_transport.h"
#include "transport/registry.h"
#include "transport/self.h"

enum { OFFER_CAP = 512 };

/* Protocols of libfabric that do not need the prefix "ofi+". */
static const char ofi_protocols[] =
    "ofi tcp tcp_rxm tcp;ofi_rxm sockets verbs verbs_rxm verbs;ofi_rxm cxi psm "
    "psm2 psm3 opx efa gni";

/* Plugins of Mercury that are not here: libfabric takes their place. */
static const char old_plugins[] = "bmi cci ucx";

/* First two letters of the protocols that need InfiniBand in these plugins:
 * verbs replaces these protocols, tcp all other protocols. */
static const char verbs_protocols[] = "rc ud dc ib";

/* Is the word of `len` letters in the list `words`, which blanks separate? */
static bool word_is(const char *word, size_t len, const char *words)
{
    size_t one = 0;

    for (; *words != '\0'; words += one + strspn(words + one, " ")) {
        one = strcspn(words, " ");
        if (one == len && memcmp(word, words, len) == 0)
            return true;
    }
    return false;
}

static bool scheme_is(const struct amg_uri *uri, const char *words)
{
    return word_is(uri->scheme, uri->scheme_len, words);
}

static bool scheme_is_shm(const struct amg_uri *uri)
{
    return scheme_is(uri, "na+sm sm shm");
}

static bool scheme_is_mpi(const struct amg_uri *uri)
{
    return scheme_is(uri, "mpi mpi+p2p mpi+rma mpi+static auto");
}

static bool scheme_is_ofi(const struct amg_uri *uri)
{
    return word_is(uri->scheme, uri->class_len, "ofi") ||
           scheme_is(uri, ofi_protocols);
}

/* Replaces the scheme of a plugin of `old_plugins` by verbs or tcp. */
static void plugin_replace(struct amg_uri *uri, const char *info)
{
    const char *name = "tcp";

    if (!word_is(uri->scheme, uri->class_len, old_plugins))
        return;
    if (uri->scheme_len > uri->class_len + 2 &&
        word_is(uri->scheme + uri->class_len + 1, 2, verbs_protocols))
        name = "verbs";
    AMG_LOG_WARNING("cls",
        "'%s': there is no plugin %.*s here; addresses begin with ofi+%s, "
        "which is used instead",
        info, (int)uri->class_len, uri->scheme, name);
    uri->scheme = name;
    uri->scheme_len = strlen(name);
    uri->class_len = 0;
}

/* The drivers that this process can open; NULL ends the list. Loads the drivers
 * of MPI and libfabric only if `wanted`, an init string or NULL, names them. */
static void transports_find(const char *wanted,
    const struct amg_transport *ret_all[AMG_ROUTE_COUNT + 1])
{
    struct amg_uri uri;
    bool is_uri = wanted != NULL && amg_uri_split(wanted, &uri) == HG_SUCCESS;
    const struct amg_transport *found[] = {
        &amg_self_transport,
        &amg_shm_transport,
        amg_driver_find(AMG_DRIVER_MPI, is_uri && scheme_is_mpi(&uri)),
        amg_driver_find(AMG_DRIVER_OFI, is_uri && scheme_is_ofi(&uri)),
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

    transports_find(NULL, all);
    return amg_registry_offer(all, ret_text, cap);
}

/* Logs that no transport here opens the init string, and lists the strings that
 * could be opened; `is_of_ranks`: the strings for ranks of a communicator. */
static void init_string_refuse(const char *info, bool is_of_ranks)
{
    const struct amg_transport *mpi[2] = {
        amg_driver_find(AMG_DRIVER_MPI, false), NULL};
    bool has_ofi = amg_driver_find(AMG_DRIVER_OFI, false) != NULL;
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

const char *amg_init_plan_info(const char *info)
{
    const char *wanted = amg_env_text(AMG_ENV_TRANSPORT);

    if (info == NULL || strcmp(info, "auto") == 0)
        return wanted == NULL ? "auto" : wanted;
    /* Does the variable only add how bulk data are moved? */
    if (wanted != NULL && word_is(info, strlen(info), "mpi mpi+static") &&
        word_is(wanted, strlen(wanted), "mpi+p2p mpi+rma"))
        return wanted;
    return info;
}

/* Plans MPI as the main route of a job's ranks, because MPI names the ranks. */
static void plan_ranks(struct amg_class_plan *plan)
{
    plan->transports[AMG_ROUTE_MPI] = amg_driver_find(AMG_DRIVER_MPI, true);
    plan->main_route = AMG_ROUTE_MPI;
    plan->join = amg_init_join;
}

/* Copies the scheme without its class: "tcp" of "ofi+tcp". */
static void protocol_take(
    const struct amg_uri *uri, char ret_protocol[AMG_PROTOCOL_CAP])
{
    size_t skip = uri->class_len > 0 ? uri->class_len + 1 : 0;

    snprintf(ret_protocol, AMG_PROTOCOL_CAP, "%.*s",
        (int)(uri->scheme_len - skip), uri->scheme + skip);
}

/* Plans libfabric, with the provider of `uri`, for ranks of other nodes. */
static void plan_far(struct amg_class_plan *plan, const struct amg_uri *uri)
{
    protocol_take(uri, plan->far_protocol);
    plan->far_info = uri->rest;
}

/* The plan's `join` if AMALGAM_INTERNODE is invalid. All ranks fail here
 * together: the MPI domain opens only if all ranks have the same value. */
static hg_return_t ranks_refuse(hg_class_t *cls)
{
    (void)cls;
    return HG_PROTONOSUPPORT;
}

/* Applies AMALGAM_INTERNODE; called for the init string "auto", which does not
 * say how ranks of other nodes are reached. */
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

/* Selects the drivers for the init string. `is_of_ranks`: the class is of a
 * communicator, and shared memory is a route to ranks, which MPI names. */
static hg_return_t plan_transports(struct amg_class_plan *plan,
    const char *info, const struct amg_uri *uri, bool is_of_ranks)
{
    protocol_take(uri, plan->protocol);
    plan->transports[AMG_ROUTE_SELF] = &amg_self_transport;
    plan->main_route = AMG_ROUTE_SELF;
    plan->name = amg_self_transport.name;
    if (scheme_is(uri, "self na+self") && !is_of_ranks)
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
        plan->transports[AMG_ROUTE_OFI] = amg_driver_find(AMG_DRIVER_OFI, true);
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

hg_return_t amg_init_plan(
    const struct amg_init *init, struct amg_class_plan *plan)
{
    const char *info = amg_init_plan_info(init->info);
    struct amg_uri uri;
    hg_return_t rc = amg_uri_split(info, &uri);

    if (rc != HG_SUCCESS) {
        AMG_LOG_ERROR("cls", "'%s' is not an init string", info);
        return rc;
    }
    plugin_replace(&uri, info);
    rc = plan_transports(plan, info, &uri, init->how.job.comm != NULL);
    if (rc != HG_SUCCESS)
        return rc;
    for (unsigned route = 0; route < AMG_ROUTE_COUNT; route++)
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
    if (init->auto_sm && plan->join != NULL)
        plan->wants_near = true; /* beside the named transport */
    else if (init->auto_sm)
        AMG_LOG_WARNING("cls",
            "auto_sm is ignored: '%s' reaches all peers by one transport",
            info);
    if (plan->how.max_contexts == 0)
        plan->how.max_contexts = 1;
    /* Mercury allows a second context on these routes without max_contexts. */
    if (plan->how.max_contexts == 1 && (plan->main_route == AMG_ROUTE_SHM ||
                                           plan->main_route == AMG_ROUTE_OFI))
        plan->how.max_contexts = CONTEXTS_UNASKED;
    return HG_SUCCESS;
}

/* An element of the list that programs get, in one block of memory. */
struct protocol_entry {
    struct na_protocol_info info;
    char texts[]; /* what `info` points to */
};

static char *text_copy(char **room, const char *text, size_t len)
{
    char *copy = *room;

    memcpy(copy, text, len);
    copy[len] = '\0';
    *room += len + 1;
    return copy;
}

/* Makes an entry of `scheme`, which is "class+protocol". NULL: no memory. */
static struct na_protocol_info *entry_create(
    const char *scheme, size_t len, const char *device)
{
    size_t class_len = strcspn(scheme, "+");
    size_t device_len = strlen(device);
    struct protocol_entry *entry =
        amg_mem_zalloc(sizeof(*entry) + len + 1 + device_len + 1);
    char *room = NULL;

    if (entry == NULL)
        return NULL;
    room = entry->texts;
    entry->info.class_name = text_copy(&room, scheme, class_len);
    entry->info.protocol_name =
        text_copy(&room, scheme + class_len + 1, len - class_len - 1);
    entry->info.device_name = text_copy(&room, device, device_len);
    return &entry->info;
}

/* Does `uri` name `scheme`, its class alone, or its protocol alone? */
static bool is_wanted(const char *scheme, size_t len, const struct amg_uri *uri)
{
    size_t class_len = strcspn(scheme, "+");
    size_t wanted_len = uri->scheme_len;

    if (uri->class_len > 0)
        return wanted_len == len && memcmp(scheme, uri->scheme, len) == 0;
    if (wanted_len == class_len && memcmp(scheme, uri->scheme, class_len) == 0)
        return true;
    return wanted_len == len - class_len - 1 &&
           memcmp(scheme + class_len + 1, uri->scheme, wanted_len) == 0;
}

/* Appends the driver's protocols that `uri` names (NULL: all) at `*end`. */
static hg_return_t driver_add(const struct amg_transport *transport,
    const struct amg_uri *uri, struct na_protocol_info ***end)
{
    const char *scheme = transport->schemes;
    size_t len = 0;

    for (; *scheme != '\0'; scheme += len) {
        scheme += strspn(scheme, " ");
        len = strcspn(scheme, " ");
        /* A scheme without a class is an alias of a scheme with a class. */
        if (memchr(scheme, '+', len) == NULL)
            continue;
        if (uri != NULL && !is_wanted(scheme, len, uri))
            continue;
        **end = entry_create(scheme, len, transport->name);
        if (**end == NULL)
            return HG_NOMEM;
        *end = &(**end)->next;
    }
    return HG_SUCCESS;
}

hg_return_t HG_Get_na_protocol_info(
    const char *info_string, struct na_protocol_info **na_protocol_info_p)
{
    const struct amg_transport *all[AMG_ROUTE_COUNT + 1];
    struct na_protocol_info *list = NULL;
    struct na_protocol_info **end = &list;
    struct amg_uri uri;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_GIVEN(na_protocol_info_p))
        return HG_INVALID_ARG;
    if (info_string != NULL && amg_uri_split(info_string, &uri) != HG_SUCCESS) {
        AMG_LOG_ERROR("cls", "'%s' is not an init string", info_string);
        return HG_INVALID_ARG;
    }
    transports_find(info_string, all);
    for (unsigned i = 0; all[i] != NULL && rc == HG_SUCCESS; i++)
        rc = driver_add(all[i], info_string == NULL ? NULL : &uri, &end);
    if (rc == HG_SUCCESS && list == NULL)
        rc = HG_PROTONOSUPPORT;
    if (rc != HG_SUCCESS) {
        HG_Free_na_protocol_info(list);
        return rc;
    }
    *na_protocol_info_p = list;
    return HG_SUCCESS;
}

void HG_Free_na_protocol_info(struct na_protocol_info *na_protocol_info)
{
    while (na_protocol_info != NULL) {
        struct na_protocol_info *next = na_protocol_info->next;

        amg_mem_free(
            amg_container_of(na_protocol_info, struct protocol_entry, info));
        na_protocol_info = next;
    }
}
