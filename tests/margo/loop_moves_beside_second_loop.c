/* SPDX-License-Identifier: BSD-3-Clause */
/* margo_migrate_progress_loop() moves the progress loop into the pool of
 * main(), where a second loop runs, also if that loop makes the first rounds
 * afterwards: the thread that made the rounds of the progress stream makes
 * rounds in main()'s stream. The process has one core, so that there are two
 * loops. */
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "alone.h"
#include "margo-util.h"

enum { TURNS = 10, ROUNDS = 4 };

static hg_id_t id;
/* The thread of the progress loop, and whether its last round was in main()'s
 * stream. */
static _Atomic(ABT_thread) loop;
static atomic_bool has_moved;
static atomic_bool shall_hold; /* the progress stream, in its next round */
static atomic_bool is_held;

static void answer(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DECLARE_MARGO_RPC_HANDLER(answer)
DEFINE_MARGO_RPC_HANDLER(answer)

static void on_trigger(void *arg, double timestamp, margo_monitor_event_t event,
    margo_monitor_trigger_args_t args)
{
    ABT_bool is_main = ABT_FALSE;
    ABT_thread self = ABT_THREAD_NULL;

    (void)arg;
    (void)timestamp;
    (void)event;
    (void)args;
    CHECK(ABT_self_on_primary_xstream(&is_main) == ABT_SUCCESS);
    CHECK(ABT_self_get_thread(&self) == ABT_SUCCESS);
    if (!is_main) {
        atomic_store(&loop, self);
        while (atomic_load(&shall_hold)) {
            atomic_store(&is_held, true);
            sched_yield();
        }
    } else if (self == atomic_load(&loop)) {
        atomic_store(&has_moved, true);
    }
}

static void migrate(void)
{
    struct margo_pool_info primary;
    uint64_t rounds = 0;

    CHECK_RC(
        margo_find_pool_by_name(pair.mid, "__primary__", &primary), HG_SUCCESS);
    CHECK_RC(margo_migrate_progress_loop(pair.mid, primary.index), HG_SUCCESS);
    rounds = margo_get_num_progress_calls(pair.mid) + ROUNDS;
    while (margo_get_num_progress_calls(pair.mid) < rounds)
        ABT_thread_yield(); /* to the second loop */
}

static void turn(void)
{
    struct margo_monitor monitor = {.on_trigger = on_trigger};

    atomic_store(&loop, ABT_THREAD_NULL);
    atomic_store(&has_moved, false);
    alone_open(
        "{\"use_progress_thread\":true,\"rpc_thread_count\":0}", &monitor);
    id = MARGO_REGISTER(pair.mid, "answer", void, void, answer);
    atomic_store(&is_held, false);
    atomic_store(&shall_hold, true);
    while (!atomic_load(&is_held))
        ; /* computes until the progress stream makes a round */
    migrate();
    atomic_store(&shall_hold, false);
    while (!atomic_load(&has_moved)) {
        alone_call(id);
        margo_thread_sleep(pair.mid, 1);
    }
    alone_close();
}

int main(void)
{
    alone_take_core();
    for (unsigned i = 0; i < TURNS; i++)
        turn();
    return 0;
}
