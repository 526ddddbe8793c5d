/* SPDX-License-Identifier: BSD-3-Clause */
/* Which memory is attached to the dynamic window, and how often it is used.
 *
 * Regions of one window must not overlap, and MPI does not look whether they
 * do. So memory that lies within an attached region shares it, and memory that
 * lies partly in one is refused: an access may not reach over the border of
 * two regions, and who asks for it cannot know where borders are. Such memory
 * is reached by messages.
 *
 * They stand in an array in the order of their bases. Adding one among n moves
 * 24 n bytes at the most, which for 8,192 takes some microseconds. */
#include "mpi_backend/mpi_attach.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

enum { REGIONS_FIRST = 16 };

void amg_mpi_attach_init(
    struct amg_mpi_attach *attach, const struct amg_mpi_attacher *by)
{
    memset(attach, 0, sizeof(*attach));
    attach->by = *by;
}

void amg_mpi_attach_fini(struct amg_mpi_attach *attach)
{
    for (uint32_t i = 0; i < attach->count; i++)
        attach->by.detach(attach->by.arg, (void *)attach->regions[i].base);
    amg_mem_free(attach->regions);
    attach->regions = NULL;
    attach->count = 0;
    attach->cap = 0;
}

/* The first region that ends behind `at`, or the number of regions. */
static uint32_t region_find(const struct amg_mpi_attach *attach, uintptr_t at)
{
    uint32_t low = 0;
    uint32_t high = attach->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct amg_mpi_region *region = &attach->regions[middle];

        if (at - region->base < region->len || at < region->base)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool region_has(
    const struct amg_mpi_region *region, uintptr_t base, uint64_t len)
{
    return base >= region->base && base - region->base <= region->len &&
           len <= region->len - (base - region->base);
}

static hg_return_t regions_grow(struct amg_mpi_attach *attach)
{
    uint32_t cap = attach->cap == 0 ? REGIONS_FIRST : 2 * attach->cap;
    struct amg_mpi_region *grown = NULL;

    if (attach->count < attach->cap)
        return HG_SUCCESS;
    grown = amg_mem_realloc(attach->regions, cap * sizeof(*grown));
    if (grown == NULL)
        return HG_NOMEM;
    attach->regions = grown;
    attach->cap = cap;
    return HG_SUCCESS;
}

hg_return_t amg_mpi_attach_hold(
    struct amg_mpi_attach *attach, const void *ptr, uint64_t len)
{
    uintptr_t base = (uintptr_t)ptr;
    uint32_t at = region_find(attach, base);
    struct amg_mpi_region *region = &attach->regions[at];
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTRACT(len > 0 && len <= UINTPTR_MAX - base))
        return HG_INVALID_ARG;
    if (at < attach->count && region_has(region, base, len)) {
        region->refs++;
        return HG_SUCCESS;
    }
    if (at < attach->count &&
        (region->base <= base || region->base - base < len))
        return HG_OPNOTSUPPORTED;
    rc = regions_grow(attach);
    if (rc == HG_SUCCESS)
        rc = attach->by.attach(attach->by.arg, (void *)base, len);
    if (rc != HG_SUCCESS)
        return rc;
    region = &attach->regions[at];
    memmove(region + 1, region, (attach->count - at) * sizeof(*region));
    *region = (struct amg_mpi_region){base, len, 1};
    attach->count++;
    return HG_SUCCESS;
}

void amg_mpi_attach_drop(
    struct amg_mpi_attach *attach, const void *ptr, uint64_t len)
{
    uint32_t at = region_find(attach, (uintptr_t)ptr);
    struct amg_mpi_region *region = &attach->regions[at];

    AMG_ASSERT(at < attach->count && region_has(region, (uintptr_t)ptr, len));
    region->refs--;
    if (region->refs > 0)
        return;
    attach->by.detach(attach->by.arg, (void *)region->base);
    attach->count--;
    memmove(region, region + 1, (attach->count - at) * sizeof(*region));
}
