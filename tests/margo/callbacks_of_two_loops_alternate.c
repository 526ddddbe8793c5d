/* SPDX-License-Identifier: BSD-3-Clause */
/* Callbacks and timers of an instance with two loops run one at a time, also
 * where one takes long, and leaves the core to the stream of the other loop.
 * The process has one core, so that there are two loops. */
#include <stdatomic.h>
#include <time.h>

#include "alone.h"
#include "margo-timer.h"

enum {
    ROUNDS = 64,
    CALLS = 8,       /* in flight */
    LONG_EVERY = 16, /* callbacks of which one is long */
    SHORT_NS = 100000,
    LONG_NS = 3000000,
    TIMER_MS = 1
};

static hg_id_t id;
static atomic_uint running;  /* callbacks and timers */
static atomic_uint overlaps; /* those that began while another ran */
static atomic_uint callbacks;
static atomic_uint ticks;
static atomic_bool is_over;
static margo_timer_t timer;

static void answer(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DECLARE_MARGO_RPC_HANDLER(answer)
DEFINE_MARGO_RPC_HANDLER(answer)

/* Leaves the core to the other loop. */
static void run_for(long ns)
{
    struct timespec pause = {.tv_nsec = ns};

    if (atomic_fetch_add(&running, 1) > 0)
        atomic_fetch_add(&overlaps, 1);
    (void)nanosleep(&pause, NULL);
    atomic_fetch_sub(&running, 1);
}

static void tick(void *arg)
{
    (void)arg;
    run_for(SHORT_NS);
    atomic_fetch_add(&ticks, 1);
    if (!atomic_load(&is_over))
        CHECK(margo_timer_start(timer, TIMER_MS) == 0);
}

static void call_end(void *arg, hg_return_t rc)
{
    CHECK_RC(rc, HG_SUCCESS);
    run_for(
        atomic_fetch_add(&callbacks, 1) % LONG_EVERY == 0 ? LONG_NS : SHORT_NS);
    CHECK(ABT_eventual_set(arg, NULL, 0) == ABT_SUCCESS);
}

static void calls_make(hg_handle_t *handles, ABT_eventual *ends)
{
    for (unsigned i = 0; i < CALLS; i++) {
        CHECK(ABT_eventual_reset(ends[i]) == ABT_SUCCESS);
        CHECK_RC(
            margo_cforward(handles[i], NULL, call_end, ends[i]), HG_SUCCESS);
    }
    for (unsigned i = 0; i < CALLS; i++)
        CHECK(ABT_eventual_wait(ends[i], NULL) == ABT_SUCCESS);
}

int main(void)
{
    hg_handle_t handles[CALLS];
    ABT_eventual ends[CALLS];

    alone_take_core();
    alone_open("{\"use_progress_thread\":true,\"rpc_thread_count\":1}", NULL);
    id = MARGO_REGISTER(pair.mid, "answer", void, void, answer);
    CHECK(margo_timer_create_with_pool(
              pair.mid, tick, NULL, ABT_POOL_NULL, &timer) == 0);
    for (unsigned i = 0; i < CALLS; i++) {
        handles[i] = alone_handle(id);
        CHECK(ABT_eventual_create(0, &ends[i]) == ABT_SUCCESS);
    }
    CHECK(margo_timer_start(timer, TIMER_MS) == 0);
    for (unsigned i = 0; i < ROUNDS; i++)
        calls_make(handles, ends);
    atomic_store(&is_over, true);
    CHECK(margo_timer_cancel(timer) == 0);
    CHECK(margo_timer_destroy(timer) == 0);
    for (unsigned i = 0; i < CALLS; i++) {
        CHECK_RC(margo_destroy(handles[i]), HG_SUCCESS);
        CHECK(ABT_eventual_free(&ends[i]) == ABT_SUCCESS);
    }
    CHECK(atomic_load(&callbacks) == ROUNDS * CALLS);
    CHECK(atomic_load(&ticks) > 0);
    CHECK(atomic_load(&overlaps) == 0);
    alone_close();
    return 0;
}
