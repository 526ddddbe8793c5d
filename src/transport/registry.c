/* SPDX-License-Identifier: BSD-3-Clause */
/* Transports by the scheme of an init string. */
#include "transport/registry.h"

#include <ctype.h>
#include <stdbool.h>
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

/* The caller passes the list of drivers of this build. */

/* The schemes of a driver are words with single spaces between them. */
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

/* The name of the first slot that is not set, or NULL. */
static const char *slot_missing(const struct amg_transport *t)
{
    const struct {
        bool is_set;
        const char *name;
    } slots[] = {
        {t->domain.open != NULL, "domain.open"},
        {t->domain.limits != NULL, "domain.limits"},
        {t->domain.quiesce != NULL, "domain.quiesce"},
        {t->domain.report != NULL, "domain.report"},
        {t->domain.abandon != NULL, "domain.abandon"},
        {t->domain.stop != NULL, "domain.stop"},
        {t->domain.write_state != NULL, "domain.write_state"},
        {t->domain.close != NULL, "domain.close"},
        {t->ep.open != NULL, "ep.open"},
        {t->ep.close != NULL, "ep.close"},
        {t->ep.wait_fd != NULL, "ep.wait_fd"},
        {t->ep.arm != NULL, "ep.arm"},
        {t->ep.is_oversubscribed != NULL, "ep.is_oversubscribed"},
        {t->ep.poll != NULL, "ep.poll"},
        {t->ep.cancel != NULL, "ep.cancel"},
        {t->addr.self != NULL, "addr.self"},
        {t->addr.ref != NULL, "addr.ref"},
        {t->addr.unref != NULL, "addr.unref"},
        {t->addr.is_self != NULL, "addr.is_self"},
        {t->addr.is_same != NULL, "addr.is_same"},
        {t->addr.format != NULL, "addr.format"},
        {t->addr.parse != NULL, "addr.parse"},
        {t->msg.get_buf != NULL, "msg.get_buf"},
        {t->msg.get_long_buf != NULL, "msg.get_long_buf"},
        {t->msg.put_buf != NULL, "msg.put_buf"},
        {t->msg.send_request != NULL, "msg.send_request"},
        {t->msg.send_reply != NULL, "msg.send_reply"},
        {t->msg.request_now != NULL, "msg.request_now"},
        {t->msg.reply_now != NULL, "msg.reply_now"},
        {t->msg.send_ack != NULL, "msg.send_ack"},
        {t->msg.release != NULL, "msg.release"},
        {t->msg.release_reply != NULL, "msg.release_reply"},
        {t->bulk.reg != NULL, "bulk.reg"},
        {t->bulk.unreg != NULL, "bulk.unreg"},
        {t->bulk.key != NULL, "bulk.key"},
        {t->bulk.put != NULL, "bulk.put"},
        {t->bulk.get != NULL, "bulk.get"},
    };

    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
        if (!slots[i].is_set)
            return slots[i].name;
    return NULL;
}

hg_return_t amg_registry_check(const struct amg_transport *transport)
{
    const char *missing = NULL;

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
    missing = slot_missing(transport);
    if (missing != NULL) {
        AMG_LOG_ERROR(
            "cls", "driver %s: slot %s is not set", transport->name, missing);
        return HG_PROTOCOL_ERROR;
    }
    return HG_SUCCESS;
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
