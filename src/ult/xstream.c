/* SPDX-License-Identifier: BSD-3-Clause */
/* Execution streams, OS threads that run pools: their list, their life, and the
 * loop of their schedulers. */
#include "ult/xstream.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/futex.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/relax.h"
#include "place/bind.h"
#include "ult/park.h"
#include "ult/switch_to.h"

/* How often it looks before it sleeps: some two microseconds, which is what it
 * takes to fall asleep and to be woken. */
enum { LOOKS = 64 };

/* How far the beginning of its thread has come. */
enum { BEGIN_WAITS, BEGIN_RUNS, BEGIN_FAILED };

static struct amg_lock list_lock;
/* By rising ranks. */
static struct amg_list all = {{&all.head, &all.head}};
static int count;

static struct amg_stream *listed_of(struct amg_link *link)
{
    return AMG_OBJECT(link, struct amg_stream, link);
}

/* The place before which it stands; NULL: the rank is taken. */
static struct amg_link *place_of_locked(int *rank)
{
    bool is_any = *rank < 0;
    struct amg_link *link = all.head.next;

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

static bool insert_locked(struct amg_stream *stream, int rank)
{
    struct amg_link *before = place_of_locked(&rank);

    if (before == NULL)
        return false;
    stream->rank = rank;
    stream->link.next = before;
    stream->link.prev = before->prev;
    before->prev->next = &stream->link;
    before->prev = &stream->link;
    return true;
}

static bool streams_add(struct amg_stream *stream, int rank)
{
    bool is_done = false;

    amg_lock_take(&list_lock);
    is_done = insert_locked(stream, rank);
    if (is_done)
        count++;
    amg_lock_give(&list_lock);
    return is_done;
}

static void streams_remove(struct amg_stream *stream)
{
    amg_lock_take(&list_lock);
    amg_list_remove(&stream->link);
    count--;
    amg_lock_give(&list_lock);
}

bool amg_streams_rank_set(struct amg_stream *stream, int rank)
{
    bool is_done = true;

    amg_lock_take(&list_lock);
    if (stream->rank != rank && place_of_locked(&rank) == NULL)
        is_done = false;
    if (is_done && stream->rank != rank) {
        amg_list_remove(&stream->link);
        insert_locked(stream, rank);
    }
    amg_lock_give(&list_lock);
    return is_done;
}

int amg_streams_rank(struct amg_stream *stream)
{
    int rank = 0;

    amg_lock_take(&list_lock);
    rank = stream->rank;
    amg_lock_give(&list_lock);
    return rank;
}

int amg_streams_count(void)
{
    int result = 0;

    amg_lock_take(&list_lock);
    result = count;
    amg_lock_give(&list_lock);
    return result;
}

bool amg_streams_each(
    bool (*visit)(struct amg_stream *stream, void *arg), void *arg)
{
    bool is_ended = false;

    amg_lock_take(&list_lock);
    for (struct amg_link *link = all.head.next; link != &all.head && !is_ended;
         link = link->next)
        is_ended = visit(listed_of(link), arg);
    amg_lock_give(&list_lock);
    return is_ended;
}

static void state_set_locked(
    struct amg_stream *stream, ABT_xstream_state state, int tid)
{
    atomic_store_explicit(&stream->state, state, memory_order_release);
    stream->tid = tid;
}

static void sched_let_go(struct amg_sched *sched, bool is_destroyed,
    struct amg_ready_pool *successor)
{
    atomic_store_explicit(&sched->stream, NULL, memory_order_relaxed);
    atomic_store_explicit(&sched->is_used, false, memory_order_release);
    if (is_destroyed)
        amg_sched_destroy(sched, successor);
}

void amg_stream_sched_set(struct amg_stream *stream, struct amg_sched *sched)
{
    struct amg_sched *former = amg_stream_sched(stream);

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
    if (!streams_add(stream, rank)) {
        atomic_store_explicit(&sched->stream, NULL, memory_order_relaxed);
        atomic_store_explicit(&sched->is_used, false, memory_order_release);
        amg_mem_free(stream);
        return ABT_ERR_INV_XSTREAM_RANK;
    }
    sched->seed = (unsigned)stream->rank + 1;
    *ret_stream = stream;
    return ABT_SUCCESS;
}

void amg_stream_discard(struct amg_stream *stream, bool is_made_for_it)
{
    streams_remove(stream);
    sched_let_go(amg_stream_sched(stream), is_made_for_it, NULL);
    amg_mem_free(stream);
}

void amg_stream_destroy(struct amg_stream *stream)
{
    amg_stream_discard(stream, amg_stream_sched(stream)->is_automatic);
}

bool amg_stream_has_ended(struct amg_stream *stream)
{
    return atomic_load_explicit(&stream->state, memory_order_acquire) ==
           ABT_XSTREAM_STATE_TERMINATED;
}

/* Lets others come to what this stream will not get to at once. */
static void sched_pass_on(struct amg_sched *sched)
{
    for (int i = 0; i < sched->count; i++)
        amg_ready_pool_nudge(sched->pools[i]);
}

/* Main() first, if it has come home: for as long as that computes. */
static void sched_look(struct amg_sched *sched, struct amg_stream *stream)
{
    struct amg_ult *primary = amg_ult_take_home();

    if (primary != NULL)
        sched_pass_on(sched);
    amg_ult_run(stream, primary);
}

bool amg_sched_has_to_stop(struct amg_sched *sched)
{
    struct amg_stream *stream =
        atomic_load_explicit(&sched->stream, memory_order_relaxed);

    /* Acquire: pairs with amg_stream_ask(), whose caller has brought main()
     * home before. */
    if (stream != NULL &&
        (atomic_load_explicit(&stream->asked, memory_order_relaxed) &
            AMG_STREAM_TO_LOOK) != 0) {
        atomic_fetch_and_explicit(&stream->asked, ~(unsigned)AMG_STREAM_TO_LOOK,
            memory_order_acquire);
        sched_look(sched, stream);
    }
    return amg_sched_is_to_stop(sched);
}

/* Nothing is ready: looks for a moment, then sleeps. */
static void sched_wait(struct amg_sched *sched, struct amg_stream *stream)
{
    for (int looks = 0; looks < LOOKS; looks++) {
        if (amg_sched_size(sched) > 0)
            return;
        amg_relax();
    }
    amg_stream_sleep(stream);
}

static void sched_loop(struct amg_sched *sched)
{
    struct amg_stream *stream =
        atomic_load_explicit(&sched->stream, memory_order_relaxed);
    bool has_slept = false;

    while (!amg_sched_has_to_stop(sched)) {
        struct amg_ult *ult = amg_sched_pop(sched);

        if (ult == NULL) {
            sched_wait(sched, stream);
            has_slept = true;
            continue;
        }
        if (has_slept)
            sched_pass_on(sched);
        has_slept = false;
        amg_ult_run(stream, ult);
    }
}

static void sched_run(struct amg_sched *sched)
{
    if (sched->is_users)
        sched->def.run((ABT_sched)(void *)sched);
    else
        sched_loop(sched);
    /* A push may have rung for this stream alone, or for nobody since this
     * stream was about to look. */
    sched_pass_on(sched);
}

void amg_stream_run(struct amg_stream *stream)
{
    for (;;) {
        sched_run(amg_stream_sched(stream));
        if ((amg_stream_asked(stream) & AMG_STREAM_TO_SWAP) == 0)
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
    struct amg_xstream_local *local = NULL;

    amg_lock_take(&stream->lock);
    state_set_locked(
        stream, ABT_XSTREAM_STATE_RUNNING, (int)syscall(SYS_gettid));
    amg_lock_give(&stream->lock);
    if (amg_cpuset_count(&stream->cpus) > 0)
        amg_bind_thread(0, &stream->cpus);
    local = amg_xstream_local_open(stream);
    if (local == NULL) {
        begun_set(stream, BEGIN_FAILED);
        return NULL;
    }
    begun_set(stream, BEGIN_RUNS);
    amg_stream_run(stream);
    amg_xstream_local_close(local);
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
        &amg_stream_sched(stream)->asked, 0, memory_order_relaxed);
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
