/* SPDX-License-Identifier: BSD-3-Clause */
/* On which cores streams run: the functions of abt_xstream.h that say so. */
#include <errno.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "place/bind.h"
#include "ult/handle.h"
#include "ult/stream.h"
#include "ult/streams.h"

/* NOTE(why): the system is asked with the lock held, so that the thread which
 * the number names cannot have ended meanwhile. */
static int stream_bind(struct amg_stream *stream, const struct amg_cpuset *cpus)
{
    int rc = 0;

    amg_lock_take(&stream->lock);
    if (stream->tid != 0)
        rc = amg_bind_thread(stream->tid, cpus);
    if (rc == 0)
        stream->cpus = *cpus; /* and when it begins again */
    amg_lock_give(&stream->lock);
    return rc;
}

static int stream_bind_told(
    struct amg_stream *stream, const struct amg_cpuset *cpus)
{
    char asked[64];
    char given[64];
    int rc = stream_bind(stream, cpus);

    if (rc == 0)
        return ABT_SUCCESS;
    AMG_LOG_ERROR("ult",
        "stream %d cannot be bound to cpus %s: %s; the process may use cpus %s",
        amg_streams_rank(stream), amg_cpuset_format(cpus, asked, sizeof(asked)),
        strerror(rc),
        amg_cpuset_format(amg_bind_process(), given, sizeof(given)));
    return rc == ENOSYS ? ABT_ERR_FEATURE_NA : ABT_ERR_CPUID;
}

/* Did the user say that streams stay where the system puts them? */
static bool affinity_is_off(void)
{
    const char *wish = amg_env_text(AMG_ENV_ULT_AFFINITY);

    return wish != NULL &&
           (strcmp(wish, "0") == 0 || wish[0] == 'n' || wish[0] == 'N');
}

/* Any number will do, as in the original; the system takes those that there
 * are. */
static unsigned cpu_wrap(int cpuid)
{
    return (unsigned)(cpuid % AMG_CPUS_MAX + AMG_CPUS_MAX) % AMG_CPUS_MAX;
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
        amg_cpuset_add(&cpus, cpu_wrap(cpuids[i]));
    if (num_cpuids == 0)
        cpus = *amg_bind_process();
    if (amg_cpuset_count(&cpus) == 0)
        return ABT_ERR_FEATURE_NA;
    return stream_bind_told(amg_stream_of(xstream), &cpus);
}

int ABT_xstream_set_cpubind(ABT_xstream xstream, int cpuid)
{
    return ABT_xstream_set_affinity(xstream, 1, &cpuid);
}

/* False: the system does not tell. */
static bool stream_cpus(struct amg_stream *stream, struct amg_cpuset *ret_cpus)
{
    bool is_known = true;

    amg_lock_take(&stream->lock);
    if (stream->tid != 0)
        is_known = amg_bind_thread_get(stream->tid, ret_cpus) == 0;
    else if (amg_cpuset_count(&stream->cpus) > 0)
        *ret_cpus = stream->cpus;
    else
        *ret_cpus = *amg_bind_process();
    amg_lock_give(&stream->lock);
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
    if (!stream_cpus(amg_stream_of(xstream), &cpus))
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
    if (xstream == ABT_XSTREAM_NULL)
        return ABT_ERR_INV_XSTREAM;
    if (cpuid == NULL)
        return ABT_ERR_INV_ARG;
    return ABT_xstream_get_affinity(xstream, 1, cpuid, NULL);
}
