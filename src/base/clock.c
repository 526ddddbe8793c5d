/* SPDX-License-Identifier: BSD-3-Clause */
/* Clock and deadlines. */
#include "base/clock.h"

#include <time.h>

#include "base/env.h"

#define NS_PER_S 1000000000ull

uint64_t amg_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t amg_clock_deadline_ns(unsigned timeout_ms)
{
    return amg_clock_ns() + (uint64_t)timeout_ms * AMG_NS_PER_MS;
}

void amg_clock_sleep_ns(uint64_t ns)
{
    struct timespec nap;

    nap.tv_sec = (time_t)(ns / NS_PER_S);
    nap.tv_nsec = (long)(ns % NS_PER_S);
    nanosleep(&nap, NULL);
}

enum { PERIOD_MS_MIN = 100 }; /* least time between two log lines */

enum amg_patience_verdict amg_patience_look(struct amg_patience *patience)
{
    uint64_t give_up_ms = amg_env_number(AMG_ENV_GIVE_UP);
    uint64_t now_ns = amg_clock_ns();
    uint64_t waited_ns = 0;

    if (patience->start_ns == 0) {
        patience->start_ns = now_ns;
        patience->tell_after_ns =
            amg_env_number(AMG_ENV_FINALIZE_TIMEOUT) * AMG_NS_PER_MS;
    }
    waited_ns = now_ns - patience->start_ns;
    if (give_up_ms > 0 && waited_ns >= give_up_ms * AMG_NS_PER_MS)
        return AMG_PATIENCE_OVER;
    if (waited_ns < patience->tell_after_ns)
        return AMG_PATIENCE_WAIT;
    patience->tell_after_ns = 2 * waited_ns;
    if (waited_ns < PERIOD_MS_MIN * AMG_NS_PER_MS)
        patience->tell_after_ns = waited_ns + PERIOD_MS_MIN * AMG_NS_PER_MS;
    return AMG_PATIENCE_TELL;
}
