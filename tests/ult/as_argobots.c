/* SPDX-License-Identifier: BSD-3-Clause */
/* Properties that programs and test suites for Argobots 1.2 rely on: handles
 * after errors, codes before ABT_init(), CPU sets, popped threads, the primary
 * thread's attributes, and names. */
#include <string.h>

#include "ult.h"

static ABT_thread popped;
static int ran;

static void before_init(void)
{
    ABT_xstream stream = (ABT_xstream)(void *)&ran;
    ABT_thread thread = (ABT_thread)(void *)&ran;
    ABT_unit_type type = ABT_UNIT_TYPE_THREAD;
    ABT_unit_id id = 0;
    int rank = 0;

    GIVES(ABT_ERR_UNINITIALIZED, ABT_xstream_self(&stream));
    CHECK(stream == ABT_XSTREAM_NULL);
    GIVES(ABT_ERR_UNINITIALIZED, ABT_xstream_self_rank(&rank));
    GIVES(ABT_ERR_UNINITIALIZED, ABT_thread_self(&thread));
    CHECK(thread == ABT_THREAD_NULL);
    thread = (ABT_thread)(void *)&ran;
    GIVES(ABT_ERR_UNINITIALIZED, ABT_self_get_task(&thread));
    CHECK(thread == ABT_THREAD_NULL);
    GIVES(ABT_ERR_UNINITIALIZED, ABT_self_get_task_id(&id));
    GIVES(ABT_ERR_UNINITIALIZED, ABT_self_yield());
    GIVES(ABT_ERR_UNINITIALIZED, ABT_self_get_type(&type));
    CHECK(type == ABT_UNIT_TYPE_EXT);
    stream = (ABT_xstream)(void *)&ran;
    GIVES(ABT_ERR_UNINITIALIZED, ABT_xstream_create(ABT_SCHED_NULL, &stream));
    CHECK(stream == ABT_XSTREAM_NULL);
    OK(ABT_thread_yield());
}

static void run(void *arg)
{
    (void)arg;
    ran++;
}

static void handles_after_errors(void)
{
    ABT_thread thread = (ABT_thread)(void *)&ran;
    ABT_task task = (ABT_task)(void *)&ran;
    ABT_pool pool = (ABT_pool)(void *)&ran;
    ABT_sched sched = (ABT_sched)(void *)&ran;
    ABT_barrier barrier = (ABT_barrier)(void *)&ran;
    ABT_xstream stream = (ABT_xstream)(void *)&ran;

    GIVES(ABT_ERR_INV_POOL, ABT_thread_create(ABT_POOL_NULL, run, NULL,
                                ABT_THREAD_ATTR_NULL, &thread));
    CHECK(thread == ABT_THREAD_NULL);
    GIVES(ABT_ERR_INV_POOL, ABT_task_create(ABT_POOL_NULL, run, NULL, &task));
    CHECK(task == ABT_TASK_NULL);
    GIVES(ABT_ERR_INV_POOL_KIND, ABT_pool_create_basic((ABT_pool_kind)99,
                                     ABT_POOL_ACCESS_MPMC, ABT_FALSE, &pool));
    CHECK(pool == ABT_POOL_NULL);
    GIVES(
        ABT_ERR_INV_SCHED_PREDEF, ABT_sched_create_basic((ABT_sched_predef)99,
                                      0, NULL, ABT_SCHED_CONFIG_NULL, &sched));
    CHECK(sched == ABT_SCHED_NULL);
    GIVES(ABT_ERR_INV_XSTREAM_RANK,
        ABT_xstream_create_with_rank(ABT_SCHED_NULL, 0, &stream));
    CHECK(stream == ABT_XSTREAM_NULL);
    GIVES(ABT_ERR_INV_ARG, ABT_barrier_create(0, &barrier));
    CHECK(barrier == ABT_BARRIER_NULL);
}

static void cpu_sets(void)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;
    int all[1024];
    int cpu = -1;
    int count = 0;
    int few = 0;

    OK(ABT_xstream_create(ABT_SCHED_NULL, &stream));
    for (int i = 0; i < 1024; i++)
        all[i] = i;
    OK(ABT_xstream_get_affinity(stream, 1, &cpu, &count));
    OK(ABT_xstream_set_affinity(stream, 1024, all));
    OK(ABT_xstream_get_affinity(stream, 0, NULL, &few));
    CHECK(few >= count);
    OK(ABT_xstream_set_cpubind(stream, cpu + 1024));
    OK(ABT_xstream_get_affinity(stream, 0, NULL, &few));
    CHECK(few == 1);
    CHECK(setenv("ABT_SET_AFFINITY", "0", 1) == 0);
    GIVES(ABT_ERR_FEATURE_NA, ABT_xstream_set_affinity(stream, 1, &cpu));
    GIVES(ABT_ERR_FEATURE_NA, ABT_xstream_get_cpubind(stream, &cpu));
    CHECK(unsetenv("ABT_SET_AFFINITY") == 0);
    OK(ABT_xstream_free(&stream));
}

static void exit_to_popped(void *arg)
{
    (void)arg;
    OK(ABT_self_exit_to(popped));
    CHECK(false);
}

