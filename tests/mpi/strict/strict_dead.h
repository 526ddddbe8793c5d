/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that dies. */
#ifndef TESTS_MPI_STRICT_STRICT_DEAD_H
#define TESTS_MPI_STRICT_STRICT_DEAD_H

#include "mpi/strict/strict_core.h"

/* MPI was started. Collective. */
void strict_dead_begin(void);
/* Calls of this process count from now on. */
void strict_dead_reseed(void);
/* A message is sent or received: the rank may be dead now. */
void strict_dead_count(void);
/* Whether the rank is the one that dies, and whether that one is dead. */
bool strict_dead_may_be(MPI_Comm comm, int rank);
bool strict_dead_is_now(void);

#endif
