/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that threads of one stream wait for under the instance's biased lock
 * are completed by another stream, or by an OS thread that is no stream: each
 * caller continues once with the result of its call, and no count is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "base/mem.h"
#include "margo/instance.h"
#include "margo/request.h"

enum {
    ROUNDS = 400, /* each with a new lock, still owned */
    CALLERS = 8,
    AGAIN = 3, /* calls one after the other, while the lock is shared */
    BASE_RC = 3,
};

struct call;

struct round {
    struct margo_instance mid;
    struct amg_margo_loop loop; /* none runs */
    struct call *calls;
    bool is_biased;     /* this machine supports biased locks */
    bool waits_for_all; /* the first calls complete when all threads have parked
                         */
    bool is_outside;    /* an OS thread that is no stream completes them */
};

/* The calls of one thread, AGAIN in number. */
struct call {
    struct round *round;
    margo_request req; /* of the pending call */
    struct margo_request_struct place;
    atomic_uint
        turn;      /* 2n + 1: the n-th call may be completed; 2n: it has been */
    unsigned good; /* calls with the expected result */
    bool is_of_any; /* waits with margo_wait_any() */
};

static hg_return_t wanted_rc(const struct call *call, unsigned turn)
{
    return (hg_return_t)(BASE_RC + (call - call->round->calls) + turn);
}

/* As a blocking call, or as an `i` form that is posted and completed elsewhere.
 */
static hg_return_t call_make(struct call *call, unsigned turn)
{
    margo_instance_id mid = &call->round->mid;
    margo_request req = MARGO_REQUEST_NULL;
    size_t index = 1;
    struct amg_margo_form form = {
        .ret_req = &req,
        .blocks = !call->is_of_any,
    };

    assert_int_equal(amg_margo_request_create(&form, &call->place, mid,
                         MARGO_FORWARD_REQUEST, &call->req),
        HG_SUCCESS);
    amg_margo_operation_begin(mid);
    /* Release: pairs with the acquire load of the thread that completes it. */
    atomic_store_explicit(&call->turn, 2 * turn + 1, memory_order_release);
    if (form.blocks)
        return amg_margo_request_posted(&form, call->req, HG_SUCCESS);
    assert_int_equal(
        amg_margo_request_posted(&form, call->req, HG_SUCCESS), HG_SUCCESS);
    /* Frees the request, and returns its result. */
    return margo_wait_any(1, &req, &index);
}

static void caller(void *arg)
{
    struct call *call = arg;

    for (unsigned i = 0; i < AGAIN; i++)
        call->good += call_make(call, i) == wanted_rc(call, i);
}

static unsigned turn_of(const struct call *call)
{
    return atomic_load_explicit(&call->turn, memory_order_acquire);
}

/* Has a thread parked, or registered as waiter, for the call? Its first word
 * may be read, since only the caller of this function completes it. */
static bool is_waited_for(const struct call *call)
{
    return turn_of(call) == 1 &&
           atomic_load_explicit(&call->req->state, memory_order_acquire) != 0;
}

static void others_run(const struct round *round)
{
    if (!round->is_outside)
        ABT_thread_yield();
    sched_yield();
}

static void ender(void *arg)
{
    struct round *round = arg;

    for (unsigned i = 0; round->waits_for_all && i < CALLERS; i++)
        while (!is_waited_for(&round->calls[i]))
            others_run(round);
    /* Otherwise no thread has parked under it. */
    if (round->waits_for_all && round->is_biased)
        assert_false(amg_bias_is_shared(&round->mid.biased_lock));
    for (unsigned over = 0; over < CALLERS * AGAIN; others_run(round)) {
        for (unsigned i = 0; i < CALLERS; i++) {
            struct call *call = &round->calls[i];
            unsigned turn = turn_of(call);

            if (turn % 2 == 0)
                continue;
            atomic_store_explicit(&call->turn, turn - 1, memory_order_relaxed);
            amg_margo_request_end(call->req, wanted_rc(call, turn / 2));
            over++;
        }
    }
}

static void *ender_main(void *arg)
{
    ender(arg);
    return NULL;
}

