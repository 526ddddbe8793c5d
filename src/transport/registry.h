/* SPDX-License-Identifier: BSD-3-Clause */
/* Transports by the scheme of an init string, and lists of networks. */
#ifndef AMG_TRANSPORT_REGISTRY_H
#define AMG_TRANSPORT_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mercury_core_types.h"
#include "transport/transport.h"

/* Pointers into the string that was split, which stays the caller's and must
 * outlive the struct.
 *
 *     ofi+tcp://node7:4242        mpi+p2p        self://812-9ab0
 *     |  |      |                 |              |       |
 *     |  |      rest              scheme,        scheme  rest
 *     |  class_len 3              rest ""
 *     scheme, scheme_len 7 */
struct amg_uri {
    const char *scheme; /* "[class+]proto" */
    size_t scheme_len;
    size_t class_len; /* length of the class in `scheme`; 0: no class */
    const char *rest; /* the text after "://", up to the NUL; may be "" */
};

/* Host and port in the rest of an init string. */
struct amg_uri_host {
    const char *name; /* without the brackets of an IPv6 address */
    size_t name_len;
    uint16_t port; /* 0 when none is named */
};

/* Splits "[class+]proto[://rest]". HG_INVALID_ARG: NULL or empty, an empty
 * class or protocol, two classes, a character that a scheme cannot have, or a
 * blank or control character anywhere. */
hg_return_t amg_uri_split(const char *text, struct amg_uri *ret_uri);

/* Splits "[host][:port]", where an IPv6 host stands in brackets.
 * HG_INVALID_ARG: the port is no number from 0 to 65535, or a bracket is not
 * closed. */
hg_return_t amg_uri_split_host(const char *rest, struct amg_uri_host *ret_host);

/* Checks a driver. HG_PROTOCOL_ERROR, with the cause in the log: a slot is not
 * set, or the name or a scheme is no word of letters, digits, '_', '-', '.',
 * ';' (and one '+' in a scheme). A build with such a driver is broken. */
hg_return_t amg_registry_check(const struct amg_transport *transport);

/* The driver of `all` (ends with NULL) that opens `scheme`, or NULL. The
 * scheme ends with its NUL or at "://", so init strings and address strings
 * may be given as they are. */
const struct amg_transport *amg_registry_find(
    const struct amg_transport *const *all, const char *scheme);

/* Writes the schemes of `all` for log lines: "self, mpi, mpi+p2p", cut to `cap`
 * bytes with the NUL. Returns `ret_text`. */
const char *amg_registry_offer(
    const struct amg_transport *const *all, char *ret_text, size_t cap);

/* A network that can be opened here. Valid only during the callback. */
struct amg_provider {
    const char *init;    /* init string that opens the network */
    const char *address; /* of the domain that list() opened on the network */
    const char *nics;    /* "nic0, nic1": one may follow "://" */
    const char *demands; /* requirements on exposed memory; "none" */
    uint32_t message_len;
    uint32_t credits;
    uint64_t inject_len; /* limit of inject sends */
    uint64_t piece_len;  /* longest single read or write */
    uint64_t piece_segments;
    unsigned key_len;
    bool can_sleep;
};

struct amg_providers {
    /* Versions ("1.17") of the loaded libfabric, and of the build's headers. */
    void (*versions)(char *ret_loaded, char *ret_built, size_t cap);
    /* Opens each network in turn, and calls `each` for networks that open.
     * Returns the number of calls. */
    unsigned (*list)(
        void (*each)(const struct amg_provider *provider, void *arg),
        void *arg);
    /* Is there a provider of this protocol, like "tcp", for the rest of the
     * init string? Opens nothing; false: the log says what is missing. */
    bool (*has)(const char *protocol, const char *info);
};

#endif
