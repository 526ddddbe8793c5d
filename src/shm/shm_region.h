/* SPDX-License-Identifier: BSD-3-Clause */
/* Segment of a domain: its creation, and the mapping of a peer's. */
#ifndef AMG_SHM_SHM_REGION_H
#define AMG_SHM_SHM_REGION_H

#include "mercury_core_types.h"
#include "shm/shm_segment.h"
#include "transport/transport.h"

/* Parameters of a new segment. */
struct amg_shm_plan {
    const char *name; /* chosen, or "" */
    uint32_t max_contexts;
    uint32_t message_len;
    bool has_membarrier;
    const struct amg_area *area; /* NULL: none */
};

/* Creates the segment of this process. HG_ADDRINUSE: the chosen name belongs to
 * a living process; HG_INVALID_ARG: not a valid name; HG_NOMEM; HG_NA_ERROR. */
hg_return_t amg_shm_region_create(
    const struct amg_shm_plan *plan, struct amg_shm_region *ret_region);
/* Maps the segment that is called `name` and checks it. HG_ADDRNOTAVAIL: there
 * is none; HG_PROTOCOL_ERROR: not a segment of this library, or broken;
 * HG_NOMEM; HG_AGAIN: no descriptor is left at the moment; HG_NA_ERROR. */
hg_return_t amg_shm_region_map(
    const char *name, struct amg_shm_region *ret_region);
/* Whether this process could map a segment without a name: its owner is in the
 * same pid namespace and its descriptors can be opened. */
bool amg_shm_region_is_open_to_us(
    const struct amg_shm_region *own, const struct amg_shm_region *other);
/* Reserves the pages of `len` bytes at `at` in the segment, so that writing
 * there cannot raise SIGBUS. False: no room in /dev/shm. True where that cannot
 * be determined. Makes system calls. */
bool amg_shm_region_reserve(
    const struct amg_shm_region *region, const void *at, uint64_t len);
/* Removes the name of the own segment for good. Peers still find it by that
 * name where amg_shm_region_is_open_to_us(). */
void amg_shm_region_unname(struct amg_shm_region *region);
/* Unmaps; an owner's file is removed too. Accepts one that is all zero. */
void amg_shm_region_fini(struct amg_shm_region *region);

/* Whether `text` can name a segment: 1 to 63 of [A-Za-z0-9._-]. */
bool amg_shm_name_is_valid(const char *text);

#endif
