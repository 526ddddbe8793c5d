/* SPDX-License-Identifier: BSD-3-Clause */
/* Monotonic time in nanoseconds. */
#ifndef AMG_BASE_CLOCK_H
#define AMG_BASE_CLOCK_H

#include <stdint.h>

#define AMG_NS_PER_MS   1000000ull
#define AMG_NO_DEADLINE UINT64_MAX

/* Nanoseconds since some fixed moment; never goes back. */
uint64_t amg_clock_ns(void);

/* The moment `timeout_ms` milliseconds from now. */
uint64_t amg_clock_deadline_ns(unsigned timeout_ms);

/* Gives the core away for about `ns` nanoseconds. */
void amg_clock_sleep_ns(uint64_t ns);

#endif
