/* SPDX-License-Identifier: BSD-3-Clause */
/* A provider of the hash table: one of several in a process, each with a table
 * of its own. */
#ifndef KV_PROVIDER_H
#define KV_PROVIDER_H

#include "jobs/apps/kv/table.h"
#include "margo.h"

enum { PROVIDER_RPCS = 5 };

/* Owned by who opened it, until provider_close(), which comes when no handler
 * runs any more. */
struct provider {
    margo_instance_id mid;
    uint16_t id;
    struct table table;
    hg_id_t rpcs[PROVIDER_RPCS];
};

/* False, with a word: it cannot. */
bool provider_open(
    struct provider *provider, margo_instance_id mid, uint16_t id);
void provider_close(struct provider *provider);

#endif
