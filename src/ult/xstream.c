/* SPDX-License-Identifier: BSD-3-Clause */
/* Execution streams (xstreams), OS threads that run pools: their list, their
 * life, requests to their schedulers, and their public functions. */
#include "ult/sched.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "affinity/bind.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "ult/park.h"
#include "ult/switch_to.h"

/* Values of amg_xstream.begun: how far the start of the OS thread is. */
enum { BEGIN_WAITS, BEGIN_RUNS, BEGIN_FAILED };

static struct amg_lock list_lock AMG_LOCK_KEPT;
/* All xstreams, in order of ranks. */
static struct amg_list all = {{&all.head, &all.head}};
static int count;

static struct amg_xstream *listed_of(struct amg_link *link)
{
    return amg_container_of(link, struct amg_xstream, link);
}

/* The link before which an xstream of rank `*rank` has to be inserted; NULL:
 * the rank is in use. A negative `*rank` becomes the lowest free rank. */
static struct amg_link *place_of_locked(int *rank)
{
    bool is_any = *rank < 0;
    struct amg_link *link = all.head.next;

    AMG_ASSERT_HELD(&list_lock);
    if (is_any)
        *rank = 0;
    for (; link != &all.head; link = link->next) {
        if (listed_of(link)->rank > *rank)
            break;
        if (listed_of(link)->rank == *rank) {
            if (!is_any)
                return NULL;
            ++*rank;
        }
    }
    return link;
}

static bool insert_locked(struct amg_xstream *xstream, int rank)
{
    struct amg_link *before = place_of_locked(&rank);

    AMG_ASSERT_HELD(&list_lock);
    if (before == NULL)
        return false;
    xstream->rank = rank;
    amg_list_insert(before->prev, &xstream->link);
    return true;
}

/* False: the xstream is not in the list. */
static bool xstreams_remove(struct amg_xstream *xstream)
{
    bool is_listed = false;

    amg_lock_lock(&list_lock);
    is_listed = amg_link_is_listed(&xstream->link);
    if (is_listed) {
        amg_list_remove(&xstream->link);
        count--;
    }
    amg_lock_unlock(&list_lock);
    return is_listed;
}

static int xstream_rank(struct amg_xstream *xstream)
{
    int rank = 0;

    amg_lock_lock(&list_lock);
    rank = xstream->rank;
    amg_lock_unlock(&list_lock);
    return rank;
}

static int xstreams_count(void)
{
    int result = 0;

    amg_lock_lock(&list_lock);
    result = count;
    amg_lock_unlock(&list_lock);
    return result;
}

void amg_xstreams_inherit(void)
{
    struct amg_link *link = NULL;

    amg_lock_init(&list_lock);
    while ((link = amg_list_pop(&all)) != NULL) {
        struct amg_xstream *xstream = listed_of(link);

        amg_lock_init(&xstream->lock);
        amg_sleeper_init(&xstream->sleeper);
        amg_list_init(&xstream->joiners);
        atomic_store_explicit(
            &xstream->has_thread, false, memory_order_relaxed);
        atomic_store_explicit(&xstream->state, ABT_XSTREAM_STATE_TERMINATED,
            memory_order_relaxed);
    }
    count = 0;
}

bool amg_xstreams_each(
    bool (*visit)(struct amg_xstream *xstream, void *arg), void *arg)
{
    bool is_ended = false;

    amg_lock_lock(&list_lock);
    for (struct amg_link *link = all.head.next; link != &all.head && !is_ended;
         link = link->next)
        is_ended = visit(listed_of(link), arg);
    amg_lock_unlock(&list_lock);
    return is_ended;
}

static void state_set_locked(
    struct amg_xstream *xstream, ABT_xstream_state state, int tid)
{
    AMG_ASSERT_HELD(&xstream->lock);
    atomic_store_explicit(&xstream->state, state, memory_order_release);
    xstream->tid = tid;
}

