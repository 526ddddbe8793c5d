/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls beyond the credits wait, arrive in order, and are all answered. */
#include "harness.h"

enum { CALLS = 1000, CREDITS = 16 };

static struct harness_call calls[CALLS];
static uint32_t next_number;

static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    CHECK(h, arrival->len == sizeof(uint32_t));
    CHECK(h, *(uint32_t *)arrival->data == next_number);
    next_number++;
    harness_echo(h, ep, arrival);
}

static uint32_t done_count(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < CALLS; i++)
        count += calls[i].done;
    return count;
}

static void test(struct harness *h)
{
    h->serve = serve;
    for (uint32_t i = 0; i < CALLS; i++)
        CHECK(h, harness_send(h, 0, 0, &i, sizeof(i), true, &calls[i]) ==
                     HG_SUCCESS);
    /* Nothing completes inside a post. */
    CHECK(h, done_count() == 0);
    UNTIL(h, done_count() == CALLS);
    UNTIL(h, next_number == CALLS);
    for (uint32_t i = 0; i < CALLS; i++) {
        CHECK(h, calls[i].done == 1);
        CHECK(h, calls[i].op.ret == HG_SUCCESS);
        CHECK(h, calls[i].op.len == sizeof(i));
        CHECK(h, *(uint32_t *)calls[i].op.data == i);
        CHECK(h, i == 0 || calls[i].seq > calls[i - 1].seq);
        harness_drop(h, 0, &calls[i]);
    }
}

int main(int argc, char **argv)
{
    return harness_main(
        argc, argv, &(struct harness_wish){.credits = CREDITS}, test);
}
