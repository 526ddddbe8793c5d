/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the tests of abt.h: checks that end the program, and some
 * streams. */
#ifndef TESTS_ULT_ULT_H
#define TESTS_ULT_ULT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "abt.h"

enum {
    ULT_SKIP = 77,
    ULT_STREAMS_MAX = 8, /* including the primary one */
};

/* Prints the error, and ends the program. */
void ult_fail(const char *what, int code, const char *file, int line);

/* The call must return `code`. */
#define GIVES(code, call)                                                      \
    do {                                                                       \
        const int got_ = (call);                                               \
        if (got_ != (code))                                                    \
            ult_fail(#call, got_, __FILE__, __LINE__);                         \
    } while (0)

#define OK(call) GIVES(ABT_SUCCESS, call)

#define CHECK(expr)                                                            \
    do {                                                                       \
        if (!(expr))                                                           \
            ult_fail(#expr, -1, __FILE__, __LINE__);                           \
    } while (0)

/* ABT_init(), and `count` streams in all, each with its own pool. */
void ult_begin(int count);
/* Joins the streams after their threads have ended; then ABT_finalize(). */
void ult_end(void);

/* The pool of a stream; taken modulo their count. */
ABT_pool ult_pool(int stream);
int ult_streams(void);

/* A named thread in that pool. */
ABT_thread ult_start(int stream, void (*function)(void *arg), void *arg);
/* Joins and frees it. */
void ult_join(ABT_thread *thread);

/* `count`, or less if a sanitizer cannot handle so many. */
int ult_bearable(int count);

/* CPU time of the process, in nanoseconds. */
uint64_t ult_cpu_ns(void);

/* The deadline in `ms` milliseconds, for ABT_cond_timedwait(). */
struct timespec ult_moment(long ms);

#endif
