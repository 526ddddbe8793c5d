/* SPDX-License-Identifier: BSD-3-Clause */
/* The drivers that are in libraries of their own, and which one a scheme names.
 *
 * Those for MPI and libfabric bring large libraries with them, which run code
 * when they are loaded: a program that uses neither must not carry them. So
 * each is looked up among what is loaded, and loaded when an init string asks
 * for it. */
#include "init_drivers.h"

#include <dlfcn.h>
#include <string.h>

#include "base/log.h"
#include "base/signals.h"
#include "init_plan.h"
#include "shm/shm_transport.h"
#include "transport/registry.h"
#include "transport/self.h"

#define MPI_LIBRARY "libamalgam_mpi.so.0"
#define MPI_SYMBOL  "amg_mpi_transport"
#define NODE_SYMBOL "amg_mpi_node"
#define OFI_LIBRARY "libamalgam_ofi.so.0"
#define OFI_SYMBOL  "amg_ofi_transport"
#define LIST_SYMBOL "amg_ofi_providers"

enum { OFFER_CAP = 512 };

/* Protocols that mean libfabric also without "ofi+". */
static const char *const ofi_protocols[] = {
    "ofi", "tcp", "verbs", "cxi", "psm2", "opx", "efa"};

static const struct amg_transport *driver_find(const char *library_name,
    const char *symbol, const char *what, bool may_load)
{
    const struct amg_transport *found = dlsym(RTLD_DEFAULT, symbol);
    struct amg_signals signals;
    void *library = NULL;

    if (found != NULL || !may_load)
        return found;
    /* Stays loaded: MPI cannot be unloaded and started again. */
    amg_signals_save(&signals);
    library = dlopen(library_name, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    amg_signals_restore(&signals);
    if (library == NULL) {
        AMG_LOG_ERROR(
            "cls", "the %s transport cannot be loaded: %s", what, dlerror());
        return NULL;
    }
    return dlsym(library, symbol);
}

const struct amg_transport *amg_init_mpi(bool may_load)
{
    return driver_find(MPI_LIBRARY, MPI_SYMBOL, "MPI", may_load);
}

const struct amg_transport *amg_init_ofi(bool may_load)
{
    return driver_find(OFI_LIBRARY, OFI_SYMBOL, "libfabric", may_load);
}

const struct amg_providers *amg_init_providers(void)
{
    return amg_init_ofi(true) == NULL ? NULL : dlsym(RTLD_DEFAULT, LIST_SYMBOL);
}

const struct amg_node_ops *amg_init_node_ops(void)
{
    const struct amg_node_ops *ops = dlsym(RTLD_DEFAULT, NODE_SYMBOL);

    if (ops == NULL)
        AMG_LOG_ERROR("cls", "%s is of another version: it has no " NODE_SYMBOL,
            MPI_LIBRARY);
    return ops;
}

bool amg_init_scheme_is(const struct amg_uri *uri, const char *name)
{
    return strlen(name) == uri->scheme_len &&
           strncmp(uri->scheme, name, uri->scheme_len) == 0;
}

bool amg_init_scheme_is_shm(const struct amg_uri *uri)
{
    return amg_init_scheme_is(uri, "na+sm") || amg_init_scheme_is(uri, "sm") ||
           amg_init_scheme_is(uri, "shm");
}

bool amg_init_scheme_is_mpi(const struct amg_uri *uri)
{
    return amg_init_scheme_is(uri, "mpi") ||
           amg_init_scheme_is(uri, "mpi+p2p") ||
           amg_init_scheme_is(uri, "mpi+rma") ||
           amg_init_scheme_is(uri, "mpi+static") ||
           amg_init_scheme_is(uri, "auto");
}

bool amg_init_scheme_is_ofi(const struct amg_uri *uri)
{
    if (uri->class_len == strlen("ofi") &&
        strncmp(uri->scheme, "ofi", uri->class_len) == 0)
        return true;
    for (size_t i = 0; i < sizeof(ofi_protocols) / sizeof(ofi_protocols[0]);
         i++)
        if (amg_init_scheme_is(uri, ofi_protocols[i]))
            return true;
    return false;
}

void amg_init_transports(const char *wanted,
    const struct amg_transport *ret_all[AMG_ROUTE_COUNT + 1])
{
    struct amg_uri uri;
    bool is_uri = wanted != NULL && amg_uri_split(wanted, &uri) == HG_SUCCESS;
    const struct amg_transport *found[] = {
        &amg_self_transport,
        &amg_shm_transport,
        amg_init_mpi(is_uri && amg_init_scheme_is_mpi(&uri)),
        amg_init_ofi(is_uri && amg_init_scheme_is_ofi(&uri)),
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

void amg_init_refuse(const char *info, bool is_of_ranks)
{
    const struct amg_transport *mpi[2] = {amg_init_mpi(false), NULL};
    bool has_ofi = amg_init_ofi(false) != NULL;
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
            mpi[0] != NULL ? "" : " (and mpi, where " MPI_LIBRARY " is found)",
            has_ofi ? ""
                    : " (and tcp, ofi+PROVIDER, where " OFI_LIBRARY
                      " is found)");
}
