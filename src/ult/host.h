/* SPDX-License-Identifier: BSD-3-Clause */
/* What an OS thread that is a stream knows of the threads it carries. */
#ifndef AMG_ULT_HOST_H
#define AMG_ULT_HOST_H

#include "ult/overflow.h"
#include "ult/stack.h"
#include "ult/ult.h"

/* One per stream; only its OS thread comes near. */
struct amg_host {
    struct amg_ult *current;
    struct amg_ult *left;   /* who has just left its stack */
    struct amg_ult *handed; /* the scheduler runs it first, see leave.c */
    struct amg_stream *stream;
    /* Of who runs, at an address that does not change while this OS thread
     * lives; NULL: no C++ runtime was loaded before the library. */
    struct amg_caught *caught;
    struct amg_stack_cache stacks;
    struct amg_ult *scheduler; /* of a primary stream: its loop; else NULL */
    struct amg_overflow overflow;
    /* main() is ready, and was popped by another stream. */
    atomic_bool is_own_ready;
    struct amg_ult own; /* who has the OS thread's stack: main(), else the
                         * scheduler */
};

/* The calling OS thread's; NULL: it is no stream. Never inlined, nor its result
 * kept over a call that switches: the OS thread may be another one then. */
struct amg_host *amg_host_self(void);

/* Makes the calling OS thread one. NULL: no memory, said in the log. */
struct amg_host *amg_host_open(struct amg_stream *stream);
void amg_host_close(struct amg_host *host);

#endif
