/* SPDX-License-Identifier: BSD-3-Clause */
/* A request arrives as it was sent, and so does its reply. */
#include <string.h>

#include "harness.h"

enum { ROUNDS = 200 };

static struct harness_call replied;

/* For the first one, asks for the completion of the reply. */
static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    struct amg_buf *buf = NULL;
    bool is_first = replied.op.step == NULL;

    CHECK(h, arrival->is_one_way == 0);
    CHECK(h, arrival->origin_context == 0);
    CHECK(h, arrival->len == sizeof(uint32_t));
    CHECK(h, (uintptr_t)arrival->data % 8 == 0);
    CHECK(h, h->size > 1 || h->t->addr.is_self(h->domain, arrival->from));
    CHECK(h, h->t->msg.get_buf(ep, arrival->from, &buf) == HG_SUCCESS);
    memcpy(buf->data, arrival->data, arrival->len);
    *(uint32_t *)buf->data += 1;
    if (is_first)
        harness_call_init(&replied);
    CHECK(h, h->t->msg.send_reply(ep, arrival, buf, arrival->len,
                 is_first ? &replied.op : NULL) == HG_SUCCESS);
    h->t->msg.release(ep, arrival);
}

static void test(struct harness *h)
{
    h->serve = serve;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct harness_call call;
        uint32_t number = h->rank * ROUNDS + i;

        CHECK(h,
            harness_ask(h, 0, 0, &number, sizeof(number), &call) == HG_SUCCESS);
        CHECK(h, call.op.len == sizeof(number));
        CHECK(h, (uintptr_t)call.op.data % 8 == 0);
        CHECK(h, *(uint32_t *)call.op.data == number + 1);
        harness_drop(h, 0, &call);
        CHECK(h, call.done == 1);
    }
    UNTIL(h, replied.done == 1);
    CHECK(h, replied.op.ret == HG_SUCCESS);
}

int main(int argc, char **argv)
{
    return harness_main(argc, argv, &(struct harness_wish){0}, test);
}
