/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that pieces pass through when they are in several runs.
 *
 * A stream needs one stage, and is faster with a few. It has the one before it
 * says a word to its peer, so that it never waits for other streams, which may
 * wait for it at their ends; more it gets while the domain has few. So there
 * are at most STAGES_SHARED, and one for each transfer in motion, which are
 * bounded per peer. They are made when they are first needed. */
#include "mpi_backend/mpi_stage.h"

#include "base/mem.h"

enum {
    STAGE_ALIGN = 64,   /* a cache line, on all machines we know */
    STAGES_SHARED = 64, /* 4 MiB: all that 16 streams can use */
};

void amg_mpi_stages_init(struct amg_mpi_stages *stages)
{
    stages->free = NULL;
    stages->count = 0;
}

void amg_mpi_stages_fini(struct amg_mpi_stages *stages)
{
    while (stages->free != NULL) {
        struct amg_mpi_stage *stage = stages->free;

        stages->free = stage->next;
        amg_mem_free(stage);
    }
}

struct amg_mpi_stage *amg_mpi_stage_get(
    struct amg_mpi_stages *stages, bool is_needed)
{
    struct amg_mpi_stage *stage = stages->free;

    if (stage != NULL) {
        stages->free = stage->next;
        return stage;
    }
    if (!is_needed && stages->count >= STAGES_SHARED)
        return NULL;
    stage =
        amg_mem_alloc_aligned(STAGE_ALIGN, sizeof(*stage) + AMG_MPI_STAGE_LEN);
    if (stage != NULL)
        stages->count++;
    return stage;
}

void amg_mpi_stage_put(
    struct amg_mpi_stages *stages, struct amg_mpi_stage *stage)
{
    if (stages->count > STAGES_SHARED) {
        stages->count--;
        amg_mem_free(stage);
        return;
    }
    stage->next = stages->free;
    stages->free = stage;
}
