/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrivals can be kept, and answered in any order. */
#include "harness.h"

enum { CALLS = 50, CREDITS = 64 };

static struct harness_call calls[CALLS];
static struct amg_arrival *kept[CALLS];
static uint32_t kept_count;

static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    (void)ep;
    CHECK(h, kept_count < CALLS);
    kept[kept_count++] = arrival;
}

static void test(struct harness *h)
{
    h->serve = serve;
    for (uint32_t i = 0; i < CALLS; i++)
        CHECK(h, harness_send(h, 0, 0, &i, sizeof(i), true, &calls[i]) ==
                     HG_SUCCESS);
    UNTIL(h, kept_count == CALLS);
    for (uint32_t i = CALLS; i-- > 0;) {
        CHECK(h, *(uint32_t *)kept[i]->data == i);
        harness_echo(h, h->eps[0], kept[i]);
    }
    for (uint32_t i = 0; i < CALLS; i++) {
        UNTIL(h, calls[i].done > 0);
        CHECK(h, calls[i].done == 1 && calls[i].op.ret == HG_SUCCESS);
        CHECK(h, *(uint32_t *)calls[i].op.data == i);
        harness_drop(h, 0, &calls[i]);
    }
}

int main(int argc, char **argv)
{
    return harness_main(
        argc, argv, &(struct harness_wish){.credits = CREDITS}, test);
}
