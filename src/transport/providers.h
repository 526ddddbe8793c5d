/* SPDX-License-Identifier: BSD-3-Clause */
/* Description of the networks that a driver can open. */
#ifndef AMG_TRANSPORT_PROVIDERS_H
#define AMG_TRANSPORT_PROVIDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A network that can be opened here. Valid only during the callback. */
struct amg_provider {
    const char *init;    /* init string that opens the network */
    const char *address; /* address of the domain that the list has opened */
    const char *nics;    /* what may stand after "://", with commas */
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
    /* Versions of the loaded library and of the headers: "1.17", "1.17". */
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
