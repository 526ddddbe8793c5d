/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way requests arrive in order, and their credits come back. */
#include "harness.h"

enum { CALLS = 500, CREDITS = 8, KEPT_MAX = 3 };

static struct harness_call calls[CALLS];
static uint32_t next_number;
static struct amg_arrival *kept[KEPT_MAX];

/* Keeps a few, and releases the oldest for each that comes. */
static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    uint32_t slot = next_number % KEPT_MAX;

    CHECK(h, arrival->is_one_way == 1);
    CHECK(h, arrival->len == sizeof(uint32_t));
    CHECK(h, *(uint32_t *)arrival->data == next_number);
    if (kept[slot] != NULL) {
        CHECK(h, *(uint32_t *)kept[slot]->data == next_number - KEPT_MAX);
        h->t->msg.release(ep, kept[slot]);
    }
    kept[slot] = arrival;
    next_number++;
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
        CHECK(h, harness_send(h, 0, 0, &i, sizeof(i), false, &calls[i]) ==
                     HG_SUCCESS);
    UNTIL(h, all_are_done());
    UNTIL(h, next_number == CALLS);
    for (uint32_t i = 0; i < CALLS; i++)
        CHECK(h, calls[i].done == 1 && calls[i].op.ret == HG_SUCCESS);
    for (uint32_t i = 0; i < KEPT_MAX; i++)
        h->t->msg.release(h->eps[0], kept[i]);
}

int main(int argc, char **argv)
{
    return harness_main(
        argc, argv, &(struct harness_wish){.credits = CREDITS}, test);
}
