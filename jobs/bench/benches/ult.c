/* SPDX-License-Identifier: BSD-3-Clause */
/* Costs of user-level threads beside glibc's swapcontext(). */
#include <stdlib.h>
#include <ucontext.h>

#include "abt.h"
#include "amalgam_trace.h"
#include "jobs/bench/benches.h"
#include "jobs/bench/frame/duel.h"

enum { SWITCHES = 20000, CREATIONS = 5000, STACK_LEN = 64 * 1024, TWO = 2 };

/* Each sample is the mean of the batch. */
static double samples_fill(const struct duel *duel, double elapsed_us)
{
    for (unsigned i = 0; i < duel->calls; i++)
        duel->samples[i] = elapsed_us / duel->calls;
    return elapsed_us;
}

static ucontext_t main_context;
static ucontext_t other_context;

static void other_run(void)
{
    for (;;)
        swapcontext(&other_context, &main_context);
}

/* Half of the swaps go to the other context, half come back. */
static double swaps_run(struct pair *pair, struct duel *duel)
{
    void *stack = NULL;
    double start_us = 0.0;

    if (pair->rank != 0)
        return 0.0;
    stack = malloc(STACK_LEN);
    if (stack == NULL || getcontext(&other_context) != 0)
        pair_fail(pair, "no memory for a stack");
    other_context.uc_stack.ss_sp = stack;
    other_context.uc_stack.ss_size = STACK_LEN;
    other_context.uc_link = NULL;
    makecontext(&other_context, other_run, 0);
    swapcontext(&main_context, &other_context);
    start_us = clock_now_us();
    for (unsigned i = 0; i < duel->calls; i += TWO)
        swapcontext(&main_context, &other_context);
    start_us = clock_now_us() - start_us;
    free(stack);
    return samples_fill(duel, start_us);
}

static ABT_pool pool; /* of the program's stream */

static ABT_thread thread_start(
    struct pair *pair, void (*run)(void *), void *arg)
{
    ABT_thread thread = ABT_THREAD_NULL;

    if (ABT_thread_create(pool, run, arg, ABT_THREAD_ATTR_NULL, &thread) !=
        ABT_SUCCESS)
        pair_fail(pair, "no memory for a thread");
    return thread;
}

static void yields_make(void *arg)
{
    const struct duel *duel = arg;

    for (unsigned i = 0; i < duel->calls; i += TWO)
        ABT_thread_yield();
}

/* Two threads yield in turn, each half of the times. */
static double yields_run(struct pair *pair, struct duel *duel)
{
    ABT_thread threads[TWO];
    double start_us = 0.0;

    if (pair->rank != 0)
        return 0.0;
    for (unsigned i = 0; i < TWO; i++)
        threads[i] = thread_start(pair, yields_make, duel);
    start_us = clock_now_us();
    for (unsigned i = 0; i < TWO; i++)
        ABT_thread_join(threads[i]);
    start_us = clock_now_us() - start_us;
    for (unsigned i = 0; i < TWO; i++)
        ABT_thread_free(&threads[i]);
    return samples_fill(duel, start_us);
}

static double traced_yields_run(struct pair *pair, struct duel *duel)
{
    return duel_traced(pair, duel, AMALGAM_TRACE_THREADS, yields_run);
}

static void nothing_do(void *arg)
{
    (void)arg;
}

static double creations_run(struct pair *pair, struct duel *duel)
{
    double start_us = 0.0;

    if (pair->rank != 0)
        return 0.0;
    start_us = clock_now_us();
    for (unsigned i = 0; i < duel->calls; i++) {
        ABT_thread thread = thread_start(pair, nothing_do, NULL);

        ABT_thread_free(&thread); /* joins the thread first */
    }
    return samples_fill(duel, clock_now_us() - start_us);
}

static void op_run(
    struct pair *pair, const char *op, duel_batch_fn ours, unsigned calls)
{
    struct duel duel = {op, "swapcontext",
        "one swapcontext() of glibc between two stacks of one thread; "
        "mean time",
        .calls = calls, .figure = DUEL_MEAN_US, .ours = {ours},
        .control = {swaps_run}};

    duel_run(pair, &duel);
}

void bench_ult(struct pair *pair)
{
    struct duel traced = {"ult_yield_traced", "untraced",
        "a yield without a trace; the difference is an event; mean time",
        .calls = SWITCHES, .figure = DUEL_MEAN_US, .ours = {traced_yields_run},
        .control = {yields_run}};
    ABT_xstream stream = ABT_XSTREAM_NULL;

    if (ABT_init(0, NULL) != ABT_SUCCESS ||
        ABT_xstream_self(&stream) != ABT_SUCCESS ||
        ABT_xstream_get_main_pools(stream, 1, &pool) != ABT_SUCCESS)
        pair_fail(pair, "there is no stream of user-level threads here");
    op_run(pair, "ult_yield", yields_run, SWITCHES);
    duel_run(pair, &traced);
    op_run(pair, "ult_create", creations_run, CREATIONS);
    ABT_finalize();
}
