/* SPDX-License-Identifier: BSD-3-Clause */
/* An execution stream, an OS thread that runs pools. */
#include "ult/stream.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/mem.h"
#include "place/bind.h"
#include "ult/park.h"
#include "ult/sched.h"
#include "ult/streams.h"
#include "ult/ult.h"
#include "ult/upool.h"

/* How far the beginning of its thread has come. */
enum { BEGIN_WAITS, BEGIN_RUNS, BEGIN_FAILED };

static _Thread_local struct amg_stream *current;

__attribute__((noinline)) struct amg_stream *amg_stream_self(void)
{
    /* Keeps the compiler from taking the answer of an earlier call. */
    __asm__ volatile("");
    return current;
}

static struct amg_sched *stream_sched(const struct amg_stream *stream)
{
    return atomic_load_explicit(&stream->sched, memory_order_acquire);
}

static unsigned stream_asked(struct amg_stream *stream)
{
    return atomic_load_explicit(&stream->asked, memory_order_acquire);
}

struct amg_ult *amg_stream_next(struct amg_stream *stream)
{
    struct amg_sched *sched =
        atomic_load_explicit(&stream->sched, memory_order_relaxed);

    if ((atomic_load_explicit(&stream->asked, memory_order_relaxed) &
            ~(unsigned)AMG_STREAM_TO_JOIN) != 0 ||
        sched->is_users ||
        atomic_load_explicit(&sched->asked, memory_order_relaxed) != 0)
        return NULL;
    return amg_sched_pop(sched);
}

bool amg_stream_serves(
    const struct amg_stream *stream, const struct amg_upool *pool)
{
    return amg_sched_has(
        atomic_load_explicit(&stream->sched, memory_order_relaxed), pool);
}

void amg_stream_ask_claim(struct amg_stream *stream, enum amg_stream_ask ask,
    struct amg_claim *ret_claim)
{
    /* Full barriers both: either its look after amg_sleeper_announce() sees
     * what is asked, or the claim sees that it sleeps. */
    atomic_fetch_or_explicit(&stream->asked, ask, memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst);
    if (!amg_sleeper_claim(&stream->sleeper, ret_claim))
        ret_claim->was = AMG_SLEEP_AWAKE;
}

void amg_stream_ask(struct amg_stream *stream, enum amg_stream_ask ask)
{
    struct amg_claim claim = {.was = AMG_SLEEP_AWAKE};

    amg_stream_ask_claim(stream, ask, &claim);
    amg_sleeper_ring(&claim);
}

void amg_stream_wake(struct amg_stream *stream)
{
    amg_stream_ask(stream, AMG_STREAM_TO_LOOK);
}

/* On the lists of all its pools; false: there is something already. */
static bool pools_watch(struct amg_stream *stream, struct amg_sched *sched)
{
    bool is_quiet = (stream_asked(stream) & ~(unsigned)AMG_STREAM_TO_JOIN) == 0;

    for (int i = 0; i < sched->count; i++) {
        sched->watches[i].sleeper = &stream->sleeper;
        if (!amg_upool_watch(sched->pools[i], &sched->watches[i]))
            is_quiet = false;
    }
    return is_quiet;
}

static void pools_unwatch(struct amg_sched *sched)
{
    for (int i = 0; i < sched->count; i++)
        amg_upool_unwatch(sched->pools[i], &sched->watches[i]);
}

bool amg_stream_rest(struct amg_stream *stream, struct amg_doze *doze)
{
    struct amg_sched *sched = stream_sched(stream);

    amg_sleeper_announce(&stream->sleeper, doze);
    if (pools_watch(stream, sched) &&
        (doze != NULL || !amg_sched_is_to_stop(sched)))
        return true;
    amg_stream_rise(stream);
    return false;
}

void amg_stream_rise(struct amg_stream *stream)
{
    amg_sleeper_rise(&stream->sleeper);
    pools_unwatch(stream_sched(stream));
}

void amg_stream_sleep(struct amg_stream *stream)
{
    if (!amg_stream_rest(stream, NULL))
        return;
    amg_sleeper_sleep(&stream->sleeper, AMG_NO_DEADLINE);
    amg_stream_rise(stream);
}

static void state_set_locked(
    struct amg_stream *stream, ABT_xstream_state state, int tid)
{
    atomic_store_explicit(&stream->state, state, memory_order_release);
    stream->tid = tid;
}

static void sched_let_go(
    struct amg_sched *sched, bool is_destroyed, struct amg_upool *heir)
{
    atomic_store_explicit(&sched->stream, NULL, memory_order_relaxed);
    atomic_store_explicit(&sched->is_used, false, memory_order_release);
    if (is_destroyed)
        amg_sched_destroy(sched, heir);
}

