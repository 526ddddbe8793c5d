/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the tests of abt.h. */
#include "ult.h"

static struct {
    int count;
    ABT_pool pools[ULT_STREAMS_MAX];
    ABT_xstream streams[ULT_STREAMS_MAX];
} ult;

void ult_fail(const char *what, int code, const char *file, int line)
{
    char name[64] = "it is false";

    if (code >= 0 && ABT_error_get_str(code, name, NULL) != ABT_SUCCESS)
        snprintf(name, sizeof(name), "it returned %d", code);
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, name);
    exit(1);
}

void ult_begin(int count)
{
    CHECK(count >= 1 && count <= ULT_STREAMS_MAX);
    OK(ABT_init(0, NULL));
    ult.count = count;
    OK(ABT_xstream_self(&ult.streams[0]));
    OK(ABT_xstream_get_main_pools(ult.streams[0], 1, &ult.pools[0]));
    for (int i = 1; i < count; i++) {
        OK(ABT_pool_create_basic(
            ABT_POOL_FIFO_WAIT, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &ult.pools[i]));
        OK(ABT_xstream_create_basic(ABT_SCHED_BASIC_WAIT, 1, &ult.pools[i],
            ABT_SCHED_CONFIG_NULL, &ult.streams[i]));
    }
}

void ult_end(void)
{
    for (int i = 1; i < ult.count; i++) {
        OK(ABT_xstream_join(ult.streams[i]));
        OK(ABT_xstream_free(&ult.streams[i]));
    }
    OK(ABT_finalize());
}

ABT_pool ult_pool(int stream)
{
    return ult.pools[stream % ult.count];
}

int ult_streams(void)
{
    return ult.count;
}

ABT_thread ult_start(int stream, void (*function)(void *arg), void *arg)
{
    ABT_thread thread = ABT_THREAD_NULL;

    OK(ABT_thread_create(
        ult_pool(stream), function, arg, ABT_THREAD_ATTR_NULL, &thread));
    CHECK(thread != ABT_THREAD_NULL);
    return thread;
}

void ult_join(ABT_thread *thread)
{
    OK(ABT_thread_join(*thread));
    OK(ABT_thread_free(thread));
    CHECK(*thread == ABT_THREAD_NULL);
}

int ult_bearable(int count)
{
#if defined(__SANITIZE_THREAD__)
    return count > 1000 ? 1000 : count;
#elif defined(__SANITIZE_ADDRESS__)
    return count > 2000 ? 2000 : count;
#else
    return count;
#endif
}

uint64_t ult_cpu_ns(void)
{
    struct timespec used;

    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

struct timespec ult_moment(long ms)
{
    struct timespec when;
    int64_t ns = 0;

    CHECK(clock_gettime(CLOCK_REALTIME, &when) == 0);
    ns = (int64_t)when.tv_nsec + (int64_t)ms * 1000000;
    when.tv_sec += (time_t)(ns / 1000000000);
    when.tv_nsec = (long)(ns % 1000000000);
    return when;
}
