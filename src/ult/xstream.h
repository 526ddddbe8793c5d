/* SPDX-License-Identifier: BSD-3-Clause */
/* Execution xstreams: their list, their life, and the loop of their schedulers.
 */
#ifndef AMG_ULT_XSTREAM_H
#define AMG_ULT_XSTREAM_H

#include "ult/sched.h"

/* Makes one that does not run yet, in the list of all, with the lowest rank
 * that is free, or with `rank` if that is not negative. It takes the scheduler.
 * An ABT code. */
int amg_xstream_create(
    struct amg_sched *sched, int rank, struct amg_xstream **ret_stream);
/* Off the list, with its scheduler if that is automatic; it does not run. */
void amg_xstream_destroy(struct amg_xstream *xstream);

/* The same for one that could not be started: without its scheduler, unless
 * that was made for it. */
void amg_xstream_discard(struct amg_xstream *xstream, bool is_made_for_it);

/* It has been joined, or has come to its end. */
bool amg_xstream_has_ended(struct amg_xstream *xstream);

/* Begins its OS thread. An ABT code, and the log says why. */
int amg_xstream_start(struct amg_xstream *xstream);
/* Waits until it has ended; not by itself. */
void amg_xstream_join(struct amg_xstream *xstream);

/* It has another scheduler, which it has claimed, from now on, and lets go of
 * the former one; by its own thread, or while it does not run. */
void amg_xstream_sched_set(
    struct amg_xstream *xstream, struct amg_sched *sched);

/* Runs its scheduler, or those it is given one after the other. */
void amg_xstream_run(struct amg_xstream *xstream);

/* By a scheduler in each round: does what the xstream is asked for; true: it is
 * to return. */
bool amg_sched_has_to_stop(struct amg_sched *sched);

/* False: another one has it. */
bool amg_xstreams_rank_set(struct amg_xstream *xstream, int rank);
int amg_xstreams_rank(struct amg_xstream *xstream);

int amg_xstreams_count(void);

/* Calls a function for each, by rank, which must not make or free xstreams;
 * true ends it, and is returned. */
bool amg_xstreams_each(
    bool (*visit)(struct amg_xstream *xstream, void *arg), void *arg);

#endif
