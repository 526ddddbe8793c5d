/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of the system. */
#include "mercury_thread.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"

/* Says which call failed and why; 0 is success. */
static int result_of(int err, const char *what)
{
    if (err == 0)
        return HG_UTIL_SUCCESS;
    AMG_LOG_ERROR("hg_util", "%s: %s", what, strerror(err));
    return HG_UTIL_FAIL;
}

void hg_thread_init(hg_thread_t *thread)
{
    if (thread != NULL)
        memset(thread, 0, sizeof(*thread));
}

int hg_thread_create(hg_thread_t *thread, hg_thread_func_t f, void *data)
{
    if (!AMG_CONTRACT(thread != NULL) || !AMG_CONTRACT(f != NULL))
        return HG_UTIL_FAIL;
    return result_of(pthread_create(thread, NULL, f, data),
        "no thread was started; look at 'ulimit -u' and the job's memory");
}

void hg_thread_exit(hg_thread_ret_t ret)
{
    pthread_exit(ret);
}

int hg_thread_join(hg_thread_t thread)
{
    return result_of(pthread_join(thread, NULL), "a thread was not joined");
}

int hg_thread_cancel(hg_thread_t thread)
{
    return result_of(pthread_cancel(thread), "a thread was not cancelled");
}

int hg_thread_yield(void)
{
    return sched_yield() == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

int hg_thread_key_create(hg_thread_key_t *key)
{
    if (!AMG_CONTRACT(key != NULL))
        return HG_UTIL_FAIL;
    return result_of(
        pthread_key_create(key, NULL), "no key of thread data was made");
}

int hg_thread_key_delete(hg_thread_key_t key)
{
    return result_of(
        pthread_key_delete(key), "a key of thread data was not deleted");
}

int hg_thread_getaffinity(hg_thread_t thread, hg_cpu_set_t *cpu_mask)
{
    if (!AMG_CONTRACT(cpu_mask != NULL))
        return HG_UTIL_FAIL;
    return result_of(
        pthread_getaffinity_np(thread, sizeof(*cpu_mask), cpu_mask),
        "the cores of a thread are not known");
}

int hg_thread_setaffinity(hg_thread_t thread, const hg_cpu_set_t *cpu_mask)
{
    if (!AMG_CONTRACT(cpu_mask != NULL))
        return HG_UTIL_FAIL;
    return result_of(
        pthread_setaffinity_np(thread, sizeof(*cpu_mask), cpu_mask),
        "a thread stays on the cores it had; are those asked for among the "
        "process's (taskset -p)?");
}
