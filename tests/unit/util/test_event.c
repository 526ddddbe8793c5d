/* SPDX-License-Identifier: BSD-3-Clause */
/* An event stays set until it is read, and wakes a thread that waits in a poll
 * set; poll sets add, remove, wait, and report events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/mem.h"
#include "mercury_event.h"
#include "mercury_poll.h"
#include "mercury_thread.h"

enum { LONG_MS = 20000 };

static struct hg_poll_event event_of(uint32_t events, uint64_t data)
{
    struct hg_poll_event event = {.events = events, .data.u64 = data};

    return event;
}

static void test_event_is_set_until_asked(void **state)
{
    int fd = hg_event_create();
    bool is_set = true;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(hg_event_get(fd, &is_set), HG_UTIL_SUCCESS);
    assert_false(is_set);
    assert_int_equal(hg_event_set(fd), HG_UTIL_SUCCESS);
    assert_int_equal(hg_event_set(fd), HG_UTIL_SUCCESS);
    assert_int_equal(hg_event_get(fd, &is_set), HG_UTIL_SUCCESS);
    assert_true(is_set);
    assert_int_equal(hg_event_get(fd, &is_set), HG_UTIL_SUCCESS);
    assert_false(is_set);
    assert_int_equal(hg_event_get(fd, NULL), HG_UTIL_SUCCESS);
    assert_int_equal(hg_event_destroy(fd), HG_UTIL_SUCCESS);
    assert_int_equal(hg_event_set(-1), HG_UTIL_FAIL);
    assert_int_equal(hg_event_get(-1, &is_set), HG_UTIL_FAIL);
    assert_int_equal(hg_event_destroy(-1), HG_UTIL_FAIL);
}

static void test_poll_reports_ready_descriptors(void **state)
{
    hg_poll_set_t *set = hg_poll_create();
    int a = hg_event_create(), b = hg_event_create();
    struct hg_poll_event event = event_of(HG_POLLIN, 11), got[4];
    unsigned int count = 99;

    (void)state;
    assert_non_null(set);
    assert_true(hg_poll_get_fd(set) >= 0);
    assert_int_equal(hg_poll_add(set, a, &event), HG_UTIL_SUCCESS);
    event = event_of(HG_POLLIN, UINT64_MAX);
    assert_int_equal(hg_poll_add(set, b, &event), HG_UTIL_SUCCESS);
    assert_int_equal(hg_poll_add(set, b, &event), HG_UTIL_FAIL);
    assert_int_equal(hg_poll_wait(set, 0, 4, got, &count), HG_UTIL_SUCCESS);
    assert_int_equal(count, 0);
    hg_event_set(b);
    assert_int_equal(
        hg_poll_wait(set, LONG_MS, 4, got, &count), HG_UTIL_SUCCESS);
    assert_int_equal(count, 1);
    assert_int_equal(got[0].events, HG_POLLIN);
    assert_true(got[0].data.u64 == UINT64_MAX);
    hg_event_set(a);
    assert_int_equal(hg_poll_wait(set, 0, 4, got, &count), HG_UTIL_SUCCESS);
    assert_int_equal(count, 2);
    assert_int_equal(hg_poll_wait(set, 0, 1, got, &count), HG_UTIL_SUCCESS);
    assert_int_equal(count, 1);
    assert_int_equal(hg_poll_remove(set, a), HG_UTIL_SUCCESS);
    assert_int_equal(hg_poll_remove(set, a), HG_UTIL_FAIL);
    hg_event_get(b, NULL);
    assert_int_equal(hg_poll_wait(set, 0, 4, got, &count), HG_UTIL_SUCCESS);
    assert_int_equal(count, 0);
    assert_int_equal(hg_poll_destroy(set), HG_UTIL_SUCCESS);
    hg_event_destroy(a);
    hg_event_destroy(b);
}

static void test_poll_reports_room_and_hangup(void **state)
{
    hg_poll_set_t *set = hg_poll_create();
    struct hg_poll_event event = event_of(HG_POLLOUT, 1), got[2];
    unsigned int count = 0;
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(hg_poll_add(set, ends[1], &event), HG_UTIL_SUCCESS);
    assert_int_equal(hg_poll_wait(set, 0, 2, got, &count), HG_UTIL_SUCCESS);
    assert_int_equal(count, 1);
    assert_int_equal(got[0].events, HG_POLLOUT);
    close(ends[0]);
    assert_int_equal(hg_poll_wait(set, 0, 2, got, &count), HG_UTIL_SUCCESS);
    assert_int_equal(count, 1);
    assert_true((got[0].events & HG_POLLERR) != 0);
    assert_int_equal(hg_poll_remove(set, ends[1]), HG_UTIL_SUCCESS);
    close(ends[1]);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    event = event_of(HG_POLLIN, 2);
    assert_int_equal(hg_poll_add(set, ends[0], &event), HG_UTIL_SUCCESS);
    close(ends[1]);
    assert_int_equal(hg_poll_wait(set, 0, 2, got, &count), HG_UTIL_SUCCESS);
    assert_int_equal(count, 1);
    assert_true((got[0].events & HG_POLLHUP) != 0);
    assert_int_equal(hg_poll_destroy(set), HG_UTIL_SUCCESS);
    close(ends[0]);
}

static hg_thread_ret_t event_set_soon(void *arg)
{
    hg_event_set(*(int *)arg);
    return NULL;
}

static void test_poll_is_woken_by_a_thread(void **state)
{
    hg_poll_set_t *set = hg_poll_create(), *outer = hg_poll_create();
    int fd = hg_event_create();
    struct hg_poll_event event = event_of(HG_POLLIN, 5), got[1];
    unsigned int count = 0;
    hg_thread_t thread;

    (void)state;
    assert_int_equal(hg_poll_add(set, fd, &event), HG_UTIL_SUCCESS);
    /* Poll sets can be nested. */
    assert_int_equal(
        hg_poll_add(outer, hg_poll_get_fd(set), &event), HG_UTIL_SUCCESS);
    assert_int_equal(
        hg_thread_create(&thread, event_set_soon, &fd), HG_UTIL_SUCCESS);
    do {
        assert_int_equal(
            hg_poll_wait(outer, LONG_MS, 1, got, &count), HG_UTIL_SUCCESS);
    } while (count == 1 && got[0].events == HG_POLLINTR);
    assert_int_equal(count, 1);
    assert_true(got[0].data.u64 == 5);
    hg_thread_join(thread);
    hg_poll_destroy(outer);
    hg_poll_destroy(set);
    hg_event_destroy(fd);
}

