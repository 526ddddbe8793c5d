/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of the program that a domain knows. */
#ifndef AMG_MPI_BACKEND_MPI_USER_WINDOW_H
#define AMG_MPI_BACKEND_MPI_USER_WINDOW_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "mercury_core_types.h"
#include "transport/place.h"

struct amg_mpi_domain;

/* Owned by its domain, until that is closed or the program frees the window. */
struct amg_mpi_user_window {
    struct amg_link link;          /* domain->user_windows */
    struct amg_mpi_domain *domain; /* NULL: has forgotten it */
    MPI_Win win;
    uint32_t id;             /* the same at all ranks of the window; 0: as yet
                              * unknown, and nothing goes by it */
    uint32_t unit;           /* bytes that a displacement of this rank means */
    struct amg_segment part; /* of this rank */
    int ranks[];             /* by rank of the domain; MPI_UNDEFINED: none */
};

/* As amg_mpi_window_learn(); see mpi_public.h. */

/* The one that has all bytes of the segments, or NULL. */
const struct amg_mpi_user_window *amg_mpi_user_window_of_locked(
    const struct amg_mpi_domain *domain, const struct amg_segment *segments,
    uint32_t count);
/* The one of that number, or NULL: it was never learnt here, or is gone. */
const struct amg_mpi_user_window *amg_mpi_user_window_find_locked(
    const struct amg_mpi_domain *domain, uint32_t id);

/* Errors of the program's window come back to us from `begin` to `end`. */
MPI_Errhandler amg_mpi_user_window_begin(MPI_Win win);
void amg_mpi_user_window_end(MPI_Win win, MPI_Errhandler handler);

/* Forgets all windows; by a thread that may call MPI. */
void amg_mpi_user_window_fini_locked(struct amg_mpi_domain *domain);

#endif
