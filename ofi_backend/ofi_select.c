/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of the provider, address and NIC that an init string names, and a list
 * of all providers over which a domain can be opened, for amalgam_info.
 *
 * A protocol is a list of provider stacks, best first. Libfabric chooses the
 * stack of "tcp". Since 1.18 "tcp" has reliable datagrams of its own; before,
 * the layer ofi_rxm completes "tcp", which costs a fifth more time per message.
 * The "net" of 1.17 needs no such layer, but the descriptor of its queue does
 * not work; "net" is for users that name it, and became the "tcp" of 1.18. Two
 * peers need the same stack, so addresses name the stack.
 *
 * The driver offers to meet all demands on memory that it can, and obeys those
 * that libfabric returns. Only is_of_tcp() then uses the provider's name.
 *
 * Peers always get the address of one interface. The wildcard address (0.0.0.0)
 * means nothing to other hosts, and libfabric may replace the wildcard by the
 * loopback; so the driver takes it as "choose an interface". Of several
 * addresses the driver takes the first that other hosts can reach.
 *
 * The driver compares only NICs that are alike: of one network (a fabric of
 * libfabric), equally fast, and with addresses of the same format. So ranks
 * that take different NICs reach each other, and no rank takes a slow NIC
 * because that NIC is near. Other NICs stay in libfabric's order. */
#include "ofi_backend/ofi_domain.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "na_types.h"
#include "ofi_backend/ofi_peer.h"
#include "transport/registry.h"

/* Oldest version that was tested; version that this code was written against.
 */
#define API_OLDEST FI_VERSION(1, 15)
#define API_NEWEST FI_VERSION(1, 20)

/* Demands on the provider; each level has fewer than the level before. */
enum hints_level {
    HINTS_ALL,    /* short queues, the fewest locks, no threads */
    HINTS_QUEUES, /* the provider chooses the length of its queues */
    HINTS_LEAST,  /* the provider also chooses its locks and threads */
    HINTS_LEVELS
};

enum {
    HOST_CAP = 128,
    PORT_CAP = 8,
    IP_LEN = 16,   /* bytes of the longest network address */
    RANK_LINK = 1, /* addresses that are valid with an interface only */
    RANK_LOOPBACK = 2,
    RANK_OTHER_FAMILY = 4,
    BITS_PER_BYTE = 8,
    NICS_CAP = 256,
    DEMANDS_CAP = 128,
    INIT_CAP = AMG_OFI_STACK_CAP + 8,
    STACKS_MAX = 3,
    PIECE_LEN_MAX = 1 << 30,
    KEY_LEN_FULL = 8,
    QUEUE_LEN = 256, /* operations in flight; the default of 2048 costs tens of
                      * MiB (tcp;ofi_rxm: 75) */
};

/* Stacks of each protocol. Any other protocol is a stack by itself. Libfabric
 * must not complete a stack that ends in '!' by a further layer. */
static const struct {
    const char *protocol;
    const char *stacks[STACKS_MAX];
} protocols[] = {
    {"ofi", {"tcp"}},
    {"net", {"net!", "tcp!"}},
    {"tcp_rxm", {"tcp;ofi_rxm"}},
    {"sm", {"shm"}},
    {"verbs", {"verbs;ofi_rxm", "verbs"}},
    {"verbs_rxm", {"verbs;ofi_rxm"}},
    {"udp", {"udp;ofi_rxd"}},
};

/* NICs to choose from, each once. */
struct choice {
    const struct fi_info *infos[AMG_NICS_ALIKE_MAX];
    struct amg_nic_id nics[AMG_NICS_ALIKE_MAX];
    uint32_t count;
};

/* "[iface|host|NIC][:port]", the subnet and the format of addresses, as read.
 */
struct bind_addr {
    char given[HOST_CAP]; /* text of the user */
    char host[HOST_CAP];  /* address of `given`; "": any */
    char port[PORT_CAP];  /* "": any */
    bool is_any;          /* the wildcard address was given */
    bool is_name;         /* `given` names a host, or libfabric's NIC */
    const char *unknown;  /* error of the resolver, or NULL */
    bool has_subnet;
    int family; /* AF_UNSPEC: IPv4 or IPv6 */
    int subnet_family;
    uint8_t subnet[IP_LEN];
    unsigned subnet_bits;
};

/* A search for a provider. */
struct search {
    const struct amg_open *how;
    const char *protocol;
    struct bind_addr bind;
    struct amg_ofi_auth key;
    uint32_t version;
};

static const char *family_name(int family)
{
    return family == AF_INET6 ? "IPv6" : "IPv4";
}

/* The bytes of an IP address; NULL: `addr` is no IP address. */
static const uint8_t *ip_of(const struct sockaddr *addr)
{
    const struct sockaddr_in *four = (const void *)addr;
    const struct sockaddr_in6 *six = (const void *)addr;

    if (addr != NULL && addr->sa_family == AF_INET)
        return (const uint8_t *)&four->sin_addr;
    return addr != NULL && addr->sa_family == AF_INET6 ? six->sin6_addr.s6_addr
                                                       : NULL;
}

