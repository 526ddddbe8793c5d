/* SPDX-License-Identifier: BSD-3-Clause */
/* A user-level thread that has used up its stack is named before the process
 * ends. */
#ifndef AMG_ULT_OVERFLOW_H
#define AMG_ULT_OVERFLOW_H

#include <stdbool.h>

/* A stream's; only its OS thread comes near. */
struct amg_overflow {
    void *stack; /* for the signal; NULL: the OS thread had one of its own */
};

/* Begins to listen; when nothing runs. Close gives back what was before. */
void amg_overflow_open(void);
void amg_overflow_close(void);

/* By the OS thread of a stream. False: no memory, said in the log. */
bool amg_overflow_stream_begin(struct amg_overflow *overflow);
void amg_overflow_stream_end(struct amg_overflow *overflow);

#endif
