/* SPDX-License-Identifier: BSD-3-Clause */
/* Provider of the hash table: one of several in a process, each with its own
 * table. */
#ifndef KV_PROVIDER_H
#define KV_PROVIDER_H

#include "jobs/apps/kv/table.h"
#include "margo.h"

enum { PROVIDER_RPCS = 5 };

/* Owned by its opener, until provider_close(), which is called when no handler
 * runs any more. */
struct provider {
    margo_instance_id mid;
    uint16_t id;
    struct table table;
    hg_id_t rpcs[PROVIDER_RPCS];
};

/* False, with a message: it failed. */
bool provider_open(
    struct provider *provider, margo_instance_id mid, uint16_t id);
void provider_close(struct provider *provider);

#endif