static void pop(ABT_pool pool)
{
    OK(ABT_thread_create(pool, run, NULL, ABT_THREAD_ATTR_NULL, &popped));
    OK(ABT_pool_pop_thread(pool, &popped));
    CHECK(popped != ABT_THREAD_NULL);
}

static void popped_threads(void)
{
    ABT_pool pool = ABT_POOL_NULL;
    ABT_thread thread = ABT_THREAD_NULL;

    OK(ABT_pool_create_basic(
        ABT_POOL_FIFO, ABT_POOL_ACCESS_MPMC, ABT_FALSE, &pool));
    ran = 0;
    pop(pool);
    OK(ABT_self_yield_to(popped));
    OK(ABT_thread_free(&popped));
    CHECK(ran == 1);
    pop(pool);
    thread = ult_start(0, exit_to_popped, NULL);
    ult_join(&thread);
    OK(ABT_thread_free(&popped));
    CHECK(ran == 2);
    OK(ABT_pool_free(&pool));
}

static void primary_attributes(void)
{
    ABT_thread self = ABT_THREAD_NULL;
    ABT_thread_attr attr = ABT_THREAD_ATTR_NULL;
    void *stack = &self;
    size_t len = 1;

    OK(ABT_thread_self(&self));
    OK(ABT_thread_get_stacksize(self, &len));
    CHECK(len == 0);
    OK(ABT_thread_get_attr(self, &attr));
    len = 1;
    OK(ABT_thread_attr_get_stacksize(attr, &len));
    CHECK(len == 0);
    OK(ABT_thread_attr_free(&attr));
    OK(ABT_thread_get_stack(self, &stack, &len));
    CHECK(stack == NULL && len == 0);
}

/* Its local variables lie within. */
static void stack_look(void *arg)
{
    ABT_thread self = ABT_THREAD_NULL;
    void *stack = NULL;
    size_t len = 0;

    (void)arg;
    OK(ABT_thread_self(&self));
    OK(ABT_thread_get_stack(self, &stack, &len));
    CHECK((char *)&self > (char *)stack && (char *)&self < (char *)stack + len);
}

static void newer_names(void)
{
    const struct timespec soon = ult_moment(10);
    const struct timespec late = ult_moment(60000);
    ABT_eventual eventual = ABT_EVENTUAL_NULL;
    ABT_thread thread = ult_start(0, stack_look, NULL);
    ABT_sched_state unused = ABT_SCHED_STATE_READY;
    ABT_tool_task_callback_fn none = NULL;
    void *value = NULL;
    int four = 4;

    ult_join(&thread);
    CHECK(
        ABT_NUMVERSION == ABT_CALC_VERSION(1, 2, 0, ABT_RELEASE_TYPE_PATCH, 0));
    CHECK(ABT_XSTREAM_ANY_RANK == -1 && none == ABT_NULL);
    CHECK(unused != ABT_SCHED_STATE_TERMINATED);
    CHECK(ABT_SYNC_EVENT_TYPE_XSTREAM_JOIN != ABT_SYNC_EVENT_TYPE_UNKNOWN);
    OK(ABT_eventual_create(sizeof(four), &eventual));
    GIVES(
        ABT_ERR_COND_TIMEDOUT, ABT_eventual_timedwait(eventual, &value, &soon));
    CHECK(value == NULL);
    OK(ABT_eventual_set(eventual, &four, sizeof(four)));
    OK(ABT_eventual_timedwait(eventual, &value, &late));
    CHECK(*(int *)value == 4);
    OK(ABT_eventual_free(&eventual));
}

/* The stack of a thread by both ways, and queries of a part. */
static void stacks_are_told(void)
{
    ABT_thread thread = ult_start(0, run, NULL);
    ABT_thread_attr attr = ABT_THREAD_ATTR_NULL;
    void *base[3] = {NULL, NULL, NULL};
    size_t len[3] = {0, 0, 0};

    OK(ABT_thread_get_stack(thread, &base[0], &len[0]));
    OK(ABT_thread_get_stack(thread, &base[1], NULL));
    OK(ABT_thread_get_stack(thread, NULL, &len[1]));
    OK(ABT_thread_get_attr(thread, &attr));
    OK(ABT_thread_attr_get_stack(attr, &base[2], &len[2]));
    OK(ABT_thread_attr_free(&attr));
    for (int i = 1; i < 3; i++)
        CHECK(base[i] == base[0] && len[i] == len[0]);
    CHECK(base[0] != NULL && len[0] > 0);
    ult_join(&thread);
}

/* No thread, and no crash, where a stack would pass the end of memory. */
static void stack_too_long(void)
{
    ABT_thread_attr attr = ABT_THREAD_ATTR_NULL;
    ABT_thread thread = ABT_THREAD_NULL;

    OK(ABT_thread_attr_create(&attr));
    OK(ABT_thread_attr_set_stacksize(attr, (size_t)-1));
    GIVES(
        ABT_ERR_MEM, ABT_thread_create(ult_pool(0), run, NULL, attr, &thread));
    OK(ABT_thread_attr_free(&attr));
}

int main(void)
{
    before_init();
    ult_begin(1);
    stacks_are_told();
    stack_too_long();
    handles_after_errors();
    cpu_sets();
    popped_threads();
    primary_attributes();
    newer_names();
    ult_end();
    return 0;
}
