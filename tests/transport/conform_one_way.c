/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way requests arrive in order, and their credits return; also those
 * without an operation, which never wait. */
#include "harness.h"

enum { CALLS = 500, CREDITS = 8, KEPT_MAX = 3, WATCHED_EVERY = 5 };

static struct harness_call calls[CALLS];
static uint32_t next_number;
static struct amg_arrival *kept[KEPT_MAX];

/* Keeps a few, and releases the oldest at each arrival. */
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

/* Sends as many as leave before the next poll. */
static uint32_t unwatched_send(struct harness *h, uint32_t number)
{
    uint32_t count = 0;
    hg_return_t rc = HG_SUCCESS;

    for (; number + count < CALLS; count++) {
        uint32_t value = CALLS + number + count;

        rc = harness_send(h, 0, 0, &value, sizeof(value), false, NULL);
        if (rc != HG_SUCCESS)
            break;
    }
    CHECK(h, rc == HG_SUCCESS || rc == HG_AGAIN || rc == HG_BUSY);
    CHECK(h, count <= CREDITS);
    return count;
}

/* Now and then a request with an operation waits, and none overtakes it. */
static void unwatched_test(struct harness *h)
{
    struct harness_call *watched = &calls[0];
    uint32_t number = 0;

    watched->done = 1;
    harness_wait_begin(h);
    for (uint32_t turn = 0; number < CALLS; turn++) {
        uint32_t value = 0;

        number += unwatched_send(h, number);
        value = CALLS + number;
        if (number < CALLS && turn % WATCHED_EVERY == 0 && watched->done == 1) {
            CHECK(h, harness_send(h, 0, 0, &value, sizeof(value), false,
                         watched) == HG_SUCCESS);
            number++;
        }
        harness_wait_turn(h, __FILE__, __LINE__, "number == CALLS");
    }
    UNTIL(h, watched->done == 1);
    UNTIL(h, next_number == 2 * CALLS);
}

static void test(struct harness *h)
{
    h->serve = serve;
    for (uint32_t i = 0; i < CALLS; i++)
        CHECK(h, harness_send(h, 0, 0, &i, sizeof(i), false, &calls[i]) ==
                     HG_SUCCESS);
    UNTIL(h, all_are_done());
    UNTIL(h, next_number >= CALLS);
    for (uint32_t i = 0; i < CALLS; i++)
        CHECK(h, calls[i].done == 1 && calls[i].op.ret == HG_SUCCESS);
    unwatched_test(h);
    for (uint32_t i = 0; i < KEPT_MAX; i++)
        h->t->msg.release(h->eps[0], kept[i]);
}

int main(int argc, char **argv)
{
    return harness_main(
        argc, argv, &(struct harness_wish){.credits = CREDITS}, test);
}
