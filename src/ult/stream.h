/* SPDX-License-Identifier: BSD-3-Clause */
/* An execution stream, an OS thread that runs pools: what ABT_xstream points
 * to. */
#ifndef AMG_ULT_STREAM_H
#define AMG_ULT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "abt.h"

struct amg_ult;
struct amg_stream;

/* The calling OS thread's, or NULL. Never inlined, as amg_ult_self(). */
struct amg_stream *amg_stream_self(void);

/* The next thread that the scheduler of this stream would run, or NULL: for
 * yields and parks that go to it without a way over the scheduler. NULL also
 * where the scheduler is not one of ours, or has something else to do. */
struct amg_ult *amg_stream_next(struct amg_stream *stream);

/* Something is to be looked at by the scheduler, if it sleeps. */
void amg_stream_wake(struct amg_stream *stream);

/* The first pool of a running stream other than those that run `pool`; NULL:
 * there is none. */
struct amg_upool *amg_stream_other_pool(const struct amg_upool *pool);

/* The primary stream, for ABT_init() and ABT_finalize(); by the OS thread that
 * becomes it. Open makes the stream with its main scheduler and that one's
 * pool, and makes it the calling OS thread's; an ABT code. The loop runs the
 * main scheduler as long as there is one, also while none is to be run. Close
 * frees it when nothing runs there any more. */
int amg_stream_primary_open(struct amg_stream **ret_stream);
struct amg_upool *amg_stream_main_pool(struct amg_stream *stream);
void amg_stream_primary_loop(void *stream);
/* By the primary thread: joins and frees all streams but the primary one. */
void amg_stream_join_others(void);
void amg_stream_primary_close(struct amg_stream *stream);

#endif
