/* SPDX-License-Identifier: BSD-3-Clause */
/* What a driver that stands on several networks tells of them. */
#ifndef AMG_TRANSPORT_PROVIDERS_H
#define AMG_TRANSPORT_PROVIDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One network that can be opened here. Valid during the call that gives it. */
struct amg_provider {
    const char *init;    /* the init string that opens it */
    const char *address; /* of a domain that was opened for this */
    const char *nics;    /* what may stand after "://", with commas */
    const char *demands; /* on memory that is exposed; "none" */
    uint32_t message_len;
    uint32_t credits;
    uint64_t inject_len; /* messages that leave at once */
    uint64_t piece_len;  /* bytes of one read or write */
    uint64_t piece_segments;
    unsigned key_len;
    bool can_sleep;
};

struct amg_providers {
    /* The version that is loaded, and that of the headers: "1.17", "1.17". */
    void (*versions)(char *ret_loaded, char *ret_built, size_t cap);
    /* Opens one after the other, and calls `each` for those that can be. The
     * number of calls. */
    unsigned (*list)(
        void (*each)(const struct amg_provider *provider, void *arg),
        void *arg);
};

#endif
