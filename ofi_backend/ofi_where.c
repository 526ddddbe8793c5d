/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the user wants to be reached.
 *
 * What is told to peers is always the address of one interface. The address of
 * all of them (0.0.0.0) means nothing to others, and libfabric makes of it what
 * it likes, for instance the loopback; so it is read as "choose one". Of
 * several addresses the first is taken that other hosts can reach. */
#include "ofi_backend/ofi_where.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "na_types.h"
#include "transport/uri.h"

enum {
    RANK_LINK = 1, /* addresses that need to be told the interface, too */
    RANK_LOOPBACK = 2,
    RANK_OTHER_FAMILY = 4,
    BITS_PER_BYTE = 8,
};

static const char *family_name(int family)
{
    return family == AF_INET6 ? "IPv6" : "IPv4";
}

/* The bytes of an IP address, or NULL where it is none. */
static const uint8_t *ip_of(const struct sockaddr *addr)
{
    if (addr == NULL)
        return NULL;
    if (addr->sa_family == AF_INET)
        return (const uint8_t *)&(
            (const struct sockaddr_in *)(const void *)addr)
            ->sin_addr;
    if (addr->sa_family == AF_INET6)
        return (const uint8_t *)&(
            (const struct sockaddr_in6 *)(const void *)addr)
            ->sin6_addr;
    return NULL;
}

static bool is_ip_format(uint32_t format)
{
    return format == FI_SOCKADDR || format == FI_SOCKADDR_IN ||
           format == FI_SOCKADDR_IN6;
}

static bool is_loopback(int family, const uint8_t *ip)
{
    struct in6_addr six;

    if (family == AF_INET)
        return ip[0] == 127;
    memcpy(&six, ip, sizeof(six));
    return IN6_IS_ADDR_LOOPBACK(&six);
}

/* fe80::/10 and 169.254.0.0/16 */
static bool is_link_local(int family, const uint8_t *ip)
{
    if (family == AF_INET)
        return ip[0] == 169 && ip[1] == 254;
    return ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80;
}

static bool is_zero(const uint8_t *ip, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (ip[i] != 0)
            return false;
    return true;
}

/* AF_UNSPEC: it is no number. */
static int family_of(const char *host)
{
    uint8_t ip[AMG_OFI_IP_LEN];
    char bare[AMG_OFI_HOST_CAP];

    snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(host, "%"), host);
    if (inet_pton(AF_INET, bare, ip) == 1)
        return AF_INET;
    return inet_pton(AF_INET6, bare, ip) == 1 ? AF_INET6 : AF_UNSPEC;
}

/* The address of a network interface, as text; rather not a link-local one. */
static bool iface_read(const char *name, int family, char *ret_host)
{
    struct ifaddrs *all = NULL;
    const struct ifaddrs *at = NULL;
    char text[AMG_OFI_HOST_CAP];
    bool is_found = false;

    if (getifaddrs(&all) != 0)
        return false;
    for (at = all; at != NULL; at = at->ifa_next) {
        const uint8_t *ip = ip_of(at->ifa_addr);

        if (ip == NULL || strcmp(at->ifa_name, name) != 0 ||
            at->ifa_addr->sa_family != family ||
            (is_found && is_link_local(family, ip)) ||
            inet_ntop(family, ip, text, sizeof(text)) == NULL)
            continue;
        strcpy(ret_host, text);
        if (is_link_local(family, ip) && family == AF_INET6)
            snprintf(ret_host, AMG_OFI_HOST_CAP, "%.60s%%%.60s", text, name);
        is_found = true;
        if (!is_link_local(family, ip))
            break;
    }
    freeifaddrs(all);
    return is_found;
}

/* Which families an interface may have that is named: the one wanted, or the
 * older one first. */
static bool iface_find(struct amg_ofi_where *where)
{
    if (where->family != AF_UNSPEC)
        return iface_read(where->wish, where->family, where->host);
    return iface_read(where->wish, AF_INET, where->host) ||
           iface_read(where->wish, AF_INET6, where->host);
}

