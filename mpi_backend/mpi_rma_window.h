/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI windows of a domain, and the memory attached to the dynamic one. */
#ifndef AMG_MPI_BACKEND_MPI_RMA_WINDOW_H
#define AMG_MPI_BACKEND_MPI_RMA_WINDOW_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "mpi_backend/mpi_comm.h"
#include "transport/transport.h"

/* The way to access exposed memory. Part of keys, so the values are fixed. */
enum amg_mpi_way {
    AMG_MPI_WAY_MESSAGES, /* the exposer sends and receives the data */
    AMG_MPI_WAY_POOL,     /* the window over the memory of the library */
    AMG_MPI_WAY_DYNAMIC,  /* the window that any memory is attached to */
    AMG_MPI_WAY_COUNT
};

enum {
    AMG_MPI_DESCS = 8192, /* memories exposed in windows at once */
    AMG_MPI_DESC_WORDS = 5,
    AMG_MPI_DESC_LEN = 64, /* a cache line each; the rest is unused */
    /* Least length of a transfer through a window, and of its average run.
     * Messages, which gather, are faster below: 4 KiB take 2.2 us by a message,
     * 4.1 us by a window with the access (MPICH 4.0.2, ch4:ucx, one node). */
    AMG_MPI_WINDOW_LEN_MIN = 16 * 1024,
};

struct amg_mpi_region {
    uintptr_t base;
    uint64_t len;
    uint32_t refs;
    uint32_t whole; /* references to the whole region, counted in `refs` */
};

/* How memory is attached and detached. */
struct amg_mpi_region_ops {
    hg_return_t (*attach)(void *arg, void *base, uint64_t len);
    void (*detach)(void *arg, void *base);
    void *arg;
};

/* Regions of memory that are attached to one window: they never overlap.
 * Owned by the struct that embeds it, guarded by its lock. */
struct amg_mpi_regions {
    struct amg_mpi_region_ops ops;
    struct amg_mpi_region *list; /* an array in the order of bases */
    uint32_t count;
    uint32_t cap;
    uint32_t max;  /* most regions attached at once */
    bool was_full; /* `max` was reached, which was logged */
};

/* Owned by the domain; if a rank is silent at close, kept until MPI_Finalize.
 * All but `regions` is constant while the domain is open. */
struct amg_mpi_windows {
    struct amg_link left; /* on the list of windows left open */
    MPI_Comm comm;        /* the windows' own duplicate */
    int rank;
    int size;
    MPI_Win descs;                   /* descriptors of all ranks */
    MPI_Win ways[AMG_MPI_WAY_COUNT]; /* MPI_WIN_NULL if not created */
    unsigned char *bytes;            /* of this rank's descriptors */
    struct amg_mpi_regions regions;  /* attached to the dynamic window */
    struct amg_area area;            /* behind the pool window; len 0: none */
    uint64_t number;     /* nonce of the domain, equal on all ranks */
    MPI_Request barrier; /* of all ranks, before the windows are freed */
    bool has_entered;    /* the barrier has begun here */
};

/* Creates the windows, with all ranks of the communicator; `area` may be NULL.
 * All ranks get windows, or none: HG_OPNOTSUPPORTED, which is normal with some
 * MPIs; rank 0 warns only if the user asked for windows (`is_asked`). A caller
 * without memory gives NULL as `ret_windows`: all ranks warn, and get none. */
hg_return_t amg_mpi_windows_open(const struct amg_mpi_comm *comm,
    const struct amg_area *area, bool is_asked,
    struct amg_mpi_windows **ret_windows);

/* Announces that this rank will free its windows; true: all ranks will. Never
 * blocks; false: call again. */
bool amg_mpi_windows_barrier(struct amg_mpi_windows *windows);

/* Frees `windows` if `is_whole`: all ranks do so, too, and nothing is in
 * flight. Else leaves them open until MPI_Finalize, because freeing would wait
 * for the missing rank. Takes `windows`. */
void amg_mpi_windows_close(struct amg_mpi_windows *windows, bool is_whole);

/* When MPI_Finalize begins: frees the windows left open if all ranks take part,
 * because MPI_Finalize may fail with open windows. */
void amg_mpi_windows_stop(void);

/* Detaches all regions. */
void amg_mpi_regions_fini(struct amg_mpi_regions *regions);

/* Makes `len` bytes (> 0) at `base` part of one region. HG_OPNOTSUPPORTED: the
 * bytes lie partly in a region, or in a region that no exposed memory covers
 * completely, or `max` regions are attached; HG_NOMEM; what attach()
 * returned. */
hg_return_t amg_mpi_regions_ref(
    struct amg_mpi_regions *regions, const void *base, uint64_t len);
/* Drops a reference made for these bytes; the last detaches their region. */
void amg_mpi_regions_unref(
    struct amg_mpi_regions *regions, const void *base, uint64_t len);

#endif