static size_t ip_len(int family)
{
    return family == AF_INET ? sizeof(struct in_addr) : IP_LEN;
}

static bool is_loopback(int family, const uint8_t *ip)
{
    return family == AF_INET
               ? ip[0] == 127
               : memcmp(ip, &in6addr_loopback, sizeof(in6addr_loopback)) == 0;
}

/* fe80::/10 and 169.254.0.0/16 */
static bool is_link_local(int family, const uint8_t *ip)
{
    if (family == AF_INET)
        return ip[0] == 169 && ip[1] == 254;
    return ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80;
}

static bool is_wildcard(int family, const uint8_t *ip)
{
    return memcmp(ip, &in6addr_any, ip_len(family)) == 0;
}

/* Family of a numeric address; AF_UNSPEC: the host is not numeric. */
static int family_of(const char *host)
{
    uint8_t ip[IP_LEN];
    char bare[HOST_CAP];

    snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(host, "%"), host);
    if (inet_pton(AF_INET, bare, ip) == 1)
        return AF_INET;
    return inet_pton(AF_INET6, bare, ip) == 1 ? AF_INET6 : AF_UNSPEC;
}

/* Reads an address of the named interface, of the wanted family: IPv4 before
 * IPv6, and link-local addresses last. False: there is none. */
static bool iface_read(struct bind_addr *bind)
{
    enum { LINK = 1, SIX = 2, NONE = 4 };
    unsigned best = NONE;
    struct ifaddrs *all = NULL;
    char text[INET6_ADDRSTRLEN];

    if (getifaddrs(&all) != 0)
        return false;
    for (const struct ifaddrs *at = all; at != NULL; at = at->ifa_next) {
        const uint8_t *ip = ip_of(at->ifa_addr);
        int family = ip == NULL ? AF_UNSPEC : at->ifa_addr->sa_family;
        unsigned rank = family == AF_INET6 ? SIX : 0;

        if (ip == NULL || strcmp(at->ifa_name, bind->given) != 0 ||
            (bind->family != AF_UNSPEC && bind->family != family))
            continue;
        rank += is_link_local(family, ip) ? LINK : 0;
        if (rank >= best || inet_ntop(family, ip, text, sizeof(text)) == NULL)
            continue;
        best = rank;
        snprintf(bind->host, HOST_CAP, "%s%s%.60s", text,
            rank == SIX + LINK ? "%" : "",
            rank == SIX + LINK ? at->ifa_name : "");
    }
    freeifaddrs(all);
    return best < NONE;
}

static hg_return_t host_read(struct bind_addr *bind)
{
    uint8_t ip[IP_LEN] = {0};
    int family = family_of(bind->given);

    if (bind->given[0] == '\0')
        return HG_SUCCESS;
    if (if_nametoindex(bind->given) != 0) {
        if (iface_read(bind))
            return HG_SUCCESS;
        AMG_LOG_ERROR("cls",
            "the interface %s has no %s address; give it one, or name a host",
            bind->given,
            bind->family == AF_UNSPEC ? "IP" : family_name(bind->family));
        return HG_INVALID_ARG;
    }
    if (family != AF_UNSPEC && bind->family != AF_UNSPEC &&
        family != bind->family) {
        AMG_LOG_ERROR("cls",
            "'%s' is an %s address, and addr_format asks for %s; change or "
            "omit one of them",
            bind->given, family_name(family), family_name(bind->family));
        return HG_INVALID_ARG;
    }
    if (family != AF_UNSPEC && inet_pton(family, bind->given, ip) == 1 &&
        is_wildcard(family, ip)) {
        bind->is_any = true;
        bind->family = family;
        return HG_SUCCESS;
    }
    bind->is_name = family == AF_UNSPEC;
    strcpy(bind->host, bind->given);
    return HG_SUCCESS;
}

/* Reads "ADDRESS[/BITS]". An IPv4 address may lack its last numbers; the
 * default of BITS then covers the numbers that are given. */
static hg_return_t subnet_read(const char *text, struct bind_addr *bind)
{
    char ip[INET6_ADDRSTRLEN + sizeof(".0.0.0")] = "";
    size_t len = strcspn(text, "/");
    char *end = NULL;
    unsigned long bits = 32;
    unsigned long most = 0;

    if (len < INET6_ADDRSTRLEN) {
        memcpy(ip, text, len);
        for (; bits > BITS_PER_BYTE && family_of(ip) == AF_UNSPEC &&
               strspn(ip, "0123456789.") > 0;
             bits -= BITS_PER_BYTE)
            strcat(ip, ".0");
        bind->subnet_family = family_of(ip);
        most = bind->subnet_family == AF_INET6 ? 128 : 32;
        bits = bind->subnet_family == AF_INET6 ? most : bits;
        if (text[len] == '/')
            bits = strtoul(text + len + 1, &end, 10);
        bind->has_subnet =
            bind->subnet_family != AF_UNSPEC && bits <= most &&
            inet_pton(bind->subnet_family, ip, bind->subnet) == 1 &&
            (end == NULL || (end != text + len + 1 && *end == '\0' &&
                                text[len + 1] != '-'));
        bind->subnet_bits = (unsigned)bits;
    }
    if (bind->has_subnet)
        return HG_SUCCESS;
    AMG_LOG_ERROR("cls",
        "ip_subnet is '%s'; give an address and a number of bits, as in "
        "10.1.0.0/16",
        text);
    return HG_INVALID_ARG;
}

