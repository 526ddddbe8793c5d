/* SPDX-License-Identifier: BSD-3-Clause */
/* Public functions of execution streams, declared in abt_xstream.h. */
#include <errno.h>
#include <string.h>

#include "affinity/bind.h"
#include "base/env.h"
#include "base/log.h"
#include "ult/sched.h"
#include "ult/switch_to.h"

/* Creates and starts an xstream. */
static int xstream_new(
    struct amg_sched *sched, int rank, ABT_xstream *ret_xstream)
{
    struct amg_xstream *xstream = NULL;
    int rc = amg_xstream_create(sched, rank, &xstream);

    if (rc != ABT_SUCCESS)
        return rc;
    rc = amg_xstream_start(xstream);
    if (rc != ABT_SUCCESS) {
        amg_xstream_discard(xstream, false);
        return rc;
    }
    *ret_xstream = amg_xstream_handle(xstream);
    return ABT_SUCCESS;
}

/* The scheduler that the caller gave, or a new default scheduler. */
static int sched_default(ABT_sched sched, struct amg_sched **ret_sched)
{
    if (sched == ABT_SCHED_NULL)
        return amg_sched_create(
            ABT_SCHED_DEFAULT, NULL, 0, NULL, true, ret_sched);
    *ret_sched = amg_sched_of(sched);
    return ABT_SUCCESS;
}

static int xstream_create(ABT_sched sched, int rank, ABT_xstream *ret_xstream)
{
    struct amg_sched *known = NULL;
    int rc = ABT_ERR_INV_ARG;

    if (ret_xstream == NULL)
        return rc;
    if (ABT_initialized() != ABT_SUCCESS)
        return ABT_ERR_UNINITIALIZED;
    rc = sched_default(sched, &known);
    if (rc != ABT_SUCCESS)
        return rc;
    rc = xstream_new(known, rank, ret_xstream);
    if (rc != ABT_SUCCESS && sched == ABT_SCHED_NULL)
        amg_sched_destroy(known, NULL);
    return rc;
}

int ABT_xstream_create(ABT_sched sched, ABT_xstream *newxstream)
{
    amg_handle_clear(newxstream);
    return xstream_create(sched, -1, newxstream);
}

int ABT_xstream_create_with_rank(
    ABT_sched sched, int rank, ABT_xstream *newxstream)
{
    amg_handle_clear(newxstream);
    if (rank < 0)
        return ABT_ERR_INV_XSTREAM_RANK;
    return xstream_create(sched, rank, newxstream);
}

int ABT_xstream_create_basic(ABT_sched_predef predef, int num_pools,
    ABT_pool *pools, ABT_sched_config config, ABT_xstream *newxstream)
{
    ABT_sched sched = ABT_SCHED_NULL;
    int rc = ABT_ERR_INV_ARG;

    amg_handle_clear(newxstream);
    if (newxstream == NULL)
        return rc;
    if (ABT_initialized() != ABT_SUCCESS)
        return ABT_ERR_UNINITIALIZED;
    rc = ABT_sched_create_basic(predef, num_pools, pools, config, &sched);
    if (rc != ABT_SUCCESS)
        return rc;
    rc = xstream_new(amg_sched_of(sched), -1, newxstream);
    if (rc != ABT_SUCCESS)
        amg_sched_undo(amg_sched_of(sched), num_pools > 0 ? pools : NULL);
    return rc;
}

int ABT_xstream_revive(ABT_xstream xstream)
{
    struct amg_xstream *stream = amg_xstream_of(xstream);

    if (stream == NULL)
        return ABT_ERR_INV_XSTREAM;
    if (!amg_xstream_has_ended(stream))
        return ABT_ERR_XSTREAM_STATE;
    return amg_xstream_start(stream);
}

int ABT_xstream_join(ABT_xstream xstream)
{
    struct amg_xstream *stream = amg_xstream_of(xstream);

    if (stream == NULL || stream->is_primary || stream == amg_xstream_self())
        return ABT_ERR_INV_XSTREAM;
    amg_xstream_join(stream);
    return ABT_SUCCESS;
}

int ABT_xstream_free(ABT_xstream *xstream)
{
    int rc = ABT_ERR_INV_XSTREAM;

    if (xstream == NULL)
        return rc;
    rc = ABT_xstream_join(*xstream);
    if (rc != ABT_SUCCESS)
        return rc;
    amg_xstream_destroy(amg_xstream_of(*xstream));
    *xstream = ABT_XSTREAM_NULL;
    return ABT_SUCCESS;
}