static hg_return_t host_read(struct amg_ofi_where *where)
{
    uint8_t ip[AMG_OFI_IP_LEN] = {0};
    int family = family_of(where->wish);

    if (where->wish[0] == '\0')
        return HG_SUCCESS;
    if (if_nametoindex(where->wish) != 0) {
        if (iface_find(where))
            return HG_SUCCESS;
        AMG_LOG_ERROR("cls",
            "the interface %s has no %s address; give it one, or name a host",
            where->wish,
            where->family == AF_UNSPEC ? "IP" : family_name(where->family));
        return HG_INVALID_ARG;
    }
    if (family != AF_UNSPEC && where->family != AF_UNSPEC &&
        family != where->family) {
        AMG_LOG_ERROR("cls",
            "'%s' is an %s address, and addr_format asks for %s; let one of "
            "them go",
            where->wish, family_name(family), family_name(where->family));
        return HG_INVALID_ARG;
    }
    if (family != AF_UNSPEC && inet_pton(family, where->wish, ip) == 1 &&
        is_zero(ip, sizeof(ip))) {
        where->is_any = true;
        where->family = family;
        return HG_SUCCESS;
    }
    where->is_name = family == AF_UNSPEC;
    strcpy(where->host, where->wish);
    return HG_SUCCESS;
}

static hg_return_t subnet_read(const char *text, struct amg_ofi_where *where)
{
    char ip[INET6_ADDRSTRLEN] = "";
    size_t len = strcspn(text, "/");
    char *end = NULL;
    unsigned long bits = 0;
    unsigned long most = 0;

    if (len < sizeof(ip)) {
        memcpy(ip, text, len);
        where->subnet_family = family_of(ip);
        most = where->subnet_family == AF_INET6 ? 128 : 32;
        bits = text[len] == '/' ? strtoul(text + len + 1, &end, 10) : most;
        where->has_subnet =
            where->subnet_family != AF_UNSPEC && bits <= most &&
            inet_pton(where->subnet_family, ip, where->subnet) == 1 &&
            (end == NULL || (end != text + len + 1 && *end == '\0' &&
                                text[len + 1] != '-'));
        where->subnet_bits = (unsigned)bits;
    }
    if (where->has_subnet)
        return HG_SUCCESS;
    AMG_LOG_ERROR("cls",
        "ip_subnet is '%s'; an address and a number of bits are wanted, as in "
        "10.1.0.0/16",
        text);
    return HG_INVALID_ARG;
}

/* 0: others can reach it. */
static int ip_rank(int family, const uint8_t *ip)
{
    if (is_loopback(family, ip))
        return RANK_LOOPBACK;
    return is_link_local(family, ip) ? RANK_LINK : 0;
}

/* Of two that are as good, the older kind. */
static int host_rank(int family, const uint8_t *ip)
{
    return 2 * ip_rank(family, ip) + (family == AF_INET6 ? 1 : 0);
}

/* NOTE(here, not by libfabric): which would ask once for each provider, and
 * take the first address, even one of the loopback. */
void amg_ofi_where_resolve(struct amg_ofi_where *where)
{
    const struct addrinfo hints = {
        .ai_family = where->family, .ai_socktype = SOCK_STREAM};
    struct addrinfo *all = NULL;
    const struct addrinfo *best = NULL;
    int best_rank = 0;
    int code = getaddrinfo(where->wish, NULL, &hints, &all);

    if (code != 0) {
        where->unknown = gai_strerror(code);
        return;
    }
    for (const struct addrinfo *at = all; at != NULL; at = at->ai_next) {
        const uint8_t *ip = ip_of(at->ai_addr);
        int rank = ip == NULL ? 0 : host_rank(at->ai_family, ip);

        if (ip == NULL || (best != NULL && rank >= best_rank))
            continue;
        best = at;
        best_rank = rank;
    }
    if (best != NULL)
        (void)getnameinfo(best->ai_addr, best->ai_addrlen, where->host,
            sizeof(where->host), NULL, 0, NI_NUMERICHOST);
    if (best_rank / 2 == RANK_LOOPBACK &&
        strncmp(where->wish, "localhost", 9) != 0)
        AMG_LOG_WARNING("cls",
            "the host '%s' is %s here, which no other machine reaches; name an "
            "interface, or mend /etc/hosts",
            where->wish, where->host);
    freeaddrinfo(all);
}

