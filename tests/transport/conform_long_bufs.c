/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages in long buffers pass whole, both ways, for every length from one
 * byte more than a usual message has; too long ones are refused. When all long
 * buffers are in use, get_long_buf says so at once, usual messages still pass,
 * and released ones can be taken again, also those of cancelled calls. A driver
 * without long buffers refuses every length. */
#include <stdlib.h>

#include "harness.h"

enum { HELD_MAX = 4096, ROUNDS = 300, CREDITS = 64 };

static struct amg_arrival *kept[CREDITS];
static unsigned kept_count;
static bool is_keeping;
static uint32_t longest;

static hg_return_t long_get(struct harness *h, struct amg_peer *peer,
    uint32_t len, struct amg_buf **buf)
{
    hg_return_t rc = h->t->msg.get_long_buf(h->eps[0], peer, len, buf);

    if (rc == HG_SUCCESS)
        CHECK(h, (*buf)->cap >= len && (uintptr_t)(*buf)->data % 8 == 0);
    return rc;
}

/* Answers with the same bytes, in a long buffer if there is one. */
static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    struct amg_buf *buf = NULL;
    uint32_t len = arrival->len;

    CHECK(h, harness_is_filled(arrival->data, len, len));
    if (is_keeping) {
        CHECK(h, kept_count < CREDITS);
        kept[kept_count++] = arrival;
        return;
    }
    if (long_get(h, arrival->from, len, &buf) != HG_SUCCESS) {
        CHECK(h, h->t->msg.get_buf(ep, arrival->from, &buf) == HG_SUCCESS);
        len = len < buf->cap ? len : buf->cap;
    }
    CHECK(h, h->t->msg.send_reply(ep, arrival, buf, buf->cap + 1, NULL) ==
                 HG_MSGSIZE);
    harness_fill(buf->data, len, arrival->len);
    CHECK(h, h->t->msg.send_reply(ep, arrival, buf, len, NULL) == HG_SUCCESS);
    h->t->msg.release(ep, arrival);
}

/* HG_SUCCESS: the call was sent. */
static hg_return_t long_send(
    struct harness *h, uint32_t len, struct harness_call *call)
{
    struct amg_target to = {h->right, 0};
    struct amg_buf *buf = NULL;
    hg_return_t rc = long_get(h, h->right, len, &buf);

    if (rc != HG_SUCCESS)
        return rc;
    harness_call_init(call);
    CHECK(h, h->t->msg.send_request(h->eps[0], to, buf, buf->cap + 1, true,
                 &call->op) == HG_MSGSIZE);
    harness_fill(buf->data, len, len);
    CHECK(h, h->t->msg.send_request(h->eps[0], to, buf, len, true, &call->op) ==
                 HG_SUCCESS);
    return HG_SUCCESS;
}

static void ask(struct harness *h, uint32_t len)
{
    struct harness_call call;

    CHECK(h, long_send(h, len, &call) == HG_SUCCESS);
    UNTIL(h, call.done > 0);
    CHECK(h, call.op.ret == HG_SUCCESS && call.op.len == len);
    CHECK(h, harness_is_filled(call.op.data, len, len));
    harness_drop(h, 0, &call);
}

/* The length up to which the driver has buffers. */
static uint32_t longest_find(struct harness *h)
{
    uint32_t good = 1;
    uint32_t bad = UINT32_MAX;

    while (bad - good > 1) {
        uint32_t len = good + (bad - good) / 2;
        struct amg_buf *buf = NULL;

        if (long_get(h, h->right, len, &buf) == HG_SUCCESS) {
            h->t->msg.put_buf(h->eps[0], buf);
            good = len;
        } else {
            bad = len;
        }
    }
    return good;
}

static void lengths_pass(struct harness *h)
{
    const uint32_t most = longest - AMG_LONG_HEADERS_LEN;
    const uint32_t lens[] = {1, h->limits.request_len + 1, 16384, 16385, 65536,
        65537, most - 1, most, most + 1, longest - 1, longest};
    struct amg_buf *buf = NULL;

    CHECK(h, longest <= AMG_LONG_ARGS_LEN + AMG_LONG_HEADERS_LEN);
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
        ask(h, lens[i]);
    CHECK(h, long_get(h, h->right, longest + 1, &buf) == HG_MSGSIZE);
    CHECK(h, long_get(h, h->right, UINT32_MAX, &buf) == HG_MSGSIZE);
    CHECK(h, buf == NULL);
}

/* All that there are, of one length; gives them back. */
static unsigned count_free(struct harness *h, uint32_t len)
{
    static struct amg_buf *held[HELD_MAX];
    unsigned count = 0;
    hg_return_t rc = HG_SUCCESS;

    while (count < HELD_MAX &&
           (rc = long_get(h, h->right, len, &held[count])) == HG_SUCCESS)
        count++;
    CHECK(h, rc == HG_SUCCESS || rc == HG_AGAIN);
    for (unsigned i = 0; i < count; i++)
        h->t->msg.put_buf(h->eps[0], held[i]);
    return count;
}

/* The target keeps what it received; half of the calls are cancelled. */
static void kept_ones_come_back(struct harness *h)
{
    static struct harness_call calls[CREDITS];
    uint32_t len = longest;
    unsigned all = count_free(h, len);
    unsigned sent = 0;

    CHECK(h, all > 0);
    kept_count = 0;
    is_keeping = true;
    harness_sync(h);
    while (sent < CREDITS / 2 && long_send(h, len, &calls[sent]) == HG_SUCCESS)
        sent++;
    CHECK(h, sent > 0);
    CHECK(h, count_free(h, len) <= all);
    CHECK(h, harness_send(h, 0, 0, NULL, 0, true, &calls[sent]) == HG_SUCCESS);
    UNTIL(h, kept_count == sent + 1);
    is_keeping = false;
    for (unsigned i = 0; i < sent; i += 2)
        CHECK(h, h->t->ep.cancel(h->eps[0], &calls[i].op) == HG_SUCCESS);
    harness_sync(h);
    for (unsigned i = 0; i < kept_count; i++)
        serve(h, h->eps[0], kept[i]);
    for (unsigned i = 0; i <= sent; i++) {
        bool is_cancelled = i % 2 == 0 && i < sent;

        UNTIL(h, calls[i].done > 0);
        CHECK(h, calls[i].op.ret == (is_cancelled ? HG_CANCELED : HG_SUCCESS));
        if (!is_cancelled)
            harness_drop(h, 0, &calls[i]);
    }
    harness_sync(h);
    UNTIL(h, count_free(h, len) == all);
    harness_sync(h);
}

static void test(struct harness *h)
{
    struct harness_call call;

    h->serve = serve;
    /* A driver may have long buffers only for peers that it has met. */
    CHECK(h, harness_send(h, 0, 0, NULL, 0, true, &call) == HG_SUCCESS);
    UNTIL(h, call.done > 0);
    harness_drop(h, 0, &call);
    harness_sync(h);
    if (long_send(h, 1, &call) == HG_MSGSIZE) {
        CHECK(h, long_send(h, AMG_LONG_ARGS_LEN, &call) == HG_MSGSIZE);
        return;
    }
    UNTIL(h, call.done > 0);
    harness_drop(h, 0, &call);
    longest = longest_find(h);
    lengths_pass(h);
    harness_sync(h);
    kept_ones_come_back(h);
    kept_ones_come_back(h);
    for (unsigned i = 0; i < ROUNDS; i++)
        ask(h, h->limits.request_len + i);
}

int main(int argc, char **argv)
{
    return harness_main(
        argc, argv, &(struct harness_wish){.credits = CREDITS}, test);
}
