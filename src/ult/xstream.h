/* SPDX-License-Identifier: BSD-3-Clause */
/* Execution streams: their list, their life, and the loop of their
 * schedulers. */
#ifndef AMG_ULT_XSTREAM_H
#define AMG_ULT_XSTREAM_H

#include "ult/sched.h"

/* Makes one that does not run yet, in the list of all, with the lowest rank
 * that is free, or with `rank` if that is not negative. It takes the scheduler.
 * An ABT code. */
int amg_stream_create(
    struct amg_sched *sched, int rank, struct amg_stream **ret_stream);
/* Off the list, with its scheduler if that is automatic; it does not run. */
void amg_stream_destroy(struct amg_stream *stream);

/* The same for one that could not be started: without its scheduler, unless
 * that was made for it. */
void amg_stream_discard(struct amg_stream *stream, bool is_made_for_it);

/* It has been joined, or has come to its end. */
bool amg_stream_has_ended(struct amg_stream *stream);

/* Begins its OS thread. An ABT code, and the log says why. */
int amg_stream_start(struct amg_stream *stream);
/* Waits until it has ended; not by itself. */
void amg_stream_join(struct amg_stream *stream);

/* It has another scheduler, which it has claimed, from now on, and lets go of
 * the former one; by its own thread, or while it does not run. */
void amg_stream_sched_set(struct amg_stream *stream, struct amg_sched *sched);

/* Runs its scheduler, or those it is given one after the other. */
void amg_stream_run(struct amg_stream *stream);

/* By a scheduler in each round: does what the stream is asked for; true: it is
 * to return. */
bool amg_sched_has_to_stop(struct amg_sched *sched);

/* False: another one has it. */
bool amg_streams_rank_set(struct amg_stream *stream, int rank);
int amg_streams_rank(struct amg_stream *stream);

int amg_streams_count(void);

/* Calls a function for each, by rank, which must not make or free streams; true
 * ends it, and is returned. */
bool amg_streams_each(
    bool (*visit)(struct amg_stream *stream, void *arg), void *arg);

#endif
