/* SPDX-License-Identifier: BSD-3-Clause */
/* After a warm-up, a driver allocates nothing for small messages. */
#include "base/mem.h"
#include "harness.h"

enum { WARM = 300, ROUNDS = 3000, BATCH = 8 };

static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    if (arrival->is_one_way)
        h->t->msg.release(ep, arrival);
    else
        harness_echo(h, ep, arrival);
}

/* A batch of calls in flight at once, every fourth without a reply. */
static void batch_run(struct harness *h)
{
    struct harness_call calls[BATCH];

    for (uint32_t i = 0; i < BATCH; i++)
        CHECK(h, harness_send(h, 0, 0, &i, sizeof(i), i % 4 != 0, &calls[i]) ==
                     HG_SUCCESS);
    for (uint32_t i = 0; i < BATCH; i++) {
        UNTIL(h, calls[i].done > 0);
        CHECK(h, calls[i].op.ret == HG_SUCCESS);
        if (i % 4 != 0)
            harness_drop(h, 0, &calls[i]);
    }
}

static void test(struct harness *h)
{
    struct amg_mem_stats before;
    struct amg_mem_stats after;

    h->serve = serve;
    for (uint32_t i = 0; i < WARM; i++)
        batch_run(h);
    harness_sync(h);
    amg_mem_stats_get(&before);
    for (uint32_t i = 0; i < ROUNDS; i++)
        batch_run(h);
    amg_mem_stats_get(&after);
    CHECK(h, after.calls == before.calls);
}

int main(int argc, char **argv)
{
    return harness_main(argc, argv, &(struct harness_wish){0}, test);
}
