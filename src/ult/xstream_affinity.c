/* SPDX-License-Identifier: BSD-3-Clause */
/* CPUs of an execution stream, to which its OS thread is bound. */
#include "ult/sched.h"

#include <errno.h>
#include <string.h>

#include "affinity/bind.h"
#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"

/* NOTE(why): the system call is made with the lock held, so that the thread
 * with that id cannot end meanwhile. */
static int xstream_bind(
    struct amg_xstream *xstream, const struct amg_cpuset *cpus)
{
    char asked[64];
    char given[64];
    int rank = 0;
    int rc = 0;

    amg_lock_lock(&xstream->lock);
    if (xstream->tid != 0)
        rc = amg_bind_thread(xstream->tid, cpus);
    if (rc == 0)
        xstream->cpus = *cpus; /* also for a revival */
    amg_lock_unlock(&xstream->lock);
    if (rc == 0)
        return ABT_SUCCESS;
    (void)ABT_xstream_get_rank(amg_xstream_handle(xstream), &rank);
    AMG_LOG_ERROR("ult",
        "stream %d cannot be bound to cpus %s: %s; the process may use cpus %s",
        rank, amg_cpuset_format(cpus, asked, sizeof(asked)), strerror(rc),
        amg_cpuset_format(amg_bind_process(), given, sizeof(given)));
    return rc == ENOSYS ? ABT_ERR_FEATURE_NA : ABT_ERR_CPUID;
}

/* Has the user switched off the binding of xstreams? */
static bool affinity_is_off(void)
{
    const char *value = amg_env_text(AMG_ENV_ULT_AFFINITY);

    return value != NULL &&
           (strcmp(value, "0") == 0 || value[0] == 'n' || value[0] == 'N');
}

int ABT_xstream_set_affinity(ABT_xstream xstream, int num_cpuids, int *cpuids)
{
    struct amg_cpuset cpus = {{0}};

    if (xstream == ABT_XSTREAM_NULL)
        return ABT_ERR_INV_XSTREAM;
    if (num_cpuids < 0 || (cpuids == NULL && num_cpuids > 0))
        return ABT_ERR_INV_ARG;
    if (affinity_is_off())
        return ABT_ERR_FEATURE_NA;
    for (int i = 0; i < num_cpuids; i++)
        /* Any number is valid, as in Argobots; the system ignores CPUs that do
         * not exist. */
        amg_cpuset_add(&cpus,
            (unsigned)(cpuids[i] % AMG_CPUS_MAX + AMG_CPUS_MAX) % AMG_CPUS_MAX);
    if (num_cpuids == 0)
        cpus = *amg_bind_process();
    if (amg_cpuset_count(&cpus) == 0)
        return ABT_ERR_FEATURE_NA;
    return xstream_bind(amg_xstream_of(xstream), &cpus);
}

int ABT_xstream_set_cpubind(ABT_xstream xstream, int cpuid)
{
    return ABT_xstream_set_affinity(xstream, 1, &cpuid);
}

/* False: the CPUs are not known. */
static bool xstream_cpus(
    struct amg_xstream *xstream, struct amg_cpuset *ret_cpus)
{
    bool is_known = true;

    amg_lock_lock(&xstream->lock);
    if (xstream->tid != 0)
        is_known = amg_bind_thread_get(xstream->tid, ret_cpus) == 0;
    else if (amg_cpuset_count(&xstream->cpus) > 0)
        *ret_cpus = xstream->cpus;
    else
        *ret_cpus = *amg_bind_process();
    amg_lock_unlock(&xstream->lock);
    return is_known && amg_cpuset_count(ret_cpus) > 0;
}

int ABT_xstream_get_affinity(
    ABT_xstream xstream, int max_cpuids, int *cpuids, int *num_cpuids)
{
    struct amg_cpuset cpus = {{0}};
    int count = 0;

    if (xstream == ABT_XSTREAM_NULL)
        return ABT_ERR_INV_XSTREAM;
    if (max_cpuids < 0 || (cpuids == NULL && max_cpuids > 0))
        return ABT_ERR_INV_ARG;
    if (affinity_is_off())
        return ABT_ERR_FEATURE_NA;
    if (!xstream_cpus(amg_xstream_of(xstream), &cpus))
        return ABT_ERR_FEATURE_NA;
    for (int cpu = 0; cpu < AMG_CPUS_MAX; cpu++) {
        if (!amg_cpuset_has(&cpus, (unsigned)cpu))
            continue;
        if (count < max_cpuids)
            cpuids[count] = cpu;
        count++;
    }
    if (num_cpuids != NULL)
        *num_cpuids = count;
    return ABT_SUCCESS;
}

int ABT_xstream_get_cpubind(ABT_xstream xstream, int *cpuid)
{
    return ABT_xstream_get_affinity(xstream, 1, cpuid, NULL);
}
