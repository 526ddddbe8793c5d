/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays at the test points of the library.
 *
 * Debug and sanitizer builds have points where a thread has looked and not yet
 * acted. A thread that stops there for some microseconds makes schedules common
 * that a fast machine sees once in a million. */
#include "points.h"

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "content.h"

enum { YIELDS_OF = 4, SLEEPS_OF = 32, SLEEP_NS = 200000 };

/* In a build that has test points. */
void amg_test_point_set(void (*hook)(const char *name)) __attribute__((weak));

static _Thread_local uint64_t reached;

static void delay(const char *name)
{
    uint64_t hash = content_mix(
        (uint64_t)(uintptr_t)name ^ (uintptr_t)&reached ^ ++reached);
    struct timespec moment = {0, 0};

    if (hash % SLEEPS_OF == 0) {
        moment.tv_nsec = (long)(hash >> 8) % SLEEP_NS;
        (void)nanosleep(&moment, NULL);
    } else if (hash % YIELDS_OF == 0) {
        (void)sched_yield();
    }
}

void points_start(void)
{
    if (amg_test_point_set != NULL)
        amg_test_point_set(delay);
}
