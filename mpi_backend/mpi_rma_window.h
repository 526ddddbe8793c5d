/* SPDX-License-Identifier: BSD-3-Clause */
/* The windows of a domain: where its ranks reach each other's memory. */
#ifndef AMG_MPI_BACKEND_MPI_RMA_WINDOW_H
#define AMG_MPI_BACKEND_MPI_RMA_WINDOW_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "mpi_backend/mpi_comm.h"
#include "transport/transport.h"

/* Which way leads to exposed memory. In keys, so the numbers stay. */
enum amg_mpi_way {
    AMG_MPI_WAY_MESSAGES, /* its exposer sends and receives it */
    AMG_MPI_WAY_POOL,     /* the window over the memory of the library */
    AMG_MPI_WAY_DYNAMIC,  /* the window that any memory is attached to */
    AMG_MPI_WAY_COUNT
};

enum {
    AMG_MPI_DESCS = 8192, /* exposed memory that windows lead to, at once */
    AMG_MPI_DESC_WORDS = 5,
    AMG_MPI_DESC_LEN = 64, /* a cache line each; the rest is unused */
    /* Bytes of a transfer and of its runs; shorter ones are faster by messages,
     * which gather: 4 KiB take 2.2 us, and 4.1 by a window with its access
     * (MPICH 4.0.2, ch4:ucx, one node). */
    AMG_MPI_WINDOW_LEN_MIN = 16 * 1024,
};

/* Owned by its domain; where a rank is silent when that is closed, by nobody
 * until MPI_Finalize. Constant while it is open. */
struct amg_mpi_windows {
    struct amg_link left; /* on the list of those left open */
    MPI_Comm comm;        /* of its own */
    int rank;
    int size;
    MPI_Win descs;                   /* of all ranks; see mpi_export.h */
    MPI_Win ways[AMG_MPI_WAY_COUNT]; /* null where it is none of ours */
    unsigned char *bytes;            /* this rank's; zeros at the start */
    struct amg_area area;            /* behind the pool window; len 0: none */
    uint64_t open_ns;                /* what making them took */
    uint64_t number;     /* tells them from others; the same at all ranks */
    MPI_Request meeting; /* of all ranks, before they are freed */
    bool has_begun;      /* the meeting has */
};

/* Makes them, with all ranks of the communicator; `area` may be NULL. All
 * ranks get theirs, or none: HG_OPNOTSUPPORTED, and the log says why. */
hg_return_t amg_mpi_windows_open(const struct amg_mpi_comm *comm,
    const struct amg_area *area, struct amg_mpi_windows **ret_windows);

/* This rank is about to free them; true: all ranks are. Never blocks; false:
 * ask again. */
bool amg_mpi_windows_meet(struct amg_mpi_windows *windows);

/* `is_whole`: all ranks of the communicator close theirs, too, and nothing is
 * in motion. Else they stay as they are: freeing them would wait for the rank
 * that is missing. Takes `windows`. */
void amg_mpi_windows_close(struct amg_mpi_windows *windows, bool is_whole);

/* MPI_Finalize begins, and cannot bear with windows that were left: frees
 * them, if all ranks have come. */
void amg_mpi_windows_stop(void);

#endif