hg_return_t amg_ofi_where_read(
    const struct amg_open *how, struct amg_ofi_where *ret_where)
{
    const char *info = how->info == NULL ? "" : how->info;
    struct amg_ofi_where where = {.family = AF_UNSPEC};
    struct amg_uri_host split;
    hg_return_t rc = HG_SUCCESS;

    if (amg_uri_split_host(info, &split) != HG_SUCCESS ||
        split.name_len >= AMG_OFI_HOST_CAP) {
        AMG_LOG_ERROR("cls",
            "'%s' is no [host or interface][:port], the port from 1 to 65535, "
            "an IPv6 host in brackets",
            info);
        return HG_INVALID_ARG;
    }
    memcpy(where.wish, split.name, split.name_len);
    if (split.port != 0)
        snprintf(where.port, sizeof(where.port), "%u", split.port);
    if (how->addr_format == NA_ADDR_IPV4)
        where.family = AF_INET;
    if (how->addr_format == NA_ADDR_IPV6)
        where.family = AF_INET6;
    rc = host_read(&where);
    if (rc == HG_SUCCESS && how->ip_subnet != NULL && how->ip_subnet[0] != '\0')
        rc = subnet_read(how->ip_subnet, &where);
    if (rc == HG_SUCCESS)
        *ret_where = where;
    return rc;
}

static bool is_in_subnet(
    const struct amg_ofi_where *where, int family, const uint8_t *ip)
{
    unsigned whole = where->subnet_bits / BITS_PER_BYTE;
    unsigned rest = where->subnet_bits % BITS_PER_BYTE;

    if (family != where->subnet_family || memcmp(ip, where->subnet, whole) != 0)
        return false;
    return rest == 0 ||
           ((ip[whole] ^ where->subnet[whole]) >> (BITS_PER_BYTE - rest)) == 0;
}

int amg_ofi_where_rank(
    const struct amg_ofi_where *where, const struct fi_info *info)
{
    const struct sockaddr *addr = info->src_addr;
    const uint8_t *ip = NULL;
    int rank = 0;

    if (!is_ip_format(info->addr_format))
        return 0; /* subnets and families say nothing of it */
    ip = ip_of(addr);
    if (ip == NULL)
        return where->has_subnet ? -1 : RANK_OTHER_FAMILY;
    if (where->has_subnet && !is_in_subnet(where, addr->sa_family, ip))
        return -1;
    if (where->family != AF_UNSPEC && where->family != addr->sa_family)
        rank += RANK_OTHER_FAMILY;
    return rank + ip_rank(addr->sa_family, ip);
}

bool amg_ofi_where_is_nic(
    const struct amg_ofi_where *where, const struct fi_info *info)
{
    const char *name = info->domain_attr->name;

    if (name != NULL && strcmp(name, where->wish) == 0)
        return true;
    name = info->nic == NULL || info->nic->device_attr == NULL
               ? NULL
               : info->nic->device_attr->name;
    return name != NULL && strcmp(name, where->wish) == 0;
}

bool amg_ofi_where_is_any(uint32_t format, const void *addr)
{
    const struct sockaddr *any = addr;
    const uint8_t *ip = NULL;

    if (!is_ip_format(format))
        return false;
    ip = ip_of(any);
    return ip != NULL && is_zero(ip, any->sa_family == AF_INET ? 4 : 16);
}
