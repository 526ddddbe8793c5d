/* SPDX-License-Identifier: BSD-3-Clause */
/* Address strings: addresses of providers as text, and back.
 *
 *   the provider's format     the text
 *   FI_SOCKADDR_IN            ofi+net://192.0.2.7:4242
 *   FI_SOCKADDR_IN6           ofi+net://[2001:db8::7]:4242
 *   FI_ADDR_STR               ofi+shm://fi_shm://4711:0:0
 *   any other                 ofi+cxi://0x0011aabb..., its bytes in hex
 *
 * The part before "://" is the whole stack of providers, since both sides have
 * to use the same one. A string that only names the protocol ("tcp://...", as a
 * user types it) stands for the stack of this process. */
#include "ofi_backend/ofi_domain.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "transport/registry.h"

static const char hex_prefix[] = "0x";

static void sockaddr_write(const void *addr, char *ret_text, size_t cap)
{
    const struct sockaddr_in *four = addr;
    const struct sockaddr_in6 *six = addr;
    char host[INET6_ADDRSTRLEN] = "?";

    if (four->sin_family == AF_INET) {
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host));
        snprintf(ret_text, cap, "%s:%u", host, ntohs(four->sin_port));
    } else {
        inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof(host));
        snprintf(ret_text, cap, "[%s]:%u", host, ntohs(six->sin6_port));
    }
}

static bool is_sockaddr(const struct amg_ofi_facts *facts)
{
    return facts->addr_format == FI_SOCKADDR_IN ||
           facts->addr_format == FI_SOCKADDR_IN6 ||
           facts->addr_format == FI_SOCKADDR;
}

void amg_ofi_addrstr_write(const struct amg_ofi_facts *facts, const void *addr,
    size_t len, char *ret_text)
{
    const uint8_t *bytes = addr;
    size_t used =
        (size_t)snprintf(ret_text, AMG_OFI_TEXT_CAP, "ofi+%s://", facts->stack);

    AMG_ASSERT(len <= AMG_OFI_ADDR_MAX);
    if (is_sockaddr(facts)) {
        sockaddr_write(addr, ret_text + used, AMG_OFI_TEXT_CAP - used);
        return;
    }
    if (facts->addr_format == FI_ADDR_STR) {
        snprintf(ret_text + used, AMG_OFI_TEXT_CAP - used, "%.*s", (int)len,
            (const char *)addr);
        return;
    }
    used += (size_t)snprintf(
        ret_text + used, AMG_OFI_TEXT_CAP - used, "%s", hex_prefix);
    for (size_t i = 0; i < len; i++)
        used += (size_t)snprintf(
            ret_text + used, AMG_OFI_TEXT_CAP - used, "%02x", bytes[i]);
}

/* Calls the resolver, which may block. */
static hg_return_t sockaddr_read(const struct amg_ofi_facts *facts,
    const char *rest, void *ret_addr, uint16_t *ret_len)
{
    const struct addrinfo hints = {
        .ai_family = facts->addr_format == FI_SOCKADDR_IN6 ? AF_INET6 : AF_INET,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_NUMERICSERV,
    };
    struct addrinfo *found = NULL;
    struct amg_uri_host split;
    char host[256];
    char port[8];
    int code = 0;

    if (amg_uri_split_host(rest, &split) != HG_SUCCESS || split.port == 0 ||
        split.name_len == 0 || split.name_len >= sizeof(host))
        return HG_INVALID_ARG;
    memcpy(host, split.name, split.name_len);
    host[split.name_len] = '\0';
    snprintf(port, sizeof(port), "%u", split.port);
    code = getaddrinfo(host, port, &hints, &found);
    if (code != 0) {
        AMG_LOG_ERROR("addr", "the host '%s' of an address is not known: %s",
            host, gai_strerror(code));
        return HG_ADDRNOTAVAIL;
    }
    AMG_ASSERT(found->ai_addrlen <= AMG_OFI_ADDR_MAX);
    memcpy(ret_addr, found->ai_addr, found->ai_addrlen);
    *ret_len = (uint16_t)found->ai_addrlen;
    freeaddrinfo(found);
    return HG_SUCCESS;
}

/* Has the text only characters that occur in addresses that are strings? */
static bool is_name(const char *text)
{
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && strchr(":/._-", *text) == NULL)
            return false;
    return true;
}

static hg_return_t string_read(
    const char *rest, void *ret_addr, uint16_t *ret_len)
{
    size_t len = strlen(rest) + 1;

    if (len < 2 || len > AMG_OFI_ADDR_MAX || !is_name(rest))
        return HG_INVALID_ARG;
    memcpy(ret_addr, rest, len);
    *ret_len = (uint16_t)len;
    return HG_SUCCESS;
}

