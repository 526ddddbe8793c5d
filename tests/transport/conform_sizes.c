/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of every length up to the limit pass; longer ones are refused. */
#include <stdlib.h>

#include "base/mem.h"
#include "harness.h"

/* Echo, as far as the reply may be long; first tries one that is too long. */
static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    uint32_t len =
        arrival->len < h->limits.reply_len ? arrival->len : h->limits.reply_len;
    struct amg_buf *buf = NULL;

    CHECK(h, harness_is_filled(arrival->data, arrival->len, arrival->len));
    CHECK(h, h->t->msg.get_buf(ep, arrival->from, &buf) == HG_SUCCESS);
    if (arrival->len == 0)
        CHECK(h, h->t->msg.send_reply(ep, arrival, buf, h->limits.reply_len + 1,
                     NULL) == HG_MSGSIZE);
    harness_fill(buf->data, len, arrival->len);
    CHECK(h, h->t->msg.send_reply(ep, arrival, buf, len, NULL) == HG_SUCCESS);
    h->t->msg.release(ep, arrival);
}

static void too_long_is_refused(struct harness *h)
{
    struct harness_call call;
    struct amg_buf *buf = NULL;

    harness_call_init(&call);
    CHECK(h, h->t->msg.get_buf(h->eps[0], h->right, &buf) == HG_SUCCESS);
    CHECK(h, buf->cap >= h->limits.request_len);
    CHECK(h, h->t->msg.send_request(h->eps[0], h->right, 0, buf,
                 h->limits.request_len + 1, true, &call.op) == HG_MSGSIZE);
    CHECK(h, h->t->msg.send_request(h->eps[0], h->right, 0, buf, UINT32_MAX,
                 false, &call.op) == HG_MSGSIZE);
    /* The buffer is still ours, and fit to be sent. */
    harness_fill(buf->data, h->limits.request_len, h->limits.request_len);
    CHECK(h, h->t->msg.send_request(h->eps[0], h->right, 0, buf,
                 h->limits.request_len, true, &call.op) == HG_SUCCESS);
    UNTIL(h, call.done > 0);
    CHECK(h, call.op.ret == HG_SUCCESS);
    harness_drop(h, 0, &call);
    /* One that is not sent at all goes back. */
    CHECK(h, h->t->msg.get_buf(h->eps[0], h->right, &buf) == HG_SUCCESS);
    h->t->msg.put_buf(h->eps[0], buf);
}

static void test(struct harness *h)
{
    uint32_t limit = h->limits.request_len;
    uint8_t *bytes = malloc(limit);

    CHECK(h, bytes != NULL);
    CHECK(h, limit >= 128 && h->limits.reply_len >= 128);
    h->serve = serve;
    for (uint32_t len = 0; len <= limit; len++) {
        struct harness_call call;
        uint32_t back = len < h->limits.reply_len ? len : h->limits.reply_len;

        harness_fill(bytes, len, len);
        CHECK(h, harness_ask(h, 0, 0, bytes, len, &call) == HG_SUCCESS);
        CHECK(h, call.op.len == back);
        CHECK(h, harness_is_filled(call.op.data, back, len));
        harness_drop(h, 0, &call);
    }
    too_long_is_refused(h);
    free(bytes);
}

int main(int argc, char **argv)
{
    return harness_main(argc, argv, &(struct harness_wish){0}, test);
}
