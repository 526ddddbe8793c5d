/* SPDX-License-Identifier: BSD-3-Clause */
/* Selection of how bulk data moves over MPI: through windows or by messages. */
#ifndef AMG_MPI_BACKEND_MPI_BULK_SELECT_H
#define AMG_MPI_BACKEND_MPI_BULK_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "mercury_core_types.h"

struct amg_mpi_domain;
struct amg_open;

/* Kinds of exposed memory; each has a window of its own. */
enum amg_mpi_memory {
    AMG_MPI_MEMORY_LIBRARY, /* of HG_Bulk_create() without addresses */
    AMG_MPI_MEMORY_USER,    /* attached to the dynamic window */
    AMG_MPI_MEMORIES
};

/* Lengths of transfers; those below AMG_MPI_WINDOW_LEN_MIN use messages. */
enum amg_mpi_size {
    AMG_MPI_SIZE_MEDIUM, /* up to 256 KiB, measured with 64 KiB */
    AMG_MPI_SIZE_LARGE,  /* longer, measured with 1 MiB */
    AMG_MPI_SIZES
};

enum { AMG_MPI_MEDIUM_LEN = 262144, AMG_MPI_REASON_CAP = 400 };

/* Times of a pull. All are words of which the maximum over the ranks counts,
 * so that one MPI_Allreduce shares them; 0 means not measured. */
struct amg_mpi_figures {
    uint64_t window_ns[AMG_MPI_MEMORIES][AMG_MPI_SIZES]; /* the slowest pair */
    uint64_t message_inverse[AMG_MPI_SIZES]; /* UINT64_MAX - the fastest, ns */
    uint64_t needs_target; /* 1: a window waits for its owner to call MPI */
    uint64_t failed;       /* 1 + the rank whose log says what failed */
    uint64_t ranks;        /* that measured */
    uint64_t took_ns;
};

/* Owned by the domain that embeds it; constant while that is open. */
struct amg_mpi_choice {
    bool is_window[AMG_MPI_MEMORIES][AMG_MPI_SIZES];
    bool is_passive; /* known to be: a put is at its target once it is flushed,
                      * whatever the target does */
    bool is_measured;
    char reason[AMG_MPI_REASON_CAP]; /* one line of facts */
};

/* Decides, with all ranks of the domain, how its bulk data moves; fills
 * `domain->choice`, and opens the windows if some transfers use them. `how` is
 * what the domain is opened with; its protocol is the same on all ranks.
 * HG_NA_ERROR: MPI failed. */
hg_return_t amg_mpi_bulk_select(
    struct amg_mpi_domain *domain, const struct amg_open *how);

/* From times to a choice and its reason. */
void amg_mpi_choice_make(
    const struct amg_mpi_figures *figures, struct amg_mpi_choice *ret_choice);
/* "mpi+p2p", "mpi+rma", or both, as a report names it. */
const char *amg_mpi_choice_name(const struct amg_mpi_choice *choice);

/* Does a transfer of `len` bytes use the window of such memory? */
static inline bool amg_mpi_choice_is_window(const struct amg_mpi_choice *choice,
    enum amg_mpi_memory memory, uint64_t len)
{
    return choice
        ->is_window[memory][len <= AMG_MPI_MEDIUM_LEN ? AMG_MPI_SIZE_MEDIUM
                                                      : AMG_MPI_SIZE_LARGE];
}

#endif
