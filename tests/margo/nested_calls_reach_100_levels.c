/* SPDX-License-Identifier: BSD-3-Clause */
/* Handlers that call their caller: 100 levels deep between two processes, each
 * on one stream, and in a process by itself. */
#include "pair.h"

enum { DEEP = 100 };

MERCURY_GEN_PROC(depth_t, ((uint32_t)(left))((hg_bool_t)(stays)))

static hg_id_t down_id;

/* The sum of the levels below `left`. */
static uint32_t sum_below(uint32_t left)
{
    return left * (left + 1) / 2;
}

static uint32_t call(hg_addr_t addr, depth_t in)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    uint32_t sum = 0;

    CHECK_RC(margo_create(pair.mid, addr, down_id, &handle), HG_SUCCESS);
    CHECK_RC(margo_forward(handle, &in), HG_SUCCESS);
    CHECK_RC(margo_get_output(handle, &sum), HG_SUCCESS);
    CHECK_RC(margo_free_output(handle, &sum), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    return sum;
}

static void down(hg_handle_t handle)
{
    const struct hg_info *info = margo_get_info(handle);
    uint32_t sum = 0;
    depth_t in;

    CHECK_RC(margo_get_input(handle, &in), HG_SUCCESS);
    sum = in.left;
    if (in.left > 0)
        sum += call(in.stays ? pair.self : info->addr,
            (depth_t){in.left - 1, in.stays});
    CHECK_RC(margo_free_input(handle, &in), HG_SUCCESS);
    CHECK_RC(margo_respond(handle, &sum), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(down)

static void enrol(void)
{
    down_id = MARGO_REGISTER(pair.mid, "down", depth_t, uint32_t, down);
}

static void test(void)
{
    /* Each level is an unanswered request: both processes do this at once, and
     * so have 200 of those at each other. */
    CHECK(
        call(pair.other, (depth_t){DEEP * 2, HG_FALSE}) == sum_below(DEEP * 2));
    pair_barrier();
    if (pair.rank == 1)
        CHECK(call(pair.other, (depth_t){DEEP, HG_FALSE}) == sum_below(DEEP));
    CHECK(call(pair.self, (depth_t){DEEP, HG_TRUE}) == sum_below(DEEP));
}

int main(int argc, char **argv)
{
    return pair_main(argc, argv, enrol, test);
}