static hg_return_t hex_read(const char *rest, void *ret_addr, uint16_t *ret_len)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t *bytes = ret_addr;
    size_t len = strlen(hex_prefix);

    if (strncmp(rest, hex_prefix, len) != 0)
        return HG_INVALID_ARG;
    rest += len;
    len = strlen(rest);
    if (len == 0 || len % 2 != 0 || len / 2 > AMG_OFI_ADDR_MAX ||
        strspn(rest, digits) != len)
        return HG_INVALID_ARG;
    for (size_t i = 0; i < len; i += 2)
        bytes[i / 2] = (uint8_t)((strchr(digits, rest[i]) - digits) << 4 |
                                 (strchr(digits, rest[i + 1]) - digits));
    *ret_len = (uint16_t)(len / 2);
    return HG_SUCCESS;
}

/* Is the scheme, without "ofi+", our stack, or the first layer of our stack? */
static bool stack_is_mine(
    const struct amg_ofi_facts *facts, const char *name, size_t len)
{
    size_t first = strcspn(facts->stack, ";");

    if (strlen(facts->stack) == len && strncmp(facts->stack, name, len) == 0)
        return true;
    if (first == len && strncmp(facts->stack, name, len) == 0)
        return true;
    /* Mercury's other name of a stack over ofi_rxm. */
    if (strcmp(facts->stack + first, ";ofi_rxm") == 0 &&
        len == first + strlen("_rxm") &&
        strncmp(facts->stack, name, first) == 0 &&
        strncmp(name + first, "_rxm", strlen("_rxm")) == 0)
        return true;
    /* "net" and "tcp" are names of the same wire protocol; see ofi_select.c. */
    return first == 3 && strncmp(facts->stack, "net", 3) == 0 && len == 3 &&
           strncmp(name, "tcp", 3) == 0;
}

static hg_return_t rest_read(const struct amg_ofi_facts *facts,
    const char *rest, void *ret_addr, uint16_t *ret_len)
{
    if (is_sockaddr(facts))
        return sockaddr_read(facts, rest, ret_addr, ret_len);
    return facts->addr_format == FI_ADDR_STR
               ? string_read(rest, ret_addr, ret_len)
               : hex_read(rest, ret_addr, ret_len);
}

hg_return_t amg_ofi_addrstr_read(const struct amg_ofi_facts *facts,
    const char *text, void *ret_addr, uint16_t *ret_len)
{
    struct amg_uri uri = {.class_len = 0};
    hg_return_t rc = amg_uri_split(text, &uri);
    size_t skip = uri.class_len == 0 ? 0 : uri.class_len + 1;

    if (skip > 0 && (skip != 4 || strncmp(uri.scheme, "ofi+", skip) != 0))
        rc = HG_INVALID_ARG;
    if (rc == HG_SUCCESS &&
        stack_is_mine(facts, uri.scheme + skip, uri.scheme_len - skip)) {
        rc = rest_read(facts, uri.rest, ret_addr, ret_len);
    } else if (rc == HG_SUCCESS && skip > 0) {
        AMG_LOG_ERROR("addr",
            "'%s' is of another provider than this class, which uses ofi+%s; "
            "open both with the same init string",
            text, facts->stack);
        return HG_ADDRNOTAVAIL;
    } else {
        rc = HG_INVALID_ARG;
    }
    if (rc == HG_INVALID_ARG)
        AMG_LOG_ERROR("addr", "'%s' is no address of ofi+%s%s", text,
            facts->stack,
            is_sockaddr(facts) ? "; these look like ofi+tcp://host:port" : "");
    return rc;
}

static bool is_ip(int family, const void *addr, size_t len)
{
    struct sockaddr_in head; /* IPv6 also begins with family, port */

    if (len != (family == AF_INET ? sizeof(head) : sizeof(struct sockaddr_in6)))
        return false;
    memcpy(&head, addr, sizeof(head));
    return head.sin_family == family && head.sin_port != 0;
}

bool amg_ofi_addrstr_is_addr(const struct amg_ofi_facts *facts,
    const void *addr, size_t len, size_t own_len)
{
    if (len == 0 || len > AMG_OFI_ADDR_MAX)
        return false;
    switch (facts->addr_format) {
    case FI_SOCKADDR_IN:
        return is_ip(AF_INET, addr, len);
    case FI_SOCKADDR_IN6:
        return is_ip(AF_INET6, addr, len);
    case FI_SOCKADDR:
        return is_ip(AF_INET, addr, len) || is_ip(AF_INET6, addr, len);
    case FI_ADDR_STR:
        return len > 1 && memchr(addr, '\0', len) != NULL && is_name(addr);
    default:
        return len == own_len;
    }
}
