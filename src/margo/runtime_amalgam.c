/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the library's own runtime for the loop: a push into a pool of
 * the loop's stream ends the loop's sleep. */
#include <time.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/mem.h"
#include "margo/config.h"
#include "margo/runtime.h"
#include "ult/park.h"
#include "ult/sched.h"
#include "ult/switch_to.h"

#define NS_PER_S 1000000000u

bool amg_margo_runtime_pool_kind(int kind, ABT_pool_kind *ret_kind)
{
    static const ABT_pool_kind kinds[] = {
        [AMG_MARGO_POOL_FIFO_WAIT] = ABT_POOL_FIFO_WAIT,
        [AMG_MARGO_POOL_FIFO] = ABT_POOL_FIFO,
        [AMG_MARGO_POOL_PRIO_WAIT] = AMALGAM_POOL_PRIO_WAIT,
        [AMG_MARGO_POOL_EARLIEST_FIRST] = AMALGAM_POOL_EARLIEST_FIRST,
        [AMG_MARGO_POOL_RANDWS] = ABT_POOL_RANDWS,
    };

    *ret_kind = kinds[kind];
    return true;
}

bool amg_margo_runtime_has_ready(void)
{
    return amg_block_has_ready();
}

void amg_margo_runtime_yield(void)
{
    amg_ult_yield(amg_ult_self());
}

bool amg_margo_runtime_take(ABT_thread thread)
{
    return amg_block_take(amg_ult_of(thread));
}

void amg_margo_runtime_give(ABT_thread thread)
{
    amg_ready_pool_push(amg_ult_pool(amg_ult_of(thread)), amg_ult_of(thread),
        ABT_POOL_CONTEXT_OP_POOL_OTHER);
}

bool amg_margo_runtime_must_migrate(void)
{
    return amg_block_must_migrate();
}

hg_return_t amg_margo_runtime_sleep(
    const struct amg_margo_sleep *sleep, unsigned timeout_ms)
{
    struct amg_block block = {.wake = sleep->wake, .arg = sleep->arg};
    hg_return_t rc = HG_SUCCESS;

    if (!amg_block_begin(&block))
        return sleep->sleep(sleep->arg, 0);
    rc = sleep->sleep(sleep->arg, timeout_ms);
    amg_block_end(&block);
    return rc;
}

bool amg_margo_runtime_ends_sleeps(void)
{
    return true;
}

void amg_margo_runtime_log_blocked(void)
{
    amg_ult_log_blocked();
}

void *amg_margo_runtime_self(void)
{
    return amg_ult_self();
}

void amg_margo_runtime_park(void *self, struct amg_bias *lock)
{
    amg_park_biased(self, lock);
}

void amg_margo_runtime_unpark(void *self)
{
    amg_ult_make_ready(self);
}

bool amg_margo_runtime_frees_eventuals(void)
{
    return true;
}

bool amg_margo_runtime_eventual_wait(
    ABT_eventual eventual, uint64_t deadline_ns)
{
    uint64_t now_ns = amg_clock_ns();
    uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    struct timespec moment;

    clock_gettime(CLOCK_REALTIME, &moment);
    /* Not beyond the range of a timespec. */
    if (left_ns > (uint64_t)INT64_MAX / 2)
        left_ns = (uint64_t)INT64_MAX / 2;
    left_ns += (uint64_t)moment.tv_nsec;
    moment.tv_sec += (time_t)(left_ns / NS_PER_S);
    moment.tv_nsec = (long)(left_ns % NS_PER_S);
    return ABT_eventual_timedwait(eventual, NULL, &moment) == ABT_SUCCESS;
}

struct amg_margo_tick {
    struct amg_timeout timeout;
    void (*fn)(void *arg);
    void *arg;
};

static void tick_expire(struct amg_timeout *timeout)
{
    struct amg_margo_tick *tick =
        amg_container_of(timeout, struct amg_margo_tick, timeout);

    tick->fn(tick->arg);
}

struct amg_margo_tick *amg_margo_runtime_tick_create(
    void (*fn)(void *arg), void *arg)
{
    struct amg_margo_tick *tick = amg_mem_zalloc(sizeof(*tick));

    if (tick == NULL)
        return NULL;
    tick->fn = fn;
    tick->arg = arg;
    return tick;
}

bool amg_margo_runtime_tick_set(
    struct amg_margo_tick *tick, uint64_t deadline_ns)
{
    return amg_timeout_set(&tick->timeout, deadline_ns, tick_expire);
}

void amg_margo_runtime_tick_destroy(struct amg_margo_tick *tick)
{
    if (tick != NULL)
        (void)amg_timeout_cancel(&tick->timeout);
    amg_mem_free(tick);
}
