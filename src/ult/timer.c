/* SPDX-License-Identifier: BSD-3-Clause */
/* Timers, which measure seconds. */
#include <stddef.h>

#include "abt.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ult/ult.h"

/* A timer, behind ABT_timer; owned by its creator, and used by one thread at a
 * time. */
struct ABT_timer_opaque {
    double start_s;
    double stop_s;
};

enum { OVERHEAD_ROUNDS = 1000 };

double ABT_get_wtime(void)
{
    return (double)amg_clock_ns() * 1e-9;
}

int ABT_timer_create(ABT_timer *newtimer)
{
    if (!AMG_GIVEN(newtimer))
        return ABT_ERR_INV_ARG;
    return amg_handle_create(newtimer, sizeof(struct ABT_timer_opaque));
}

int ABT_timer_dup(ABT_timer timer, ABT_timer *newtimer)
{
    int rc = ABT_ERR_INV_TIMER;

    amg_handle_clear(newtimer);
    if (!AMG_GIVEN(timer))
        return rc;
    rc = ABT_timer_create(newtimer);
    if (rc == ABT_SUCCESS)
        **newtimer = *timer;
    return rc;
}

int ABT_timer_free(ABT_timer *timer)
{
    if (!AMG_GIVEN(timer))
        return ABT_ERR_INV_ARG;
    if (!AMG_CONTRACT(*timer != ABT_TIMER_NULL, "*timer is NULL"))
        return ABT_ERR_INV_TIMER;
    return amg_handle_free(timer, ABT_ERR_INV_TIMER);
}

int ABT_timer_start(ABT_timer timer)
{
    if (!AMG_GIVEN(timer))
        return ABT_ERR_INV_TIMER;
    timer->start_s = ABT_get_wtime();
    return ABT_SUCCESS;
}

int ABT_timer_stop(ABT_timer timer)
{
    if (!AMG_GIVEN(timer))
        return ABT_ERR_INV_TIMER;
    timer->stop_s = ABT_get_wtime();
    return ABT_SUCCESS;
}

int ABT_timer_read(ABT_timer timer, double *secs)
{
    if (!AMG_GIVEN(timer))
        return ABT_ERR_INV_TIMER;
    if (!AMG_GIVEN(secs))
        return ABT_ERR_INV_ARG;
    *secs = timer->stop_s - timer->start_s;
    return ABT_SUCCESS;
}

int ABT_timer_stop_and_read(ABT_timer timer, double *secs)
{
    if (!AMG_GIVEN(secs))
        return ABT_ERR_INV_ARG;
    return ABT_timer_stop(timer) == ABT_SUCCESS ? ABT_timer_read(timer, secs)
                                                : ABT_ERR_INV_TIMER;
}

int ABT_timer_stop_and_add(ABT_timer timer, double *secs)
{
    double more = 0;
    int rc = ABT_SUCCESS;

    if (!AMG_GIVEN(secs))
        return ABT_ERR_INV_ARG;
    rc = ABT_timer_stop_and_read(timer, &more);
    if (rc == ABT_SUCCESS)
        *secs += more;
    return rc;
}

int ABT_timer_get_overhead(double *overhead)
{
    struct ABT_timer_opaque timer = {0, 0};
    ABT_timer handle = &timer;
    double sum_s = 0;

    if (!AMG_GIVEN(overhead))
        return ABT_ERR_INV_ARG;
    for (int i = 0; i < OVERHEAD_ROUNDS; i++) {
        (void)ABT_timer_start(handle);
        (void)ABT_timer_stop_and_add(handle, &sum_s);
    }
    *overhead = sum_s / OVERHEAD_ROUNDS;
    return ABT_SUCCESS;
}