/* Rank of an address; 0: other hosts can reach the address. */
static int ip_rank(int family, const uint8_t *ip)
{
    if (is_loopback(family, ip))
        return RANK_LOOPBACK;
    return is_link_local(family, ip) ? RANK_LINK : 0;
}

/* NOTE(not by libfabric): libfabric would call the resolver for each provider,
 * and take the first address, even the loopback. */
static void bind_resolve(struct bind_addr *bind)
{
    const struct addrinfo hints = {
        .ai_family = bind->family, .ai_socktype = SOCK_STREAM};
    struct addrinfo *all = NULL;
    const struct addrinfo *best = NULL;
    int best_rank = 0;
    int code = getaddrinfo(bind->given, NULL, &hints, &all);

    if (code != 0) {
        bind->unknown = gai_strerror(code);
        return;
    }
    for (const struct addrinfo *at = all; at != NULL; at = at->ai_next) {
        const uint8_t *ip = ip_of(at->ai_addr);
        int rank = 0;

        if (ip == NULL)
            continue;
        /* Of two addresses with the same rank, IPv4. */
        rank = 2 * ip_rank(at->ai_family, ip) + (at->ai_family == AF_INET6);
        if (best != NULL && rank >= best_rank)
            continue;
        best = at;
        best_rank = rank;
    }
    if (best != NULL)
        (void)getnameinfo(best->ai_addr, best->ai_addrlen, bind->host,
            sizeof(bind->host), NULL, 0, NI_NUMERICHOST);
    if (best_rank / 2 == RANK_LOOPBACK &&
        strncmp(bind->given, "localhost", 9) != 0)
        AMG_LOG_WARNING("cls",
            "the host '%s' is %s here, which no other machine reaches; name an "
            "interface, or correct /etc/hosts",
            bind->given, bind->host);
    freeaddrinfo(all);
}

static hg_return_t bind_read(
    const struct amg_open *how, struct bind_addr *ret_bind)
{
    const char *info = how->info == NULL ? "" : how->info;
    const char *slash = strchr(info, '/');
    struct bind_addr bind = {.family = AF_UNSPEC};
    struct amg_uri_host split;
    hg_return_t rc = HG_SUCCESS;

    rc = amg_uri_split_host(slash == NULL ? info : slash + 1, &split);
    /* NIC/[host][:port]: the host tells as much as its NIC. */
    if (rc == HG_SUCCESS && slash != NULL && split.name_len == 0) {
        split.name = info;
        split.name_len = (size_t)(slash - info);
    }
    if (rc != HG_SUCCESS || split.name_len >= HOST_CAP) {
        AMG_LOG_ERROR("cls",
            "'%s' is no [host or interface][:port], the port from 1 to 65535, "
            "an IPv6 host in brackets",
            info);
        return HG_INVALID_ARG;
    }
    memcpy(bind.given, split.name, split.name_len);
    if (split.port != 0)
        snprintf(bind.port, sizeof(bind.port), "%u", split.port);
    if (how->nic.addr_format == NA_ADDR_IPV4)
        bind.family = AF_INET;
    if (how->nic.addr_format == NA_ADDR_IPV6)
        bind.family = AF_INET6;
    rc = host_read(&bind);
    if (rc == HG_SUCCESS && how->nic.ip_subnet != NULL &&
        how->nic.ip_subnet[0] != '\0')
        rc = subnet_read(how->nic.ip_subnet, &bind);
    if (rc == HG_SUCCESS)
        *ret_bind = bind;
    return rc;
}

static bool is_in_subnet(
    const struct bind_addr *bind, int family, const uint8_t *ip)
{
    unsigned whole = bind->subnet_bits / BITS_PER_BYTE;
    unsigned rest = bind->subnet_bits % BITS_PER_BYTE;

    AMG_ASSERT(bind->has_subnet && whole <= IP_LEN);
    if (family != bind->subnet_family || memcmp(ip, bind->subnet, whole) != 0)
        return false;
    return rest == 0 ||
           ((ip[whole] ^ bind->subnet[whole]) >> (BITS_PER_BYTE - rest)) == 0;
}

