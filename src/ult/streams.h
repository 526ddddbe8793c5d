/* SPDX-License-Identifier: BSD-3-Clause */
/* All streams of the process, and their ranks. */
#ifndef AMG_ULT_STREAMS_H
#define AMG_ULT_STREAMS_H

#include <stdbool.h>

struct amg_stream;

/* With the rank, or the lowest that is free if that is negative. False: another
 * one has it. */
bool amg_streams_add(struct amg_stream *stream, int rank);
void amg_streams_remove(struct amg_stream *stream);

/* False: another one has it. */
bool amg_streams_rank_set(struct amg_stream *stream, int rank);
int amg_streams_rank(struct amg_stream *stream);

int amg_streams_count(void);

/* Calls a function for each, by rank, which must not make or free streams; true
 * ends it, and is returned. */
bool amg_streams_each(
    bool (*visit)(struct amg_stream *stream, void *arg), void *arg);

#endif
