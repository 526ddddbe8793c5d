/* SPDX-License-Identifier: BSD-3-Clause */
/* Many calls in flight, by user-level threads and by plain threads, all get
 * their own replies. */
#include <pthread.h>

#include "pair.h"

enum { ULTS = 64, PTHREADS = 4, CALLS = 50 };

static hg_id_t twice_id;

static void twice(hg_handle_t handle)
{
    uint64_t number = 0;

    CHECK_RC(margo_get_input(handle, &number), HG_SUCCESS);
    CHECK_RC(margo_free_input(handle, &number), HG_SUCCESS);
    number *= 2;
    CHECK_RC(margo_respond(handle, &number), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(twice)

static void enrol(void)
{
    twice_id = MARGO_REGISTER(pair.mid, "twice", uint64_t, uint64_t, twice);
}

/* Calls one after the other with its own handle. */
static void calls(void *arg)
{
    hg_handle_t handle = pair_handle(twice_id);
    uint64_t base = (uint64_t)(uintptr_t)arg * CALLS;

    for (uint64_t i = base; i < base + CALLS; i++) {
        uint64_t number = i;

        CHECK_RC(margo_forward(handle, &number), HG_SUCCESS);
        CHECK_RC(margo_get_output(handle, &number), HG_SUCCESS);
        CHECK(number == 2 * i);
        CHECK_RC(margo_free_output(handle, &number), HG_SUCCESS);
    }
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

static void by_ults(void)
{
    ABT_thread threads[ULTS];
    ABT_pool pool = ABT_POOL_NULL;

    CHECK(margo_get_handler_pool(pair.mid, &pool) == 0);
    for (uintptr_t i = 0; i < ULTS; i++)
        CHECK(ABT_thread_create(pool, calls, (void *)i, ABT_THREAD_ATTR_NULL,
                  &threads[i]) == ABT_SUCCESS);
    for (int i = 0; i < ULTS; i++)
        CHECK(ABT_thread_free(&threads[i]) == ABT_SUCCESS);
}

static void *pthread_calls(void *arg)
{
    calls(arg);
    return NULL;
}

/* Waiting in a plain thread would block the others: so the joining one waits as
 * a user-level thread, for a call that arrives when they have ended. */
static void *pthreads_run(void *arg)
{
    pthread_t threads[PTHREADS];

    for (uintptr_t i = 0; i < PTHREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, pthread_calls, (void *)i) == 0);
    for (int i = 0; i < PTHREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(ABT_eventual_set(*(ABT_eventual *)arg, NULL, 0) == ABT_SUCCESS);
    return NULL;
}

static void by_pthreads(void)
{
    ABT_eventual over = ABT_EVENTUAL_NULL;
    pthread_t thread;

    CHECK(ABT_eventual_create(0, &over) == ABT_SUCCESS);
    CHECK(pthread_create(&thread, NULL, pthreads_run, &over) == 0);
    CHECK(ABT_eventual_wait(over, NULL) == ABT_SUCCESS);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(ABT_eventual_free(&over) == ABT_SUCCESS);
}

static void test(void)
{
    by_ults();
    by_pthreads();
}

int main(int argc, char **argv)
{
    return pair_main(argc, argv, enrol, test);
}
