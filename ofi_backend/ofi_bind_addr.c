/* SPDX-License-Identifier: BSD-3-Clause */
/* Address that a domain binds to, and the NIC that has it: read from an init
 * string, and found among the results of libfabric.
 *
 * Peers always get the address of one interface. The wildcard address (0.0.0.0)
 * means nothing to other hosts, and libfabric may replace the wildcard by the
 * loopback; so the driver reads the wildcard as "choose an interface". Of
 * several addresses the driver takes the first that other hosts can reach.
 *
 * The driver chooses the nearest NIC only among NICs that are alike: of one
 * network (a fabric of libfabric), equally fast, and with addresses of the same
 * format. So ranks that take different NICs reach each other, and no rank takes
 * a slow NIC because that NIC is near. Other NICs are not considered. */
#include "ofi_backend/ofi_domain.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "na_types.h"

enum {
    RANK_LINK = 1, /* link-local: valid only with an interface */
    RANK_LOOPBACK = 2,
    RANK_OTHER_FAMILY = 4,
    BITS_PER_BYTE = 8,
};

/* NICs to choose from, each once. */
struct choice {
    const struct fi_info *infos[AMG_NICS_ALIKE_MAX];
    struct amg_nic_id nics[AMG_NICS_ALIKE_MAX];
    uint32_t count;
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
    return family == AF_INET ? sizeof(struct in_addr) : AMG_OFI_IP_LEN;
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
    uint8_t ip[AMG_OFI_IP_LEN];
    char bare[AMG_OFI_HOST_CAP];

    snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(host, "%"), host);
    if (inet_pton(AF_INET, bare, ip) == 1)
        return AF_INET;
    return inet_pton(AF_INET6, bare, ip) == 1 ? AF_INET6 : AF_UNSPEC;
}

/* Reads an address of the named interface, of the wanted family: IPv4 before
 * IPv6, and within a family link-local addresses last. False: no address. */
static bool iface_read(struct amg_ofi_bind_addr *bind)
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
        snprintf(bind->host, AMG_OFI_HOST_CAP, "%s%s%.60s", text,
            rank == SIX + LINK ? "%" : "",
            rank == SIX + LINK ? at->ifa_name : "");
    }
    freeifaddrs(all);
    return best < NONE;
}

static hg_return_t host_read(struct amg_ofi_bind_addr *bind)
{
    uint8_t ip[AMG_OFI_IP_LEN] = {0};
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
static hg_return_t subnet_read(const char *text, struct amg_ofi_bind_addr *bind)
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
void amg_ofi_bind_addr_resolve(struct amg_ofi_bind_addr *bind)
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
        /* Prefers IPv4 between two addresses of one rank. */
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

hg_return_t amg_ofi_bind_addr_read(
    const struct amg_open *how, struct amg_ofi_bind_addr *ret_bind)
{
    const char *info = how->info == NULL ? "" : how->info;
    const char *slash = strchr(info, '/');
    struct amg_ofi_bind_addr bind = {.family = AF_UNSPEC};
    struct amg_uri_host split;
    hg_return_t rc =
        amg_uri_split_host(slash == NULL ? info : slash + 1, &split);

    /* NIC/[host][:port]: with a host, the name of the NIC is ignored. */
    if (rc == HG_SUCCESS && slash != NULL && split.name_len == 0) {
        split.name = info;
        split.name_len = (size_t)(slash - info);
    }
    if (rc != HG_SUCCESS || split.name_len >= AMG_OFI_HOST_CAP) {
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
    const struct amg_ofi_bind_addr *bind, int family, const uint8_t *ip)
{
    unsigned whole = bind->subnet_bits / BITS_PER_BYTE;
    unsigned rest = bind->subnet_bits % BITS_PER_BYTE;

    AMG_ASSERT(bind->has_subnet && whole <= AMG_OFI_IP_LEN);
    if (family != bind->subnet_family || memcmp(ip, bind->subnet, whole) != 0)
        return false;
    return rest == 0 ||
           ((ip[whole] ^ bind->subnet[whole]) >> (BITS_PER_BYTE - rest)) == 0;
}

static int bind_rank(
    const struct amg_ofi_bind_addr *bind, const struct fi_info *info)
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

bool amg_ofi_addr_is_any(uint32_t format, const void *addr)
{
    const struct sockaddr *any = addr;
    const uint8_t *ip = NULL;

    if (!amg_ofi_format_is_ip(format))
        return false;
    ip = ip_of(any);
    return ip != NULL && is_wildcard(any->sa_family, ip);
}

static void text_copy(const char *text, char *ret_text)
{
    snprintf(ret_text, AMG_NIC_TEXT_CAP, "%s", amg_ofi_text_of(text));
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

/* The interface with the address of `info`; "": none, or no IP address. */
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

/* 0: the provider does not state the speed. */
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

static bool is_alike(const struct amg_ofi_bind_addr *bind,
    const struct fi_info *first, const struct fi_info *other)
{
    return strcmp(first->fabric_attr->prov_name,
               other->fabric_attr->prov_name) == 0 &&
           strcmp(amg_ofi_text_of(first->fabric_attr->name),
               amg_ofi_text_of(other->fabric_attr->name)) == 0 &&
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
    const struct amg_ofi_bind_addr *bind, const struct fi_info *first)
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

static bool is_named_nic(
    const struct amg_ofi_bind_addr *bind, const struct fi_info *info)
{
    const char *name = info->domain_attr->name;

    if (name != NULL && strcmp(name, bind->given) == 0)
        return true;
    name = info->nic == NULL || info->nic->device_attr == NULL
               ? NULL
               : info->nic->device_attr->name;
    return name != NULL && strcmp(name, bind->given) == 0;
}

/* Is `name` the stack or, unless `stack` ends in '!', the stack with layers? */
static bool is_stack(const char *name, const char *stack)
{
    size_t len = strcspn(stack, "!");

    return strncmp(name, stack, len) == 0 &&
           (name[len] == '\0' || (name[len] == ';' && stack[len] != '!'));
}

/* The best result (lowest rank) of one stack; of equal results, the first. */
static const struct fi_info *stack_best(const struct amg_ofi_bind_addr *bind,
    const struct fi_info *all, const char *stack, bool by_nic)
{
    const struct fi_info *best = NULL;
    const char *first = NULL;
    int best_rank = 0;

    for (; all != NULL; all = all->next) {
        const char *name = all->fabric_attr->prov_name;
        int rank = bind_rank(bind, all);

        if (!is_stack(name, stack) || rank < 0 ||
            (by_nic && !is_named_nic(bind, all)) ||
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

const struct fi_info *amg_ofi_bind_addr_best(const struct amg_open *how,
    const struct amg_ofi_bind_addr *bind, const struct fi_info *all,
    const char *stack, bool by_nic)
{
    const struct fi_info *first = stack_best(bind, all, stack, by_nic);

    return first == NULL || by_nic ? first : nic_nearest(how, bind, first);
}
