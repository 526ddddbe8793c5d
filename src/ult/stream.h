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

#endif
