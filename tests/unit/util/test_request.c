/* SPDX-License-Identifier: BSD-3-Clause */
/* One thread or several wait for requests, over a fake medium. */
#include "mercury_request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"

enum { THREADS = 4, ROUNDS = 200, FOREVER_MS = 3600 * 1000 };

/* A medium in which each progress call brings in the oldest posted request, and
 * each trigger call completes one that came in. */
struct fake {
    pthread_mutex_t mutex;
    hg_request_t *posted[THREADS];
    unsigned posted_count;
    hg_request_t *arrived[THREADS];
    unsigned arrived_count;
    unsigned progress_calls;
    unsigned idle_calls; /* progress calls that find nothing */
    unsigned longest_ms;
    atomic_int drivers; /* threads inside progress or trigger */
    atomic_int most_drivers;
    hg_request_class_t *cls;
    hg_request_t *nested; /* waited for by the next callback */
    int nested_rc;
    unsigned nested_flag;
};

static void fake_enter(struct fake *fake)
{
    int now = atomic_fetch_add(&fake->drivers, 1) + 1;

    if (now > atomic_load(&fake->most_drivers))
        atomic_store(&fake->most_drivers, now);
}

static void fake_leave(struct fake *fake)
{
    atomic_fetch_sub(&fake->drivers, 1);
}

static hg_request_t *fake_take(hg_request_t **list, unsigned *count)
{
    hg_request_t *first = NULL;

    if (*count == 0)
        return NULL;
    first = list[0];
    (*count)--;
    for (unsigned i = 0; i < *count; i++)
        list[i] = list[i + 1];
    return first;
}

static int fake_progress(unsigned int timeout, void *arg)
{
    struct fake *fake = arg;
    hg_request_t *request = NULL;

    fake_enter(fake);
    pthread_mutex_lock(&fake->mutex);
    fake->progress_calls++;
    if (timeout > fake->longest_ms)
        fake->longest_ms = timeout;
    if (fake->progress_calls > fake->idle_calls)
        request = fake_take(fake->posted, &fake->posted_count);
    if (request != NULL)
        fake->arrived[fake->arrived_count++] = request;
    pthread_mutex_unlock(&fake->mutex);
    fake_leave(fake);
    return request != NULL ? HG_UTIL_SUCCESS : HG_UTIL_FAIL;
}

static int fake_trigger(unsigned int timeout, unsigned int *flag, void *arg)
{
    struct fake *fake = arg;
    hg_request_t *request = NULL;
    hg_request_t *nested = NULL;

    assert_int_equal(timeout, 0);
    fake_enter(fake);
    pthread_mutex_lock(&fake->mutex);
    request = fake_take(fake->arrived, &fake->arrived_count);
    nested = request != NULL ? fake->nested : NULL;
    if (nested != NULL)
        fake->nested = NULL;
    pthread_mutex_unlock(&fake->mutex);
    fake_leave(fake);
    if (nested != NULL)
        fake->nested_rc =
            hg_request_wait(nested, FOREVER_MS, &fake->nested_flag);
    *flag = request != NULL;
    if (request == NULL)
        return HG_UTIL_FAIL;
    hg_request_complete(request);
    return HG_UTIL_SUCCESS;
}

static void fake_post(struct fake *fake, hg_request_t *request)
{
    pthread_mutex_lock(&fake->mutex);
    fake->posted[fake->posted_count++] = request;
    pthread_mutex_unlock(&fake->mutex);
}

static void fake_init(struct fake *fake)
{
    *fake = (struct fake){.nested_rc = HG_UTIL_FAIL};
    pthread_mutex_init(&fake->mutex, NULL);
    fake->cls = hg_request_init(fake_progress, fake_trigger, fake);
    assert_non_null(fake->cls);
}

static void fake_fini(struct fake *fake)
{
    void *arg = NULL;

    hg_request_finalize(fake->cls, &arg);
    assert_ptr_equal(arg, fake);
    pthread_mutex_destroy(&fake->mutex);
}

