/* SPDX-License-Identifier: BSD-3-Clause */
/* Timeouts, which call a function at a given time, in one thread that the first
 * timeout starts. */
#ifndef AMG_ULT_TIMEOUT_H
#define AMG_ULT_TIMEOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/heap.h"

/* Lives from set until cancel has returned, usually on the stack of the caller.
 * Only timeout.c accesses the fields, and writes them under its lock. */
struct amg_timeout {
    struct amg_heap_node node; /* by its moment */
    void (*expire)(struct amg_timeout *timeout);
    bool is_set; /* in the heap */
};

/* expire(timeout) is called by that thread when the moment of amg_clock_ns()
 * has come, with no lock of this file held; it may take locks and unpark, and
 * must not block. False: there is no thread and none could be started; nothing
 * was set. */
bool amg_timeout_set(struct amg_timeout *timeout, uint64_t deadline_ns,
    void (*expire)(struct amg_timeout *timeout));

/* Once for each set, by a caller that holds none of the locks expire() takes.
 * True: it has not expired, and will not. False: expire() was called, and has
 * returned. */
bool amg_timeout_cancel(struct amg_timeout *timeout);

/* When the next one expires: the moment of amg_clock_ns(), 0 while one does, or
 * AMG_NO_DEADLINE when none is set. */
uint64_t amg_timeout_next_ns(void);

/* Ends the thread; by ABT_finalize(), when none is set. It starts again with
 * the next set. */
void amg_timeout_fini(void);

#endif