static void signal_take(int number)
{
    (void)number;
}

static void test_poll_reports_a_signal(void **state)
{
    hg_poll_set_t *set = hg_poll_create();
    struct sigaction action = {.sa_handler = signal_take}, before;
    /* Periodic, as the first signal may come before the wait. */
    struct itimerval often = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
    struct hg_poll_event got[1];
    unsigned int count = 0;

    (void)state;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    assert_int_equal(
        hg_poll_wait(set, LONG_MS, 1, got, &count), HG_UTIL_SUCCESS);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    assert_int_equal(count, 1);
    assert_int_equal(got[0].events, HG_POLLINTR);
    assert_true(got[0].data.u64 == 0);
    hg_poll_destroy(set);
}

static void test_poll_misuse_is_answered(void **state)
{
    hg_poll_set_t *set = hg_poll_create();
    struct hg_poll_event event = event_of(HG_POLLIN, 0);
    unsigned int count = 0;

    (void)state;
    amg_mem_fail_nth(1);
    assert_null(hg_poll_create());
    amg_mem_fail_nth(0);
    assert_int_equal(hg_poll_get_fd(NULL), -1);
    assert_int_equal(hg_poll_add(NULL, 0, &event), HG_UTIL_FAIL);
    assert_int_equal(hg_poll_add(set, 0, NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_poll_add(set, -1, &event), HG_UTIL_FAIL);
    assert_int_equal(hg_poll_remove(NULL, 0), HG_UTIL_FAIL);
    assert_int_equal(hg_poll_wait(NULL, 0, 1, &event, &count), HG_UTIL_FAIL);
    assert_int_equal(hg_poll_wait(set, 0, 0, &event, &count), HG_UTIL_FAIL);
    assert_int_equal(hg_poll_wait(set, 0, 1, NULL, &count), HG_UTIL_FAIL);
    assert_int_equal(hg_poll_wait(set, 0, 1, &event, NULL), HG_UTIL_FAIL);
    assert_int_equal(hg_poll_destroy(set), HG_UTIL_SUCCESS);
    assert_int_equal(hg_poll_destroy(NULL), HG_UTIL_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_event_is_set_until_asked),
        cmocka_unit_test(test_poll_reports_ready_descriptors),
        cmocka_unit_test(test_poll_reports_room_and_hangup),
        cmocka_unit_test(test_poll_is_woken_by_a_thread),
        cmocka_unit_test(test_poll_reports_a_signal),
        cmocka_unit_test(test_poll_misuse_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
