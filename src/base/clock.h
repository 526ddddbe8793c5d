/* SPDX-License-Identifier: BSD-3-Clause */
/* Clock and deadlines. */
#ifndef AMG_BASE_CLOCK_H
#define AMG_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define AMG_NS_PER_MS   1000000ull
#define AMG_NO_DEADLINE UINT64_MAX

/* Nanoseconds since a fixed moment; never decreases. */
uint64_t amg_clock_ns(void);

/* The time `timeout_ms` milliseconds from now. */
uint64_t amg_clock_deadline_ns(unsigned timeout_ms);

/* Sleeps for about `ns` nanoseconds. */
void amg_clock_sleep_ns(uint64_t ns);

/* MPI cannot tell a late rank from a dead rank, so a wait for ranks has no time
 * limit: the missing ranks are logged after AMALGAM_FINALIZE_TIMEOUT_MS, and
 * again each time the duration of the wait has doubled. Only AMALGAM_GIVE_UP_MS
 * ends the wait, for jobs that outlive a rank. */

/* Zeroed: the wait has not begun. Guarded by the struct that embeds it. */
struct amg_patience {
    uint64_t start_ns;      /* 0: the wait has not begun */
    uint64_t tell_after_ns; /* duration of the wait at the next log line */
};

enum amg_patience_verdict {
    AMG_PATIENCE_WAIT,
    AMG_PATIENCE_TELL, /* log the missing ranks, and continue to wait */
    AMG_PATIENCE_OVER, /* log the missing ranks, and continue without them */
};

/* The first check begins the wait. */
enum amg_patience_verdict amg_patience_look(struct amg_patience *patience);

#endif
