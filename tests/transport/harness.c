/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the conformance tests of the drivers. */
#include "harness.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "slow.h"
#include "transport/registry.h"
#include "transport/state.h"

enum { DEADLINE_MS = 40000 * TEST_SLOW, POLL_MAX = 16, STATE_CAP = 4096 };

static uint64_t harness_seq;

void harness_fail(
    const struct harness *h, const char *file, int line, const char *what)
{
    fprintf(stderr, "%s over %s, rank %u of %u: %s:%d: %s\n", h->test,
        h->scheme, h->rank, h->size, file, line, what);
    fflush(stderr);
    harness_world.die();
}

static void call_step(struct amg_op *op)
{
    struct harness_call *call = amg_container_of(op, struct harness_call, op);

    call->done++;
    call->seq = ++harness_seq;
}

void harness_call_init(struct harness_call *call)
{
    memset(call, 0, sizeof(*call));
    call->op.step = call_step;
}

static void events_take(
    struct harness *h, struct amg_ep *ep, struct amg_events *events)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(&events->done)) != NULL) {
        struct amg_op *op = amg_container_of(link, struct amg_op, link);

        op->step(op);
    }
    while ((link = amg_list_pop(&events->arrived)) != NULL) {
        struct amg_arrival *arrival =
            amg_container_of(link, struct amg_arrival, link);

        if (arrival->is_late)
            h->t->msg.release(ep, arrival);
        else
            h->serve(h, ep, arrival);
    }
}

unsigned harness_poll(struct harness *h)
{
    unsigned count = 0;

    CHECK(h, !h->is_serving);
    h->is_serving = true;
    for (uint32_t i = 0; i < HARNESS_EPS_MAX; i++) {
        struct amg_events events;

        if (h->eps[i] == NULL)
            continue;
        amg_events_init(&events);
        count += h->t->ep.poll(h->eps[i], POLL_MAX, &events);
        events_take(h, h->eps[i], &events);
    }
    h->is_serving = false;
    return count;
}

void harness_wait_begin(struct harness *h)
{
    h->deadline_ns = amg_clock_deadline_ns(DEADLINE_MS);
}

void harness_wait_turn(
    struct harness *h, const char *file, int line, const char *what)
{
    if (harness_poll(h) > 0)
        return;
    if (amg_clock_ns() >= h->deadline_ns) {
        fprintf(stderr, "%s: waited %d ms for:\n", h->test, DEADLINE_MS);
        harness_fail(h, file, line, what);
    }
    sched_yield();
}

void harness_sync(struct harness *h)
{
    harness_world.barrier_begin();
    UNTIL(h, harness_world.is_done());
}

void harness_swap(
    struct harness *h, const void *mine, void *ret_right, size_t len)
{
    harness_world.swap_begin(mine, ret_right, len);
    UNTIL(h, harness_world.is_done());
    harness_sync(h);
}

hg_return_t harness_send(struct harness *h, uint32_t ep, uint8_t target_context,
    const void *bytes, uint32_t len, bool wants_reply,
    struct harness_call *call)
{
    struct amg_buf *buf = NULL;
    hg_return_t rc = h->t->msg.get_buf(h->eps[ep], h->right, &buf);

    if (rc != HG_SUCCESS)
        return rc;
    CHECK(h, buf->cap >= len && (uintptr_t)buf->data % 8 == 0);
    if (len > 0)
        memcpy(buf->data, bytes, len);
    if (call != NULL)
        harness_call_init(call);
    rc = h->t->msg.send_request(h->eps[ep],
        (struct amg_target){h->right, target_context}, buf, len, wants_reply,
        call == NULL ? NULL : &call->op);
    if (rc != HG_SUCCESS)
        h->t->msg.put_buf(h->eps[ep], buf);
    return rc;
}

hg_return_t harness_ask(struct harness *h, uint32_t ep, uint8_t target_context,
    const void *bytes, uint32_t len, struct harness_call *call)
{
    CHECK(h, harness_send(h, ep, target_context, bytes, len, true, call) ==
                 HG_SUCCESS);
    UNTIL(h, call->done > 0);
    return call->op.ret;
}

void harness_answer(struct harness *h, struct amg_ep *ep,
    struct amg_arrival *arrival, const void *bytes, uint32_t len)
{
    struct amg_buf *buf = NULL;

    CHECK(h, h->t->msg.get_buf(ep, arrival->from, &buf) == HG_SUCCESS);
    CHECK(h, buf->cap >= len && (uintptr_t)buf->data % 8 == 0);
    if (len > 0)
        memcpy(buf->data, bytes, len);
    CHECK(h, h->t->msg.send_reply(ep, arrival, buf, len, NULL) == HG_SUCCESS);
    h->t->msg.release(ep, arrival);
}

void harness_echo(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    harness_answer(h, ep, arrival, arrival->data, arrival->len);
}

void harness_drop(struct harness *h, uint32_t ep, struct harness_call *call)
{
    h->t->msg.release_reply(h->eps[ep], &call->op);
}