void amg_stream_sched_set(struct amg_stream *stream, struct amg_sched *sched)
{
    struct amg_sched *former = stream_sched(stream);

    atomic_store_explicit(&sched->stream, stream, memory_order_relaxed);
    /* Release: who asks for the stream's scheduler finds its pools. */
    atomic_store_explicit(&stream->sched, sched, memory_order_release);
    if (former != NULL)
        sched_let_go(former, former->is_automatic,
            sched->count > 0 ? sched->pools[0] : NULL);
}

int amg_stream_create(
    struct amg_sched *sched, int rank, struct amg_stream **ret_stream)
{
    struct amg_stream *stream = NULL;

    if (atomic_exchange_explicit(&sched->is_used, true, memory_order_acquire))
        return ABT_ERR_SCHED;
    stream = amg_mem_zalloc(sizeof(*stream));
    if (stream == NULL) {
        atomic_store_explicit(&sched->is_used, false, memory_order_release);
        return ABT_ERR_MEM;
    }
    state_set_locked(stream, ABT_XSTREAM_STATE_TERMINATED, 0);
    amg_sleeper_init(&stream->sleeper);
    amg_list_init(&stream->joiners);
    amg_stream_sched_set(stream, sched);
    if (!amg_streams_add(stream, rank)) {
        atomic_store_explicit(&sched->stream, NULL, memory_order_relaxed);
        atomic_store_explicit(&sched->is_used, false, memory_order_release);
        amg_mem_free(stream);
        return ABT_ERR_INV_XSTREAM_RANK;
    }
    stream->seed = (unsigned)stream->rank + 1;
    *ret_stream = stream;
    return ABT_SUCCESS;
}

void amg_stream_discard(struct amg_stream *stream, bool is_made_for_it)
{
    amg_streams_remove(stream);
    sched_let_go(stream_sched(stream), is_made_for_it, NULL);
    amg_mem_free(stream);
}

void amg_stream_destroy(struct amg_stream *stream)
{
    amg_stream_discard(stream, stream_sched(stream)->is_automatic);
}

bool amg_stream_has_ended(struct amg_stream *stream)
{
    return atomic_load_explicit(&stream->state, memory_order_acquire) ==
           ABT_XSTREAM_STATE_TERMINATED;
}

/* Runs its scheduler, or those it is given one after the other. */
static void stream_run(struct amg_stream *stream)
{
    for (;;) {
        amg_sched_run(stream_sched(stream));
        if ((stream_asked(stream) & AMG_STREAM_TO_SWAP) == 0)
            return;
        atomic_fetch_and_explicit(&stream->asked, ~(unsigned)AMG_STREAM_TO_SWAP,
            memory_order_relaxed);
        amg_stream_sched_set(stream, stream->next_sched);
        stream->next_sched = NULL;
    }
}

/* Nothing of the stream is touched after the lock is given: who joins it waits
 * for the thread, too, and may free it then. */
static void stream_ends(struct amg_stream *stream)
{
    struct amg_list joiners;
    struct amg_link *link = NULL;

    amg_list_init(&joiners);
    amg_lock_take(&stream->lock);
    state_set_locked(stream, ABT_XSTREAM_STATE_TERMINATED, 0);
    amg_list_splice(&joiners, &stream->joiners);
    amg_lock_give(&stream->lock);
    while ((link = amg_list_pop(&joiners)) != NULL)
        amg_unpark(AMG_OBJECT(link, struct amg_waiter, link));
}

static void begun_set(struct amg_stream *stream, unsigned how)
{
    atomic_store_explicit(&stream->begun, how, memory_order_release);
    amg_futex_wake(&stream->begun, 1);
}

static void *stream_main(void *arg)
{
    struct amg_stream *stream = arg;

    current = stream;
    amg_lock_take(&stream->lock);
    state_set_locked(
        stream, ABT_XSTREAM_STATE_RUNNING, (int)syscall(SYS_gettid));
    amg_lock_give(&stream->lock);
    if (amg_cpuset_count(&stream->cpus) > 0)
        amg_bind_thread(0, &stream->cpus);
    if (!amg_ult_stream_begin(stream)) {
        begun_set(stream, BEGIN_FAILED);
        return NULL;
    }
    begun_set(stream, BEGIN_RUNS);
    stream_run(stream);
    amg_ult_stream_end();
    stream_ends(stream);
    return NULL;
}

/* Its OS thread has ended, or is about to. */
static void stream_reap(struct amg_stream *stream)
{
    if (atomic_exchange_explicit(
            &stream->has_thread, false, memory_order_acq_rel))
        pthread_join(stream->thread, NULL);
}

