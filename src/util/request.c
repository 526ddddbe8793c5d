/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: waiting for callbacks as if calls were blocking.
 *
 * Of the threads that wait on one class, one is the driver: it calls trigger
 * and progress for all, without the lock. The others sleep until a request is
 * completed or the driver leaves; then each looks at its own request, and the
 * first thread whose request is not done becomes the driver. So no wait ends
 * only because its time slice does. A callback that waits in its turn is called
 * by the driver's thread, and drives too. */
#include "mercury_request.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/assert.h"
#include "base/pool.h"
#include "base/clock.h"
#include "base/mem.h"
#include "mercury_core_types.h"

/* Longest stay in one progress call, in ms: after it the driver looks at its
 * request again, in case a thread outside completed it. */
enum { SLICE_MS = 100 };

/* Destroyed requests whose memory is not used again yet: the use of one of them
 * is told from the use of a newer request. */
enum { REST = 1024 };

/* Owned by the program, from init to finalize. */
struct hg_request_class {
    hg_request_progress_func_t progress;
    hg_request_trigger_func_t trigger;
    void *arg;
    pthread_mutex_t mutex; /* guards all below and changes of states */
    pthread_cond_t changed;
    unsigned sleepers;
    unsigned drives; /* nested waits of the driver's thread; 0: no driver */
    pthread_t driver;
};

enum request_state {
    REQUEST_GONE, /* destroyed */
    REQUEST_OPEN, /* not completed, or reset */
    REQUEST_DONE, /* completed */
};

/* Owned by the program, from create to destroy. */
struct hg_request {
    struct amg_link kept; /* in the attic, once the request is destroyed */
    hg_request_class_t *cls;
    void *data;
    /* Publishes what the callback wrote: the release store of complete() pairs
     * with the acquire load of request_is_done(). */
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
    /* The thread that completed the last request may still hold the lock. */
    pthread_mutex_lock(&request_class->mutex);
    AMG_ASSERT(request_class->drives == 0 && request_class->sleepers == 0);
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

void hg_request_complete(hg_request_t *request)
{
    hg_request_class_t *cls = NULL;

    if (!REQUEST_OK(request))
        return;
    cls = request->cls;
    pthread_mutex_lock(&cls->mutex);
    atomic_store_explicit(&request->state, REQUEST_DONE, memory_order_release);
    /* The request may be gone from here on; the class is not while locked. */
    if (cls->sleepers > 0)
        pthread_cond_broadcast(&cls->changed);
    pthread_mutex_unlock(&cls->mutex);
}

/* Runs callbacks until none is left. */
static void callbacks_run(hg_request_class_t *cls)
{
    unsigned int any = 0;
    int rc = HG_UTIL_SUCCESS;

    do {
        any = 0;
        rc = cls->trigger(0, &any, cls->arg);
    } while (rc == HG_UTIL_SUCCESS && any != 0);
}

/* Milliseconds of the next progress call; rounded up, so that a wait of less
 * than 1 ms does not become a busy loop. */
static unsigned slice_ms(uint64_t now_ns, uint64_t deadline_ns)
{
    uint64_t left_ms =
        (deadline_ns - now_ns + AMG_NS_PER_MS - 1) / AMG_NS_PER_MS;

    return left_ms < SLICE_MS ? (unsigned)left_ms : SLICE_MS;
}

/* Drives until the request is complete or the time is over. */
static void request_drive(const hg_request_t *request, uint64_t deadline_ns)
{
    hg_request_class_t *cls = request->cls;
    uint64_t now_ns = 0;

    for (;;) {
        callbacks_run(cls);
        if (request_is_done(request))
            return;
        now_ns = amg_clock_ns();
        if (now_ns >= deadline_ns)
            return;
        /* The result does not matter: the loop looks at the request. */
        (void)cls->progress(slice_ms(now_ns, deadline_ns), cls->arg);
    }
}

static void request_wait_until(hg_request_t *request, uint64_t deadline_ns)
{
    hg_request_class_t *cls = request->cls;
    const struct timespec until = {
        .tv_sec = (time_t)(deadline_ns / 1000000000u),
        .tv_nsec = (long)(deadline_ns % 1000000000u),
    };
    int err = 0;

    pthread_mutex_lock(&cls->mutex);
    while (!request_is_done(request) && cls->drives > 0 &&
           !pthread_equal(cls->driver, pthread_self()) && err == 0) {
        cls->sleepers++;
        err = pthread_cond_clockwait(
            &cls->changed, &cls->mutex, CLOCK_MONOTONIC, &until);
        cls->sleepers--;
    }
    if (request_is_done(request) || err != 0) {
        pthread_mutex_unlock(&cls->mutex);
        return;
    }
    cls->driver = pthread_self();
    cls->drives++;
    pthread_mutex_unlock(&cls->mutex);

    request_drive(request, deadline_ns);

    pthread_mutex_lock(&cls->mutex);
    cls->drives--;
    if (cls->drives == 0 && cls->sleepers > 0)
        pthread_cond_broadcast(&cls->changed);
    pthread_mutex_unlock(&cls->mutex);
}

int hg_request_wait(
    hg_request_t *request, unsigned int timeout, unsigned int *flag)
{
    return hg_request_waitall(1, &request, timeout, flag);
}

int hg_request_waitall(int count, hg_request_t *request[], unsigned int timeout,
    unsigned int *flag)
{
    uint64_t deadline_ns = amg_clock_deadline_ns(timeout);
    bool all_done = true;

    if (!AMG_CONTRACT(count >= 0 && (count == 0 || request != NULL),
            "count is %d, request is %p", count, (void *)request))
        return HG_UTIL_FAIL;
    for (int i = 0; i < count; i++) {
        if (!REQUEST_OK(request[i]))
            return HG_UTIL_FAIL;
    }
    for (int i = 0; i < count; i++) {
        if (!request_is_done(request[i]))
            request_wait_until(request[i], deadline_ns);
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