static void round_begin(struct round *round, unsigned number)
{
    *round = (struct round){.waits_for_all = number % 2 == 0};
    round->calls = amg_mem_zalloc(CALLERS * sizeof(*round->calls));
    assert_non_null(round->calls);
    round->mid.loop = &round->loop;
    amg_bias_init(&round->mid.biased_lock);
    amg_margo_requests_open(&round->mid);
    round->is_biased = !amg_bias_is_shared(&round->mid.biased_lock);
    atomic_store(&round->mid.state, AMG_MARGO_RUNNING);
    for (unsigned i = 0; i < CALLERS; i++) {
        round->calls[i].round = round;
        round->calls[i].is_of_any = i % 4 == 3;
    }
}

static void round_end(struct round *round)
{
    for (unsigned i = 0; i < CALLERS; i++)
        assert_int_equal(round->calls[i].good, AGAIN);
    amg_margo_counts_sync(&round->mid);
    assert_int_equal(atomic_load(&round->mid.operations), 0);
    amg_margo_requests_close(&round->mid);
    amg_mem_free(round->calls);
}

static void callers_start(struct round *round, ABT_thread *threads)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;

    assert_int_equal(ABT_xstream_self(&stream), ABT_SUCCESS);
    for (unsigned i = 0; i < CALLERS; i++)
        assert_int_equal(
            ABT_thread_create_on_xstream(stream, caller, &round->calls[i],
                ABT_THREAD_ATTR_NULL, &threads[i]),
            ABT_SUCCESS);
}

static void test_request_ended_by_os_thread_wakes_all_waiters(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        ABT_thread threads[CALLERS];
        struct round round;
        pthread_t thread;

        round_begin(&round, i);
        round.is_outside = true;
        assert_int_equal(pthread_create(&thread, NULL, ender_main, &round), 0);
        callers_start(&round, threads);
        assert_int_equal(ABT_thread_free_many(CALLERS, threads), ABT_SUCCESS);
        assert_int_equal(pthread_join(thread, NULL), 0);
        round_end(&round);
    }
}

static void test_request_ended_by_other_stream_wakes_all_waiters(void **state)
{
    ABT_xstream stream = ABT_XSTREAM_NULL;

    (void)state;
    assert_int_equal(ABT_xstream_create(ABT_SCHED_NULL, &stream), ABT_SUCCESS);
    for (unsigned i = 0; i < ROUNDS; i++) {
        ABT_thread threads[CALLERS];
        ABT_thread thread = ABT_THREAD_NULL;
        struct round round;

        round_begin(&round, i);
        assert_int_equal(ABT_thread_create_on_xstream(stream, ender, &round,
                             ABT_THREAD_ATTR_NULL, &thread),
            ABT_SUCCESS);
        callers_start(&round, threads);
        assert_int_equal(ABT_thread_free_many(CALLERS, threads), ABT_SUCCESS);
        assert_int_equal(ABT_thread_free(&thread), ABT_SUCCESS);
        round_end(&round);
    }
    assert_int_equal(ABT_xstream_join(stream), ABT_SUCCESS);
    assert_int_equal(ABT_xstream_free(&stream), ABT_SUCCESS);
}

static void test_request_ended_by_same_stream_stays_biased(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ROUNDS; i++) {
        ABT_thread threads[CALLERS];
        struct round round;

        round_begin(&round, i);
        callers_start(&round, threads);
        ender(&round);
        assert_int_equal(ABT_thread_free_many(CALLERS, threads), ABT_SUCCESS);
        assert_int_equal(
            amg_bias_is_shared(&round.mid.biased_lock), !round.is_biased);
        round_end(&round);
    }
}

static int runtime_setup(void **state)
{
    (void)state;
    return ABT_init(0, NULL);
}

static int runtime_teardown(void **state)
{
    (void)state;
    return ABT_finalize();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_ended_by_os_thread_wakes_all_waiters),
        cmocka_unit_test(test_request_ended_by_other_stream_wakes_all_waiters),
        cmocka_unit_test(test_request_ended_by_same_stream_stays_biased),
    };

    return cmocka_run_group_tests(tests, runtime_setup, runtime_teardown);
}
