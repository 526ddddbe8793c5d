/* SPDX-License-Identifier: BSD-3-Clause */
/* The credits of one-way requests come back where nothing but the bulk data
 * that their target moves goes the other way: many times as many requests as
 * there are credits, and an access to the memory of a neighbour for each. */
#include <stdlib.h>

#include "harness_bulk.h"

enum { CALLS = 300, CREDITS = 16, LEN = 20000 };

static struct harness_call gets[CALLS];
static struct harness_shown right;
static uint8_t *got;
static uint32_t came;

static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    CHECK(h, came < CALLS);
    CHECK(h, harness_get(h, &right, 0, 0, got, LEN, &gets[came]) == HG_SUCCESS);
    h->t->msg.release(ep, arrival);
    came++;
}

/* The ranks of one parity send, the others, and one alone, access. */
static bool is_sender(const struct harness *h, uint32_t rank, uint32_t turn)
{
    return h->size == 1 || rank % 2 == turn;
}

static void send_all(struct harness *h)
{
    harness_wait_begin(h);
    for (uint32_t sent = 0; sent < CALLS;) {
        hg_return_t rc =
            harness_send(h, 0, 0, &sent, sizeof(sent), false, NULL);

        CHECK(h, rc == HG_SUCCESS || rc == HG_AGAIN || rc == HG_BUSY);
        sent += rc == HG_SUCCESS;
        harness_wait_turn(h, __FILE__, __LINE__, "a credit");
    }
}

static void test(struct harness *h)
{
    struct amg_segment segment = {malloc(LEN), LEN};
    struct amg_mem *mine = NULL;

    got = calloc(1, LEN);
    CHECK(h, got != NULL && segment.base != NULL);
    harness_fill(segment.base, LEN, 7);
    harness_expose(h, &segment, 1, AMG_MEM_READ, &mine, &right);
    h->serve = serve;
    for (uint32_t turn = 0; turn < 2; turn++) {
        uint32_t left = (h->rank + h->size - 1) % h->size;

        came = 0;
        harness_sync(h);
        if (is_sender(h, h->rank, turn))
            send_all(h);
        if (is_sender(h, left, turn)) {
            UNTIL(h, came == CALLS);
            harness_wait_all(h, gets, CALLS);
            CHECK(h, harness_is_filled(got, LEN, 7));
        }
    }
    harness_sync(h);
    harness_hide(h, mine);
    free(got);
    free(segment.base);
}

int main(int argc, char **argv)
{
    return harness_main(
        argc, argv, &(struct harness_wish){.credits = CREDITS}, test);
}
