/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the provider that an init string names, and what it can do.
 *
 * All demands on memory that this driver can meet are offered, and those that
 * come back are obeyed; no provider's name is asked after that. A protocol is
 * a list of provider stacks, best first: what "tcp" is, libfabric knows best.
 * Since 1.18 that speaks reliable datagrams by itself; before, it is completed
 * by the layer ofi_rxm, which costs a fifth more time per message. The "net" of
 * 1.17 has no such layer, but its queue's descriptor cannot be slept upon; it
 * is there for who asks for it by name. Both sides have to use the same, so
 * that addresses name it. */
#include "ofi_backend/ofi_select.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "na_types.h"
#include "ofi_backend/ofi_text.h"
#include "ofi_backend/ofi_tune.h"
#include "transport/uri.h"

#define API_OLDEST FI_VERSION(1, 15)
#define API_NEWEST FI_VERSION(1, 20) /* what this code was written against */

enum {
    HOST_CAP = 128,
    PORT_CAP = 8,
    STACKS_MAX = 3,
    QUEUE_LEN = 256, /* operations posted at once; providers' own defaults of
                      * 2048 cost tens of MiB (tcp;ofi_rxm: 75) */
    PIECE_LEN_MAX = 1 << 30,
};

/* What each protocol means. One that is not here means itself. */
static const struct {
    const char *protocol;
    const char *stacks[STACKS_MAX];
} protocols[] = {
    {"verbs", {"verbs;ofi_rxm", "verbs"}},
    {"udp", {"udp;ofi_rxd"}},
};

/* Where the user wants to be reached. */
struct where {
    char host[HOST_CAP];   /* "": anywhere */
    char port[PORT_CAP];   /* "": any */
    char domain[HOST_CAP]; /* "": any; a NIC that is no network interface */
};

hg_return_t amg_ofi_error(int code, const char *what)
{
    int positive = code < 0 ? -code : code;

    AMG_LOG_ERROR("ofi", "%s: %s (libfabric code %d)", what,
        amg_ofi_call->strerror(positive), positive);
    switch (positive) {
    case FI_ENOMEM:
        return HG_NOMEM;
    case FI_ENODATA:
    case FI_ENOSYS:
        return HG_OPNOTSUPPORTED;
    case FI_EADDRINUSE:
        return HG_ADDRINUSE;
    case FI_EADDRNOTAVAIL:
        return HG_ADDRNOTAVAIL;
    case FI_EACCES:
    case FI_EPERM:
        return HG_PERMISSION;
    default:
        return HG_NA_ERROR;
    }
}

static uint32_t api_version(void)
{
    uint32_t there = amg_ofi_call->version();
    uint32_t ours = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
    uint32_t version = FI_VERSION_LT(ours, API_NEWEST) ? ours : API_NEWEST;

    if (FI_VERSION_LT(there, ours))
        AMG_LOG_INFO("ofi",
            "libfabric %u.%u is loaded, and this library was built with "
            "%u.%u",
            FI_MAJOR(there), FI_MINOR(there), FI_MAJOR(ours), FI_MINOR(ours));
    return FI_VERSION_LT(there, version) ? there : version;
}

/* The address of a network interface, as text. */
static bool iface_read(const char *name, int family, char *ret_host)
{
    struct ifaddrs *all = NULL;
    const struct ifaddrs *at = NULL;
    bool is_found = false;

    if (getifaddrs(&all) != 0)
        return false;
    for (at = all; at != NULL && !is_found; at = at->ifa_next) {
        const void *bytes = NULL;

        if (at->ifa_addr == NULL || strcmp(at->ifa_name, name) != 0 ||
            at->ifa_addr->sa_family != family)
            continue;
        if (family == AF_INET)
            bytes =
                &((const struct sockaddr_in *)(void *)at->ifa_addr)->sin_addr;
        else
            bytes =
                &((const struct sockaddr_in6 *)(void *)at->ifa_addr)->sin6_addr;
        is_found = inet_ntop(family, bytes, ret_host, HOST_CAP) != NULL;
    }
    freeifaddrs(all);
    return is_found;
}

/* Reads "[iface|host][:port]". */
static hg_return_t where_read(const struct amg_open *how, struct where *where)
{
    const char *info = how->info == NULL ? "" : how->info;
    struct amg_uri_host split;
    int family = how->addr_format == NA_ADDR_IPV6 ? AF_INET6 : AF_INET;

    memset(where, 0, sizeof(*where));
    if (amg_uri_split_host(info, &split) != HG_SUCCESS ||
        split.name_len >= HOST_CAP) {
        AMG_LOG_ERROR("cls",
            "'%s' is no [host or interface][:port], the port from 1 to 65535, "
            "an IPv6 host in brackets",
            info);
        return HG_INVALID_ARG;
    }
    memcpy(where->host, split.name, split.name_len);
    if (split.port != 0)
        snprintf(where->port, sizeof(where->port), "%u", split.port);
    if (split.name_len == 0 || if_nametoindex(where->host) == 0)
        return HG_SUCCESS;
    if (iface_read(where->host, family, where->host) ||
        iface_read(
            where->host, family == AF_INET ? AF_INET6 : AF_INET, where->host))
        return HG_SUCCESS;
    AMG_LOG_ERROR("cls",
        "the interface %s has no address; give it one, or name a host",
        where->host);
    return HG_INVALID_ARG;
}