static int bind_rank(const struct bind_addr *bind, const struct fi_info *info)
{
    const struct sockaddr *addr = info->src_addr;
    const uint8_t *ip = NULL;
    int rank = 0;

    if (!amg_ofi_format_is_ip(info->addr_format))
        return 0; /* not an IP address: no subnet, no family */
    ip = ip_of(addr);
    if (ip == NULL)
        return bind->has_subnet ? -1 : RANK_OTHER_FAMILY;
    if (bind->has_subnet && !is_in_subnet(bind, addr->sa_family, ip))
        return -1;
    if (bind->family != AF_UNSPEC && bind->family != addr->sa_family)
        rank += RANK_OTHER_FAMILY;
    return rank + ip_rank(addr->sa_family, ip);
}

static bool is_named_nic(
    const struct bind_addr *bind, const struct fi_info *info)
{
    const char *name = info->domain_attr->name;

    if (name != NULL && strcmp(name, bind->given) == 0)
        return true;
    name = info->nic == NULL || info->nic->device_attr == NULL
               ? NULL
               : info->nic->device_attr->name;
    return name != NULL && strcmp(name, bind->given) == 0;
}

bool amg_ofi_addr_is_any(uint32_t format, const void *addr)
{
    const struct sockaddr *any = addr;
    const uint8_t *ip = NULL;

    if (!amg_ofi_format_is_ip(format))
        return false;
    ip = ip_of(any);
    return ip != NULL && is_wildcard(any->sa_family, ip);
}

static const char *text_of(const char *text)
{
    return text == NULL ? "" : text;
}

static void text_copy(const char *text, char *ret_text)
{
    snprintf(ret_text, AMG_NIC_TEXT_CAP, "%s", text_of(text));
}

static bool is_same_ip(const struct sockaddr *one, const struct sockaddr *other)
{
    const struct sockaddr_in6 *six = (const void *)one;
    const struct sockaddr_in6 *other_six = (const void *)other;

    if (other == NULL || one->sa_family != other->sa_family ||
        ip_of(one) == NULL ||
        memcmp(ip_of(one), ip_of(other), ip_len(one->sa_family)) != 0)
        return false;
    return one->sa_family == AF_INET || six->sin6_scope_id == 0 ||
           six->sin6_scope_id == other_six->sin6_scope_id;
}

/* The interface with the address; "": none has, or it is no IP address. */
static void iface_of(const struct fi_info *info, char *ret_iface)
{
    struct ifaddrs *all = NULL;

    ret_iface[0] = '\0';
    if (info->src_addr == NULL || !amg_ofi_format_is_ip(info->addr_format) ||
        getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *at = all; at != NULL; at = at->ifa_next)
        if (is_same_ip(info->src_addr, at->ifa_addr)) {
            text_copy(at->ifa_name, ret_iface);
            break;
        }
    freeifaddrs(all);
}

void amg_ofi_nic_read(const struct fi_info *info, struct amg_nic_id *ret_nic)
{
    const struct fi_device_attr *device =
        info->nic == NULL ? NULL : info->nic->device_attr;
    const struct fi_bus_attr *bus =
        info->nic == NULL ? NULL : info->nic->bus_attr;
    const char *name = device == NULL ? NULL : device->name;

    memset(ret_nic, 0, sizeof(*ret_nic));
    text_copy(name == NULL ? info->domain_attr->name : name, ret_nic->name);
    iface_of(info, ret_nic->iface);
    if (bus != NULL && bus->bus_type == FI_BUS_PCI)
        snprintf(ret_nic->bus, sizeof(ret_nic->bus), "%04x:%02x:%02x.%x",
            bus->attr.pci.domain_id, bus->attr.pci.bus_id,
            bus->attr.pci.device_id, bus->attr.pci.function_id);
}

/* 0: the provider does not say. */
static size_t speed_of(const struct fi_info *info)
{
    return info->nic == NULL || info->nic->link_attr == NULL
               ? 0
               : info->nic->link_attr->speed;
}

static bool is_down(const struct fi_info *info)
{
    return info->nic != NULL && info->nic->link_attr != NULL &&
           info->nic->link_attr->state == FI_LINK_DOWN;
}

static bool is_alike(const struct bind_addr *bind, const struct fi_info *first,
    const struct fi_info *other)
{
    return strcmp(first->fabric_attr->prov_name,
               other->fabric_attr->prov_name) == 0 &&
           strcmp(text_of(first->fabric_attr->name),
               text_of(other->fabric_attr->name)) == 0 &&
           first->addr_format == other->addr_format &&
           bind_rank(bind, first) == bind_rank(bind, other) &&
           speed_of(first) == speed_of(other) &&
           (is_down(first) || !is_down(other));
}

static bool is_same_nic(
    const struct amg_nic_id *one, const struct amg_nic_id *other)
{
    if (one->bus[0] != '\0' && other->bus[0] != '\0')
        return strcmp(one->bus, other->bus) == 0;
    return strcmp(one->name, other->name) == 0;
}

static void choice_add(struct choice *choice, const struct fi_info *info)
{
    struct amg_nic_id *nic = &choice->nics[choice->count];

    amg_ofi_nic_read(info, nic);
    for (uint32_t i = 0; i < choice->count; i++)
        if (is_same_nic(&choice->nics[i], nic))
            return;
    AMG_ASSERT(choice->count < AMG_NICS_ALIKE_MAX);
    choice->infos[choice->count++] = info;
}

