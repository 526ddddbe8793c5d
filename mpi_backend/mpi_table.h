/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers for pointers, which go stale when the pointer is taken out. */
#ifndef AMG_MPI_BACKEND_MPI_TABLE_H
#define AMG_MPI_BACKEND_MPI_TABLE_H

#include <stdint.h>

#include "mercury_core_types.h"

enum {
    AMG_MPI_INDEX_BITS = 20, /* a million things in flight; the rest of the */
    AMG_MPI_INDEX_MASK = (1 << AMG_MPI_INDEX_BITS) - 1, /* 32 counts uses */
};

struct amg_mpi_place {
    void *object; /* NULL: free */
    uint32_t generation;
    uint32_t rank_or_next; /* whose answer is awaited; free: the next free */
};

/* Owned by who embeds it, and guarded by its lock. */
struct amg_mpi_table {
    struct amg_mpi_place *places;
    uint32_t cap;
    uint32_t max;  /* places it may grow to */
    uint32_t free; /* the first free one; cap: none */
};

void amg_mpi_table_init(struct amg_mpi_table *table, uint32_t max);
void amg_mpi_table_fini(struct amg_mpi_table *table);

/* Gives `object` (not NULL) a number that `rank` will name. HG_NOMEM. */
hg_return_t amg_mpi_table_add(struct amg_mpi_table *table, void *object,
    uint32_t rank, uint32_t *ret_cookie);
/* What `rank` means by `cookie`, or NULL when that is gone, or never was. */
struct amg_mpi_place *amg_mpi_table_find(
    const struct amg_mpi_table *table, uint32_t cookie, uint32_t rank);
/* The place of a number that is known to be in use. */
static inline struct amg_mpi_place *amg_mpi_table_at(
    const struct amg_mpi_table *table, uint32_t cookie)
{
    return &table->places[cookie & AMG_MPI_INDEX_MASK];
}
/* The number is stale from now on. */
void amg_mpi_table_remove(struct amg_mpi_table *table, uint32_t cookie);

#endif
