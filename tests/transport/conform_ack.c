/* SPDX-License-Identifier: BSD-3-Clause */
/* An ACK arrives while requests have all credits and others wait for one, at a
 * target that answers them only then; and it neither takes nor returns one. */
#include <string.h>

#include "harness.h"

enum { CREDITS = 4, CALLS = 3 * CREDITS, ROUNDS = 20, LEN = 16 };

static struct amg_arrival *kept[CALLS];
static uint32_t kept_count;
static uint32_t acks;
static bool is_keeping;

static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    if (arrival->is_one_way) {
        CHECK(h, arrival->len == LEN && !amg_arrival_has_credit(arrival));
        CHECK(h, harness_is_filled(arrival->data, LEN, acks));
        h->t->msg.release(ep, arrival);
        acks++;
        return;
    }
    if (!is_keeping) {
        harness_echo(h, ep, arrival);
        return;
    }
    CHECK(h, kept_count < CREDITS);
    kept[kept_count++] = arrival;
}

static void ack_send(struct harness *h, uint32_t round)
{
    struct harness_call call;
    uint8_t bytes[AMG_NOW_LEN] = {0};

    harness_fill(bytes, LEN, round);
    harness_call_init(&call);
    CHECK(h, h->t->msg.send_ack(h->eps[0], (struct amg_target){h->right, 0},
                 bytes, LEN, &call.op) == HG_SUCCESS);
    UNTIL(h, call.done == 1);
    CHECK(h, call.op.ret == HG_SUCCESS);
}

static void round_run(struct harness *h, uint32_t round)
{
    static struct harness_call calls[CALLS];

    is_keeping = true;
    kept_count = 0;
    harness_sync(h);
    for (uint32_t i = 0; i < CALLS; i++)
        CHECK(h, harness_send(h, 0, 0, &i, sizeof(i), true, &calls[i]) ==
                     HG_SUCCESS);
    UNTIL(h, kept_count == CREDITS);
    harness_sync(h);
    ack_send(h, round);
    UNTIL(h, acks == round + 1);
    is_keeping = false;
    for (uint32_t i = 0; i < kept_count; i++)
        harness_echo(h, h->eps[0], kept[i]);
    for (uint32_t i = 0; i < CALLS; i++) {
        UNTIL(h, calls[i].done == 1);
        CHECK(h, calls[i].op.ret == HG_SUCCESS);
        harness_drop(h, 0, &calls[i]);
    }
    harness_sync(h);
}

static void test(struct harness *h)
{
    h->serve = serve;
    for (uint32_t round = 0; round < ROUNDS; round++)
        round_run(h, round);
}

int main(int argc, char **argv)
{
    return harness_main(
        argc, argv, &(struct harness_wish){.credits = CREDITS}, test);
}
