/* SPDX-License-Identifier: BSD-3-Clause */
/* While callbacks are always due, as each handler makes the next call of the
 * instance to itself, the loop still polls the network every second round. */
#include "alone.h"
#include "margo-util.h"

enum { CALLS = 1000 };

static hg_id_t next_id;
static unsigned served;
static ABT_eventual is_over;

static void next(hg_handle_t handle)
{
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    if (++served < CALLS)
        alone_call(next_id);
    else
        CHECK(ABT_eventual_set(is_over, NULL, 0) == ABT_SUCCESS);
}
static DEFINE_MARGO_RPC_HANDLER(next)

    int main(void)
{
    uint64_t polls = 0;

    alone_open(NULL, NULL);
    next_id = MARGO_REGISTER(pair.mid, "next", void, void, next);
    CHECK_RC(margo_registered_disable_response(pair.mid, next_id, HG_TRUE),
        HG_SUCCESS);
    CHECK(ABT_eventual_create(0, &is_over) == ABT_SUCCESS);
    polls = margo_get_num_progress_calls(pair.mid);
    alone_call(next_id);
    CHECK(ABT_eventual_wait(is_over, NULL) == ABT_SUCCESS);
    polls = margo_get_num_progress_calls(pair.mid) - polls;
    CHECK(served == CALLS);
    printf("%u calls, %llu polls\n", served, (unsigned long long)polls);
    CHECK(polls >= CALLS / 2 - 1);
    CHECK(ABT_eventual_free(&is_over) == ABT_SUCCESS);
    alone_close();
    return 0;
}