int ABT_xstream_exit(void)
{
    struct amg_xstream *xstream = amg_xstream_self();

    if (xstream == NULL || xstream->is_primary)
        return ABT_ERR_INV_XSTREAM;
    amg_xstream_ask(xstream, AMG_XSTREAM_TO_END);
    return ABT_self_exit();
}

int ABT_xstream_cancel(ABT_xstream xstream)
{
    struct amg_xstream *stream = amg_xstream_of(xstream);

    if (stream == NULL || stream->is_primary)
        return ABT_ERR_INV_XSTREAM;
    amg_xstream_ask(stream, AMG_XSTREAM_TO_END);
    return ABT_SUCCESS;
}

int ABT_xstream_self(ABT_xstream *xstream)
{
    if (xstream == NULL)
        return ABT_ERR_INV_ARG;
    *xstream = amg_xstream_handle(amg_xstream_self());
    return *xstream == ABT_XSTREAM_NULL ? amg_ult_none_code() : ABT_SUCCESS;
}

int ABT_xstream_self_rank(int *rank)
{
    struct amg_xstream *xstream = amg_xstream_self();

    if (rank == NULL)
        return ABT_ERR_INV_ARG;
    if (xstream == NULL)
        return amg_ult_none_code();
    *rank = amg_xstreams_rank(xstream);
    return ABT_SUCCESS;
}

int ABT_xstream_set_rank(ABT_xstream xstream, int rank)
{
    struct amg_xstream *stream = amg_xstream_of(xstream);

    if (stream == NULL || stream->is_primary)
        return ABT_ERR_INV_XSTREAM;
    if (rank < 0 || !amg_xstreams_rank_set(stream, rank))
        return ABT_ERR_INV_XSTREAM_RANK;
    return ABT_SUCCESS;
}

int ABT_xstream_get_rank(ABT_xstream xstream, int *rank)
{
    return AMG_GET(ABT_ERR_INV_XSTREAM, xstream, rank,
        amg_xstreams_rank(amg_xstream_of(xstream)));
}

static bool xstream_runs_here(const struct amg_xstream *xstream)
{
    return xstream == amg_xstream_self();
}

/* Moves the calling thread to a pool of the new scheduler, since no xstream may
 * run the caller's pool any more. */
static int self_go_with(const struct amg_sched *sched)
{
    struct amg_ult *self = amg_ult_self();

    if (self == NULL || amg_ult_pool(self) == NULL ||
        amg_sched_has(sched, amg_ult_pool(self)) || sched->count == 0)
        return ABT_SUCCESS;
    return amg_ready_pool_adopt(sched->pools[0], self);
}

/* Changes the scheduler to `sched`, which the caller has marked as used. */
static int xstream_sched_change(
    struct amg_xstream *xstream, struct amg_sched *sched)
{
    int rc = ABT_SUCCESS;

    if (!xstream_runs_here(xstream)) {
        amg_xstream_sched_set(xstream, sched);
        return ABT_SUCCESS;
    }
    rc = self_go_with(sched);
    if (rc != ABT_SUCCESS)
        return rc;
    xstream->next_sched = sched;
    amg_xstream_ask(xstream, AMG_XSTREAM_TO_SWAP);
    return ABT_thread_yield();
}

int ABT_xstream_set_main_sched(ABT_xstream xstream, ABT_sched sched)
{
    struct amg_xstream *stream = amg_xstream_of(xstream);
    struct amg_sched *known = NULL;
    int rc = ABT_SUCCESS;

    if (stream == NULL)
        return ABT_ERR_INV_XSTREAM;
    if (xstream_runs_here(stream) ? amg_ult_self() == NULL
                                  : !amg_xstream_has_ended(stream))
        return ABT_ERR_XSTREAM_STATE;
    rc = sched_default(sched, &known);
    if (rc != ABT_SUCCESS)
        return rc;
    if (atomic_exchange_explicit(&known->is_used, true, memory_order_acquire))
        return ABT_ERR_SCHED;
    rc = xstream_sched_change(stream, known);
    if (rc == ABT_SUCCESS)
        return rc;
    atomic_store_explicit(&known->is_used, false, memory_order_release);
    if (sched == ABT_SCHED_NULL)
        amg_sched_destroy(known, NULL);
    return rc;
}