static void test_request_wait_makes_progress_until_complete(void **state)
{
    struct fake fake;
    hg_request_t *request = NULL;
    unsigned flag = 0;

    (void)state;
    fake_init(&fake);
    request = hg_request_create(fake.cls);
    for (int i = 0; i < 3; i++) {
        fake_post(&fake, request);
        assert_int_equal(hg_request_wait(request, FOREVER_MS, &flag), 0);
        assert_int_equal(flag, HG_UTIL_TRUE);
        assert_int_equal(fake.progress_calls, i + 1);
        assert_int_equal(hg_request_reset(request), HG_UTIL_SUCCESS);
    }
    /* Short waits only poll; a long wait is split into slices. */
    assert_int_equal(fake.longest_ms, 0);
    fake.idle_calls = fake.progress_calls + 2;
    fake_post(&fake, request);
    assert_int_equal(hg_request_wait(request, FOREVER_MS, &flag), 0);
    assert_int_equal(flag, HG_UTIL_TRUE);
    assert_true(fake.longest_ms > 0 && fake.longest_ms <= 500);
    hg_request_destroy(request);
    fake_fini(&fake);
}

static void test_request_complete_needs_no_progress(void **state)
{
    struct fake fake;
    hg_request_t *request = NULL;
    unsigned flag = 0;

    (void)state;
    fake_init(&fake);
    request = hg_request_create(fake.cls);
    hg_request_complete(request);
    assert_int_equal(hg_request_wait(request, 0, &flag), HG_UTIL_SUCCESS);
    assert_int_equal(flag, HG_UTIL_TRUE);
    assert_int_equal(hg_request_wait(request, 0, NULL), HG_UTIL_SUCCESS);
    assert_int_equal(fake.progress_calls, 0);
    hg_request_destroy(request);
    fake_fini(&fake);
}

static void test_request_timeout_is_reported_by_flag(void **state)
{
    struct fake fake;
    hg_request_t *request = NULL;
    unsigned flag = 7;

    (void)state;
    fake_init(&fake);
    request = hg_request_create(fake.cls);
    assert_int_equal(hg_request_wait(request, 0, &flag), HG_UTIL_SUCCESS);
    assert_int_equal(flag, HG_UTIL_FALSE);
    flag = 7;
    assert_int_equal(hg_request_wait(request, 2, &flag), HG_UTIL_SUCCESS);
    assert_int_equal(flag, HG_UTIL_FALSE);
    assert_true(fake.progress_calls > 0 && fake.longest_ms <= 2);
    hg_request_destroy(request);
    fake_fini(&fake);
}

static void test_request_waitall_reports_all(void **state)
{
    struct fake fake;
    hg_request_t *requests[3];
    unsigned flag = 0;

    (void)state;
    fake_init(&fake);
    for (int i = 0; i < 3; i++)
        requests[i] = hg_request_create(fake.cls);
    fake_post(&fake, requests[2]);
    fake_post(&fake, requests[0]);
    assert_int_equal(hg_request_waitall(3, requests, 3, &flag), 0);
    assert_int_equal(flag, HG_UTIL_FALSE);
    hg_request_complete(requests[1]);
    assert_int_equal(hg_request_waitall(3, requests, 0, &flag), 0);
    assert_int_equal(flag, HG_UTIL_TRUE);
    assert_int_equal(hg_request_waitall(0, NULL, 0, &flag), 0);
    assert_int_equal(flag, HG_UTIL_TRUE);
    for (int i = 0; i < 3; i++)
        hg_request_destroy(requests[i]);
    fake_fini(&fake);
}

static void test_request_callback_may_wait_in_turn(void **state)
{
    struct fake fake;
    hg_request_t *outer = NULL;
    hg_request_t *inner = NULL;
    unsigned flag = 0;

    (void)state;
    fake_init(&fake);
    outer = hg_request_create(fake.cls);
    inner = hg_request_create(fake.cls);
    fake_post(&fake, outer);
    fake_post(&fake, inner);
    fake.nested = inner;
    assert_int_equal(hg_request_wait(outer, FOREVER_MS, &flag), 0);
    assert_int_equal(flag, HG_UTIL_TRUE);
    assert_int_equal(fake.nested_rc, HG_UTIL_SUCCESS);
    assert_int_equal(fake.nested_flag, HG_UTIL_TRUE);
    hg_request_destroy(outer);
    hg_request_destroy(inner);
    fake_fini(&fake);
}