static const struct fi_info *nic_nearest(const struct amg_open *how,
    const struct bind_addr *bind, const struct fi_info *first)
{
    struct choice choice = {.count = 0};
    char why[AMG_NIC_WHY_CAP] = "";
    uint32_t chosen = 0;

    if (how->nic.nearest == NULL || (bind->given[0] != '\0' && !bind->is_any))
        return first;
    for (const struct fi_info *at = first;
         at != NULL && choice.count < AMG_NICS_ALIKE_MAX; at = at->next)
        if (is_alike(bind, first, at))
            choice_add(&choice, at);
    if (choice.count < 2)
        return first;
    chosen = how->nic.nearest(choice.nics, choice.count, how->nic.turn, why);
    if (chosen >= choice.count)
        snprintf(why, sizeof(why),
            "libfabric's first, as the topology has none of them");
    chosen = chosen < choice.count ? chosen : 0;
    AMG_LOG_INFO("ofi", "using %s of %u equal NICs: it is %s",
        choice.nics[chosen].name, choice.count, why);
    return choice.infos[chosen];
}

/* The version of the API to request: the newest that the headers, the loaded
 * library and this code know. */
static hg_return_t version_choose(uint32_t *ret_version)
{
    static atomic_bool has_warned;
    uint32_t there = amg_ofi_call->version();
    uint32_t ours = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
    uint32_t version = FI_VERSION_LT(ours, API_NEWEST) ? ours : API_NEWEST;

    if (FI_VERSION_LT(there, API_OLDEST)) {
        AMG_LOG_ERROR("cls",
            "libfabric %u.%u is loaded, but %u.%u or newer is needed; put a "
            "newer one into LD_LIBRARY_PATH",
            FI_MAJOR(there), FI_MINOR(there), FI_MAJOR(API_OLDEST),
            FI_MINOR(API_OLDEST));
        return HG_OPNOTSUPPORTED;
    }
    if ((FI_MAJOR(there) != FI_MAJOR(ours) ||
            FI_MINOR(there) != FI_MINOR(ours)) &&
        !atomic_exchange_explicit(&has_warned, true, memory_order_relaxed))
        AMG_LOG_WARNING("cls",
            "libfabric %u.%u is loaded, and this library was built with %u.%u; "
            "on errors, see which one LD_LIBRARY_PATH and MPI load",
            FI_MAJOR(there), FI_MINOR(there), FI_MAJOR(ours), FI_MINOR(ours));
    *ret_version = FI_VERSION_LT(there, version) ? there : version;
    return HG_SUCCESS;
}

static void demands_set(struct fi_info *hints, enum hints_level level)
{
    AMG_ASSERT(level < HINTS_LEVELS);
    hints->caps = FI_MSG | FI_RMA | FI_MULTI_RECV;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR |
                                  FI_MR_ALLOCATED | FI_MR_PROV_KEY |
                                  FI_MR_ENDPOINT;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    if (level < HINTS_QUEUES) {
        hints->tx_attr->size = QUEUE_LEN;
        hints->rx_attr->size = QUEUE_LEN;
    }
    if (level < HINTS_LEAST) {
        hints->domain_attr->threading = FI_THREAD_DOMAIN;
        hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    }
}

/* NOTE(not amg_mem): fi_freeinfo() frees the memory. */
static void *copy_of(const void *bytes, size_t len)
{
    void *copy = len == 0 ? NULL : malloc(len);

    if (copy != NULL)
        memcpy(copy, bytes, len);
    return copy;
}

static hg_return_t hints_make(const struct amg_open *how, const char *stack,
    const struct amg_ofi_auth *key, enum hints_level level,
    struct fi_info **ret_hints)
{
    struct fi_info *hints = amg_ofi_call->dupinfo(NULL);
    size_t stack_len = stack == NULL ? 0 : strlen(stack) + 1;
    size_t device_len = key->device[0] == '\0' ? 0 : strlen(key->device) + 1;
    uint8_t format = how->nic.addr_format;

    if (hints == NULL)
        return HG_NOMEM;
    demands_set(hints, level);
    hints->addr_format = format == NA_ADDR_IPV4   ? FI_SOCKADDR_IN
                         : format == NA_ADDR_IPV6 ? FI_SOCKADDR_IN6
                                                  : FI_FORMAT_UNSPEC;
    hints->fabric_attr->prov_name = copy_of(stack, stack_len);
    hints->domain_attr->name = copy_of(key->device, device_len);
    hints->domain_attr->auth_key = copy_of(key->bytes, key->len);
    hints->domain_attr->auth_key_size = key->len;
    if ((stack_len > 0 && hints->fabric_attr->prov_name == NULL) ||
        (device_len > 0 && hints->domain_attr->name == NULL) ||
        (key->len > 0 && hints->domain_attr->auth_key == NULL)) {
        amg_ofi_call->freeinfo(hints);
        return HG_NOMEM;
    }
    *ret_hints = hints;
    return HG_SUCCESS;
}

