/* SPDX-License-Identifier: BSD-3-Clause */
/* What all tutorial programs do the same way: open, wait, give up, close.
 *
 * The program init does without job_open(), job_begin() and job_close(), and so
 * shows what is inside of them. */
#ifndef AMG_TUTORIAL_COMMON_H
#define AMG_TUTORIAL_COMMON_H

#include <stdbool.h>

#include "amalgam.h"

/* The rank that serves; all others call it. */
enum { SERVER = 0 };

/* One rank's part of the job. */
struct job {
    hg_class_t *hg_class;
    hg_context_t *context;
    int rank;
    int ranks;
};

/* Ends all ranks with exit code 2 if the command line has more than `most`
 * words after the program's name. After MPI_Init. */
void job_words(int argc, char **argv, int most);

/* MPI, and a class over all ranks. The command line has `most` words at most.
 */
void job_open(int *argc, char ***argv, int most, struct job *job);

/* One context: from now on calls arrive. Where a core is idle, a thread of the
 * library runs their handlers, at the same time as the program goes on. So what
 * handlers need is made before: the RPCs are registered, and have their data.
 */
void job_begin(struct job *job);

/* Serves until all ranks have come here, then closes everything. */
void job_close(struct job *job);

/* Ends all ranks with exit code 1, after saying which one failed, and at
 * what. For what cannot go wrong unless something is broken. */
_Noreturn __attribute__((format(printf, 1, 2))) void job_fail(
    const char *format, ...);

/* Goes on only if `ret`, which `what` returned, is HG_SUCCESS. */
void job_check(hg_return_t ret, const char *what);

/* Lets messages move and runs callbacks, until one of these sets `*done`. */
void job_wait(hg_context_t *context, const bool *done);

/* A new call of the RPC `id` of the serving rank. */
hg_handle_t job_create_call(const struct job *job, hg_id_t id);

/* Sends the call, and returns when its answer is there: HG_Get_output(). */
void job_forward(const struct job *job, hg_handle_t handle, void *in);

/* The rank that sent the call. */
int job_caller(hg_handle_t handle);

#endif
