/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits of the progress owner: it polls, then blocks on descriptors, and every
 * event wakes it; also with an event loop of the program in its place, or
 * beside it. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/assert.h"
#include "base/clock.h"
#include "core/progress.h"
#include "medium.h"
#include "mercury_context.h"

enum { ROUNDS = 2000, FEW_POLLS = 8, PUSHERS = 3, DISTANCE_MAX = 32 };

static int open_unblocking(void **state)
{
    (void)state;
    medium_context = medium_open(false, true);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    medium_close(medium_context);
    return 0;
}

static void until_armed(unsigned arms)
{
    while (atomic_load(&medium.arms) < arms)
        sched_yield();
}

static void *send_when_armed(void *arg)
{
    (void)arg;
    until_armed(1);
    medium_send();
    return NULL;
}

/* An entry that counts its runs. */
struct counted {
    struct amg_cq_entry entry;
    atomic_uint ran;
};

static struct counted pushed[PUSHERS];

static void entry_run(struct amg_cq_entry *entry)
{
    atomic_fetch_add(&amg_container_of(entry, struct counted, entry)->ran, 1);
}

static void pushed_init(void)
{
    for (unsigned i = 0; i < PUSHERS; i++) {
        pushed[i].entry.run = entry_run;
        atomic_store(&pushed[i].ran, 0);
    }
}

static void *push_when_armed(void *arg)
{
    (void)arg;
    until_armed(1);
    amg_cq_push(&medium_context->cq, &pushed[0].entry);
    return NULL;
}

static void *post_when_armed(void *arg)
{
    (void)arg;
    until_armed(1);
    atomic_store(&medium.events, 1); /* not an event of the transport */
    amg_context_posted(medium_context, AMG_ROUTE_OFI);
    return NULL;
}

/* HG_Progress() without limit, which `run` ends from another thread. */
static void sleep_for(void *(*run)(void *))
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
    assert_int_equal(HG_Progress(medium_context, MEDIUM_WAIT_MS), HG_SUCCESS);
    pthread_join(thread, NULL);
}

static void test_wait_ends_by_an_event_of_the_transport(void **state)
{
    (void)state;
    sleep_for(send_when_armed);
}

static void test_wait_ends_by_a_queued_entry(void **state)
{
    (void)state;
    pushed_init();
    sleep_for(push_when_armed);
    assert_int_equal(HG_Event_trigger(medium_context, 1, NULL), HG_SUCCESS);
}

static void test_wait_ends_by_a_post_of_another_thread(void **state)
{
    (void)state;
    sleep_for(post_when_armed);
}

static void test_wait_sleeps_until_its_time_is_over(void **state)
{
    unsigned polls = 0;
    uint64_t sums[AMG_COUNTERS] = {0};

    (void)state;
    assert_int_equal(HG_Progress(medium_context, 0), HG_TIMEOUT);
    assert_int_equal(HG_Progress(medium_context, 5), HG_TIMEOUT);
    (void)amg_context_sum_all(medium_context->cls, sums);
    assert_int_equal(sums[AMG_COUNT_WAITS], 1);
    assert_true(sums[AMG_COUNT_SLEEPS] >= 1);
    polls = atomic_load(&medium.polls);
    assert_true(atomic_load(&medium.arms) >= 1);
    /* No event came before the time was over. */
    atomic_store(&medium.is_oversubscribed, true);
    assert_int_equal(HG_Progress(medium_context, 5), HG_TIMEOUT);
    assert_int_equal(HG_Progress(medium_context, 5), HG_TIMEOUT);
    assert_true(polls > 0);
}

static void *one_at_a_time(void *arg)
{
    atomic_uint *seen = arg;

    for (unsigned i = 0; i < ROUNDS; i++) {
        medium_send();
        while (atomic_load(seen) <= i)
            sched_yield();
    }
    return NULL;
}