/* NOTE(names): no field of fi_info tells whether a provider uses TCP. */
static bool is_of_tcp(const struct fi_info *info)
{
    static const char *const names[] = {"tcp", "net", "sockets"};
    const char *stack = info->fabric_attr->prov_name;
    size_t len = strcspn(stack, ";");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == len && strncmp(stack, names[i], len) == 0)
            return info->addr_format == FI_SOCKADDR_IN ||
                   info->addr_format == FI_SOCKADDR_IN6;
    return false;
}

static void facts_read(
    const struct fi_info *info, struct amg_ofi_facts *ret_facts)
{
    int mode = info->domain_attr->mr_mode;
    size_t key_len = info->domain_attr->mr_key_size;

    AMG_ASSERT(key_len <= KEY_LEN_FULL);
    memset(ret_facts, 0, sizeof(*ret_facts));
    snprintf(ret_facts->stack, sizeof(ret_facts->stack), "%s",
        info->fabric_attr->prov_name);
    ret_facts->needs_desc = (mode & FI_MR_LOCAL) != 0;
    ret_facts->is_virtual = (mode & FI_MR_VIRT_ADDR) != 0;
    ret_facts->makes_keys = (mode & FI_MR_PROV_KEY) != 0;
    ret_facts->needs_pages = (mode & FI_MR_ALLOCATED) != 0;
    ret_facts->binds_memory = (mode & FI_MR_ENDPOINT) != 0;
    ret_facts->addr_format = info->addr_format;
    ret_facts->is_tcp = is_of_tcp(info);
    ret_facts->inject_len = info->tx_attr->inject_size;
    /* 0: the provider did not say; one segment always works. */
    ret_facts->iov_max =
        info->tx_attr->iov_limit == 0 ? 1 : info->tx_attr->iov_limit;
    ret_facts->rma_iov_max =
        info->tx_attr->rma_iov_limit == 0 ? 1 : info->tx_attr->rma_iov_limit;
    ret_facts->key_max = key_len == 0 || key_len >= KEY_LEN_FULL
                             ? UINT64_MAX
                             : (1ull << 8 * key_len) - 1;
    ret_facts->piece_len = info->ep_attr->max_msg_size < PIECE_LEN_MAX
                               ? info->ep_attr->max_msg_size
                               : PIECE_LEN_MAX;
}

/* Is this result the requested stack? */
static bool is_stack(const char *name, const char *stack)
{
    size_t len = strcspn(stack, "!");

    return strncmp(name, stack, len) == 0 &&
           (name[len] == '\0' || (name[len] == ';' && stack[len] != '!'));
}

/* The best result of the first stack that fits; of equal results the first.
 * With `by_nic`, only results of the NIC that the user named. */
static const struct fi_info *info_best(const struct search *search,
    const struct fi_info *all, const char *stack, bool by_nic)
{
    const struct fi_info *best = NULL;
    const char *first = NULL;
    int best_rank = 0;

    for (; all != NULL; all = all->next) {
        const char *name = all->fabric_attr->prov_name;
        int rank = bind_rank(&search->bind, all);

        if (!is_stack(name, stack) || rank < 0 ||
            (by_nic && !is_named_nic(&search->bind, all)) ||
            (first != NULL && strcmp(first, name) != 0))
            continue;
        first = name;
        if (best != NULL && rank >= best_rank)
            continue;
        best = all;
        best_rank = rank;
    }
    return best;
}

/* Asks libfabric once; HG_OPNOTSUPPORTED: no result, which is not logged. */
static hg_return_t query(const struct search *search, const char *stack,
    enum hints_level level, bool by_nic, struct fi_info **ret_info)
{
    const struct bind_addr *bind = &search->bind;
    const char *node = by_nic || bind->host[0] == '\0' ? NULL : bind->host;
    const char *service = bind->port[0] == '\0' ? NULL : bind->port;
    const struct fi_info *best = NULL;
    struct fi_info *hints = NULL;
    struct fi_info *all = NULL;
    char name[AMG_OFI_STACK_CAP];
    hg_return_t rc = HG_SUCCESS;
    int code = 0;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(stack, "!"), stack);
    rc = hints_make(search->how, name, &search->key, level, &hints);
    if (rc != HG_SUCCESS)
        return rc;
    code = amg_ofi_env_getinfo(search->version, node, service, hints, &all);
    amg_ofi_call->freeinfo(hints);
    if (code == -FI_ENOMEM)
        return HG_NOMEM;
    if (code != 0)
        return HG_OPNOTSUPPORTED;
    best = info_best(search, all, stack, by_nic);
    if (best != NULL && !by_nic)
        best = nic_nearest(search->how, &search->bind, best);
    rc = HG_OPNOTSUPPORTED;
    if (best != NULL) {
        *ret_info = amg_ofi_call->dupinfo(best);
        rc = *ret_info == NULL ? HG_NOMEM : HG_SUCCESS;
    }
    amg_ofi_call->freeinfo(all);
    return rc;
}

