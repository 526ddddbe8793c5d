/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: waiting for callbacks as if calls were blocking.
 *
 * One of the threads that wait on a class is the driver: the driver calls
 * trigger and progress for all threads, without the mutex. The other threads
 * sleep until a request is completed or the driver leaves. Then each thread
 * checks its own request; once the driver has left, the first thread whose
 * request is not complete becomes the driver. A callback runs on the driver's
 * thread, so that a wait in the callback drives as well.
 *
 * No wake-up may be lost. A thread that is about to sleep increments `sleepers`
 * and then checks its request and `driver`. A driver that completes a request,
 * or ceases to drive, stores the new state, then reads `sleepers`. With seq_cst
 * accesses, one thread sees the store of the other. The sleeper checks and the
 * waker signals under the mutex: no signal comes between check and sleep.
 *
 * The driver completes requests without the mutex, since no class is finalized
 * while a thread is in a wait. Other threads complete requests under the mutex,
 * since the waiter may then finalize the class, which waits for the mutex. */
#include "mercury_request.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/assert.h"
#include "base/bias.h"
#include "base/pool.h"
#include "base/clock.h"
#include "base/mem.h"
#include "mercury_core_types.h"

/* Longest time in one progress call, in ms. Then the driver checks its request
 * again, as a thread that is in no wait may have completed it. */
enum { SLICE_MS = 100 };

enum {
    POLLS = 3, /* rounds that a wait makes at most before it reads the clock */
    NS_PER_S = 1000000000
};

/* Number of destroyed requests whose memory is kept back from reuse, so that a
 * use of a recently destroyed request is detected by its state. */
enum { REST = 1024 };

/* Owned by the program, from init to finalize. */
struct hg_request_class {
    hg_request_progress_func_t progress;
    hg_request_trigger_func_t trigger;
    void *arg;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* a request is complete, or the driver has left */
    atomic_uint sleepers;   /* sleeping threads; changed under the mutex */
    /* amg_bias_mark() of the thread that drives; 0: none. */
    _Atomic(uintptr_t) driver;
};

enum request_state {
    REQUEST_GONE, /* destroyed */
    REQUEST_OPEN, /* not completed, or reset */
    REQUEST_DONE, /* completed */
};

/* Owned by the program, from create to destroy. */
struct hg_request {
    struct amg_link kept; /* for amg_attic_put(), once destroyed */
    hg_request_class_t *cls;
    void *data;
    /* Publishes what the callback wrote: the release store of
     * hg_request_complete() pairs with the acquire load of state_of(). */
    _Atomic(enum request_state) state;
};

static struct amg_attic attic = {.rest = REST}; /* of requests */

static enum request_state state_of(const hg_request_t *request)
{
    return atomic_load_explicit(&request->state, memory_order_acquire);
}

static bool request_is_done(const hg_request_t *request)
{
    return state_of(request) == REQUEST_DONE;
}

/* Checks a request passed in by the program. */
#define REQUEST_OK(request)                                                    \
    AMG_ALIVE((request) != NULL && state_of(request) != REQUEST_GONE,          \
        "request", (request))

hg_request_class_t *hg_request_init(hg_request_progress_func_t progress_func,
    hg_request_trigger_func_t trigger_func, void *arg)
{
    hg_request_class_t *cls = NULL;

    if (!AMG_GIVEN(progress_func) || !AMG_GIVEN(trigger_func))
        return NULL;
    cls = amg_mem_zalloc(sizeof(*cls));
    if (cls == NULL)
        return NULL;
    cls->progress = progress_func;
    cls->trigger = trigger_func;
    cls->arg = arg;
    if (pthread_mutex_init(&cls->mutex, NULL) != 0)
        goto free_class;
    if (pthread_cond_init(&cls->changed, NULL) != 0)
        goto destroy_mutex;
    return cls;

destroy_mutex:
    pthread_mutex_destroy(&cls->mutex);
free_class:
    amg_mem_free(cls);
    return NULL;
}

