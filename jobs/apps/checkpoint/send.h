/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends files to the servers, several at a time. */
#ifndef CHECKPOINT_SEND_H
#define CHECKPOINT_SEND_H

#include <stdbool.h>

#include "jobs/apps/checkpoint/job.h"
#include "jobs/apps/checkpoint/list.h"
#include "jobs/apps/checkpoint/stats.h"

struct sender;

/* What a sender has done. */
struct sender_totals {
    uint64_t files; /* verified */
    uint64_t bytes; /* of these */
};

/* Will send each file of `list` that falls to this rank. `list` must outlive
 * it. NULL: no memory, reported. */
struct sender *sender_open(
    struct job *job, const struct list *list, int depth, int wait_s);
/* Moves on what can be: starts files, ends calls that take too long. To be
 * called in a loop with progress. */
void sender_step(struct sender *sender);
/* Starts no more files, and gives up those under way. */
void sender_stop(struct sender *sender);
/* All files are sent or have failed, and rank 0 knows. */
bool sender_is_done(const struct sender *sender);
/* Some rank did not answer in time: it may never come to the end. */
bool sender_has_silent(const struct sender *sender);
const struct sender_totals *sender_totals(const struct sender *sender);
/* Durations of calls, from HG_Forward() to their callback. */
const struct stats *sender_stats(const struct sender *sender);
/* NULL is fine. */
void sender_close(struct sender *sender);

#endif
