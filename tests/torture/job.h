/* SPDX-License-Identifier: BSD-3-Clause */
/* What needs MPI: job_mpi.c, or, in a build without it, job_none.c. */
#ifndef TESTS_TORTURE_JOB_H
#define TESTS_TORTURE_JOB_H

#include "world.h"

/* A seed begins: tests/mpi/strict decides by it, if it stands in for MPI. */
void job_seed(uint64_t seed);

/* Opens the class on a communicator of its own; NULL: the log says why. */
hg_class_t *job_open(struct world_class *cls);
hg_return_t job_addr(
    struct world_class *cls, unsigned class_rank, hg_addr_t *ret_addr);
/* The rank, in the class, of the process at an address; -1: none. */
int job_rank_of(struct world_class *cls, hg_addr_t addr);
hg_return_t job_finalize(struct world_class *cls);

/* Memory of a class. */
void *job_alloc(struct world_class *cls, size_t len);
hg_return_t job_free(struct world_class *cls, void *memory);

/* Exposes the segments of a plan, named by a datatype. */
hg_return_t job_bulk_type(struct world_class *cls, const struct plan_bulk *bulk,
    void *memory, uint8_t flags, hg_bulk_t *ret_bulk);

/* Makes progress by amalgam_test(). */
hg_return_t job_turn(struct world_class *cls);

/* Waits a while for quiescence; HG_TIMEOUT: call it again. */
hg_return_t job_quiesce(struct world_class *cls);

/* Calls of MPI that the program makes between two phases, in which all ranks
 * take part and none waits for an answer of another. */
void job_between(struct world *world, unsigned phase);

/* What is not at home in a class; `out` may be NULL. */
size_t job_state(hg_class_t *cls, FILE *out);

#endif
