/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of abt.h share: checks that end the program, and some streams.
 */
#ifndef TESTS_ULT_ULT_H
#define TESTS_ULT_ULT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "abt.h"

enum {
    ULT_SKIP = 77,
    ULT_STREAMS_MAX = 8, /* with the primary one */
};

/* Says what is wrong, and ends the program. */
void ult_fail(const char *what, int code, const char *file, int line);

/* The call has to return `code`. */
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

/* ABT_init(), and `count` streams in all, each with a pool of its own. */
void ult_begin(int count);
/* Ends the streams, when their threads have ended; and ABT_finalize(). */
void ult_end(void);

/* The pool of a stream; modulo their count, so any number will do. */
ABT_pool ult_pool(int stream);
int ult_streams(void);

/* A thread of its own name in that pool. */
ABT_thread ult_start(int stream, void (*function)(void *arg), void *arg);
/* Waits for it, and frees it. */
void ult_join(ABT_thread *thread);

/* `count`, or less where the tool that looks on cannot bear so many. */
int ult_bearable(int count);

/* Nanoseconds of CPU that the process has used. */
uint64_t ult_cpu_ns(void);

/* The moment `ms` milliseconds from now, for ABT_cond_timedwait(). */
struct timespec ult_moment(long ms);

#endif
