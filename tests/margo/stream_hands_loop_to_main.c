/* SPDX-License-Identifier: BSD-3-Clause */
/* A progress stream that stands in for a computing main() is in the middle of a
 * round when main() waits again: the loop on main()'s stream waits until that
 * round is over, and then continues. The process has one core, so that there
 * are two loops. */
#include <sched.h>
#include <stdatomic.h>

#include "alone.h"

enum { TURNS = 4, YIELDS = 100 };

static hg_id_t id;
static atomic_bool shall_hold; /* the progress stream, in its next round */
static atomic_bool is_held;
static atomic_uint beside; /* rounds of the other loop meanwhile */

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

    (void)arg;
    (void)timestamp;
    (void)args;
    if (event != MARGO_MONITOR_FN_START)
        return;
    CHECK(ABT_self_on_primary_xstream(&is_main) == ABT_SUCCESS);
    if (is_main) {
        if (atomic_load(&is_held))
            atomic_fetch_add(&beside, 1);
        return;
    }
    if (!atomic_load(&shall_hold))
        return;
    atomic_store(&is_held, true);
    while (atomic_load(&shall_hold))
        sched_yield();
    atomic_store(&is_held, false);
}

static void turn(void)
{
    atomic_store(&shall_hold, true);
    while (!atomic_load(&is_held))
        ; /* computes until the progress stream stands in */
    for (unsigned i = 0; i < YIELDS; i++)
        ABT_thread_yield();
    CHECK(atomic_load(&beside) == 0);
    atomic_store(&shall_hold, false);
    alone_call(id);
}

int main(void)
{
    struct margo_monitor monitor = {.on_trigger = on_trigger};

    alone_take_core();
    alone_open(
        "{\"use_progress_thread\":true,\"rpc_thread_count\":1}", &monitor);
    id = MARGO_REGISTER(pair.mid, "answer", void, void, answer);
    for (unsigned i = 0; i < TURNS; i++)
        turn();
    alone_close();
    return 0;
}
