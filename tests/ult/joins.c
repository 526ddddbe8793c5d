/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins that cannot end are refused; a joined stream ends after the last of its
 * threads, even if that migrates or is resumed meanwhile; and an ended one may
 * be revived without a join. */
#include "ult.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { POOLS = 2, LOOKS = 20000, REVIVALS = 200, PAGES_PER_REVIVAL = 256 };

static ABT_thread primary;
static ABT_eventual eventual;
static atomic_bool is_moving;
static atomic_bool has_ended;

static void join_primary(void *arg)
{
    ABT_thread thread = primary;

    (void)arg;
    GIVES(ABT_ERR_INV_THREAD, ABT_thread_join(primary));
    GIVES(ABT_ERR_INV_THREAD, ABT_thread_free(&thread));
}

static void nothing(void *arg)
{
    (void)arg;
}

static void join_as_task(void *arg)
{
    const ABT_thread *thread = arg;

    GIVES(ABT_ERR_INV_THREAD, ABT_thread_join(*thread));
}

static void hopeless_joins_are_refused(void)
{
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_thread later = ABT_THREAD_NULL;
    ABT_task task = ABT_TASK_NULL;

    ult_begin(1);
    OK(ABT_thread_self(&primary));
    thread = ult_start(0, join_primary, NULL);
    ult_join(&thread);
    OK(ABT_task_create(ult_pool(0), join_as_task, &later, &task));
    later = ult_start(0, nothing, NULL);
    OK(ABT_task_free(&task));
    ult_join(&later);
    ult_end();
}

static void wait_here(void *arg)
{
    (void)arg;
    OK(ABT_eventual_wait(eventual, NULL));
    atomic_store(&has_ended, true);
}

/* Long enough for the stream to search for remaining threads. */
static void move_slowly(ABT_thread thread, void *arg)
{
    (void)thread;
    (void)arg;
    atomic_store(&is_moving, true);
    for (int i = 0; i < LOOKS; i++)
        sched_yield();
}

static void *set_it(void *arg)
{
    OK(ABT_eventual_set(eventual, NULL, 0));
    return arg;
}

static void joined_stream_keeps_who_moves(void)
{
    ABT_pool pools[POOLS];
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_thread_state state = ABT_THREAD_STATE_READY;
    pthread_t setter;

    OK(ABT_init(0, NULL));
    for (int i = 0; i < POOLS; i++)
        OK(ABT_pool_create_basic(
            ABT_POOL_FIFO_WAIT, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pools[i]));
    OK(ABT_xstream_create_basic(
        ABT_SCHED_BASIC_WAIT, POOLS, pools, ABT_SCHED_CONFIG_NULL, &stream));
    OK(ABT_eventual_create(0, &eventual));
    OK(ABT_thread_create(
        pools[0], wait_here, NULL, ABT_THREAD_ATTR_NULL, &thread));
    OK(ABT_thread_set_callback(thread, move_slowly, NULL));
    while (state != ABT_THREAD_STATE_BLOCKED)
        OK(ABT_thread_get_state(thread, &state));
    OK(ABT_thread_migrate_to_pool(thread, pools[1]));
    CHECK(pthread_create(&setter, NULL, set_it, NULL) == 0);
    while (!atomic_load(&is_moving))
        sched_yield();
    OK(ABT_xstream_join(stream));
    CHECK(atomic_load(&has_ended));
    CHECK(pthread_join(setter, NULL) == 0);
    OK(ABT_thread_free(&thread));
    OK(ABT_xstream_free(&stream));
    OK(ABT_eventual_free(&eventual));
    OK(ABT_finalize());
}

static long pages_reserved(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;

    CHECK(file != NULL && fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    return pages;
}

static void revive_unjoined(ABT_xstream stream)
{
    ABT_xstream_state state = ABT_XSTREAM_STATE_RUNNING;

    OK(ABT_xstream_cancel(stream));
    while (state != ABT_XSTREAM_STATE_TERMINATED) {
        OK(ABT_xstream_get_state(stream, &state));
        sched_yield();
    }
    OK(ABT_xstream_revive(stream));
}

/* An OS thread that is not joined keeps its stack. */
static void revival_costs_no_memory(void)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;
    long before = 0;

    OK(ABT_init(0, NULL));
    OK(ABT_xstream_create(ABT_SCHED_NULL, &stream));
    revive_unjoined(stream);
    before = pages_reserved();
    for (int i = 0; i < REVIVALS; i++)
        revive_unjoined(stream);
    CHECK(pages_reserved() - before < (long)REVIVALS * PAGES_PER_REVIVAL);
    OK(ABT_xstream_free(&stream));
    OK(ABT_finalize());
}

int main(void)
{
    hopeless_joins_are_refused();
    joined_stream_keeps_who_moves();
    revival_costs_no_memory();
    return 0;
}
