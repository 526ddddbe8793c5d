/* SPDX-License-Identifier: BSD-3-Clause */
/* Closing an endpoint returns every operation; late messages for it do no harm,
 * and its context can be opened again. */
#include <string.h>

#include "harness.h"

enum { CALLS = 12, CREDITS = 4, ORIGIN = 1, TARGET = 0 };

static struct harness_call calls[CALLS];
static struct amg_arrival *kept[CALLS];
static uint32_t kept_count;
static bool is_keeping = true;

static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    if (!is_keeping) {
        harness_echo(h, ep, arrival);
        return;
    }
    CHECK(h, kept_count < CREDITS);
    kept[kept_count++] = arrival;
}

/* Some are at the target, the others wait for a credit. */
static void pending_come_back(struct harness *h)
{
    for (uint32_t i = 0; i < CALLS; i++)
        CHECK(h, harness_send(h, ORIGIN, TARGET, &i, sizeof(i), true,
                     &calls[i]) == HG_SUCCESS);
    UNTIL(h, kept_count == CREDITS);
    harness_sync(h);
    harness_ep_close(h, ORIGIN);
    for (uint32_t i = 0; i < CALLS; i++)
        CHECK(h, calls[i].done == 1 && calls[i].op.ret == HG_CANCELED);
    harness_sync(h);
}

static void test(struct harness *h)
{
    struct harness_call call;
    struct amg_ep *closed = NULL;
    struct amg_events events;
    uint32_t late = 77;

    h->serve = serve;
    pending_come_back(h);
    /* Replies late to half of them; the rest is released without a reply. */
    for (uint32_t i = 0; i < CREDITS / 2; i++)
        harness_answer(h, h->eps[TARGET], kept[i], &late, sizeof(late));
    is_keeping = false;
    h->has_dropped = true;
    for (uint32_t i = CREDITS / 2; i < CREDITS - 1; i++)
        h->t->msg.release(h->eps[TARGET], kept[i]);
    CHECK(h, harness_ask(h, TARGET, ORIGIN, "x", 1, &call) == HG_NOENTRY);
    harness_sync(h);
    CHECK(h, h->t->ep.open(h->domain, ORIGIN, &h->eps[ORIGIN]) == HG_SUCCESS);
    harness_sync(h);
    CHECK(h, harness_ask(h, ORIGIN, TARGET, &late, sizeof(late), &call) ==
                 HG_SUCCESS);
    CHECK(h, *(uint32_t *)call.op.data == late);
    harness_drop(h, ORIGIN, &call);
    CHECK(h, harness_ask(h, TARGET, ORIGIN, "x", 1, &call) == HG_SUCCESS);
    harness_drop(h, TARGET, &call);
    harness_sync(h);
    /* The last one is kept beyond the end of its endpoint. */
    closed = h->eps[TARGET];
    h->eps[TARGET] = NULL;
    amg_events_init(&events);
    h->t->ep.close(closed, &events);
    CHECK(h,
        amg_list_is_empty(&events.done) && amg_list_is_empty(&events.arrived));
    CHECK(h, *(uint32_t *)kept[CREDITS - 1]->data == CREDITS - 1);
    h->t->msg.release(closed, kept[CREDITS - 1]);
}

int main(int argc, char **argv)
{
    return harness_main(
        argc, argv, &(struct harness_wish){.eps = 2, .credits = CREDITS}, test);
}