void hg_request_finalize(hg_request_class_t *request_class, void **arg)
{
    if (request_class == NULL)
        return;
    if (arg != NULL)
        *arg = request_class->arg;
    /* The thread that completed the last request may still hold the mutex. */
    pthread_mutex_lock(&request_class->mutex);
    AMG_ASSERT(request_class->driver == 0 && request_class->sleepers == 0);
    pthread_mutex_unlock(&request_class->mutex);
    pthread_cond_destroy(&request_class->changed);
    pthread_mutex_destroy(&request_class->mutex);
    amg_mem_free(request_class);
}

hg_request_t *hg_request_create(hg_request_class_t *request_class)
{
    hg_request_t *request = NULL;

    if (!AMG_GIVEN(request_class))
        return NULL;
    request = amg_attic_get(&attic, _Alignof(hg_request_t), sizeof(*request));
    if (request == NULL)
        return NULL;
    request->cls = request_class;
    request->data = NULL;
    atomic_store_explicit(&request->state, REQUEST_OPEN, memory_order_relaxed);
    return request;
}

void hg_request_destroy(hg_request_t *request)
{
    if (request == NULL || !REQUEST_OK(request))
        return;
    atomic_store_explicit(&request->state, REQUEST_GONE, memory_order_relaxed);
    amg_attic_put(&attic, request);
}

int hg_request_reset(hg_request_t *request)
{
    if (!REQUEST_OK(request))
        return HG_UTIL_FAIL;
    atomic_store_explicit(&request->state, REQUEST_OPEN, memory_order_relaxed);
    return HG_UTIL_SUCCESS;
}

static void sleepers_wake(hg_request_class_t *cls)
{
    if (atomic_load_explicit(&cls->sleepers, memory_order_seq_cst) == 0)
        return;
    pthread_mutex_lock(&cls->mutex);
    pthread_cond_broadcast(&cls->changed);
    pthread_mutex_unlock(&cls->mutex);
}

/* Is the caller the driver? Relaxed: only the caller stores its own mark. */
static bool is_driver(const hg_request_class_t *cls)
{
    return atomic_load_explicit(&cls->driver, memory_order_relaxed) ==
           amg_bias_mark();
}

void hg_request_complete(hg_request_t *request)
{
    hg_request_class_t *cls = NULL;

    if (!REQUEST_OK(request))
        return;
    cls = request->cls;
    /* Once the state is stored, the waiting thread may destroy the request. */
    if (is_driver(cls)) {
        atomic_store_explicit(
            &request->state, REQUEST_DONE, memory_order_seq_cst);
        sleepers_wake(cls);
        return;
    }
    pthread_mutex_lock(&cls->mutex);
    atomic_store_explicit(&request->state, REQUEST_DONE, memory_order_release);
    pthread_cond_broadcast(&cls->changed);
    pthread_mutex_unlock(&cls->mutex);
}

/* Time limit of a wait. */
struct limit {
    unsigned timeout_ms;
    unsigned polls;       /* rounds so far without reading the clock */
    uint64_t deadline_ns; /* 0: the clock was not read yet */
    unsigned slice_ms;    /* time limit of the next progress call */
};

static uint64_t limit_deadline_ns(struct limit *limit)
{
    if (limit->deadline_ns == 0)
        limit->deadline_ns = amg_clock_deadline_ns(limit->timeout_ms);
    return limit->deadline_ns;
}

/* Called before a round: is the time over? If not, sets slice_ms. The first
 * rounds only poll (0 ms), without the clock, while each runs a callback. */
static bool limit_is_over(struct limit *limit, bool has_run)
{
    uint64_t left_ns = 0;
    uint64_t now_ns = 0;

    if (limit->deadline_ns == 0 && has_run && limit->polls++ < POLLS)
        return limit->timeout_ms == 0;
    (void)limit_deadline_ns(limit);
    now_ns = amg_clock_ns();
    if (now_ns >= limit->deadline_ns)
        return true;
    left_ns = limit->deadline_ns - now_ns;
    /* Rounded up, since progress calls with 0 ms would be a busy loop. */
    limit->slice_ms =
        left_ns < SLICE_MS * AMG_NS_PER_MS
            ? (unsigned)((left_ns + AMG_NS_PER_MS - 1) / AMG_NS_PER_MS)
            : SLICE_MS;
    return false;
}

