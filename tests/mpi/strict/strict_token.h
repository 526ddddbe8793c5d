/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns of the ranks: one runs at a time, if the environment asks for it. */
#ifndef TESTS_MPI_STRICT_STRICT_TOKEN_H
#define TESTS_MPI_STRICT_STRICT_TOKEN_H

#include "mpi/strict/strict_core.h"

/* 1: ranks take turns, and see a clock that their calls and sleeps move. */
#define STRICT_ENV_TOKEN "AMALGAM_TEST_STRICT_TOKEN"
/* 1: a line in stdout at MPI_Pcontrol and MPI_Finalize, with a hash of the
 * calls of all ranks so far. 2: also a line in stderr for each call. */
#define STRICT_ENV_TRACE "AMALGAM_TEST_STRICT_TRACE"

/* Memory of all ranks, zeroed. Collective. */
void *strict_shared_open(size_t len);
/* MPI was started, or is about to end. Collective. */
void strict_token_begin(void);
void strict_token_end(void);
/* Whether this thread takes turns with other ranks. */
bool strict_token_is_mine(void);
/* A call of MPI begins: another rank may be next. */
void strict_token_turn(void);
/* This rank waits: another one is next, if any can run. */
void strict_token_yield(void);
/* The clock of all ranks, which moves by so much. */
uint64_t strict_token_clock(uint64_t more_ns);
/* All draw anew: the ranks start a new trace. */
void strict_token_reseed(uint64_t seed);

/* Around a call that blocks until all ranks of a communicator, group or window
 * have made it; other threads and ranks go on meanwhile. */
unsigned strict_meet_open(MPI_Comm comm);
unsigned strict_meet_open_group(MPI_Group group);
unsigned strict_meet_open_window(MPI_Win window);
void strict_meet_close(unsigned depth);
/* Around a call that blocks until another rank has made progress. */
unsigned strict_poke_open(void);
void strict_poke_close(unsigned depth);

#endif
