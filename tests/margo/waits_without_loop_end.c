/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that opened the instance sits in other code, so that nobody runs
 * the progress loop. An OS thread and a thread of another stream wait: their
 * limits end calls and waits for several requests, sleeps end, and a call
 * without a limit is named in the log, until the loop runs again. Waits for a
 * timer's callback, for a buffer of a bulk pool and for the finalize callbacks
 * that another thread runs are named as well.
 * AMALGAM_SILENT_MS is short. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "alone.h"
#include "margo-bulk-pool.h"
#include "margo-timer.h"

enum { LIMIT_MS = 20 };

static hg_id_t quick_id;
static atomic_uint stalls;    /* lines that name the wait */
static atomic_uint callbacks; /* lines about a timer's callback */
static atomic_uint buffers;   /* lines about a bulk pool */
static atomic_uint ends;      /* lines about finalize callbacks */
static atomic_bool is_answered;
static margo_request left; /* for when the loop runs again */

static void listen(void *uargs, const char *line)
{
    (void)uargs;
    if (strstr(line, "nobody has run the progress loop") != NULL)
        atomic_fetch_add(&stalls, 1);
    if (strstr(line, "for a timer's callback, which still runs") != NULL)
        atomic_fetch_add(&callbacks, 1);
    if (strstr(line, "margo_bulk_pool_get() has waited") != NULL)
        atomic_fetch_add(&buffers, 1);
    if (strstr(line, "for the finalize callbacks") != NULL)
        atomic_fetch_add(&ends, 1);
}

static void quick(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(quick)

/* Calls of their own handles, as these stay busy until the loop runs. */
static void limits(void *arg)
{
    hg_handle_t handles[3];
    margo_request requests[2];
    size_t index = 0;

    (void)arg;
    for (unsigned i = 0; i < 3; i++)
        handles[i] = alone_handle(quick_id);
    CHECK_RC(margo_forward_timed(handles[0], NULL, LIMIT_MS), HG_TIMEOUT);
    CHECK_RC(margo_iforward_timed(handles[1], NULL, LIMIT_MS, &requests[0]),
        HG_SUCCESS);
    CHECK_RC(
        margo_iforward_timed(handles[2], NULL, 1000 * LIMIT_MS, &requests[1]),
        HG_SUCCESS);
    CHECK_RC(margo_wait_any(2, requests, &index), HG_TIMEOUT);
    CHECK(index == 0 && requests[0] == MARGO_REQUEST_NULL);
    margo_thread_sleep(pair.mid, LIMIT_MS);
    atomic_store(&stalls, 0);
    for (unsigned i = 0; i < 3; i++)
        CHECK_RC(margo_destroy(handles[i]), HG_SUCCESS);
    left = requests[1];
}

static void unlimited(void *arg)
{
    (void)arg;
    alone_call(quick_id);
    atomic_store(&is_answered, true);
}

static void *os_thread(void *arg)
{
    void (*const *run)(void *) = arg;

    (*run)(NULL);
    return NULL;
}

/* main() does not leave its stream while the thread runs. */
static void join(pthread_t thread)
{
    CHECK(pthread_join(thread, NULL) == 0);
}

static void in_os_thread(void)
{
    static void (*const runs[])(void *) = {limits, unlimited};
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, os_thread, (void *)&runs[0]) == 0);
    join(thread);
    CHECK(pthread_create(&thread, NULL, os_thread, (void *)&runs[1]) == 0);
    while (atomic_load(&stalls) == 0)
        ;
    CHECK(!atomic_load(&is_answered));
    while (!atomic_load(&is_answered))
        margo_thread_sleep(pair.mid, 1);
    join(thread);
    CHECK_RC(margo_wait(left), HG_SUCCESS);
}

static void in_stream(void)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_thread_state state = ABT_THREAD_STATE_READY;

    CHECK(ABT_xstream_create(ABT_SCHED_NULL, &stream) == ABT_SUCCESS);
    CHECK(ABT_xstream_get_main_pools(stream, 1, &pool) == ABT_SUCCESS);
    CHECK(ABT_thread_create(pool, limits, NULL, ABT_THREAD_ATTR_NULL,
              &thread) == ABT_SUCCESS);
    while (state != ABT_THREAD_STATE_TERMINATED)
        CHECK(ABT_thread_get_state(thread, &state) == ABT_SUCCESS);
    CHECK(ABT_thread_free(&thread) == ABT_SUCCESS);
    atomic_store(&is_answered, false);
    CHECK(ABT_thread_create(pool, unlimited, NULL, ABT_THREAD_ATTR_NULL,
              &thread) == ABT_SUCCESS);
    while (atomic_load(&stalls) == 0)
        ;
    CHECK(!atomic_load(&is_answered));
    CHECK(ABT_thread_free(&thread) == ABT_SUCCESS);
    CHECK(atomic_load(&is_answered));
    CHECK_RC(margo_wait(left), HG_SUCCESS);
    CHECK(ABT_xstream_free(&stream) == ABT_SUCCESS);
}