int amg_stream_start(struct amg_stream *stream)
{
    int rc = 0;

    /* One that was not joined before it is revived. */
    stream_reap(stream);
    atomic_store_explicit(&stream->begun, BEGIN_WAITS, memory_order_relaxed);
    atomic_store_explicit(&stream->asked, 0, memory_order_relaxed);
    atomic_store_explicit(
        &stream_sched(stream)->asked, 0, memory_order_relaxed);
    rc = pthread_create(&stream->thread, NULL, stream_main, stream);
    if (rc != 0) {
        AMG_LOG_ERROR("ult",
            "execution stream %d has no thread: pthread_create says %s; %d "
            "streams are there (see ulimit -u, and the pids limit of the "
            "cgroup)",
            stream->rank, strerror(rc), amg_streams_count() - 1);
        return ABT_ERR_SYS;
    }
    atomic_store_explicit(&stream->has_thread, true, memory_order_release);
    while (atomic_load_explicit(&stream->begun, memory_order_acquire) ==
           BEGIN_WAITS)
        amg_futex_wait(&stream->begun, BEGIN_WAITS);
    if (atomic_load_explicit(&stream->begun, memory_order_relaxed) ==
        BEGIN_RUNS)
        return ABT_SUCCESS;
    stream_reap(stream);
    state_set_locked(stream, ABT_XSTREAM_STATE_TERMINATED, 0);
    return ABT_ERR_MEM;
}

void amg_stream_join(struct amg_stream *stream)
{
    struct amg_waiter waiter;

    amg_stream_ask(stream, AMG_STREAM_TO_JOIN);
    amg_lock_take(&stream->lock);
    if (!amg_stream_has_ended(stream)) {
        amg_waiter_init(&waiter);
        amg_list_push(&stream->joiners, &waiter.link);
        amg_park(&waiter, &stream->lock);
    } else {
        amg_lock_give(&stream->lock);
    }
    stream_reap(stream);
}

struct other_search {
    const struct amg_upool *pool;
    struct amg_upool *found;
};

static bool other_visit(struct amg_stream *stream, void *arg)
{
    struct other_search *search = arg;
    const struct amg_sched *sched = stream_sched(stream);

    if (atomic_load_explicit(&stream->state, memory_order_relaxed) ==
            ABT_XSTREAM_STATE_RUNNING &&
        sched->count > 0 && !amg_sched_has(sched, search->pool))
        search->found = sched->pools[0];
    return search->found != NULL;
}

struct amg_upool *amg_stream_other_pool(const struct amg_upool *pool)
{
    struct other_search search = {.pool = pool};

    amg_streams_each(other_visit, &search);
    return search.found;
}

int amg_stream_primary_open(struct amg_stream **ret_stream)
{
    struct amg_sched *sched = NULL;
    struct amg_stream *stream = NULL;
    int rc = amg_sched_create(ABT_SCHED_DEFAULT, 0, NULL, true, &sched);

    if (rc != ABT_SUCCESS)
        return rc;
    rc = amg_stream_create(sched, 0, &stream);
    if (rc != ABT_SUCCESS) {
        amg_sched_destroy(sched, NULL);
        return rc;
    }
    stream->is_primary = true;
    state_set_locked(
        stream, ABT_XSTREAM_STATE_RUNNING, (int)syscall(SYS_gettid));
    stream->thread = pthread_self();
    current = stream;
    *ret_stream = stream;
    return ABT_SUCCESS;
}

struct amg_upool *amg_stream_main_pool(struct amg_stream *stream)
{
    return stream_sched(stream)->pools[0];
}

void amg_stream_primary_loop(void *arg)
{
    struct amg_stream *stream = arg;

    /* Threads may have followed each other since main() left for the first
     * time; who began this loop may have handed it one of another kind. */
    amg_ult_run(stream, NULL);
    for (;;) {
        stream_run(stream);
        /* Nobody ends the primary stream but ABT_finalize(), so what it was
         * asked for is done. */
        atomic_store_explicit(&stream->asked, 0, memory_order_relaxed);
        atomic_store_explicit(
            &stream_sched(stream)->asked, 0, memory_order_relaxed);
    }
}

static bool secondary_visit(struct amg_stream *stream, void *arg)
{
    struct amg_stream **found = arg;

    if (!stream->is_primary)
        *found = stream;
    return *found != NULL;
}

void amg_stream_join_others(void)
{
    for (;;) {
        struct amg_stream *stream = NULL;

        if (!amg_streams_each(secondary_visit, &stream))
            return;
        amg_stream_join(stream);
        amg_stream_destroy(stream);
    }
}

void amg_stream_primary_close(struct amg_stream *stream)
{
    current = NULL;
    amg_stream_destroy(stream);
}
