/* SPDX-License-Identifier: BSD-3-Clause */
/* When the n-th allocation fails, a call returns HG_NOMEM or works, and nothing
 * leaks; n = 1, 2, ... until none fails. */
#include <string.h>

#include "base/mem.h"
#include "harness_bulk.h"

enum {
    RING_N_MAX = 50,
    LIFE_N_MAX = 5000,
    BURST = 70,
    MEMS = 40,
    LEN = 20000,
    SEGMENTS = 2,
};

static uint8_t exposed[LEN];
static uint8_t local[LEN];
static struct harness_call calls[BURST];
/* Arrivals whose reply could not be allocated; the test answers them again. */
static struct amg_list unanswered;

static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    struct amg_buf *buf = NULL;
    hg_return_t rc = h->t->msg.get_buf(ep, arrival->from, &buf);

    if (rc == HG_SUCCESS) {
        rc = h->t->msg.send_reply(ep, arrival, buf, 0, NULL);
        if (rc != HG_SUCCESS)
            h->t->msg.put_buf(ep, buf);
    }
    if (rc == HG_SUCCESS) {
        h->t->msg.release(ep, arrival);
        return;
    }
    CHECK(h, rc == HG_NOMEM);
    amg_list_push(&unanswered, &arrival->link);
}

static void answer_again(struct harness *h)
{
    struct amg_link *link = amg_list_pop(&unanswered);

    if (link != NULL)
        serve(h, h->eps[0], amg_container_of(link, struct amg_arrival, link));
}

/* More calls than ever before, so that pools have to grow. */
static void calls_run(struct harness *h)
{
    uint32_t posted = 0;

    for (uint32_t i = 0; i < BURST; i++) {
        hg_return_t rc =
            harness_send(h, 0, 0, &i, sizeof(i), true, &calls[posted]);

        CHECK(h, rc == HG_SUCCESS || rc == HG_NOMEM);
        if (rc == HG_SUCCESS)
            posted++;
    }
    for (uint32_t i = 0; i < posted; i++) {
        UNTIL(h, (answer_again(h), calls[i].done > 0));
        CHECK(h, calls[i].done == 1);
        CHECK(h, calls[i].op.ret == HG_SUCCESS || calls[i].op.ret == HG_NOMEM);
        if (calls[i].op.ret == HG_SUCCESS)
            harness_drop(h, 0, &calls[i]);
    }
}

/* Short and long ones, cancellable and uncancellable ones. */
static void accesses_run(struct harness *h, const struct harness_shown *right)
{
    struct harness_call call;

    for (uint32_t i = 0; i < 8; i++) {
        uint64_t len = i % 4 < 2 ? 64 : right->lens[0] + right->lens[1];
        hg_return_t rc = HG_SUCCESS;

        h->is_uncancellable = i >= 4;
        rc = i % 2 == 0 ? harness_get(h, right, 0, 0, local, len, &call)
                        : harness_put(h, right, 0, 0, local, len, &call);
        CHECK(h, rc == HG_SUCCESS || rc == HG_NOMEM);
        if (rc != HG_SUCCESS)
            continue;
        harness_wait_all(h, &call, 1);
        CHECK(h, call.op.ret == HG_SUCCESS || call.op.ret == HG_NOMEM);
    }
}

/* The memory has two segments. */
static void bulk_runs(struct harness *h)
{
    const struct amg_segment segments[SEGMENTS] = {
        {exposed, LEN / 2}, {exposed + LEN / 2 + 1, LEN / 2 - 1}};
    struct amg_mem *mems[MEMS];
    struct harness_shown shown = {.count = SEGMENTS};
    struct harness_shown right;
    uint32_t count = 0;

    for (uint32_t i = 0; i < MEMS; i++) {
        hg_return_t rc = h->t->bulk.reg(h->domain, segments, SEGMENTS,
            AMG_MEM_READ | AMG_MEM_WRITE, &mems[count]);

        CHECK(h, rc == HG_SUCCESS || rc == HG_NOMEM);
        if (rc == HG_SUCCESS)
            count++;
    }
    CHECK(h, count >= MEMS - 1);
    h->t->bulk.key(mems[0], &shown.key);
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        shown.bases[i] = (uintptr_t)segments[i].base;
        shown.lens[i] = segments[i].len;
    }
    harness_swap(h, &shown, &right, sizeof(shown));
    accesses_run(h, &right);
    harness_sync(h);
    for (uint32_t i = 0; i < count; i++)
        harness_hide(h, mems[i]);
}

/* The whole life of a domain beside the one of the harness. Only with one rank:
 * over several, opening is collective, and one rank without memory would leave
 * the others waiting. */
static void domain_lives(struct harness *h)
{
    const struct amg_open how = {
        .info = "",
        .protocol = harness_protocol(h),
        .is_listening = true,
        .max_contexts = 2,
        .credits = 8,
    };
    struct harness inner = *h;
    hg_return_t rc = h->t->domain.open(&how, &inner.domain);

    memset(inner.eps, 0, sizeof(inner.eps));
    CHECK(h, rc == HG_SUCCESS || rc == HG_NOMEM);
    if (rc != HG_SUCCESS)
        return;
    inner.right = h->t->addr.self(inner.domain);
    for (uint8_t i = 0; i < 2; i++) {
        rc = h->t->ep.open(inner.domain, i, &inner.eps[i]);
        CHECK(h, rc == HG_SUCCESS || rc == HG_NOMEM);
    }
    if (inner.eps[0] != NULL) {
        calls_run(&inner);
        bulk_runs(&inner);
    }
    UNTIL(&inner, h->t->domain.quiesce(inner.domain) == HG_SUCCESS);
    h->t->addr.unref(inner.domain, inner.right);
    for (uint8_t i = 0; i < 2; i++)
        if (inner.eps[i] != NULL)
            harness_ep_close(&inner, i);
    h->t->domain.close(inner.domain);
}

/* Runs `part` with the n-th allocation failing. False: there were fewer than
 * n. */
static bool fails_at(
    struct harness *h, void (*part)(struct harness *h), uint64_t n)
{
    struct amg_mem_stats before;
    struct amg_mem_stats after;

    amg_mem_stats_get(&before);
    amg_mem_fail_nth(n);
    part(h);
    amg_mem_fail_nth(0);
    amg_mem_stats_get(&after);
    return after.calls - before.calls >= n - 1;
}

static void test(struct harness *h)
{
    uint64_t n = 1;

    amg_list_init(&unanswered);
    h->serve = serve;
    for (n = 1; n <= RING_N_MAX; n++) {
        (void)fails_at(h, calls_run, n);
        (void)fails_at(h, bulk_runs, n);
    }
    if (h->size > 1)
        return;
    for (n = 1; fails_at(h, domain_lives, n); n++)
        CHECK(h, n < LIFE_N_MAX);
}

int main(int argc, char **argv)
{
    return harness_main(argc, argv, &(struct harness_wish){.credits = 8}, test);
}
