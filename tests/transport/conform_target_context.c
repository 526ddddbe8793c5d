/* SPDX-License-Identifier: BSD-3-Clause */
/* A request reaches the context it names; one that is not open refuses. */
#include <string.h>

#include "harness.h"

enum { CONTEXTS = 2, MAX_CONTEXTS = 4 };

/* Replies with the receiving and the sending context. */
static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    uint8_t answer[2] = {ep->context_id, arrival->origin_context};

    harness_answer(h, ep, arrival, answer, sizeof(answer));
}

static void test(struct harness *h)
{
    static const uint8_t unknown[] = {2, 3, 7, 255};
    struct harness_call call;
    struct amg_ep *again = NULL;

    h->serve = serve;
    for (uint8_t from = 0; from < CONTEXTS; from++)
        for (uint8_t to = 0; to < CONTEXTS; to++) {
            uint8_t *answer = NULL;

            CHECK(h, h->eps[from]->context_id == from);
            CHECK(h, harness_ask(h, from, to, "", 0, &call) == HG_SUCCESS);
            CHECK(h, call.op.len == 2);
            answer = call.op.data;
            CHECK(h, answer[0] == to && answer[1] == from);
            harness_drop(h, from, &call);
        }
    for (size_t i = 0; i < sizeof(unknown); i++) {
        CHECK(h, harness_ask(h, 0, unknown[i], "x", 1, &call) == HG_NOENTRY);
        CHECK(h, call.done == 1);
    }
    CHECK(h, h->t->ep.open(h->domain, 0, &again) == HG_INVALID_ARG);
    CHECK(h, h->t->ep.open(h->domain, MAX_CONTEXTS, &again) == HG_INVALID_ARG);
    CHECK(h, again == NULL);
    CHECK(h, harness_ask(h, 1, 1, "", 0, &call) == HG_SUCCESS);
    harness_drop(h, 1, &call);
}

int main(int argc, char **argv)
{
    return harness_main(argc, argv,
        &(struct harness_wish){.eps = CONTEXTS, .max_contexts = MAX_CONTEXTS},
        test);
}
