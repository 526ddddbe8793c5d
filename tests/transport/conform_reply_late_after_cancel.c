/* SPDX-License-Identifier: BSD-3-Clause */
/* The late reply to a cancelled call is dropped; its credit returns. */
#include "harness.h"

enum { ROUNDS = 50, CREDITS = 4 };

static struct amg_arrival *kept;
static bool is_keeping;

static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    if (!is_keeping) {
        harness_echo(h, ep, arrival);
        return;
    }
    CHECK(h, kept == NULL);
    kept = arrival;
}

static void test(struct harness *h)
{
    struct harness_call call;

    h->serve = serve;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t number = 1000 + i;
        uint32_t late = 7;

        is_keeping = true;
        harness_sync(h);
        CHECK(
            h, harness_send(h, 0, 0, &i, sizeof(i), true, &call) == HG_SUCCESS);
        UNTIL(h, kept != NULL);
        is_keeping = false;
        harness_sync(h);
        CHECK(h, h->t->ep.cancel(h->eps[0], &call.op) == HG_SUCCESS);
        UNTIL(h, call.done > 0);
        CHECK(h, call.done == 1 && call.op.ret == HG_CANCELED);
        harness_sync(h);
        /* The same operation is in use again when the late reply comes. */
        CHECK(h, harness_send(h, 0, 0, &number, sizeof(number), true, &call) ==
                     HG_SUCCESS);
        harness_answer(h, h->eps[0], kept, &late, sizeof(late));
        kept = NULL;
        UNTIL(h, call.done > 0);
        CHECK(h, call.done == 1 && call.op.ret == HG_SUCCESS);
        CHECK(h, *(uint32_t *)call.op.data == number);
        harness_drop(h, 0, &call);
        harness_sync(h);
    }
}

int main(int argc, char **argv)
{
    return harness_main(
        argc, argv, &(struct harness_wish){.credits = CREDITS}, test);
}
