/* SPDX-License-Identifier: BSD-3-Clause */
/* Transports by the scheme of an init string. */
#include "transport/registry.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"

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

/* Reads all of `text` as a number; false: not a number up to 65535. */
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

/* Functions over the list of drivers of this build. */

/* The first word, and its length; spaces separate words. NULL: no word. */
static const char *word_next(const char *words, size_t *ret_len)
{
    words += strspn(words, " ");
    *ret_len = strcspn(words, " ");
    return *ret_len == 0 ? NULL : words;
}

static size_t scheme_len(const char *scheme)
{
    const char *mark = strstr(scheme, "://");

    return mark == NULL ? strlen(scheme) : (size_t)(mark - scheme);
}

static bool has_scheme(
    const struct amg_transport *transport, const char *scheme, size_t len)
{
    size_t word_len = 0;
    const char *word = word_next(transport->schemes, &word_len);

    while (word != NULL) {
        if (word_len == len && memcmp(word, scheme, len) == 0)
            return true;
        word = word_next(word + word_len, &word_len);
    }
    return false;
}

/* Is every word a scheme for amg_uri_split(), and is there a word? */
static bool schemes_are_valid(const char *schemes)
{
    size_t len = 0;
    const char *word = word_next(schemes, &len);
    bool any = word != NULL;

    while (word != NULL) {
        char text[64] = "";
        struct amg_uri uri;

        if (len >= sizeof(text))
            return false;
        memcpy(text, word, len);
        if (amg_uri_split(text, &uri) != HG_SUCCESS || uri.scheme_len != len)
            return false;
        word = word_next(word + len, &len);
    }
    return any;
}

static bool name_is_valid(const char *name)
{
    struct amg_uri uri;

    return amg_uri_split(name, &uri) == HG_SUCCESS && uri.class_len == 0 &&
           uri.scheme_len == strlen(name);
}

/* Are all slots set? A slot is one pointer. */
static bool slots_are_set(const struct amg_transport *driver)
{
    static const struct {
        const char *name;
        size_t at;
    } tables[] = {
        {"domain", offsetof(struct amg_transport, domain)},
        {"ep", offsetof(struct amg_transport, ep)},
        {"addr", offsetof(struct amg_transport, addr)},
        {"msg", offsetof(struct amg_transport, msg)},
        {"bulk", offsetof(struct amg_transport, bulk)},
        {"", sizeof(*driver)},
    };
    void (*slot)(void) = NULL;
    size_t table = 0;

    for (size_t at = tables[0].at; at < sizeof(*driver); at += sizeof(slot)) {
        table += at == tables[table + 1].at;
        memcpy(&slot, (const char *)driver + at, sizeof(slot));
        if (slot == NULL) {
            AMG_LOG_ERROR("cls", "driver %s: slot %zu of its `%s` is not set",
                driver->name, (at - tables[table].at) / sizeof(slot) + 1,
                tables[table].name);
            return false;
        }
    }
    return true;
}

hg_return_t amg_registry_check(const struct amg_transport *transport)
{
    AMG_ASSERT(transport != NULL);
    if (!name_is_valid(transport->name)) {
        AMG_LOG_ERROR("cls", "the driver name '%s' is not a word",
            transport->name == NULL ? "" : transport->name);
        return HG_PROTOCOL_ERROR;
    }
    if (transport->schemes == NULL || !schemes_are_valid(transport->schemes)) {
        AMG_LOG_ERROR("cls", "driver %s: its schemes '%s' are not all words",
            transport->name,
            transport->schemes == NULL ? "" : transport->schemes);
        return HG_PROTOCOL_ERROR;
    }
    return slots_are_set(transport) ? HG_SUCCESS : HG_PROTOCOL_ERROR;
}

const struct amg_transport *amg_registry_find(
    const struct amg_transport *const *all, const char *scheme)
{
    size_t len = 0;

    AMG_ASSERT(all != NULL && scheme != NULL);
    len = scheme_len(scheme);
    for (; *all != NULL; all++)
        if (has_scheme(*all, scheme, len))
            return *all;
    return NULL;
}

const char *amg_registry_offer(
    const struct amg_transport *const *all, char *ret_text, size_t cap)
{
    size_t used = 0;

    AMG_ASSERT(all != NULL && cap > 0);
    ret_text[0] = '\0';
    for (; *all != NULL; all++) {
        size_t len = 0;
        const char *word = word_next((*all)->schemes, &len);

        for (; word != NULL; word = word_next(word + len, &len)) {
            size_t comma = used == 0 ? 0 : 2;

            if (used + comma + len + 1 > cap)
                return ret_text;
            memcpy(ret_text + used, ", ", comma);
            memcpy(ret_text + used + comma, word, len);
            used += comma + len;
            ret_text[used] = '\0';
        }
    }
    return ret_text;
}