int amg_xstream_create(
    struct amg_sched *sched, int rank, struct amg_xstream **ret_stream)
{
    struct amg_xstream *xstream = NULL;
    bool is_listed = false;

    if (!amg_sched_take(sched))
        return ABT_ERR_SCHED;
    xstream = amg_mem_zalloc(sizeof(*xstream));
    if (xstream == NULL) {
        amg_sched_release(sched, false, NULL);
        return ABT_ERR_MEM;
    }
    atomic_init(&xstream->state, ABT_XSTREAM_STATE_TERMINATED);
    amg_sleeper_init(&xstream->sleeper);
    amg_list_init(&xstream->joiners);
    amg_xstream_set_sched(xstream, sched);
    amg_lock_lock(&list_lock);
    is_listed = insert_locked(xstream, rank);
    count += is_listed ? 1 : 0;
    amg_lock_unlock(&list_lock);
    if (!is_listed) {
        amg_sched_release(sched, false, NULL);
        amg_mem_free(xstream);
        return ABT_ERR_INV_XSTREAM_RANK;
    }
    sched->seed = (unsigned)xstream->rank + 1;
    *ret_stream = xstream;
    return ABT_SUCCESS;
}

/* Frees an xstream that does not run, and its scheduler if `is_made_for_it`:
 * else the scheduler is only marked as free for others. */
static void xstream_discard(struct amg_xstream *xstream, bool is_made_for_it)
{
    AMG_ASSERT(xstream->is_primary || amg_xstream_has_ended(xstream));
    if (!xstreams_remove(xstream))
        return; /* of a fork()'s parent: its pools have threads of the parent */
    amg_sched_release(amg_xstream_sched(xstream), is_made_for_it, NULL);
    amg_mem_free(xstream);
}

void amg_xstream_destroy(struct amg_xstream *xstream)
{
    xstream_discard(xstream, amg_xstream_sched(xstream)->is_automatic);
}

/* Marks the xstream as ended, and wakes its joiners. After the unlock, the OS
 * thread no longer uses the xstream, which a joiner may then free. */
static void xstream_ends(struct amg_xstream *xstream)
{
    struct amg_waiters_taken joiners;

    amg_lock_lock(&xstream->lock);
    state_set_locked(xstream, ABT_XSTREAM_STATE_TERMINATED, 0);
    joiners = amg_waiters_take_all(&xstream->joiners);
    amg_lock_unlock(&xstream->lock);
    amg_waiters_wake(joiners);
}

static void begun_set(struct amg_xstream *xstream, unsigned how)
{
    atomic_store_explicit(&xstream->begun, how, memory_order_release);
    amg_futex_wake(&xstream->begun, 1);
}

static void *xstream_main(void *arg)
{
    struct amg_xstream *xstream = arg;
    struct amg_xstream_local *local = NULL;

    amg_lock_lock(&xstream->lock);
    state_set_locked(
        xstream, ABT_XSTREAM_STATE_RUNNING, (int)syscall(SYS_gettid));
    if (amg_cpuset_count(&xstream->cpus) > 0)
        amg_bind_thread(0, &xstream->cpus);
    amg_lock_unlock(&xstream->lock);
    local = amg_xstream_local_open(xstream);
    if (local == NULL) {
        begun_set(xstream, BEGIN_FAILED);
        return NULL;
    }
    begun_set(xstream, BEGIN_RUNS);
    amg_xstream_run(xstream);
    amg_xstream_local_close(local);
    xstream_ends(xstream);
    return NULL;
}

/* Joins the xstream's OS thread, which has ended or is about to. */
static void xstream_reap(struct amg_xstream *xstream)
{
    if (atomic_exchange_explicit(
            &xstream->has_thread, false, memory_order_acq_rel))
        pthread_join(xstream->thread, NULL);
}