/* "SERVICE:VNI", as Slingshot wants it, or bytes as they are. */
static hg_return_t auth_set(struct fi_info *hints, const char *text)
{
    struct {
        uint32_t service;
        uint16_t vni;
    } slingshot = {0, 0};
    const void *bytes = text;
    size_t len = strlen(text);
    unsigned service = 0;
    unsigned vni = 0;
    int end = 0;

    if (sscanf(text, "%u:%u%n", &service, &vni, &end) == 2 &&
        text[end] == '\0' && vni <= UINT16_MAX) {
        slingshot.service = service;
        slingshot.vni = (uint16_t)vni;
        bytes = &slingshot;
        len = sizeof(slingshot);
    }
    /* NOTE(not amg_mem): fi_freeinfo() frees it. */
    hints->domain_attr->auth_key = malloc(len);
    if (hints->domain_attr->auth_key == NULL)
        return HG_NOMEM;
    memcpy(hints->domain_attr->auth_key, bytes, len);
    hints->domain_attr->auth_key_size = len;
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

static hg_return_t hints_make(
    const struct amg_open *how, const char *stack, struct fi_info **ret_hints)
{
    struct fi_info *hints = amg_ofi_call->dupinfo(NULL);

    if (hints == NULL)
        return HG_NOMEM;
    hints->caps = FI_MSG | FI_RMA | FI_MULTI_RECV;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->addr_format = format_of(how->addr_format);
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR |
                                  FI_MR_ALLOCATED | FI_MR_PROV_KEY |
                                  FI_MR_ENDPOINT;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->tx_attr->size = QUEUE_LEN;
    hints->rx_attr->size = QUEUE_LEN;
    /* NOTE(not amg_mem): fi_freeinfo() frees it. */
    hints->fabric_attr->prov_name = strdup(stack);
    if (hints->fabric_attr->prov_name == NULL ||
        (how->auth_key != NULL && auth_set(hints, how->auth_key) != 0)) {
        amg_ofi_call->freeinfo(hints);
        return HG_NOMEM;
    }
    *ret_hints = hints;
    return HG_SUCCESS;
}

static bool is_loopback(const struct fi_info *info)
{
    const struct sockaddr_in6 *six = info->src_addr;
    const struct sockaddr_in *four = info->src_addr;

    if (info->src_addr == NULL)
        return false;
    if (info->addr_format == FI_SOCKADDR_IN)
        return ntohl(four->sin_addr.s_addr) >> 24 == 127;
    return info->addr_format == FI_SOCKADDR_IN6 &&
           IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

/* Is the address in "10.1.0.0/16"? No subnet contains all of them. */
static bool is_in_subnet(const struct fi_info *info, const char *subnet)
{
    const struct sockaddr_in *four = info->src_addr;
    char net[INET_ADDRSTRLEN] = "";
    struct in_addr base;
    size_t len = 0;
    long bits = 0;
    uint32_t mask = 0;

    if (subnet == NULL)
        return true;
    len = strcspn(subnet, "/");
    if (info->addr_format != FI_SOCKADDR_IN || info->src_addr == NULL ||
        len >= sizeof(net))
        return false;
    memcpy(net, subnet, len);
    bits = subnet[len] == '/' ? strtol(subnet + len + 1, NULL, 10) : 32;
    if (inet_pton(AF_INET, net, &base) != 1 || bits < 0 || bits > 32)
        return false;
    mask = bits == 0 ? 0 : ~0u << (32 - bits);
    return ((ntohl(base.s_addr) ^ ntohl(four->sin_addr.s_addr)) & mask) == 0;
}

/* The first result that is just this stack, and rather not the loopback. */
static const struct fi_info *info_best(
    const struct fi_info *all, const char *stack, const struct amg_open *how)
{
    const struct fi_info *best = NULL;
    const char *first = NULL;

    for (; all != NULL; all = all->next) {
        const char *name = all->fabric_attr->prov_name;
        size_t len = strlen(stack);

        /* "tcp" may be completed to "tcp;ofi_rxm", and "net" is just that. */
        if (strncmp(name, stack, len) != 0 ||
            (name[len] != '\0' && strcmp(stack, "net") == 0) ||
            !is_in_subnet(all, how->ip_subnet))
            continue;
        if (first != NULL && strcmp(first, name) != 0)
            continue;
        first = name;
        if (best == NULL || (is_loopback(best) && !is_loopback(all)))
            best = all;
    }
    return best;
}

static void facts_read(
    const struct fi_info *info, struct amg_ofi_facts *ret_facts)
{
    int mode = info->domain_attr->mr_mode;
    size_t key_len = info->domain_attr->mr_key_size;

    memset(ret_facts, 0, sizeof(*ret_facts));
    snprintf(ret_facts->stack, sizeof(ret_facts->stack), "%s",
        info->fabric_attr->prov_name);
    ret_facts->needs_desc = (mode & FI_MR_LOCAL) != 0;
    ret_facts->is_virtual = (mode & FI_MR_VIRT_ADDR) != 0;
    ret_facts->makes_keys = (mode & FI_MR_PROV_KEY) != 0;
    ret_facts->binds_memory = (mode & FI_MR_ENDPOINT) != 0;
    ret_facts->addr_format = info->addr_format;
    ret_facts->inject_len = info->tx_attr->inject_size;
    ret_facts->iov_max = info->tx_attr->iov_limit;
    ret_facts->rma_iov_max = info->tx_attr->rma_iov_limit;
    ret_facts->key_max = key_len >= 8 ? UINT64_MAX : (1ull << 8 * key_len) - 1;
    ret_facts->piece_len = info->ep_attr->max_msg_size < PIECE_LEN_MAX
                               ? info->ep_attr->max_msg_size
                               : PIECE_LEN_MAX;
}

/* One stack; HG_OPNOTSUPPORTED: it is not there, which is not logged. */
static hg_return_t stack_try(const struct amg_open *how, const char *stack,
    const struct where *where, struct fi_info **ret_info)
{
    const char *node = where->host[0] == '\0' ? NULL : where->host;
    const char *service = where->port[0] == '\0' ? NULL : where->port;
    bool is_named = node != NULL || service != NULL;
    const struct fi_info *best = NULL;
    struct fi_info *hints = NULL;
    struct fi_info *all = NULL;
    hg_return_t rc = hints_make(how, stack, &hints);
    int code = 0;

    if (rc != HG_SUCCESS)
        return rc;
    amg_ofi_tune_begin();
    code = amg_ofi_call->getinfo(
        api_version(), node, service, is_named ? FI_SOURCE : 0, hints, &all);
    amg_ofi_tune_end();
    amg_ofi_call->freeinfo(hints);
    if (code == -FI_ENOMEM)
        return HG_NOMEM;
    if (code != 0)
        return HG_OPNOTSUPPORTED;
    best = info_best(all, stack, how);
    rc = HG_OPNOTSUPPORTED;
    if (best != NULL) {
        *ret_info = amg_ofi_call->dupinfo(best);
        rc = *ret_info == NULL ? HG_NOMEM : HG_SUCCESS;
    }
    amg_ofi_call->freeinfo(all);
    return rc;
}

static void refuse_log(
    const struct amg_open *how, const char *protocol, const struct where *where)
{
    const char *vnis = getenv("SLINGSHOT_VNIS");

    AMG_LOG_ERROR("cls",
        "ofi: no provider for '%s'%s%s%s%s that passes reliable messages, "
        "remote reads and writes, and multi-receive buffers; libfabric %u.%u "
        "is in use%s%s%s; see `amalgam_info` for those that can be opened",
        protocol, where->host[0] == '\0' ? "" : " at ", where->host,
        how->ip_subnet == NULL ? "" : " in subnet ",
        how->ip_subnet == NULL ? "" : how->ip_subnet,
        FI_MAJOR(amg_ofi_call->version()), FI_MINOR(amg_ofi_call->version()),
        strcmp(protocol, "cxi") != 0 ? "" : ", SLINGSHOT_VNIS is ",
        strcmp(protocol, "cxi") != 0 ? ""
        : vnis == NULL               ? "unset"
                                     : vnis,
        strcmp(protocol, "cxi") != 0 || vnis != NULL
            ? ""
            : " (start the job with a VNI, in Slurm by --network=job_vni)");
}

hg_return_t amg_ofi_select(const struct amg_open *how,
    struct fi_info **ret_info, struct amg_ofi_facts *ret_facts)
{
    const char *protocol = how->protocol == NULL ? "tcp" : how->protocol;
    const char *itself[STACKS_MAX] = {protocol};
    const char *const *stacks = itself;
    struct where where;
    hg_return_t rc = where_read(how, &where);

    if (rc != HG_SUCCESS)
        return rc;
    for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++)
        if (strcmp(protocols[i].protocol, protocol) == 0)
            stacks = protocols[i].stacks;
    rc = HG_OPNOTSUPPORTED;
    for (unsigned i = 0; i < STACKS_MAX && stacks[i] != NULL; i++) {
        rc = stack_try(how, stacks[i], &where, ret_info);
        if (rc != HG_OPNOTSUPPORTED)
            break;
    }
    if (rc == HG_OPNOTSUPPORTED)
        refuse_log(how, protocol, &where);
    if (rc != HG_SUCCESS)
        return rc;
    if (((*ret_info)->domain_attr->mr_mode & FI_MR_RAW) != 0) {
        AMG_LOG_ERROR("cls",
            "ofi: %s has keys of more than 8 bytes "
            "(FI_MR_RAW), which this driver cannot pass on",
            (*ret_info)->fabric_attr->prov_name);
        amg_ofi_call->freeinfo(*ret_info);
        return HG_OPNOTSUPPORTED;
    }
    facts_read(*ret_info, ret_facts);
    return HG_SUCCESS;
}
