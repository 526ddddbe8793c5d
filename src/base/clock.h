/* SPDX-License-Identifier: BSD-3-Clause */
/* Clock and deadlines. */
#ifndef AMG_BASE_CLOCK_H
#define AMG_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define AMG_NS_PER_MS   1000000ull
#define AMG_NO_DEADLINE UINT64_MAX

/* Nanoseconds since some fixed moment; never goes back. */
uint64_t amg_clock_ns(void);

/* The moment `timeout_ms` milliseconds from now. */
uint64_t amg_clock_deadline_ns(unsigned timeout_ms);

/* Gives the core away for about `ns` nanoseconds. */
void amg_clock_sleep_ns(uint64_t ns);

/* A rank that is late cannot be told from one that is dead by MPI, so a wait
 * has no end by itself: whom it waits for is logged after
 * AMALGAM_FINALIZE_TIMEOUT_MS, and again whenever the wait has lasted twice as
 * long. Only AMALGAM_GIVE_UP_MS ends it, for jobs that outlive a rank. */

/* Zeroed: the wait has not begun. Guarded by whoever embeds it. */
struct amg_patience {
    uint64_t start_ns; /* 0: not begun */
    uint64_t tell_ns;
};

enum amg_patience_verdict {
    AMG_PATIENCE_WAIT,
    AMG_PATIENCE_TELL, /* log who is missing, and wait on */
    AMG_PATIENCE_OVER, /* log who is missing, and go on without */
};

/* The first look begins the wait. */
enum amg_patience_verdict amg_patience_look(struct amg_patience *patience);

#endif
