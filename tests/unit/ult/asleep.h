/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait of a test until a stream sleeps for lack of work. */
#ifndef TESTS_UNIT_ULT_ASLEEP_H
#define TESTS_UNIT_ULT_ASLEEP_H

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>

#include "abt.h"
#include "ult/sched.h"

/* Does the kernel report the OS thread as sleeping? */
static inline bool thread_is_asleep(int tid)
{
    char path[64];
    char state = '?';
    FILE *file = NULL;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    file = fopen(path, "r");
    if (file == NULL)
        return false;
    if (fscanf(file, "%*d %*s %c", &state) != 1)
        state = '?';
    fclose(file);
    return state == 'S';
}

/* The stream announced it, and has looked for work since. */
static inline bool stream_is_asleep(ABT_xstream xstream)
{
    struct amg_xstream *stream = amg_xstream_of(xstream);

    return atomic_load(&stream->sleeper.word) == AMG_SLEEPER_ASLEEP &&
           thread_is_asleep(stream->tid);
}

static inline void wait_until_asleep(ABT_xstream xstream)
{
    while (!stream_is_asleep(xstream))
        sched_yield();
}

/* The stream sleeps although a thread joins it. */
static inline void wait_until_joined_asleep(ABT_xstream xstream)
{
    while ((atomic_load(&amg_xstream_of(xstream)->asked) &
               AMG_XSTREAM_TO_JOIN) == 0)
        sched_yield();
    wait_until_asleep(xstream);
}

#endif
