/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of init strings and address strings, found without a copy. */
#include "transport/uri.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/assert.h"

static const char uri_mark[] = "://";

/* The characters of a class or protocol name; ';' joins libfabric providers,
 * as in "tcp;ofi_rxm". */
static bool is_scheme_char(char c)
{
    return isalnum((unsigned char)c) || (c != '\0' && strchr("_-.;", c));
}

static bool has_blank(const char *text)
{
    for (; *text != '\0'; text++)
        if (isspace((unsigned char)*text) || iscntrl((unsigned char)*text))
            return true;
    return false;
}

static size_t name_len(const char *text)
{
    size_t len = 0;

    while (is_scheme_char(text[len]))
        len++;
    return len;
}

hg_return_t amg_uri_split(const char *text, struct amg_uri *ret_uri)
{
    struct amg_uri uri = {.scheme = text};
    size_t len = 0;

    AMG_ASSERT(ret_uri != NULL);
    if (text == NULL || has_blank(text))
        return HG_INVALID_ARG;
    len = name_len(text);
    if (len == 0)
        return HG_INVALID_ARG;
    if (text[len] == '+') {
        size_t proto_len = name_len(text + len + 1);

        if (proto_len == 0)
            return HG_INVALID_ARG;
        uri.class_len = len;
        len += 1 + proto_len;
    }
    uri.scheme_len = len;
    uri.rest = text + len;
    if (strncmp(uri.rest, uri_mark, strlen(uri_mark)) == 0)
        uri.rest += strlen(uri_mark);
    else if (*uri.rest != '\0')
        return HG_INVALID_ARG;
    *ret_uri = uri;
    return HG_SUCCESS;
}

/* The number that `text` is, whole; false when it is none up to 65535. */
static bool port_of(const char *text, uint16_t *ret_port)
{
    uint32_t port = 0;

    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (!isdigit((unsigned char)*text))
            return false;
        port = port * 10 + (uint32_t)(*text - '0');
        if (port > UINT16_MAX)
            return false;
    }
    *ret_port = (uint16_t)port;
    return true;
}

hg_return_t amg_uri_split_host(const char *rest, struct amg_uri_host *ret_host)
{
    struct amg_uri_host host = {.name = rest};
    const char *after = NULL;

    AMG_ASSERT(rest != NULL && ret_host != NULL);
    if (rest[0] == '[') {
        host.name = rest + 1;
        host.name_len = strcspn(host.name, "]");
        after = host.name + host.name_len;
        if (*after != ']')
            return HG_INVALID_ARG;
        after++;
    } else {
        host.name_len = strcspn(rest, ":");
        after = rest + host.name_len;
    }
    if (*after == ':' && !port_of(after + 1, &host.port))
        return HG_INVALID_ARG;
    if (*after != ':' && *after != '\0')
        return HG_INVALID_ARG;
    *ret_host = host;
    return HG_SUCCESS;
}
