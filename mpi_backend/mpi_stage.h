/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that pieces pass through when they are in several runs. */
#ifndef AMG_MPI_BACKEND_MPI_STAGE_H
#define AMG_MPI_BACKEND_MPI_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of one stage, and so the longest piece that passes through one. From 32
 * to 256 KiB, blocks of 4 KiB move equally fast, as far as a busy machine lets
 * one tell; rows of 8 bytes gain by shorter ones (MPICH 4.0.2 ch4:ucx). */
enum { AMG_MPI_STAGE_LEN = 64 * 1024 };

/* Holds one piece; with a stream, or kept for the next. */
struct amg_mpi_stage {
    struct amg_mpi_stage *next;
    _Alignas(64) unsigned char bytes[];
};

/* Owned by the domain, guarded by its lock. */
struct amg_mpi_stages {
    struct amg_mpi_stage *free; /* single linked */
    uint32_t count;             /* all there are */
};

void amg_mpi_stages_init(struct amg_mpi_stages *stages);
/* Those that are still out stay what they are. */
void amg_mpi_stages_fini(struct amg_mpi_stages *stages);

/* One, or NULL: there is no memory; or there are many and it is not `needed`.
 */
struct amg_mpi_stage *amg_mpi_stage_get(
    struct amg_mpi_stages *stages, bool is_needed);
void amg_mpi_stage_put(
    struct amg_mpi_stages *stages, struct amg_mpi_stage *stage);

#endif
