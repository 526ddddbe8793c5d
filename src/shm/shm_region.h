/* SPDX-License-Identifier: BSD-3-Clause */
/* The segment of a domain: making it, and mapping that of a peer. */
#ifndef AMG_SHM_SHM_REGION_H
#define AMG_SHM_SHM_REGION_H

#include "mercury_core_types.h"
#include "shm/shm_segment.h"
#include "transport/transport.h"

/* How a segment is to be made. */
struct amg_shm_plan {
    const char *name; /* chosen, or "" */
    uint32_t max_contexts;
    uint32_t message_len;
    bool has_membarrier;
    const struct amg_area *area; /* NULL: none */
};

/* Makes the segment of this process. HG_ADDRINUSE: the chosen name belongs to
 * a living process; HG_INVALID_ARG: it is no name; HG_NOMEM; HG_NA_ERROR. */
hg_return_t amg_shm_region_create(
    const struct amg_shm_plan *plan, struct amg_shm_region *ret_region);
/* Maps the segment that is called `name` and checks it. HG_ADDRNOTAVAIL: there
 * is none; HG_PROTOCOL_ERROR: it is none of ours or broken; HG_NOMEM;
 * HG_AGAIN: no descriptor is left just now; HG_NA_ERROR. */
hg_return_t amg_shm_region_map(
    const char *name, struct amg_shm_region *ret_region);
/* Whether others can map a segment that has lost its name: they may look at
 * the descriptors of its owner, which is in the same pid namespace. */
bool amg_shm_region_is_open_to_us(
    const struct amg_shm_region *own, const struct amg_shm_region *other);
/* Takes the pages of `len` bytes at `at`, which is in the segment, so that to
 * write there is not the end of the process. False: there is no room for them
 * in /dev/shm. Where nobody can tell, there may be. System calls. */
bool amg_shm_region_reserve(
    const struct amg_shm_region *region, const void *at, uint64_t len);
/* Takes the name away from an own segment, for good. It is still found by it
 * where amg_shm_region_is_open_to_us(). */
void amg_shm_region_unname(struct amg_shm_region *region);
/* Unmaps; an owner's file is removed too. Safe on one that is all zero. */
void amg_shm_region_fini(struct amg_shm_region *region);

/* Is `text` fit to name a segment: 1 to 63 of [A-Za-z0-9._-]? */
bool amg_shm_name_is_valid(const char *text);

#endif
