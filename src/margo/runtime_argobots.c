/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of Argobots for the loop: no push can wake the loop, so its sleeps
 * are short where other threads share its stream. */
#include "base/clock.h"
#include "base/lock.h"
#include "margo/config.h"
#include "margo/runtime.h"

/* Longest sleep beside other threads, which may become ready at any time: 1 ms
 * is short, and 1000 wake-ups a second cost 1 % of a core. */
enum { SHARED_SLEEP_MS = 1 };

/* Sum of the sizes of the first 8 pools of the caller's stream. */
static size_t others(int (*size_of)(ABT_pool pool, size_t *size))
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_sched sched = ABT_SCHED_NULL;
    ABT_pool pools[8];
    size_t total = 0;
    int count = 0;

    if (ABT_xstream_self(&self) != ABT_SUCCESS ||
        ABT_xstream_get_main_sched(self, &sched) != ABT_SUCCESS ||
        ABT_sched_get_num_pools(sched, &count) != ABT_SUCCESS)
        return 0;
    if (count > (int)(sizeof(pools) / sizeof(pools[0])))
        count = (int)(sizeof(pools) / sizeof(pools[0]));
    if (ABT_sched_get_pools(sched, count, 0, pools) != ABT_SUCCESS)
        return 0;
    for (int i = 0; i < count; i++) {
        size_t size = 0;

        if (size_of(pools[i], &size) == ABT_SUCCESS)
            total += size;
    }
    return total;
}

/* False for the two kinds of pools with priorities, which Argobots lacks. */
bool amg_margo_runtime_pool_kind(int kind, ABT_pool_kind *ret_kind)
{
    *ret_kind = ABT_POOL_FIFO_WAIT;
    if (kind == AMG_MARGO_POOL_FIFO)
        *ret_kind = ABT_POOL_FIFO;
    if (kind == AMG_MARGO_POOL_RANDWS)
        *ret_kind = ABT_POOL_RANDWS;
    return kind != AMG_MARGO_POOL_PRIO_WAIT &&
           kind != AMG_MARGO_POOL_EARLIEST_FIRST;
}

bool amg_margo_runtime_has_ready(void)
{
    return others(ABT_pool_get_size) > 0;
}

void amg_margo_runtime_yield(void)
{
    (void)ABT_thread_yield();
}

bool amg_margo_runtime_take(ABT_thread thread)
{
    (void)thread;
    return false;
}

void amg_margo_runtime_give(ABT_thread thread)
{
    (void)thread;
}

bool amg_margo_runtime_must_migrate(void)
{
    return false;
}

hg_return_t amg_margo_runtime_sleep(
    const struct amg_margo_sleep *sleep, unsigned timeout_ms)
{
    /* Above 1, since total sizes count the running caller, too. */
    if (timeout_ms > SHARED_SLEEP_MS && others(ABT_pool_get_total_size) > 1)
        timeout_ms = SHARED_SLEEP_MS;
    return sleep->sleep(sleep->arg, timeout_ms);
}

bool amg_margo_runtime_ends_sleeps(void)
{
    return false;
}

void amg_margo_runtime_log_blocked(void)
{
    /* Argobots lists no threads that are in no pool. */
}

void *amg_margo_runtime_self(void)
{
    return NULL;
}

void amg_margo_runtime_park(void *self, struct amg_bias *lock)
{
    (void)self;
    (void)lock;
}

void amg_margo_runtime_unpark(void *self)
{
    (void)self;
}

bool amg_margo_runtime_frees_eventuals(void)
{
    return false;
}

/* Tests repeatedly: some versions of Argobots lack ABT_eventual_timedwait(). */
bool amg_margo_runtime_eventual_wait(
    ABT_eventual eventual, uint64_t deadline_ns)
{
    ABT_bool is_set = ABT_FALSE;
    unsigned tries = 0;

    while (ABT_eventual_test(eventual, NULL, &is_set) == ABT_SUCCESS &&
           is_set == ABT_FALSE && amg_clock_ns() < deadline_ns)
        if (ABT_self_yield() != ABT_SUCCESS)
            amg_back_off(tries++);
    return is_set == ABT_TRUE;
}

struct amg_margo_tick *amg_margo_runtime_tick_create(
    void (*fn)(void *arg), void *arg)
{
    (void)fn;
    (void)arg;
    return NULL;
}

bool amg_margo_runtime_tick_set(
    struct amg_margo_tick *tick, uint64_t deadline_ns)
{
    (void)tick;
    (void)deadline_ns;
    return false;
}

void amg_margo_runtime_tick_destroy(struct amg_margo_tick *tick)
{
    (void)tick;
}