/* Posts and waits, repeatedly. */
static void *waiter_run(void *arg)
{
    struct fake *fake = arg;
    uintptr_t missed = 0;

    for (int i = 0; i < ROUNDS; i++) {
        hg_request_t *request = hg_request_create(fake->cls);
        unsigned flag = 0;

        fake_post(fake, request);
        hg_request_wait(request, FOREVER_MS, &flag);
        if (flag != HG_UTIL_TRUE)
            missed++;
        hg_request_destroy(request);
    }
    return (void *)missed;
}

static void test_request_one_thread_makes_progress_for_all(void **state)
{
    struct fake fake;
    pthread_t threads[THREADS];

    (void)state;
    fake_init(&fake);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, waiter_run, &fake), 0);
    for (int i = 0; i < THREADS; i++) {
        void *missed = NULL;

        assert_int_equal(pthread_join(threads[i], &missed), 0);
        assert_null(missed);
    }
    assert_int_equal(atomic_load(&fake.most_drivers), 1);
    fake_fini(&fake);
}

static void *completer_run(void *arg)
{
    hg_request_complete(arg);
    return NULL;
}

static void test_request_completed_outside_ends_wait(void **state)
{
    struct fake fake;
    hg_request_t *request = NULL;
    pthread_t thread;
    unsigned flag = 0;

    (void)state;
    fake_init(&fake);
    request = hg_request_create(fake.cls);
    assert_int_equal(pthread_create(&thread, NULL, completer_run, request), 0);
    assert_int_equal(hg_request_wait(request, FOREVER_MS, &flag), 0);
    assert_int_equal(flag, HG_UTIL_TRUE);
    pthread_join(thread, NULL);
    hg_request_destroy(request);
    fake_fini(&fake);
}

static void test_request_misuse_and_no_memory_are_refused(void **state)
{
    struct fake fake;
    hg_request_t *request = NULL;
    unsigned flag = 7;
    int datum = 0;

    (void)state;
    assert_null(hg_request_init(NULL, fake_trigger, NULL));
    assert_null(hg_request_init(fake_progress, NULL, NULL));
    amg_mem_fail_nth(1);
    assert_null(hg_request_init(fake_progress, fake_trigger, NULL));
    fake_init(&fake);
    amg_mem_fail_nth(1);
    assert_null(hg_request_create(fake.cls));
    assert_null(hg_request_create(NULL));
    assert_int_equal(hg_request_wait(NULL, 0, &flag), HG_UTIL_FAIL);
    assert_int_equal(hg_request_waitall(1, &request, 0, &flag), HG_UTIL_FAIL);
    assert_int_equal(hg_request_waitall(-1, NULL, 0, &flag), HG_UTIL_FAIL);
    assert_int_equal(flag, 7);
    hg_request_complete(NULL);
    assert_int_equal(hg_request_reset(NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_request_set_data(NULL, NULL), HG_UTIL_FAIL);
    assert_null(hg_request_get_data(NULL));
    hg_request_destroy(NULL);
    hg_request_finalize(NULL, NULL);
    request = hg_request_create(fake.cls);
    assert_int_equal(hg_request_set_data(request, &datum), HG_UTIL_SUCCESS);
    assert_ptr_equal(hg_request_get_data(request), &datum);
    hg_request_destroy(request);
    fake_fini(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_wait_makes_progress_until_complete),
        cmocka_unit_test(test_request_complete_needs_no_progress),
        cmocka_unit_test(test_request_timeout_is_reported_by_flag),
        cmocka_unit_test(test_request_waitall_reports_all),
        cmocka_unit_test(test_request_callback_may_wait_in_turn),
        cmocka_unit_test(test_request_one_thread_makes_progress_for_all),
        cmocka_unit_test(test_request_completed_outside_ends_wait),
        cmocka_unit_test(test_request_misuse_and_no_memory_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