int ABT_xstream_set_main_sched_basic(ABT_xstream xstream,
    ABT_sched_predef predef, int num_pools, ABT_pool *pools)
{
    ABT_sched sched = ABT_SCHED_NULL;
    int rc = ABT_ERR_INV_XSTREAM;

    if (xstream == ABT_XSTREAM_NULL)
        return rc;
    rc = ABT_sched_create_basic(
        predef, num_pools, pools, ABT_SCHED_CONFIG_NULL, &sched);
    if (rc != ABT_SUCCESS)
        return rc;
    rc = ABT_xstream_set_main_sched(xstream, sched);
    if (rc != ABT_SUCCESS)
        amg_sched_undo(amg_sched_of(sched), num_pools > 0 ? pools : NULL);
    return rc;
}

int ABT_xstream_get_main_sched(ABT_xstream xstream, ABT_sched *sched)
{
    return AMG_GET(ABT_ERR_INV_XSTREAM, xstream, sched,
        (ABT_sched)(void *)amg_xstream_sched(amg_xstream_of(xstream)));
}

int ABT_xstream_get_main_pools(
    ABT_xstream xstream, int max_pools, ABT_pool *pools)
{
    const struct amg_sched *sched = NULL;

    if (xstream == ABT_XSTREAM_NULL)
        return ABT_ERR_INV_XSTREAM;
    if (max_pools < 0 || pools == NULL)
        return ABT_ERR_INV_ARG;
    sched = amg_xstream_sched(amg_xstream_of(xstream));
    for (int i = 0; i < max_pools && i < sched->count; i++)
        pools[i] = amg_ready_pool_handle(sched->pools[i]);
    return ABT_SUCCESS;
}

int ABT_xstream_get_state(ABT_xstream xstream, ABT_xstream_state *state)
{
    return AMG_GET(ABT_ERR_INV_XSTREAM, xstream, state,
        amg_xstream_has_ended(amg_xstream_of(xstream))
            ? ABT_XSTREAM_STATE_TERMINATED
            : ABT_XSTREAM_STATE_RUNNING);
}

int ABT_xstream_equal(
    ABT_xstream xstream1, ABT_xstream xstream2, ABT_bool *result)
{
    if (result == NULL)
        return ABT_ERR_INV_ARG;
    *result = xstream1 == xstream2 ? ABT_TRUE : ABT_FALSE;
    return ABT_SUCCESS;
}

int ABT_xstream_get_num(int *num_xstreams)
{
    int count = amg_xstreams_count();

    if (num_xstreams == NULL)
        return ABT_ERR_INV_ARG;
    if (count == 0)
        return ABT_ERR_UNINITIALIZED;
    *num_xstreams = count;
    return ABT_SUCCESS;
}

int ABT_xstream_is_primary(ABT_xstream xstream, ABT_bool *is_primary)
{
    return AMG_GET(ABT_ERR_INV_XSTREAM, xstream, is_primary,
        amg_xstream_of(xstream)->is_primary);
}

/* NOTE(why): the system call is made with the lock held, so that the thread
 * with that id cannot end meanwhile. */
static int xstream_bind(
    struct amg_xstream *xstream, const struct amg_cpuset *cpus)
{
    int rc = 0;

    amg_lock_lock(&xstream->lock);
    if (xstream->tid != 0)
        rc = amg_bind_thread(xstream->tid, cpus);
    if (rc == 0)
        xstream->cpus = *cpus; /* also for a revival */
    amg_lock_unlock(&xstream->lock);
    return rc;
}

static int xstream_bind_or_log(
    struct amg_xstream *xstream, const struct amg_cpuset *cpus)
{
    char asked[64];
    char given[64];
    int rc = xstream_bind(xstream, cpus);

    if (rc == 0)
        return ABT_SUCCESS;
    AMG_LOG_ERROR("ult",
        "stream %d cannot be bound to cpus %s: %s; the process may use cpus %s",
        amg_xstreams_rank(xstream),
        amg_cpuset_format(cpus, asked, sizeof(asked)), strerror(rc),
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

/* Any number is valid, as in Argobots; the system ignores CPUs that do not
 * exist. */
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
    return xstream_bind_or_log(amg_xstream_of(xstream), &cpus);
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
    if (xstream == ABT_XSTREAM_NULL)
        return ABT_ERR_INV_XSTREAM;
    if (cpuid == NULL)
        return ABT_ERR_INV_ARG;
    return ABT_xstream_get_affinity(xstream, 1, cpuid, NULL);
}