struct shot {
    margo_timer_t timer;
    atomic_bool has_begun;
    atomic_bool is_cancelled;
};

/* Keeps its stream until the wait of the canceller was named. */
static void callback(void *arg)
{
    struct shot *shot = arg;
    unsigned before = atomic_load(&callbacks);

    atomic_store(&shot->has_begun, true);
    while (atomic_load(&callbacks) == before)
        ;
}

static void *canceller(void *arg)
{
    struct shot *shot = arg;

    while (!atomic_load(&shot->has_begun))
        ;
    CHECK(margo_timer_cancel(shot->timer) == 0);
    atomic_store(&shot->is_cancelled, true);
    return NULL;
}

/* ABT_POOL_NULL: in the loop. */
static void callback_in(ABT_pool pool)
{
    struct shot shot = {.timer = MARGO_TIMER_NULL};
    pthread_t thread;

    CHECK(margo_timer_create_with_pool(
              pair.mid, callback, &shot, pool, &shot.timer) == 0);
    CHECK(margo_timer_start(shot.timer, 0) == 0);
    CHECK(pthread_create(&thread, NULL, canceller, &shot) == 0);
    /* The thread of the callback needs this stream until its end. */
    while (!atomic_load(&shot.is_cancelled))
        margo_thread_sleep(pair.mid, 1);
    join(thread);
    CHECK(margo_timer_destroy(shot.timer) == 0);
}

static void *borrower(void *arg)
{
    hg_bulk_t bulk = HG_BULK_NULL;

    CHECK(margo_bulk_pool_get(arg, &bulk) == 0);
    CHECK(margo_bulk_pool_release(arg, bulk) == 0);
    return NULL;
}

static void buffer_missing(void)
{
    margo_bulk_pool_t pool = MARGO_BULK_POOL_NULL;
    hg_bulk_t bulk = HG_BULK_NULL;
    pthread_t thread;

    CHECK_RC(margo_bulk_pool_create(pair.mid, 1, 64, HG_BULK_READWRITE, &pool),
        HG_SUCCESS);
    CHECK(margo_bulk_pool_get(pool, &bulk) == 0);
    CHECK(pthread_create(&thread, NULL, borrower, pool) == 0);
    while (atomic_load(&buffers) == 0)
        ;
    CHECK(margo_bulk_pool_release(pool, bulk) == 0);
    join(thread);
    CHECK(margo_bulk_pool_destroy(pool) == 0);
}

static void at_end(void *arg)
{
    (void)arg;
    while (atomic_load(&ends) == 0)
        ;
}

static void *ender(void *arg)
{
    margo_finalize(pair.mid);
    return arg;
}

/* One of two threads runs the callback, and the other one waits for it. */
static void end(void)
{
    pthread_t thread;

    CHECK_RC(margo_addr_free(pair.mid, pair.self), HG_SUCCESS);
    margo_push_finalize_callback(pair.mid, at_end, NULL);
    CHECK_RC(margo_instance_ref_incr(pair.mid), HG_SUCCESS);
    CHECK(pthread_create(&thread, NULL, ender, NULL) == 0);
    margo_wait_for_finalize(pair.mid);
    join(thread);
    CHECK_RC(margo_instance_release(pair.mid), HG_SUCCESS);
}

int main(void)
{
    struct margo_logger logger = {
        NULL, listen, listen, listen, listen, listen, listen};
    ABT_pool pool = ABT_POOL_NULL;

    CHECK(ABT_init(0, NULL) == ABT_SUCCESS);
    alone_open(NULL, NULL);
    CHECK(margo_set_logger(pair.mid, &logger) == 0);
    quick_id = MARGO_REGISTER(pair.mid, "quick", void, void, quick);
    in_os_thread();
    in_stream();
    CHECK(margo_get_handler_pool(pair.mid, &pool) == 0);
    callback_in(pool);
    callback_in(ABT_POOL_NULL);
    buffer_missing();
    end();
    CHECK(ABT_finalize() == ABT_SUCCESS);
    return 0;
}
