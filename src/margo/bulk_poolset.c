/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of exposed buffers of growing sizes. */
#include "margo/bulk_pool.h"

#include "base/assert.h"
#include "base/mem.h"

struct size_class {
    hg_size_t size;
    margo_bulk_pool_t pool;
};

/* Owned by its creator; constant, its pools have locks of their own. */
struct margo_bulk_poolset {
    margo_instance_id mid;
    size_t count;
    struct size_class classes[]; /* the smallest first */
};

static void set_free(struct margo_bulk_poolset *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->classes[i].pool != MARGO_BULK_POOL_NULL)
            (void)margo_bulk_pool_destroy(set->classes[i].pool);
    amg_mem_free(set);
}

/* Is the last size one that memory can have? */
static bool sizes_are_possible(
    hg_size_t npools, hg_size_t first_size, hg_size_t size_multiple)
{
    hg_size_t size = first_size;

    for (hg_size_t i = 1; i < npools; i++) {
        if (size > PTRDIFF_MAX / size_multiple)
            return false;
        size *= size_multiple;
    }
    return true;
}

hg_return_t margo_bulk_poolset_create(margo_instance_id mid, hg_size_t npools,
    hg_size_t nbufs, hg_size_t first_size, hg_size_t size_multiple,
    hg_uint8_t flag, margo_bulk_poolset_t *poolset)
{
    struct margo_bulk_poolset *set = NULL;
    hg_size_t size = first_size;

    if (mid == MARGO_INSTANCE_NULL || poolset == NULL || npools == 0 ||
        nbufs == 0 || first_size == 0 || size_multiple < 2 ||
        !sizes_are_possible(npools, first_size, size_multiple))
        return HG_INVALID_ARG;
    set = amg_mem_zalloc(sizeof(*set) + npools * sizeof(set->classes[0]));
    if (set == NULL)
        return HG_NOMEM_ERROR;
    set->mid = mid;
    set->count = npools;
    for (size_t i = 0; i < npools; i++) {
        hg_return_t rc = margo_bulk_pool_create(
            mid, nbufs, size, flag, &set->classes[i].pool);

        if (rc != HG_SUCCESS) {
            set_free(set);
            return rc;
        }
        set->classes[i].size = size;
        size *= size_multiple;
    }
    *poolset = set;
    return HG_SUCCESS;
}

int margo_bulk_poolset_destroy(margo_bulk_poolset_t poolset)
{
    size_t lent = 0;

    if (poolset == MARGO_BULK_POOLSET_NULL)
        return -1;
    for (size_t i = 0; i < poolset->count; i++)
        lent += amg_margo_bulk_pool_lent(poolset->classes[i].pool);
    if (lent > 0) {
        margo_error(poolset->mid,
            "bulk poolset: %zu buffers are lent out, and nothing was "
            "destroyed; give them back by margo_bulk_poolset_release() first",
            lent);
        return -1;
    }
    set_free(poolset);
    return 0;
}

void margo_bulk_poolset_get_max(margo_bulk_poolset_t poolset, hg_size_t *max)
{
    if (AMG_CONTRACT(poolset != MARGO_BULK_POOLSET_NULL && max != NULL))
        *max = poolset->classes[poolset->count - 1].size;
}

/* The smallest class that fits; `count` of the set: there is none. */
static size_t class_find(const struct margo_bulk_poolset *set, hg_size_t size)
{
    size_t i = 0;

    while (i < set->count && set->classes[i].size < size)
        i++;
    if (i == set->count)
        margo_error(set->mid,
            "bulk poolset: %llu bytes are asked for, and its largest buffers "
            "have %llu",
            (unsigned long long)size,
            (unsigned long long)set->classes[set->count - 1].size);
    return i;
}

int margo_bulk_poolset_get(
    margo_bulk_poolset_t poolset, hg_size_t size, hg_bulk_t *bulk)
{
    size_t i = 0;

    if (poolset == MARGO_BULK_POOLSET_NULL || bulk == NULL)
        return -1;
    i = class_find(poolset, size);
    return i == poolset->count
               ? -1
               : margo_bulk_pool_get(poolset->classes[i].pool, bulk);
}

int margo_bulk_poolset_tryget(margo_bulk_poolset_t poolset, hg_size_t size,
    hg_bool_t any_flag, hg_bulk_t *bulk)
{
    hg_bulk_t found = HG_BULK_NULL;
    size_t i = 0;

    if (poolset == MARGO_BULK_POOLSET_NULL || bulk == NULL)
        return -1;
    i = class_find(poolset, size);
    if (i == poolset->count)
        return -1;
    do
        (void)margo_bulk_pool_tryget(poolset->classes[i].pool, &found);
    while (found == HG_BULK_NULL && any_flag && ++i < poolset->count);
    *bulk = found;
    return 0;
}

int margo_bulk_poolset_release(margo_bulk_poolset_t poolset, hg_bulk_t bulk)
{
    if (poolset == MARGO_BULK_POOLSET_NULL || bulk == HG_BULK_NULL)
        return -1;
    for (size_t i = 0; i < poolset->count; i++)
        if (amg_margo_bulk_pool_has(poolset->classes[i].pool, bulk))
            return margo_bulk_pool_release(poolset->classes[i].pool, bulk);
    margo_error(poolset->mid,
        "bulk poolset: handle %p is none that this set has lent out",
        (void *)bulk);
    return -1;
}
