/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that a process exposes to itself. */
#ifndef AMG_TRANSPORT_SELF_BULK_H
#define AMG_TRANSPORT_SELF_BULK_H

#include "base/lock.h"
#include "transport/table.h"
#include "transport/transport.h"

struct amg_self_mem;

/* All exposed memory of a domain. Owned by the domain, which embeds it. */
struct amg_self_mems {
    struct amg_lock lock; /* guards all below, and the counts of users */
    struct amg_table table;
    uint32_t serials; /* how many were exposed before */
};

void amg_self_mems_init(struct amg_self_mems *mems);
/* All memory is unregistered. */
void amg_self_mems_fini(struct amg_self_mems *mems);

/* As amg_bulk_ops.reg and unreg. */
hg_return_t amg_self_mems_add(struct amg_self_mems *mems,
    const struct amg_segment *segments, uint32_t count, uint8_t flags,
    struct amg_mem **ret_mem);
hg_return_t amg_self_mems_remove(
    struct amg_self_mems *mems, struct amg_mem *mem, unsigned timeout_ms);

void amg_self_key(const struct amg_mem *mem, struct amg_key *ret_key);

/* Copies into (AMG_MEM_WRITE) or out of (AMG_MEM_READ) the place that `remote`
 * names. `ret_ended` is how the access ended; HG_INVALID_ARG: no key of ours,
 * and nothing was tried. */
hg_return_t amg_self_mems_access(struct amg_self_mems *mems,
    enum amg_mem_flags direction, const struct amg_place *local,
    const struct amg_remote *remote, uint64_t len, hg_return_t *ret_ended);

#endif
