/* SPDX-License-Identifier: BSD-3-Clause */
/* What this rank exposes by windows: the entries that peers knock at. */
#ifndef AMG_MPI_BACKEND_MPI_DESK_H
#define AMG_MPI_BACKEND_MPI_DESK_H

#include "mpi_backend/mpi_attach.h"
#include "mpi_backend/mpi_mem.h"
#include "mpi_backend/mpi_window.h"

/* Owned by the domain's one-sided part, which embeds it; guarded by the
 * domain's lock. */
struct amg_mpi_desk {
    struct amg_mpi_windows *windows;
    struct amg_mpi_attach attach;
    struct amg_list leaving; /* struct amg_mpi_mem, whose exposure ends */
    uint64_t len_min;        /* shorter memory has no entry */
    bool is_unused[AMG_MPI_WAY_COUNT]; /* nobody would go that way */
    uint32_t used;                     /* entries below were used before */
    uint32_t free_count;
    uint16_t free[AMG_MPI_ENTRIES]; /* of those, the ones that are free */
    bool has_warned;
};

void amg_mpi_desk_init(struct amg_mpi_desk *desk,
    struct amg_mpi_windows *windows, uint64_t len_min);
/* Detaches all memory. */
void amg_mpi_desk_fini(struct amg_mpi_desk *desk);

/* Opens an entry for `mem`, and says so in its key; it stays without one where
 * there is no room, or where messages are better. Calls MPI. */
void amg_mpi_desk_open_locked(
    struct amg_mpi_desk *desk, struct amg_mpi_mem *mem);
/* Its entry is to close, by the next move. */
void amg_mpi_desk_leave_locked(
    struct amg_mpi_desk *desk, struct amg_mpi_mem *mem);
/* Closes the doors of what leaves, and frees the entries that nobody visits
 * any more. Calls MPI. */
void amg_mpi_desk_move_locked(struct amg_mpi_desk *desk);
/* Who keeps the entry of `mem` from being freed; AMG_MPI_VISITOR_NONE: it has
 * none any more. */
int amg_mpi_desk_visitor_locked(
    const struct amg_mpi_desk *desk, const struct amg_mpi_mem *mem);

#endif
