/* SPDX-License-Identifier: BSD-3-Clause */
/* A call that waits for a credit can be cancelled; the target never sees it. */
#include "harness.h"

enum { CALLS = 6, CREDITS = 2, FIRST_CANCELED = 3, SECOND_CANCELED = 5 };

static struct harness_call calls[CALLS];
static struct amg_arrival *kept[CALLS];
static uint32_t kept_count;
static bool is_keeping = true;
static uint32_t seen[CALLS];
static uint32_t seen_count;

static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    CHECK(h, seen_count < CALLS);
    seen[seen_count++] = *(uint32_t *)arrival->data;
    if (is_keeping) {
        CHECK(h, kept_count < CREDITS);
        kept[kept_count++] = arrival;
    } else {
        harness_echo(h, ep, arrival);
    }
}

static void test(struct harness *h)
{
    static const uint32_t expected[] = {0, 1, 2, 4};

    h->serve = serve;
    for (uint32_t i = 0; i < CALLS; i++)
        CHECK(h, harness_send(h, 0, 0, &i, sizeof(i), true, &calls[i]) ==
                     HG_SUCCESS);
    UNTIL(h, kept_count == CREDITS);
    h->t->ep.cancel(h->eps[0], &calls[FIRST_CANCELED].op);
    h->t->ep.cancel(h->eps[0], &calls[SECOND_CANCELED].op);
    UNTIL(h, calls[FIRST_CANCELED].done == 1);
    UNTIL(h, calls[SECOND_CANCELED].done == 1);
    CHECK(h, calls[FIRST_CANCELED].op.ret == HG_CANCELED);
    CHECK(h, calls[SECOND_CANCELED].op.ret == HG_CANCELED);
    harness_sync(h);
    CHECK(h, kept_count == CREDITS);
    is_keeping = false;
    for (uint32_t i = 0; i < CREDITS; i++)
        harness_echo(h, h->eps[0], kept[i]);
    for (uint32_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct harness_call *call = &calls[expected[i]];

        UNTIL(h, call->done == 1);
        CHECK(h, call->op.ret == HG_SUCCESS);
        CHECK(h, *(uint32_t *)call->op.data == expected[i]);
        harness_drop(h, 0, call);
    }
    harness_sync(h);
    CHECK(h, seen_count == sizeof(expected) / sizeof(expected[0]));
    for (uint32_t i = 0; i < seen_count; i++)
        CHECK(h, seen[i] == expected[i]);
}

int main(int argc, char **argv)
{
    return harness_main(
        argc, argv, &(struct harness_wish){.credits = CREDITS}, test);
}