void harness_ep_close(struct harness *h, uint32_t ep)
{
    struct amg_events events;
    struct amg_ep *closed = h->eps[ep];

    amg_events_init(&events);
    h->eps[ep] = NULL;
    h->t->ep.close(closed, &events);
    CHECK(h, amg_list_is_empty(&events.arrived));
    events_take(h, NULL, &events);
}

static uint8_t pattern_at(size_t i, uint64_t seed)
{
    uint64_t x =
        (i >> 3) * 0x9e3779b97f4a7c15ull + seed * 0xbf58476d1ce4e5b9ull;

    x ^= x >> 29;
    return (uint8_t)(x >> (i % 8 * 8 % 40));
}

void harness_fill(void *bytes, size_t len, uint64_t seed)
{
    for (size_t i = 0; i < len; i++)
        ((uint8_t *)bytes)[i] = pattern_at(i, seed);
}

bool harness_is_filled(const void *bytes, size_t len, uint64_t seed)
{
    for (size_t i = 0; i < len; i++)
        if (((const uint8_t *)bytes)[i] != pattern_at(i, seed))
            return false;
    return true;
}

static void right_find(struct harness *h)
{
    char mine[HARNESS_TEXT_CAP] = "";
    char right[HARNESS_TEXT_CAP] = "";
    size_t len = sizeof(mine);
    struct amg_peer *self = h->t->addr.self(h->domain);

    CHECK(h, h->t->addr.format(h->domain, self, mine, &len) == HG_SUCCESS);
    h->t->addr.unref(h->domain, self);
    harness_swap(h, mine, right, sizeof(mine));
    CHECK(h, h->t->addr.parse(h->domain, right, &h->right) == HG_SUCCESS);
}

/* Waits for all without a poll: a neighbour may already send, but nothing may
 * be served before the test has set its `serve`. */
static void start_together(struct harness *h)
{
    harness_world.barrier_begin();
    harness_wait_begin(h);
    while (!harness_world.is_done()) {
        CHECK(h, amg_clock_ns() < h->deadline_ns);
        sched_yield();
    }
}

const char *harness_protocol(const struct harness *h)
{
    const char *mark = strchr(h->scheme, '+');

    return mark == NULL ? h->scheme : mark + 1;
}

static void harness_open(struct harness *h, const struct harness_wish *wish)
{
    uint32_t eps = wish->eps == 0 ? 1 : wish->eps;
    const struct amg_open how = {
        .info = "",
        .protocol = harness_protocol(h),
        .is_listening = true,
        .message_len = wish->message_len,
        .credits = wish->credits,
        .max_contexts = wish->max_contexts == 0 ? eps : wish->max_contexts,
        .area = wish->area_len == 0 ? NULL : &h->area,
    };

    if (wish->area_len > 0) {
        CHECK(h, amg_mapping_open("conform", wish->area_len, &h->mapping) ==
                     HG_SUCCESS);
        h->area =
            (struct amg_area){h->mapping.base, h->mapping.len, h->mapping.fd};
    }
    CHECK(h, h->t->domain.open(&how, &h->domain) == HG_SUCCESS);
    h->t->domain.limits(h->domain, &h->limits);
    CHECK(h, wish->credits == 0 || h->limits.credits == wish->credits);
    for (uint32_t i = 0; i < eps; i++)
        CHECK(
            h, h->t->ep.open(h->domain, (uint8_t)i, &h->eps[i]) == HG_SUCCESS);
    h->serve = harness_echo;
    right_find(h);
    start_together(h);
}

/* Polls until nothing is under way: all credits and buffers are home. */
static void harness_settle(struct harness *h)
{
    char text[STATE_CAP];
    struct amg_state state;

    harness_wait_begin(h);
    do {
        amg_state_init(&state, text, sizeof(text) - 1, (int)h->rank);
        h->t->domain.write_state(h->domain, &state);
        text[state.len] = '\0';
        harness_wait_turn(h, __FILE__, __LINE__, text);
    } while (state.count > 0);
}

static void harness_close(struct harness *h)
{
    harness_sync(h);
    if (!h->has_dropped)
        harness_settle(h);
    harness_sync(h);
    UNTIL(h, h->t->domain.quiesce(h->domain) == HG_SUCCESS);
    h->t->addr.unref(h->domain, h->right);
    for (uint32_t i = 0; i < HARNESS_EPS_MAX; i++)
        if (h->eps[i] != NULL)
            harness_ep_close(h, i);
    h->t->domain.close(h->domain);
    amg_mapping_close(&h->mapping);
}

int harness_main(int argc, char **argv, const struct harness_wish *wish,
    void (*test)(struct harness *h))
{
    struct harness h = {.test = argv[0], .scheme = argc > 1 ? argv[1] : "self"};
    struct amg_mem_stats before;
    struct amg_mem_stats after;

    harness_world.start(&h.rank, &h.size);
    h.t = amg_registry_find(harness_world.transports, h.scheme);
    CHECK(&h, h.t != NULL);
    CHECK(&h, amg_registry_check(h.t) == HG_SUCCESS);
    amg_mem_stats_get(&before);
    harness_open(&h, wish);
    test(&h);
    harness_close(&h);
    amg_mem_stats_get(&after);
    CHECK(&h, after.live == before.live);
    harness_world.stop();
    return EXIT_SUCCESS;
}