static void refuse_log(const struct search *search)
{
    const struct bind_addr *bind = &search->bind;
    uint32_t there = amg_ofi_call->version();

    AMG_LOG_ERROR("cls",
        "ofi: no provider for '%s' at '%s' in subnet '%s' that has reliable "
        "messages, remote reads and writes, and multi-receive buffers; is that "
        "an address, interface or NIC of this machine?%s%s Libfabric %u.%u is "
        "in use; FI_PROVIDER is '%.80s', and hides all others if it is set; "
        "SLINGSHOT_VNIS is '%.80s', and cxi needs a VNI (in Slurm by "
        "--network=job_vni); see `amalgam_info` for those that can be opened",
        search->protocol, bind->given,
        bind->has_subnet ? search->how->nic.ip_subnet : "",
        bind->unknown == NULL ? "" : " As a host: ", text_of(bind->unknown),
        FI_MAJOR(there), FI_MINOR(there), text_of(getenv("FI_PROVIDER")),
        text_of(getenv("SLINGSHOT_VNIS")));
}

static hg_return_t stacks_try(
    const struct search *search, bool by_nic, struct fi_info **ret_info)
{
    const char *itself[STACKS_MAX] = {search->protocol};
    const char *const *stacks = itself;
    hg_return_t rc = HG_OPNOTSUPPORTED;

    for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++)
        if (strcmp(protocols[i].protocol, search->protocol) == 0)
            stacks = protocols[i].stacks;
    for (unsigned i = 0;
         i < STACKS_MAX && stacks[i] != NULL && rc == HG_OPNOTSUPPORTED; i++) {
        for (unsigned level = 0;
             level < HINTS_LEVELS && rc == HG_OPNOTSUPPORTED; level++)
            rc = query(search, stacks[i], level, by_nic, ret_info);
    }
    return rc;
}

/* A name may be libfabric's name of a NIC, or of a host; the resolver, which
 * may take long, is called only if the name is no NIC. */
static hg_return_t search_do(struct search *search, struct fi_info **ret_info)
{
    hg_return_t rc = HG_OPNOTSUPPORTED;

    if (search->bind.is_name)
        rc = stacks_try(search, true, ret_info);
    if (rc == HG_OPNOTSUPPORTED && search->bind.is_name)
        bind_resolve(&search->bind);
    if (rc == HG_OPNOTSUPPORTED)
        rc = stacks_try(search, false, ret_info);
    if (rc == HG_OPNOTSUPPORTED)
        refuse_log(search);
    return rc;
}

hg_return_t amg_ofi_select(const struct amg_open *how,
    struct fi_info **ret_info, struct amg_ofi_facts *ret_facts)
{
    struct search search = {
        .how = how,
        .protocol = how->protocol == NULL ? "tcp" : how->protocol,
    };
    hg_return_t rc = bind_read(how, &search.bind);

    if (rc == HG_SUCCESS)
        rc = amg_ofi_auth_read(how, search.bind.given, &search.key);
    if (rc == HG_SUCCESS)
        rc = version_choose(&search.version);
    if (rc == HG_SUCCESS)
        rc = search_do(&search, ret_info);
    if (rc != HG_SUCCESS)
        return rc;
    if (((*ret_info)->domain_attr->mr_mode & FI_MR_RAW) != 0 ||
        (*ret_info)->domain_attr->mr_key_size > KEY_LEN_FULL) {
        AMG_LOG_ERROR("cls",
            "ofi: %s has keys of more than 8 bytes "
            "(FI_MR_RAW), which this driver cannot pass on",
            (*ret_info)->fabric_attr->prov_name);
        amg_ofi_call->freeinfo(*ret_info);
        *ret_info = NULL;
        return HG_OPNOTSUPPORTED;
    }
    facts_read(*ret_info, ret_facts);
    if (search.bind.is_any)
        AMG_LOG_WARNING("cls",
            "%s is no address that others can call: the address of %s is used; "
            "name an interface or host to use another one, and give clients "
            "the string of HG_Addr_to_string()",
            search.bind.given,
            (*ret_info)->domain_attr->name == NULL
                ? "one interface"
                : (*ret_info)->domain_attr->name);
    return HG_SUCCESS;
}

static const struct {
    int bit;
    const char *name;
} demand_names[] = {
    {FI_MR_LOCAL, "also what is sent"},
    {FI_MR_VIRT_ADDR, "virtual addresses"},
    {FI_MR_ALLOCATED, "pages that are there"},
    {FI_MR_PROV_KEY, "its own keys"},
    {FI_MR_ENDPOINT, "bound to the endpoint"},
};

/* Adds a word to a list with commas that lacks it, if there is room. */
static void word_add(char *list, size_t cap, const char *word)
{
    size_t used = strlen(list);
    size_t len = strlen(word);
    const char *at = list;

    while ((at = strstr(at, word)) != NULL) {
        if ((at == list || at[-1] == ' ') &&
            (at[len] == ',' || at[len] == '\0'))
            return;
        at += len;
    }
    if (used + len + sizeof(", ") <= cap)
        snprintf(list + used, cap - used, "%s%s", used == 0 ? "" : ", ", word);
}

