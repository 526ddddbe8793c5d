/* SPDX-License-Identifier: BSD-3-Clause */
/* How far all senders have come, shown by rank 0. */
#ifndef CHECKPOINT_PROGRESS_H
#define CHECKPOINT_PROGRESS_H

#include <stdbool.h>

#include "jobs/apps/checkpoint/job.h"

struct progress;

/* On rank 0: takes beats from now on. NULL: no memory. */
struct progress *progress_open(struct job *job, uint64_t files, uint64_t bytes);
/* Shows what has changed, now and then: a bar where the output is a terminal,
 * elsewhere a line a second. */
void progress_show(struct progress *progress);
/* A sender that has not been heard of for `limit_s`, and has not ended; -1 when
 * there is none. */
int progress_silent_rank(const struct progress *progress, int limit_s);
/* Ends the bar. NULL is fine. */
void progress_close(struct progress *progress);

/* Serves the beats of senders. */
hg_return_t progress_serve_beat(hg_handle_t handle);

#endif
