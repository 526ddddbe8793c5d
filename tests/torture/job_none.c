/* SPDX-License-Identifier: BSD-3-Clause */
/* A build without MPI: no notes by MPI, and no classes on communicators. */
#include <stdlib.h>

#include "job.h"

void job_seed(uint64_t seed)
{
    (void)seed;
}

hg_class_t *job_open(struct world_class *cls)
{
    (void)cls;
    return NULL;
}

hg_return_t job_addr(
    struct world_class *cls, unsigned class_rank, hg_addr_t *ret_addr)
{
    (void)cls;
    (void)class_rank;
    (void)ret_addr;
    return HG_OPNOTSUPPORTED;
}

int job_rank_of(struct world_class *cls, hg_addr_t addr)
{
    (void)cls;
    (void)addr;
    return -1;
}

hg_return_t job_finalize(struct world_class *cls)
{
    return HG_Finalize(cls->cls);
}

void *job_alloc(struct world_class *cls, size_t len)
{
    (void)cls;
    return malloc(len);
}

hg_return_t job_free(struct world_class *cls, void *memory)
{
    (void)cls;
    free(memory);
    return HG_SUCCESS;
}

hg_return_t job_bulk_type(struct world_class *cls, const struct plan_bulk *bulk,
    void *memory, uint8_t flags, hg_bulk_t *ret_bulk)
{
    (void)cls;
    (void)bulk;
    (void)memory;
    (void)flags;
    (void)ret_bulk;
    return HG_OPNOTSUPPORTED;
}

hg_return_t job_turn(struct world_class *cls)
{
    (void)cls;
    return HG_SUCCESS;
}

hg_return_t job_quiesce(struct world_class *cls)
{
    (void)cls;
    return HG_OPNOTSUPPORTED;
}

void job_between(struct world *world, unsigned phase)
{
    (void)world;
    (void)phase;
}

/* In a library that has it. */
size_t amalgam_write_state(hg_class_t *cls, FILE *out) __attribute__((weak));

size_t job_state(hg_class_t *cls, FILE *out)
{
    return amalgam_write_state == NULL ? 0 : amalgam_write_state(cls, out);
}
