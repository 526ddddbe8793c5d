/* SPDX-License-Identifier: BSD-3-Clause */
/* What is asked of a provider.
 *
 * All demands on memory that this driver can meet are offered, and those that
 * come back are obeyed; no provider's name is asked after that. */
#include "ofi_backend/ofi_hints.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "na_types.h"

/* Of all that have been tried anywhere; and what this code was written against.
 */
#define API_OLDEST FI_VERSION(1, 15)
#define API_NEWEST FI_VERSION(1, 20)

enum {
    QUEUE_LEN = 256, /* operations posted at once; providers' own defaults of
                      * 2048 cost tens of MiB (tcp;ofi_rxm: 75) */
};

hg_return_t amg_ofi_hints_version(uint32_t *ret_version)
{
    static atomic_bool has_warned;
    uint32_t there = amg_ofi_call->version();
    uint32_t ours = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
    uint32_t version = FI_VERSION_LT(ours, API_NEWEST) ? ours : API_NEWEST;

    if (FI_VERSION_LT(there, API_OLDEST)) {
        AMG_LOG_ERROR("cls",
            "libfabric %u.%u is loaded, and %u.%u is the oldest that will do; "
            "put a newer one into LD_LIBRARY_PATH",
            FI_MAJOR(there), FI_MINOR(there), FI_MAJOR(API_OLDEST),
            FI_MINOR(API_OLDEST));
        return HG_OPNOTSUPPORTED;
    }
    if ((FI_MAJOR(there) != FI_MAJOR(ours) ||
            FI_MINOR(there) != FI_MINOR(ours)) &&
        !atomic_exchange_explicit(&has_warned, true, memory_order_relaxed))
        AMG_LOG_WARNING("cls",
            "libfabric %u.%u is loaded, and this library was built with %u.%u; "
            "should it misbehave, look which one LD_LIBRARY_PATH and MPI bring",
            FI_MAJOR(there), FI_MINOR(there), FI_MAJOR(ours), FI_MINOR(ours));
    *ret_version = FI_VERSION_LT(there, version) ? there : version;
    return HG_SUCCESS;
}

static uint32_t format_of(uint8_t wish)
{
    switch (wish) {
    case NA_ADDR_IPV4:
        return FI_SOCKADDR_IN;
    case NA_ADDR_IPV6:
        return FI_SOCKADDR_IN6;
    default:
        return FI_FORMAT_UNSPEC;
    }
}

static void wishes_set(struct fi_info *hints, enum amg_ofi_hints_level level)
{
    hints->caps = FI_MSG | FI_RMA | FI_MULTI_RECV;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR |
                                  FI_MR_ALLOCATED | FI_MR_PROV_KEY |
                                  FI_MR_ENDPOINT;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    if (level < AMG_OFI_HINTS_QUEUES) {
        hints->tx_attr->size = QUEUE_LEN;
        hints->rx_attr->size = QUEUE_LEN;
    }
    if (level < AMG_OFI_HINTS_LEAST) {
        hints->domain_attr->threading = FI_THREAD_DOMAIN;
        hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    }
}

/* NOTE(not amg_mem): fi_freeinfo() frees what these two make. */
static hg_return_t key_set(
    struct fi_info *hints, const struct amg_ofi_auth *key)
{
    if (key->len == 0)
        return HG_SUCCESS;
    hints->domain_attr->auth_key = malloc(key->len);
    if (hints->domain_attr->auth_key == NULL)
        return HG_NOMEM;
    memcpy(hints->domain_attr->auth_key, key->bytes, key->len);
    hints->domain_attr->auth_key_size = key->len;
    return HG_SUCCESS;
}

static hg_return_t names_set(
    struct fi_info *hints, const char *stack, const char *device)
{
    if (stack != NULL) {
        hints->fabric_attr->prov_name = strdup(stack);
        if (hints->fabric_attr->prov_name == NULL)
            return HG_NOMEM;
    }
    if (device[0] == '\0')
        return HG_SUCCESS;
    hints->domain_attr->name = strdup(device);
    return hints->domain_attr->name == NULL ? HG_NOMEM : HG_SUCCESS;
}

hg_return_t amg_ofi_hints_make(const struct amg_open *how, const char *stack,
    const struct amg_ofi_auth *key, enum amg_ofi_hints_level level,
    struct fi_info **ret_hints)
{
    struct fi_info *hints = amg_ofi_call->dupinfo(NULL);

    if (hints == NULL)
        return HG_NOMEM;
    wishes_set(hints, level);
    hints->addr_format = format_of(how->addr_format);
    if (names_set(hints, stack, key->device) != HG_SUCCESS ||
        key_set(hints, key) != HG_SUCCESS) {
        amg_ofi_call->freeinfo(hints);
        return HG_NOMEM;
    }
    *ret_hints = hints;
    return HG_SUCCESS;
}