/* The message comes while the owner polls, arms, or blocks. */
static void test_wait_loses_no_message(void **state)
{
    atomic_uint seen = 0;
    pthread_t thread;

    (void)state;
    medium_context->spin_ns = 0;
    assert_int_equal(pthread_create(&thread, NULL, one_at_a_time, &seen), 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        assert_int_equal(
            HG_Progress(medium_context, MEDIUM_WAIT_MS), HG_SUCCESS);
        atomic_fetch_add(&seen, 1);
    }
    pthread_join(thread, NULL);
}

static void *push_all(void *arg)
{
    struct counted *counted = arg;

    for (unsigned i = 0; i < ROUNDS; i++) {
        amg_cq_push(&medium_context->cq, &counted->entry);
        while (atomic_load(&counted->ran) <= i)
            sched_yield();
    }
    return NULL;
}

static atomic_bool is_over;
static atomic_uint ended;

/* Both return the failure, or NULL. */
static void *progress_and_trigger(void *arg)
{
    void *why = NULL;

    (void)arg;
    while (!atomic_load(&is_over)) {
        unsigned count = 0;

        if (HG_Progress(medium_context, MEDIUM_WAIT_MS) == HG_TIMEOUT)
            why = "nothing woke a thread";
        (void)HG_Event_trigger(medium_context, PUSHERS, &count);
    }
    atomic_fetch_add(&ended, 1);
    return why;
}

static void *loop_and_trigger(void *arg)
{
    struct pollfd news = {
        .fd = HG_Event_get_wait_fd(medium_context), .events = POLLIN};
    void *why = NULL;

    (void)arg;
    while (!atomic_load(&is_over)) {
        unsigned count = 0;

        if (!HG_Event_ready(medium_context) &&
            poll(&news, 1, MEDIUM_WAIT_MS) == 0)
            why = "nothing woke the event loop";
        (void)HG_Event_progress(medium_context, NULL);
        (void)HG_Event_trigger(medium_context, PUSHERS, &count);
    }
    atomic_fetch_add(&ended, 1);
    return why;
}

/* Threads push one entry each while those of `runs` wait for them. */
static void push_to(void *(*const *runs)(void *), unsigned count)
{
    pthread_t waiters[4];
    pthread_t pushers[PUSHERS];
    void *why = NULL;

    atomic_store(&is_over, false);
    atomic_store(&ended, 0);
    pushed_init();
    medium_context->spin_ns = 0;
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(pthread_create(&waiters[i], NULL, runs[i], NULL), 0);
    for (unsigned i = 0; i < PUSHERS; i++)
        assert_int_equal(
            pthread_create(&pushers[i], NULL, push_all, &pushed[i]), 0);
    for (unsigned i = 0; i < PUSHERS; i++)
        pthread_join(pushers[i], NULL);
    atomic_store(&is_over, true);
    /* A thread that waits behind a leaving owner goes on waiting in its place.
     */
    while (atomic_load(&ended) < count) {
        medium_send();
        amg_cq_wake(&medium_context->cq);
        sched_yield();
    }
    for (unsigned i = 0; i < count; i++) {
        pthread_join(waiters[i], &why);
        assert_null(why);
    }
}

static void test_wait_of_threads_loses_nothing_queued(void **state)
{
    void *(*const runs[])(void *) = {
        progress_and_trigger, progress_and_trigger, progress_and_trigger};

    (void)state;
    push_to(runs, 3);
}

static void test_wait_of_event_loop_loses_nothing_queued(void **state)
{
    void *(*const runs[])(void *) = {loop_and_trigger};

    (void)state;
    push_to(runs, 1);
}

static void test_wait_of_loop_beside_threads_loses_nothing(void **state)
{
    void *(*const runs[])(void *) = {
        loop_and_trigger, progress_and_trigger, progress_and_trigger};

    (void)state;
    push_to(runs, 3);
}

static atomic_uint waits_ended;