static void demands_write(int mode, char *ret_text)
{
    ret_text[0] = '\0';
    for (size_t i = 0; i < sizeof(demand_names) / sizeof(demand_names[0]); i++)
        if ((mode & demand_names[i].bit) != 0)
            word_add(ret_text, DEMANDS_CAP, demand_names[i].name);
    if (ret_text[0] == '\0')
        strcpy(ret_text, "none");
}

static void nics_write(
    const struct fi_info *all, const char *stack, char *ret_text)
{
    ret_text[0] = '\0';
    for (; all != NULL; all = all->next)
        if (strcmp(all->fabric_attr->prov_name, stack) == 0 &&
            all->domain_attr->name != NULL)
            word_add(ret_text, NICS_CAP, all->domain_attr->name);
}

static bool is_first(const struct fi_info *all, const struct fi_info *info)
{
    for (; all != info; all = all->next)
        if (strcmp(all->fabric_attr->prov_name, info->fabric_attr->prov_name) ==
            0)
            return false;
    return true;
}

/* Opens a domain over the stack and describes it. False: the open failed. */
static bool stack_tell(const struct fi_info *all, const char *stack,
    void (*each)(const struct amg_provider *provider, void *arg), void *arg)
{
    const struct amg_open how = {
        .info = "", .protocol = stack, .is_listening = true, .max_contexts = 1};
    struct amg_domain *base = NULL;
    const struct amg_ofi_domain *domain = NULL;
    struct amg_limits limits;
    char init[INIT_CAP];
    char address[AMG_OFI_TEXT_CAP];
    char nics[NICS_CAP];
    char demands[DEMANDS_CAP];

    if (amg_ofi_transport.domain.open(&how, &base) != HG_SUCCESS)
        return false;
    domain = amg_ofi_domain_of(base);
    amg_ofi_transport.domain.limits(base, &limits);
    snprintf(init, sizeof(init), "ofi+%s", stack);
    nics_write(all, stack, nics);
    demands_write(domain->fi.info->domain_attr->mr_mode, demands);
    each(
        &(struct amg_provider){
            .init = init,
            .address = amg_ofi_peer_text(domain->self, address),
            .nics = nics,
            .demands = demands,
            .message_len = limits.request_len,
            .credits = limits.credits,
            .inject_len = domain->facts.inject_len,
            .piece_len = domain->facts.piece_len,
            .piece_segments = domain->facts.rma_iov_max,
            .key_len = (unsigned)domain->fi.info->domain_attr->mr_key_size,
            .can_sleep = domain->facts.can_sleep,
        },
        arg);
    amg_ofi_transport.domain.close(base);
    return true;
}

static void versions_tell(char *ret_loaded, char *ret_built, size_t cap)
{
    uint32_t there = amg_ofi_call->version();

    snprintf(ret_loaded, cap, "%u.%u", FI_MAJOR(there), FI_MINOR(there));
    snprintf(ret_built, cap, "%d.%d", FI_MAJOR_VERSION, FI_MINOR_VERSION);
}

/* All results of libfabric for this driver, for freeinfo; NULL: none. */
static struct fi_info *select_all(void)
{
    const struct amg_open how = {.info = ""};
    const struct amg_ofi_auth none = {.len = 0};
    struct fi_info *hints = NULL;
    struct fi_info *all = NULL;
    uint32_t version = 0;

    if (version_choose(&version) != HG_SUCCESS ||
        hints_make(&how, NULL, &none, HINTS_LEAST, &hints) != HG_SUCCESS)
        return NULL;
    if (amg_ofi_env_getinfo(version, NULL, NULL, hints, &all) != 0)
        all = NULL;
    amg_ofi_call->freeinfo(hints);
    return all;
}

static unsigned providers_list(
    void (*each)(const struct amg_provider *provider, void *arg), void *arg)
{
    struct fi_info *all = select_all();
    unsigned count = 0;

    for (const struct fi_info *info = all; info != NULL; info = info->next)
        if (is_first(all, info) &&
            stack_tell(all, info->fabric_attr->prov_name, each, arg))
            count++;
    if (all != NULL)
        amg_ofi_call->freeinfo(all);
    return count;
}

static bool provider_has(const char *protocol, const char *info)
{
    const struct amg_open how = {.info = info,
        .protocol = protocol,
        .is_listening = true,
        .max_contexts = 1};
    struct fi_info *found = NULL;
    struct amg_ofi_facts facts;

    AMG_ASSERT(protocol != NULL && info != NULL);
    if (amg_ofi_select(&how, &found, &facts) != HG_SUCCESS)
        return false;
    amg_ofi_call->freeinfo(found);
    return true;
}

const struct amg_providers amg_ofi_providers = {
    .versions = versions_tell,
    .list = providers_list,
    .has = provider_has,
};
