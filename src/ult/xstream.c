/* SPDX-License-Identifier: BSD-3-Clause */
/* Execution streams (xstreams), OS threads that run pools: their list, their
 * life, and the loop of their schedulers. */
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

/* Checks before a scheduler sleeps: about 2 us, the time of a sleep and a
 * wake-up. */
enum { LOOKS = 64 };

/* Progress of the start of an xstream's thread. */
enum { BEGIN_WAITS, BEGIN_RUNS, BEGIN_FAILED };

static struct amg_lock list_lock AMG_LOCK_KEPT;
/* All xstreams, in order of ranks. */
static struct amg_list all = {{&all.head, &all.head}};
static int count;

static struct amg_xstream *listed_of(struct amg_link *link)
{
    return amg_container_of(link, struct amg_xstream, link);
}

/* The link before which an xstream of that rank is inserted; NULL: the rank is
 * in use. */
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
    xstream->link.next = before;
    xstream->link.prev = before->prev;
    before->prev->next = &xstream->link;
    before->prev = &xstream->link;
    return true;
}

static bool xstreams_add(struct amg_xstream *xstream, int rank)
{
    bool is_done = false;

    amg_lock_lock(&list_lock);
    is_done = insert_locked(xstream, rank);
    if (is_done)
        count++;
    amg_lock_unlock(&list_lock);
    return is_done;
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

bool amg_xstreams_rank_set(struct amg_xstream *xstream, int rank)
{
    bool is_done = true;

    amg_lock_lock(&list_lock);
    if (xstream->rank != rank && place_of_locked(&rank) == NULL)
        is_done = false;
    if (is_done && xstream->rank != rank) {
        amg_list_remove(&xstream->link);
        insert_locked(xstream, rank);
    }
    amg_lock_unlock(&list_lock);
    return is_done;
}

int amg_xstreams_rank(struct amg_xstream *xstream)
{
    int rank = 0;

    amg_lock_lock(&list_lock);
    rank = xstream->rank;
    amg_lock_unlock(&list_lock);
    return rank;
}

int amg_xstreams_count(void)
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
    atomic_store_explicit(&xstream->state, state, memory_order_release);
    xstream->tid = tid;
}

static void sched_release(struct amg_sched *sched, bool is_destroyed,
    struct amg_ready_pool *successor)
{
    atomic_store_explicit(&sched->xstream, NULL, memory_order_relaxed);
    atomic_store_explicit(&sched->is_used, false, memory_order_release);
    if (is_destroyed)
        amg_sched_destroy(sched, successor);
}

void amg_xstream_sched_set(struct amg_xstream *xstream, struct amg_sched *sched)
{
    struct amg_sched *former = amg_xstream_sched(xstream);

    atomic_store_explicit(&sched->xstream, xstream, memory_order_relaxed);
    /* Release: pairs with amg_xstream_sched(), whose callers use the pools. */
    atomic_store_explicit(&xstream->sched, sched, memory_order_release);
    if (former != NULL)
        sched_release(former, former->is_automatic,
            sched->count > 0 ? sched->pools[0] : NULL);
}

int amg_xstream_create(
    struct amg_sched *sched, int rank, struct amg_xstream **ret_stream)
{
    struct amg_xstream *xstream = NULL;

    if (atomic_exchange_explicit(&sched->is_used, true, memory_order_acquire))
        return ABT_ERR_SCHED;
    xstream = amg_mem_zalloc(sizeof(*xstream));
    if (xstream == NULL) {
        atomic_store_explicit(&sched->is_used, false, memory_order_release);
        return ABT_ERR_MEM;
    }
    state_set_locked(xstream, ABT_XSTREAM_STATE_TERMINATED, 0);
    amg_sleeper_init(&xstream->sleeper);
    amg_list_init(&xstream->joiners);
    amg_xstream_sched_set(xstream, sched);
    if (!xstreams_add(xstream, rank)) {
        atomic_store_explicit(&sched->xstream, NULL, memory_order_relaxed);
        atomic_store_explicit(&sched->is_used, false, memory_order_release);
        amg_mem_free(xstream);
        return ABT_ERR_INV_XSTREAM_RANK;
    }
    sched->seed = (unsigned)xstream->rank + 1;
    *ret_stream = xstream;
    return ABT_SUCCESS;
}

bool amg_xstream_has_ended(struct amg_xstream *xstream)
{
    return atomic_load_explicit(&xstream->state, memory_order_acquire) ==
           ABT_XSTREAM_STATE_TERMINATED;
}

void amg_xstream_discard(struct amg_xstream *xstream, bool is_made_for_it)
{
    AMG_ASSERT(xstream->is_primary || amg_xstream_has_ended(xstream));
    if (!xstreams_remove(xstream))
        return; /* inherited: threads of the parent are in its pools */
    sched_release(amg_xstream_sched(xstream), is_made_for_it, NULL);
    amg_mem_free(xstream);
}

void amg_xstream_destroy(struct amg_xstream *xstream)
{
    amg_xstream_discard(xstream, amg_xstream_sched(xstream)->is_automatic);
}