static void *progress_only(void *arg)
{
    void *why = NULL;

    (void)arg;
    for (unsigned i = 0; i < ROUNDS && why == NULL; i++) {
        if (HG_Progress(medium_context, MEDIUM_WAIT_MS) != HG_SUCCESS)
            why = "nothing woke a thread whose callback another thread ran";
        atomic_fetch_add(&waits_ended, 1);
    }
    atomic_store(&waits_ended, ROUNDS);
    return why;
}

/* The thread waits behind an owner when another thread runs the callback for
 * which it may wait. */
static void test_wait_ends_when_another_thread_ran_callbacks(void **state)
{
    pthread_t thread;
    void *why = NULL;

    (void)state;
    pushed_init();
    atomic_store(&waits_ended, 0);
    assert_true(amg_progress_own(medium_context));
    assert_int_equal(pthread_create(&thread, NULL, progress_only, NULL), 0);
    for (unsigned i = 0; atomic_load(&waits_ended) < ROUNDS; i++) {
        while (!amg_cq_is_awaited(&medium_context->cq) &&
               atomic_load(&waits_ended) < ROUNDS)
            sched_yield();
        amg_cq_push(&medium_context->cq, &pushed[0].entry);
        (void)HG_Trigger(medium_context, 0, 1, NULL);
        while (atomic_load(&waits_ended) <= i)
            sched_yield();
    }
    pthread_join(thread, &why);
    assert_null(why);
    amg_progress_disown(medium_context);
}

/* The thread owns the context, and blocks, when another thread runs the
 * callback for which it may wait. */
static void test_wait_of_owner_ends_when_another_thread_ran_callbacks(
    void **state)
{
    pthread_t thread;
    void *why = NULL;

    (void)state;
    pushed_init();
    atomic_store(&waits_ended, 0);
    assert_int_equal(pthread_create(&thread, NULL, progress_only, NULL), 0);
    for (unsigned i = 0; atomic_load(&waits_ended) < ROUNDS; i++) {
        while (!amg_cq_is_armed(&medium_context->cq, AMG_CQ_OWNER) &&
               atomic_load(&waits_ended) < ROUNDS)
            sched_yield();
        amg_cq_push(&medium_context->cq, &pushed[0].entry);
        (void)HG_Trigger(medium_context, 0, 1, NULL);
        while (atomic_load(&waits_ended) <= i)
            sched_yield();
    }
    pthread_join(thread, &why);
    assert_null(why);
}

/* `arg`: a context, or NULL for medium_context. */
static void *push_and_run(void *arg)
{
    hg_context_t *context = arg != NULL ? arg : medium_context;

    amg_cq_push(&context->cq, &pushed[0].entry);
    assert_int_equal(HG_Trigger(context, 0, 1, NULL), HG_SUCCESS);
    return NULL;
}

/* A thread checks a flag, another runs the callback that sets the flag, then
 * the first waits: the wait ends at once, and the next wait does not. */
static void test_wait_ends_by_callbacks_that_ran_before_it(void **state)
{
    pthread_t thread;

    (void)state;
    pushed_init();
    for (unsigned i = 0; i < PUSHERS; i++) {
        assert_int_equal(pthread_create(&thread, NULL, push_and_run, NULL), 0);
        pthread_join(thread, NULL);
        assert_int_equal(
            HG_Progress(medium_context, MEDIUM_WAIT_MS), HG_SUCCESS);
        assert_int_equal(HG_Progress(medium_context, 1), HG_TIMEOUT);
        /* Callbacks of its own end no wait of the thread. */
        (void)push_and_run(NULL);
        assert_int_equal(HG_Progress(medium_context, 1), HG_TIMEOUT);
    }
}

/* Another thread has run callbacks of both contexts: one wait of each ends by
 * that, and no later wait, whatever the numbers of the contexts are. */
