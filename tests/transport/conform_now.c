/* SPDX-License-Identifier: BSD-3-Clause */
/* A short message without a buffer arrives as one with a buffer does, in order
 * with those. If it cannot be sent in this way, nothing has changed. */
#include <string.h>

#include "harness.h"

enum { CREDITS = 4, ROUNDS = 20 * (AMG_NOW_LEN + 1), FLIGHT = 3 * CREDITS };

static uint32_t came;  /* messages of the left rank */
static uint32_t asked; /* own ones */
static bool is_any_sent;

/* A message with and one without a reply, in turn. */
static bool wants_reply(uint32_t number)
{
    return number % 3 != 0;
}

static uint32_t len_of(uint32_t number)
{
    return number % (AMG_NOW_LEN + 1);
}

static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    unsigned char bytes[AMG_NOW_LEN];

    CHECK(h, arrival->is_one_way == !wants_reply(came));
    CHECK(h, arrival->len == len_of(came));
    CHECK(h, (uintptr_t)arrival->data % 8 == 0);
    CHECK(h, harness_is_filled(arrival->data, arrival->len, came));
    if (arrival->is_one_way) {
        h->t->msg.release(ep, arrival);
    } else {
        harness_fill(bytes, sizeof(bytes), came + 1);
        if (h->t->msg.reply_now(ep, arrival, bytes, arrival->len))
            h->t->msg.release(ep, arrival);
        else
            harness_answer(h, ep, arrival, bytes, arrival->len);
    }
    came++;
}

static void ask(struct harness *h, struct harness_call *call)
{
    unsigned char bytes[AMG_NOW_LEN];
    uint32_t len = len_of(asked);
    bool is_call = wants_reply(asked);

    harness_fill(bytes, sizeof(bytes), asked);
    harness_call_init(call);
    if (asked % 5 != 0 &&
        h->t->msg.request_now(h->eps[0], (struct amg_target){h->right, 0},
            bytes, len, is_call, &call->op)) {
        is_any_sent = true;
    } else {
        CHECK(h, call->done == 0);
        CHECK(
            h, harness_send(h, 0, 0, bytes, len, is_call, call) == HG_SUCCESS);
    }
    asked++;
}

static void check(struct harness *h, struct harness_call *call, uint32_t number)
{
    UNTIL(h, call->done == 1);
    CHECK(h, call->op.ret == HG_SUCCESS);
    if (!wants_reply(number))
        return;
    CHECK(h, call->op.len == len_of(number));
    CHECK(h, harness_is_filled(call->op.data, call->op.len, number + 1));
    harness_drop(h, 0, call);
}

static void test(struct harness *h)
{
    static struct harness_call calls[FLIGHT];

    h->serve = serve;
    while (asked < ROUNDS) {
        uint32_t first = asked;

        /* More than there are credits: some have to wait. */
        for (unsigned i = 0; i < FLIGHT; i++)
            ask(h, &calls[i]);
        for (unsigned i = 0; i < FLIGHT; i++)
            check(h, &calls[i], first + i);
    }
    CHECK(h, is_any_sent);
    UNTIL(h, came == asked);
}

int main(int argc, char **argv)
{
    const struct harness_wish wish = {.credits = CREDITS};

    return harness_main(argc, argv, &wish, test);
}
