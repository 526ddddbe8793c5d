/* SPDX-License-Identifier: BSD-3-Clause */
/* The job of one process: every exchange is with oneself. */
#include "boot/boot_alone.h"

#include <string.h>

#include "base/assert.h"

static hg_return_t alone_allgather(
    struct amg_boot *boot, const void *mine, size_t len, void *ret_all)
{
    (void)boot;
    if (len > 0)
        memmove(ret_all, mine, len);
    return HG_SUCCESS;
}

static hg_return_t alone_bcast(
    struct amg_boot *boot, void *bytes, size_t len, uint32_t root)
{
    (void)boot;
    (void)bytes;
    (void)len;
    if (!AMG_CONTRACT(root == 0))
        return HG_INVALID_ARG;
    return HG_SUCCESS;
}

static hg_return_t alone_barrier(struct amg_boot *boot)
{
    (void)boot;
    return HG_SUCCESS;
}

static const struct amg_boot_ops alone_ops = {
    .allgather = alone_allgather,
    .bcast = alone_bcast,
    .barrier = alone_barrier,
};

void amg_boot_alone_init(struct amg_boot *boot)
{
    boot->ops = &alone_ops;
    boot->rank = 0;
    boot->size = 1;
    boot->node_rank = 0;
    boot->node_size = 1;
}