static void both_wait(hg_context_t *other)
{
    hg_context_t *const contexts[] = {medium_context, other};
    pthread_t thread;

    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(HG_Progress(contexts[i], 1), HG_TIMEOUT);
        assert_int_equal(
            pthread_create(&thread, NULL, push_and_run, contexts[i]), 0);
        pthread_join(thread, NULL);
    }
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(HG_Progress(contexts[i], MEDIUM_WAIT_MS), HG_SUCCESS);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(HG_Progress(contexts[i], 1), HG_TIMEOUT);
}

static void test_wait_of_two_contexts_ends_once_for_each(void **state)
{
    (void)state;
    pushed_init();
    for (unsigned i = 0; i < DISTANCE_MAX; i++) {
        hg_context_t *other = NULL;

        assert_int_equal(amg_context_open(medium_context->cls, 1,
                             &medium_context->ops, &other),
            HG_SUCCESS);
        both_wait(other);
        amg_context_close(other);
    }
}

#if defined(AMG_TEST_POINTS)
/* A check that brings a message. */
static void look_and_send(hg_context_t *context, uint64_t now_ns)
{
    (void)context;
    (void)now_ns;
    medium_send();
}

static void look_at_point(const char *name)
{
    if (strcmp(name, "progress.before_sleep") != 0)
        return;
    amg_test_point_set(NULL);
    amg_context_look_at(medium_context, 0);
}

/* The check is requested after the thread has decided how long to sleep. */
static void test_wait_ends_by_a_check_before_the_sleep(void **state)
{
    (void)state;
    medium_context->ops.look = look_and_send;
    medium_context->nap_ns = UINT64_MAX;
    amg_test_point_set(look_at_point);
    assert_int_equal(HG_Progress(medium_context, MEDIUM_WAIT_MS), HG_SUCCESS);
    amg_test_point_set(NULL);
}
#endif

/* The loop blocks behind an owner, which leaves without an event. */
static void test_wait_of_loop_ends_when_owner_leaves(void **state)
{
    struct pollfd news = {.events = POLLIN};

    (void)state;
    news.fd = HG_Event_get_wait_fd(medium_context);
    assert_true(news.fd >= 0);
    assert_true(amg_progress_own(medium_context));
    assert_false(HG_Event_ready(medium_context));
    assert_int_equal(poll(&news, 1, 0), 0);
    amg_progress_disown(medium_context);
    assert_int_equal(poll(&news, 1, MEDIUM_WAIT_MS), 1);
    /* Armed again, the loop gets events of the transport. */
    assert_false(HG_Event_ready(medium_context));
    assert_int_equal(poll(&news, 1, 0), 0);
    medium_send();
    assert_int_equal(poll(&news, 1, MEDIUM_WAIT_MS), 1);
    assert_int_equal(HG_Event_progress(medium_context, NULL), HG_SUCCESS);
    assert_false(HG_Event_ready(medium_context));
    assert_int_equal(poll(&news, 1, 0), 0);
}

static void test_wait_on_shared_core_sleeps_at_once(void **state)
{
    unsigned before = 0;

    (void)state;
    medium_context->spin_ns = UINT64_MAX / 2; /* it would poll for ever */
    atomic_store(&medium.is_oversubscribed, true);
    sleep_for(send_when_armed);
    assert_true(atomic_load(&medium.asked) == 1);
    /* The decision stays. */
    atomic_store(&medium.arms, 0);
    before = atomic_load(&medium.polls);
    sleep_for(send_when_armed);
    assert_true(atomic_load(&medium.polls) - before < FEW_POLLS);
    assert_true(atomic_load(&medium.asked) == 2);
    /* Until the other thread has left. */
    atomic_store(&medium.is_oversubscribed, false);
    atomic_store(&medium.arms, 0);
    assert_int_equal(HG_Progress(medium_context, 2), HG_TIMEOUT);
    assert_int_equal(atomic_load(&medium.arms), 0);
}

static void test_wait_without_descriptor_only_polls(void **state)
{
    (void)state;
    assert_int_equal(HG_Event_get_wait_fd(medium_context), -1);
    assert_false(HG_Event_ready(medium_context));
    assert_int_equal(HG_Progress(medium_context, 2), HG_TIMEOUT);
    assert_int_equal(atomic_load(&medium.arms), 0);
    medium_send();
    assert_true(HG_Event_ready(medium_context));
}