/* Starts the OS thread. Returns an ABT code; an error is logged. */
static int xstream_start(struct amg_xstream *xstream)
{
    int rc = 0;

    /* A revived xstream may have a former OS thread that was not joined. */
    xstream_reap(xstream);
    atomic_store_explicit(&xstream->begun, BEGIN_WAITS, memory_order_relaxed);
    atomic_store_explicit(&xstream->asked, 0, memory_order_relaxed);
    atomic_store_explicit(
        &amg_xstream_sched(xstream)->asked, 0, memory_order_relaxed);
    rc = pthread_create(&xstream->thread, NULL, xstream_main, xstream);
    if (rc != 0) {
        AMG_LOG_ERROR("ult",
            "cannot start execution stream %d: pthread_create: %s; %d streams "
            "exist (see ulimit -u, and the pids limit of the cgroup)",
            xstream->rank, strerror(rc), xstreams_count() - 1);
        return ABT_ERR_SYS;
    }
    atomic_store_explicit(&xstream->has_thread, true, memory_order_release);
    while (atomic_load_explicit(&xstream->begun, memory_order_acquire) ==
           BEGIN_WAITS)
        amg_futex_wait(&xstream->begun, BEGIN_WAITS);
    if (atomic_load_explicit(&xstream->begun, memory_order_relaxed) ==
        BEGIN_RUNS)
        return ABT_SUCCESS;
    xstream_reap(xstream);
    xstream_ends(xstream);
    return ABT_ERR_MEM;
}

/* Waits until the xstream has ended. False: the time `until_ns` came first. */
static bool join_until(struct amg_xstream *xstream, uint64_t until_ns)
{
    struct amg_waiter waiter;

    amg_lock_lock(&xstream->lock);
    if (amg_xstream_has_ended(xstream)) {
        amg_lock_unlock(&xstream->lock);
        return true;
    }
    amg_waiter_init(&waiter);
    amg_list_push(&xstream->joiners, &waiter.link);
    return amg_park_until(&waiter, &xstream->lock, until_ns);
}

void amg_xstream_join(struct amg_xstream *xstream)
{
    uint64_t silent_ns = amg_env_number(AMG_ENV_SILENT) * AMG_NS_PER_MS;
    uint64_t since_ns = amg_clock_ns();
    uint64_t past_ns = silent_ns;

    AMG_ASSERT(xstream != amg_xstream_self());
    amg_xstream_ask(xstream, AMG_XSTREAM_TO_JOIN);
    while (!join_until(
        xstream, silent_ns == 0 ? AMG_NO_DEADLINE : since_ns + past_ns)) {
        size_t left = 0;

        (void)ABT_sched_get_total_size(
            amg_sched_handle(amg_xstream_sched(xstream)), &left);
        AMG_LOG_WARNING("ult",
            "the join of execution stream %d has waited %.1f s: a thread still "
            "runs there, or its pools have %zu threads that are ready or "
            "blocked; let them end before ABT_xstream_join(), "
            "ABT_finalize() or the end of Margo",
            xstream->rank, (double)past_ns / 1e9, left);
        past_ns *= 2;
    }
    xstream_reap(xstream);
}

struct sched_request {
    struct amg_sched *sched;
    enum amg_sched_ask ask;
    struct amg_claim claim;
};

static void request_make(struct sched_request *request)
{
    /* Release: pairs with the load of amg_sched_is_to_stop(). */
    atomic_fetch_or_explicit(
        &request->sched->asked, request->ask, memory_order_release);
}

/* Makes the request if `xstream` has its scheduler. Called with the list of
 * xstreams locked, so that no joiner frees an xstream that the request ends. */
static bool request_visit(struct amg_xstream *xstream, void *arg)
{
    struct sched_request *request = arg;

    if (amg_xstream_sched(xstream) != request->sched)
        return false;
    request_make(request);
    amg_xstream_ask_claim(xstream, AMG_XSTREAM_TO_LOOK, &request->claim);
    return true;
}

