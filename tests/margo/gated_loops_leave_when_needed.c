/* SPDX-License-Identifier: BSD-3-Clause */
/* Two loops make progress only when needed. A call wakes both, and is over when
 * the first loop gets its stream: that loop waits on, and is still woken, by a
 * timer while main() computes, and by the end of the instance. The process has
 * one core, so that there are two loops. */
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "alone.h"
#include "margo-timer.h"
#include "margo-util.h"

enum { TURNS = 5, IDLE_YIELDS = 10, TIMER_MS = 1 };

static hg_id_t id;
static atomic_bool has_fired;
static atomic_bool shall_hold; /* the progress stream */
static atomic_bool is_held;

static void answer(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DECLARE_MARGO_RPC_HANDLER(answer)
DEFINE_MARGO_RPC_HANDLER(answer)

static void fire(void *arg)
{
    (void)arg;
    atomic_store(&has_fired, true);
}

/* `ret_thread`: NULL if the thread shall end unseen. */
static void progress_stream_run(void (*work)(void *), ABT_thread *ret_thread)
{
    ABT_pool pool = ABT_POOL_NULL;

    CHECK_RC(margo_get_progress_pool(pair.mid, &pool), HG_SUCCESS);
    CHECK(ABT_thread_create(pool, work, NULL, ABT_THREAD_ATTR_NULL,
              ret_thread) == ABT_SUCCESS);
}

static void do_nothing(void *arg)
{
    (void)arg;
}

/* Keeps the progress stream during a call, then lets its loop run. */
static void hold(void *arg)
{
    (void)arg;
    atomic_store(&is_held, true);
    while (atomic_load(&shall_hold))
        sched_yield();
    ABT_thread_yield();
    atomic_store(&is_held, false);
}

/* Ends a sleep of the first loop, and yields until no loop makes rounds. */
static void until_gated(void)
{
    ABT_thread thread = ABT_THREAD_NULL;
    uint64_t rounds = 0;
    unsigned idle = 0;

    progress_stream_run(do_nothing, &thread);
    CHECK(ABT_thread_free(&thread) == ABT_SUCCESS);
    while (idle++ < IDLE_YIELDS) {
        uint64_t now = margo_get_num_progress_calls(pair.mid);

        if (now != rounds)
            idle = 0;
        rounds = now;
        ABT_thread_yield();
        sched_yield();
    }
}

/* A call during which the first loop does not run; main() does not leave its
 * stream to the second loop afterwards. */
static void call_beside_held_loop(void)
{
    until_gated();
    atomic_store(&shall_hold, true);
    progress_stream_run(hold, NULL);
    while (!atomic_load(&is_held))
        sched_yield();
    alone_call(id);
    atomic_store(&shall_hold, false);
    while (atomic_load(&is_held))
        sched_yield();
}

static void turn(margo_timer_t timer)
{
    call_beside_held_loop();
    atomic_store(&has_fired, false);
    CHECK(margo_timer_start(timer, TIMER_MS) == 0);
    while (!atomic_load(&has_fired))
        ; /* computes */
}

int main(void)
{
    margo_timer_t timer = MARGO_TIMER_NULL;

    alone_take_core();
    alone_open("{\"use_progress_thread\":true,\"rpc_thread_count\":0}", NULL);
    id = MARGO_REGISTER(pair.mid, "answer", void, void, answer);
    CHECK(margo_timer_create_with_pool(
              pair.mid, fire, NULL, ABT_POOL_NULL, &timer) == 0);
    CHECK_RC(margo_set_progress_when_needed(pair.mid, true), HG_SUCCESS);
    for (unsigned i = 0; i < TURNS; i++)
        turn(timer);
    CHECK(margo_timer_destroy(timer) == 0);
    call_beside_held_loop();
    CHECK_RC(margo_addr_free(pair.mid, pair.self), HG_SUCCESS);
    margo_finalize(pair.mid);
    return 0;
}