/* Runs callbacks until none is left. False: there was no callback. */
static bool callbacks_run(hg_request_class_t *cls)
{
    unsigned int any = 0;
    bool has_run = false;

    while (cls->trigger(0, &any, cls->arg) == HG_UTIL_SUCCESS && any != 0) {
        has_run = true;
        any = 0;
    }
    return has_run;
}

/* Makes progress until the request is complete or the time is over. */
static void request_drive(const hg_request_t *request, struct limit *limit)
{
    hg_request_class_t *cls = request->cls;
    bool has_run = true; /* the first round need not read the clock */

    (void)callbacks_run(cls);
    while (!request_is_done(request) && !limit_is_over(limit, has_run)) {
        /* Ignores errors of progress: only the state of the request counts. */
        (void)cls->progress(limit->slice_ms, cls->arg);
        has_run = callbacks_run(cls);
    }
}

/* Sleeps until the request is complete, the driver has left, or the time is
 * over. False: the time is over. */
static bool request_sleep(const hg_request_t *request, struct limit *limit)
{
    hg_request_class_t *cls = request->cls;
    uint64_t deadline_ns = limit_deadline_ns(limit);
    const struct timespec until = {
        .tv_sec = (time_t)(deadline_ns / NS_PER_S),
        .tv_nsec = (long)(deadline_ns % NS_PER_S),
    };
    int err = 0;

    pthread_mutex_lock(&cls->mutex);
    atomic_fetch_add_explicit(&cls->sleepers, 1u, memory_order_seq_cst);
    while (atomic_load(&request->state) != REQUEST_DONE && err == 0 &&
           atomic_load(&cls->driver) != 0)
        err = pthread_cond_clockwait(
            &cls->changed, &cls->mutex, CLOCK_MONOTONIC, &until);
    atomic_fetch_sub_explicit(&cls->sleepers, 1u, memory_order_relaxed);
    pthread_mutex_unlock(&cls->mutex);
    return err == 0;
}

static void request_wait(hg_request_t *request, struct limit *limit)
{
    hg_request_class_t *cls = request->cls;
    uintptr_t mine = amg_bias_mark();

    while (!request_is_done(request)) {
        uintptr_t driver = 0;
        bool is_elected = atomic_compare_exchange_strong_explicit(&cls->driver,
            &driver, mine, memory_order_acquire, memory_order_relaxed);

        if (is_elected || driver == mine) {
            request_drive(request, limit);
            if (!is_elected)
                return;
            atomic_store_explicit(&cls->driver, 0, memory_order_seq_cst);
            sleepers_wake(cls);
            return;
        }
        if (!request_sleep(request, limit))
            return;
    }
}

int hg_request_wait(
    hg_request_t *request, unsigned int timeout, unsigned int *flag)
{
    struct limit limit = {.timeout_ms = timeout};

    if (!REQUEST_OK(request))
        return HG_UTIL_FAIL;
    request_wait(request, &limit);
    if (flag != NULL)
        *flag = request_is_done(request) ? HG_UTIL_TRUE : HG_UTIL_FALSE;
    return HG_UTIL_SUCCESS;
}

int hg_request_waitall(int count, hg_request_t *request[], unsigned int timeout,
    unsigned int *flag)
{
    struct limit limit = {.timeout_ms = timeout};
    bool all_done = true;

    if (!AMG_CONTRACT(count >= 0 && (count == 0 || request != NULL),
            "count is %d, request is %p", count, (void *)request))
        return HG_UTIL_FAIL;
    for (int i = 0; i < count; i++) {
        if (!REQUEST_OK(request[i]))
            return HG_UTIL_FAIL;
    }
    for (int i = 0; i < count; i++) {
        request_wait(request[i], &limit);
        all_done = all_done && request_is_done(request[i]);
    }
    if (flag != NULL)
        *flag = all_done ? HG_UTIL_TRUE : HG_UTIL_FALSE;
    return HG_UTIL_SUCCESS;
}

int hg_request_set_data(hg_request_t *request, void *data)
{
    if (!REQUEST_OK(request))
        return HG_UTIL_FAIL;
    request->data = data;
    return HG_UTIL_SUCCESS;
}

void *hg_request_get_data(hg_request_t *request)
{
    return request != NULL && REQUEST_OK(request) ? request->data : NULL;
}
