/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of a core a rank takes that waits for calls and gets none.
 *
 * Both ranks have called, and so know each other; then both wait in
 * HG_Progress, and all threads of the process are counted. */
#include <time.h>

#include "benches.h"
#include "duel.h"
#include "guard.h"

enum { IDLE_MS = 3000, IDLE_QUICK_MS = 200, US_PER_MS = 1000, PERCENT = 100 };

#define CONTROL_TEXT "one core, as who spins takes it"

static double cpu_us(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e6 + (double)used.tv_nsec * 1e-3;
}

static void contact_make(struct pair *pair)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    if (!pair->is_caller) {
        pair_serve(pair);
        return;
    }
    handle = pair_handle(pair, pair->null_id);
    pair_call(pair, handle, NULL);
    pair_check(pair, HG_Destroy(handle), "HG_Destroy");
    pair_stop(pair);
}

/* Waits so long; returns the share of a core that it took, in percent. */
static double idle_share(struct pair *pair, unsigned idle_ms)
{
    double start_us = duel_now_us();
    double end_us = start_us + (double)idle_ms * US_PER_MS;
    double before_us = cpu_us();

    while (duel_now_us() < end_us) {
        pair->wait_ms = (unsigned)((end_us - duel_now_us()) / US_PER_MS) + 1;
        pair_turn(pair);
    }
    return (cpu_us() - before_us) / (duel_now_us() - start_us) * PERCENT;
}

static void row_add(const struct pair *pair, double share)
{
    struct row row = {
        .bench = "idle",
        .op = "idle_cpu",
        .memory = "host",
        .unit = "%",
        .value = share,
        .against = "spinning",
        .control = CONTROL_TEXT,
        .control_value = PERCENT,
        .ratio = share / PERCENT,
        .better = "lower",
        .batches = 1,
        .spread = {share / PERCENT, share / PERCENT},
    };

    if (pair->rank != 0)
        return;
    pair_row(pair, &row);
    rows_add(&row);
}

void bench_idle(struct pair *pair)
{
    unsigned idle_ms = pair->options->is_quick ? IDLE_QUICK_MS : IDLE_MS;
    struct pair idle;
    double share = 0.0;

    pair_copy(pair, &idle);
    idle.wait_ms = 1; /* it may sleep */
    if (!pair_open(&idle, pair->comm, pair->options->transport))
        pair_fail(pair, "no class for two ranks that wait");
    pair_enter(&idle);
    contact_make(&idle);
    guard_step("waiting for %u ms", idle_ms);
    share = idle_share(&idle, idle_ms);
    guard_rest();
    pair_leave(&idle);
    pair_close(&idle);
    MPI_Allreduce(MPI_IN_PLACE, &share, 1, MPI_DOUBLE, MPI_MAX, pair->comm);
    row_add(&idle, share);
}