/* Wakes other xstreams for threads that this xstream will not run at once. */
static void sched_wake_others(struct amg_sched *sched)
{
    for (int i = 0; i < sched->count; i++)
        amg_ready_pool_wake_one(sched->pools[i]);
}

/* Runs main() first, if another xstream has returned main(). While main()
 * computes, other xstreams run the remaining threads. */
static void sched_run_primary(
    struct amg_sched *sched, struct amg_xstream *xstream)
{
    struct amg_ult *primary = amg_ult_primary_take();

    if (primary != NULL)
        sched_wake_others(sched);
    amg_ult_run(xstream, primary);
}

bool amg_sched_has_to_stop(struct amg_sched *sched)
{
    struct amg_xstream *xstream =
        atomic_load_explicit(&sched->xstream, memory_order_relaxed);

    /* Acquire: pairs with amg_xstream_ask(), whose caller has returned main()
     * before. */
    if (xstream != NULL &&
        (atomic_load_explicit(&xstream->asked, memory_order_relaxed) &
            AMG_XSTREAM_TO_LOOK) != 0) {
        atomic_fetch_and_explicit(&xstream->asked,
            ~(unsigned)AMG_XSTREAM_TO_LOOK, memory_order_acquire);
        sched_run_primary(sched, xstream);
    }
    return amg_sched_is_to_stop(sched);
}

/* No thread is ready: spins for a moment, then sleeps. */
static void sched_wait(struct amg_sched *sched, struct amg_xstream *xstream)
{
    for (int looks = 0; looks < LOOKS; looks++) {
        if (amg_sched_size(sched) > 0)
            return;
        amg_relax();
    }
    amg_xstream_sleep(xstream);
}

static void sched_loop(struct amg_sched *sched)
{
    struct amg_xstream *xstream =
        atomic_load_explicit(&sched->xstream, memory_order_relaxed);
    bool has_slept = false;

    while (!amg_sched_has_to_stop(sched)) {
        struct amg_ult *ult = amg_sched_pop(sched);

        if (ult == NULL) {
            sched_wait(sched, xstream);
            has_slept = true;
            continue;
        }
        if (has_slept)
            sched_wake_others(sched);
        has_slept = false;
        amg_ult_run(xstream, ult);
    }
}

static void sched_run(struct amg_sched *sched)
{
    if (sched->is_users)
        sched->def.run(amg_sched_handle(sched));
    else
        sched_loop(sched);
    /* A push may have woken only this xstream, or none, since this xstream was
     * about to check its pools. */
    sched_wake_others(sched);
}

void amg_xstream_run(struct amg_xstream *xstream)
{
    for (;;) {
        sched_run(amg_xstream_sched(xstream));
        if ((amg_xstream_asked(xstream) & AMG_XSTREAM_TO_SWAP) == 0)
            return;
        atomic_fetch_and_explicit(&xstream->asked,
            ~(unsigned)AMG_XSTREAM_TO_SWAP, memory_order_relaxed);
        amg_xstream_sched_set(xstream, xstream->next_sched);
        xstream->next_sched = NULL;
    }
}

/* After the unlock only xstream_reap() accesses the xstream: a joiner waits for
 * the OS thread, and may then free the xstream. */
static void xstream_ends(struct amg_xstream *xstream)
{
    struct amg_list joiners;
    struct amg_link *link = NULL;

    amg_list_init(&joiners);
    amg_lock_lock(&xstream->lock);
    state_set_locked(xstream, ABT_XSTREAM_STATE_TERMINATED, 0);
    amg_list_splice(&joiners, &xstream->joiners);
    amg_lock_unlock(&xstream->lock);
    while ((link = amg_list_pop(&joiners)) != NULL)
        amg_unpark(amg_container_of(link, struct amg_waiter, link));
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
    amg_lock_unlock(&xstream->lock);
    if (amg_cpuset_count(&xstream->cpus) > 0)
        amg_bind_thread(0, &xstream->cpus);
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

int amg_xstream_start(struct amg_xstream *xstream)
{
    int rc = 0;

    /* An xstream that is revived may not have been joined. */
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
            xstream->rank, strerror(rc), amg_xstreams_count() - 1);
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
    state_set_locked(xstream, ABT_XSTREAM_STATE_TERMINATED, 0);
    return ABT_ERR_MEM;
}

/* Number of threads in the xstream's pools, ready or blocked. */
static size_t threads_count(struct amg_xstream *xstream)
{
    size_t count = 0;

    (void)ABT_sched_get_total_size(
        amg_sched_handle(amg_xstream_sched(xstream)), &count);
    return count;
}

/* Waits until the xstream has ended; false: `until_ns` came first. */
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
        AMG_LOG_WARNING("ult",
            "the join of execution stream %d has waited %.1f s: a thread still "
            "runs there, or its pools have %zu threads that are ready or "
            "blocked; let them end before ABT_xstream_join(), "
            "ABT_finalize() or the end of Margo",
            xstream->rank, (double)past_ns / 1e9, threads_count(xstream));
        past_ns *= 2;
    }
    xstream_reap(xstream);
}
