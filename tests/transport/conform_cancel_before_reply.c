/* SPDX-License-Identifier: BSD-3-Clause */
/* A cancelled call completes once; its neighbours are not affected. */
#include "harness.h"

enum { CALLS = 40 };

static struct harness_call calls[CALLS];
static uint32_t served;

static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    served++;
    harness_echo(h, ep, arrival);
}

static bool all_are_done(void)
{
    for (uint32_t i = 0; i < CALLS; i++)
        if (calls[i].done == 0)
            return false;
    return true;
}

static void test(struct harness *h)
{
    h->serve = serve;
    for (uint32_t i = 0; i < CALLS; i++)
        CHECK(h, harness_send(h, 0, 0, &i, sizeof(i), true, &calls[i]) ==
                     HG_SUCCESS);
    for (uint32_t i = 1; i < CALLS; i += 2)
        CHECK(h, h->t->ep.cancel(h->eps[0], &calls[i].op) == HG_SUCCESS);
    UNTIL(h, all_are_done());
    /* Cancelling ended calls changes nothing. */
    for (uint32_t i = 0; i < CALLS; i++)
        CHECK(h, h->t->ep.cancel(h->eps[0], &calls[i].op) == HG_SUCCESS);
    UNTIL(h, served >= CALLS / 2);
    harness_sync(h);
    for (uint32_t i = 0; i < CALLS; i++) {
        CHECK(h, calls[i].done == 1);
        /* A reply may have overtaken the cancel. */
        CHECK(h, calls[i].op.ret == HG_SUCCESS ||
                     (i % 2 == 1 && calls[i].op.ret == HG_CANCELED));
        if (calls[i].op.ret != HG_SUCCESS)
            continue;
        CHECK(h, *(uint32_t *)calls[i].op.data == i);
        harness_drop(h, 0, &calls[i]);
    }
}

int main(int argc, char **argv)
{
    return harness_main(argc, argv, &(struct harness_wish){0}, test);
}
