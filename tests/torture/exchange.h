/* SPDX-License-Identifier: BSD-3-Clause */
/* Notes that the ranks exchange outside of the library.
 *
 * There is one operation: each rank gives bytes, and gets those of all. It may
 * be begun and tested, so that a rank serves calls meanwhile. One is under way
 * at a time. The notes travel by MPI on a communicator of their own, or, if the
 * program has forked its ranks, through a mapping that all share. */
#ifndef TESTS_TORTURE_EXCHANGE_H
#define TESTS_TORTURE_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    EXCHANGE_BOARD_LEN = 64, /* a cache line */
};

/* Owner: the main thread of each rank, from start to stop. */
struct exchange;

/* Forks the ranks 1, 2 ...; the caller becomes rank 0 of them. NULL: no
 * memory. Call it before any thread starts. */
struct exchange *exchange_start_fork(unsigned ranks);

/* Initializes MPI at a level of MPI_THREAD_; NULL: no MPI in this build. */
struct exchange *exchange_start_mpi(int level);

unsigned exchange_rank(const struct exchange *exchange);
unsigned exchange_size(const struct exchange *exchange);

/* Gives this rank's bytes, which are copied. */
void exchange_begin(struct exchange *exchange, const void *mine, size_t len);
/* True: all ranks have given theirs. */
bool exchange_test(struct exchange *exchange);
/* The bytes of a rank, valid until the next exchange_begin(). */
const void *exchange_of(
    struct exchange *exchange, unsigned rank, size_t *ret_len);

/* Memory that all ranks see, EXCHANGE_BOARD_LEN bytes for each, zero at the
 * start; NULL: they are on several machines. */
void *exchange_board(const struct exchange *exchange);

/* Begins, and waits without serving anybody. */
void exchange_all(struct exchange *exchange, const void *mine, size_t len);
void exchange_barrier(struct exchange *exchange);
/* Sums `count` numbers over all ranks in place, by exchange_all(). */
void exchange_sum(struct exchange *exchange, long *numbers, unsigned count);

/* Ends all ranks, of which this one has a finding. */
__attribute__((noreturn)) void exchange_abort(struct exchange *exchange);
/* Ends this rank's part; returns the exit code: `code`, or 1 if another rank
 * was killed. */
int exchange_stop(struct exchange *exchange, int code);

#ifdef __cplusplus
}
#endif

#endif
