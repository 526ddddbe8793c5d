/* SPDX-License-Identifier: BSD-3-Clause */
/* Which memory is attached to the dynamic window, and how often it is used. */
#ifndef AMG_MPI_BACKEND_MPI_ATTACH_H
#define AMG_MPI_BACKEND_MPI_ATTACH_H

#include <stdint.h>

#include "mercury_core_types.h"

struct amg_mpi_region {
    uintptr_t base;
    uint64_t len;
    uint32_t refs;
};

/* How memory is attached and detached. */
struct amg_mpi_attacher {
    hg_return_t (*attach)(void *arg, void *base, uint64_t len);
    void (*detach)(void *arg, void *base);
    void *arg;
};

/* Owned by who embeds it, and guarded by its lock. */
struct amg_mpi_attach {
    struct amg_mpi_attacher by;
    struct amg_mpi_region *regions; /* in the order of their bases; apart */
    uint32_t count;
    uint32_t cap;
};

void amg_mpi_attach_init(
    struct amg_mpi_attach *attach, const struct amg_mpi_attacher *by);
/* Detaches what is attached still. */
void amg_mpi_attach_fini(struct amg_mpi_attach *attach);

/* Makes `len` bytes (> 0) at `base` part of one region. HG_OPNOTSUPPORTED: a
 * part of them lies in other regions; HG_NOMEM; what attach() returned. */
hg_return_t amg_mpi_attach_hold(
    struct amg_mpi_attach *attach, const void *base, uint64_t len);
/* Ends one hold of the same bytes; the last one in a region detaches it. */
void amg_mpi_attach_drop(
    struct amg_mpi_attach *attach, const void *base, uint64_t len);

#endif
