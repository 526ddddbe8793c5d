/* SPDX-License-Identifier: BSD-3-Clause */
/* A driver tells where an operation is: a call that the peer has not answered
 * has left, a call without a credit waits for one, and a call that has ended is
 * not found. The loopback finds nothing. */
#include "harness.h"

#include <string.h>

#include "base/status.h"

enum { CALLS = 3, CREDITS = 2 };

static struct harness_call calls[CALLS];
static struct amg_arrival *kept[CALLS];
static uint32_t kept_count;
static bool is_keeping = true;

static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    if (is_keeping)
        kept[kept_count++] = arrival;
    else
        harness_echo(h, ep, arrival);
}

static void expect(
    struct harness *h, const struct harness_call *call, enum amg_stage stage)
{
    struct amg_whereabouts where;

    CHECK(h, h->t->domain.look(h->domain, &call->op, &where));
    CHECK(h, where.stage == stage);
    CHECK(h, where.taken == CREDITS && where.credits == CREDITS);
    CHECK(h, where.waiting == CALLS - CREDITS);
    CHECK(h, where.name[0] != '\0');
}

static void expect_none(struct harness *h)
{
    struct amg_whereabouts where;

    for (uint32_t i = 0; i < CALLS; i++)
        CHECK(h, !h->t->domain.look(h->domain, &calls[i].op, &where));
}

/* Have the driver's medium, and the peer, taken the calls that could leave? */
static bool has_left(struct harness *h)
{
    struct amg_whereabouts where;

    return h->t->domain.look(h->domain, &calls[CREDITS - 1].op, &where) &&
           where.stage == AMG_STAGE_SENT;
}

static void test(struct harness *h)
{
    h->serve = serve;
    expect_none(h);
    for (uint32_t i = 0; i < CALLS; i++)
        CHECK(h, harness_send(h, 0, 0, &i, sizeof(i), true, &calls[i]) ==
                     HG_SUCCESS);
    UNTIL(h, kept_count == CREDITS);
    if (strcmp(h->t->name, "self") != 0) {
        UNTIL(h, has_left(h));
        expect(h, &calls[0], AMG_STAGE_SENT);
        expect(h, &calls[CREDITS], AMG_STAGE_CREDIT);
    } else {
        expect_none(h);
    }
    harness_sync(h);
    is_keeping = false;
    for (uint32_t i = 0; i < CREDITS; i++)
        harness_echo(h, h->eps[0], kept[i]);
    for (uint32_t i = 0; i < CALLS; i++) {
        UNTIL(h, calls[i].done == 1);
        CHECK(h, calls[i].op.ret == HG_SUCCESS);
        harness_drop(h, 0, &calls[i]);
    }
    expect_none(h);
    harness_sync(h);
}

int main(int argc, char **argv)
{
    return harness_main(
        argc, argv, &(struct harness_wish){.credits = CREDITS}, test);
}