/* It does not pause while a peer makes progress here. */
static void test_wait_while_peer_moves_is_not_quiet(void **state)
{
    uint64_t start_ns = amg_clock_ns();

    (void)state;
    (void)amg_progress_wait(
        medium_context, 1); /* records the time of the opening */
    for (int moves = 0; moves < 2; moves++) {
        medium.has_moved = moves != 0;
        medium_context->wakeup.quiet_since_ns = 1;
        assert_int_equal(amg_progress_wait(medium_context, 5), HG_TIMEOUT);
        if (moves)
            assert_true(medium_context->wakeup.quiet_since_ns == 0 ||
                        medium_context->wakeup.quiet_since_ns >= start_ns);
        else
            assert_int_equal(medium_context->wakeup.quiet_since_ns, 1);
    }
}

static void test_wait_that_may_not_block_only_polls(void **state)
{
    (void)state;
    atomic_store(&medium.is_oversubscribed, true);
    assert_int_equal(HG_Event_get_wait_fd(medium_context), -1);
    assert_int_equal(HG_Progress(medium_context, 2), HG_TIMEOUT);
    assert_int_equal(atomic_load(&medium.arms), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_wait_ends_by_an_event_of_the_transport, medium_open_sleeping,
            close_all),
        cmocka_unit_test_setup_teardown(
            test_wait_ends_by_a_queued_entry, medium_open_sleeping, close_all),
        cmocka_unit_test_setup_teardown(
            test_wait_ends_by_a_post_of_another_thread, medium_open_sleeping,
            close_all),
        cmocka_unit_test_setup_teardown(test_wait_sleeps_until_its_time_is_over,
            medium_open_sleeping, close_all),
        cmocka_unit_test_setup_teardown(
            test_wait_loses_no_message, medium_open_sleeping, close_all),
        cmocka_unit_test_setup_teardown(
            test_wait_of_threads_loses_nothing_queued, medium_open_sleeping,
            close_all),
        cmocka_unit_test_setup_teardown(
            test_wait_of_event_loop_loses_nothing_queued, medium_open_sleeping,
            close_all),
        cmocka_unit_test_setup_teardown(
            test_wait_of_loop_beside_threads_loses_nothing,
            medium_open_sleeping, close_all),
        cmocka_unit_test_setup_teardown(
            test_wait_of_loop_ends_when_owner_leaves, medium_open_sleeping,
            close_all),
#if defined(AMG_TEST_POINTS)
        cmocka_unit_test_setup_teardown(
            test_wait_ends_by_a_check_before_the_sleep, medium_open_sleeping,
            close_all),
#endif
        cmocka_unit_test_setup_teardown(
            test_wait_of_owner_ends_when_another_thread_ran_callbacks,
            medium_open_sleeping, close_all),
        cmocka_unit_test_setup_teardown(
            test_wait_ends_by_callbacks_that_ran_before_it,
            medium_open_sleeping, close_all),
        cmocka_unit_test_setup_teardown(
            test_wait_of_two_contexts_ends_once_for_each, medium_open_sleeping,
            close_all),
        cmocka_unit_test_setup_teardown(
            test_wait_ends_when_another_thread_ran_callbacks,
            medium_open_sleeping, close_all),
        cmocka_unit_test_setup_teardown(test_wait_on_shared_core_sleeps_at_once,
            medium_open_sleeping, close_all),
        cmocka_unit_test_setup_teardown(test_wait_without_descriptor_only_polls,
            medium_open_not_pollable, close_all),
        cmocka_unit_test_setup_teardown(test_wait_while_peer_moves_is_not_quiet,
            medium_open_not_pollable, close_all),
        cmocka_unit_test_setup_teardown(test_wait_that_may_not_block_only_polls,
            open_unblocking, close_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
