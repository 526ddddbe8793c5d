/* SPDX-License-Identifier: BSD-3-Clause */
/* One execution stream of an instance: made by a plan, or the program's. */
#ifndef AMG_MARGO_STREAM_H
#define AMG_MARGO_STREAM_H

#include "margo/log.h"
#include "margo/plan_row.h"
#include "margo/set.h"

static inline ABT_xstream amg_margo_stream_abt(
    const struct amg_margo_stream *stream)
{
    return (ABT_xstream)stream->item.handle;
}

/* Starts a stream as it is planned, with pools of the set, and adds it. NULL in
 * `ret_stream` is fine. An error leaves nothing behind; the log says why. */
hg_return_t amg_margo_stream_make(const struct amg_margo_log *log,
    const char *path, struct amg_margo_set *set,
    const struct amg_margo_stream_plan *plan,
    struct amg_margo_stream **ret_stream);

/* The calling stream gets a scheduler with the pools of the plan, in the place
 * of its own; `keeps`: it goes on to run the pools that it runs now, too. */
hg_return_t amg_margo_stream_take(const struct amg_margo_log *log,
    struct amg_margo_set *set, const struct amg_margo_stream_plan *plan,
    bool keeps);

/* Adds one that is there; HG_INVALID_ARG: it runs a pool that the set does not
 * know. */
hg_return_t amg_margo_stream_wrap(const struct amg_margo_log *log,
    struct amg_margo_set *set, const char *name, ABT_xstream xstream,
    bool is_owned, struct amg_margo_stream **ret_stream);

/* One that was taken off the set: joined and freed, if it is owned. */
void amg_margo_stream_end(const struct amg_margo_log *log,
    struct amg_margo_set *set, struct amg_margo_stream *stream);

#endif
