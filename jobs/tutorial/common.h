/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the tutorial programs: open, wait, abort, close.
 *
 * The program init does without job_open(), job_begin() and job_close(), and so
 * shows what they do. */
#ifndef AMG_TUTORIAL_COMMON_H
#define AMG_TUTORIAL_COMMON_H

#include <stdbool.h>

#include "amalgam.h"

/* This rank serves; all others call it. */
enum { SERVER = 0 };

/* One rank's part of the job. */
struct job {
    hg_class_t *hg_class;
    hg_context_t *context;
    int rank;
    int ranks;
};

/* Ends all ranks with exit code 2 if the command line has more than `most`
 * arguments. Call it after MPI_Init. */
void job_words(int argc, char **argv, int most);

/* Initializes MPI, and opens a class over all ranks. The command line has at
 * most `most` arguments. */
void job_open(int *argc, char ***argv, int most, struct job *job);

/* Creates the one context: from now on calls arrive. With an idle core, a
 * thread of the library runs their handlers, concurrently with the program. So
 * all that handlers need must exist before: the registered RPCs, and their
 * data. */
void job_begin(struct job *job);

/* Serves until all ranks have called this function, then closes everything. */
void job_close(struct job *job);

/* Prints the failing rank and call, and ends all ranks with exit code 1. For
 * errors that mean that something is broken. */
_Noreturn __attribute__((format(printf, 1, 2))) void job_fail(
    const char *format, ...);

/* Returns only if `ret`, the result of `what`, is HG_SUCCESS. */
void job_check(hg_return_t ret, const char *what);

/* Makes progress and runs callbacks, until one of these sets `*done`. */
void job_wait(hg_context_t *context, const bool *done);

/* Creates a call of the RPC `id` at the serving rank. */
hg_handle_t job_create_call(const struct job *job, hg_id_t id);

/* Sends the call, and returns when its reply can be read: HG_Get_output(). */
void job_forward(const struct job *job, hg_handle_t handle, void *in);

/* The rank that sent the call. */
int job_caller(hg_handle_t handle);

#endif