static int sched_ask(ABT_sched sched, enum amg_sched_ask ask)
{
    struct sched_request request = {.sched = amg_sched_of(sched), .ask = ask};

    if (request.sched == NULL)
        return ABT_ERR_INV_SCHED;
    if (!amg_xstreams_each(request_visit, &request))
        /* The scheduler runs in a thread of a pool, or does not run. */
        request_make(&request);
    AMG_TEST_POINT("sched.asked");
    amg_sleeper_wake(&request.claim);
    return ABT_SUCCESS;
}

int ABT_sched_finish(ABT_sched sched)
{
    return sched_ask(sched, AMG_SCHED_TO_FINISH);
}

int ABT_sched_exit(ABT_sched sched)
{
    return sched_ask(sched, AMG_SCHED_TO_EXIT);
}

/* Creates and starts an xstream. */
static int xstream_new(
    struct amg_sched *sched, int rank, ABT_xstream *ret_xstream)
{
    struct amg_xstream *xstream = NULL;
    int rc = amg_xstream_create(sched, rank, &xstream);

    if (rc != ABT_SUCCESS)
        return rc;
    rc = xstream_start(xstream);
    if (rc != ABT_SUCCESS) {
        xstream_discard(xstream, false);
        return rc;
    }
    *ret_xstream = amg_xstream_handle(xstream);
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
    rc = amg_sched_default(sched, &known);
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
    return xstream_start(stream);
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
    int rc = xstream == NULL ? ABT_ERR_INV_XSTREAM : ABT_xstream_join(*xstream);

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
    if (amg_ult_self() == NULL) /* a tasklet: ABT_self_exit() would fail */
        return ABT_ERR_INV_THREAD;
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
    *rank = xstream_rank(xstream);
    return ABT_SUCCESS;
}

int ABT_xstream_set_rank(ABT_xstream xstream, int rank)
{
    struct amg_xstream *stream = amg_xstream_of(xstream);
    bool is_done = true;

    if (stream == NULL || stream->is_primary)
        return ABT_ERR_INV_XSTREAM;
    if (rank < 0)
        return ABT_ERR_INV_XSTREAM_RANK;
    amg_lock_lock(&list_lock);
    if (stream->rank != rank) {
        is_done = place_of_locked(&rank) != NULL;
        if (is_done) {
            amg_list_remove(&stream->link);
            insert_locked(stream, rank);
        }
    }
    amg_lock_unlock(&list_lock);
    return is_done ? ABT_SUCCESS : ABT_ERR_INV_XSTREAM_RANK;
}

int ABT_xstream_get_rank(ABT_xstream xstream, int *rank)
{
    return AMG_GET(ABT_ERR_INV_XSTREAM, xstream, rank,
        xstream_rank(amg_xstream_of(xstream)));
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
    int count = xstreams_count();

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

/* NOTE(why): makes the system call with the lock held, so that the OS thread
 * `tid` cannot end meanwhile: a new thread could get the same id. */
static int xstream_bind(
    struct amg_xstream *xstream, const struct amg_cpuset *cpus)
{
    char asked[64];
    char given[64];
    int rc = 0;

    (void)amg_bind_process(); /* reads the binding, before it is changed */
    amg_lock_lock(&xstream->lock);
    if (xstream->tid != 0)
        rc = amg_bind_thread(xstream->tid, cpus);
    if (rc == 0)
        xstream->cpus = *cpus; /* a revival binds its OS thread to these */
    amg_lock_unlock(&xstream->lock);
    if (rc == 0)
        return ABT_SUCCESS;
    AMG_LOG_ERROR("ult",
        "stream %d cannot be bound to cpus %s: %s; the process may use cpus %s",
        xstream_rank(xstream), amg_cpuset_format(cpus, asked, sizeof(asked)),
        strerror(rc),
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

/* The CPUs that the xstream is bound to. False: not known. */
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
