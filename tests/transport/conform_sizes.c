/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of every length up to the limit pass, and of some lengths up to the
 * buffer size; longer ones are refused. */
#include <stdlib.h>

#include "base/mem.h"
#include "harness.h"

enum { LONG_STEP = 97 }; /* between two lengths beyond the limit */

/* Echoes as much as a reply may hold; first tries one that is too long. */
static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    uint32_t len =
        arrival->len < h->limits.reply_len ? arrival->len : h->limits.reply_len;
    struct amg_buf *buf = NULL;

    CHECK(h, harness_is_filled(arrival->data, arrival->len, arrival->len));
    CHECK(h, h->t->msg.get_buf(ep, arrival->from, &buf) == HG_SUCCESS);
    if (arrival->len == 0)
        CHECK(h, h->t->msg.send_reply(ep, arrival, buf, buf->cap + 1, NULL) ==
                     HG_MSGSIZE);
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
    CHECK(h, h->t->msg.send_request(h->eps[0], (struct amg_target){h->right, 0},
                 buf, buf->cap + 1, true, &call.op) == HG_MSGSIZE);
    CHECK(h, h->t->msg.send_request(h->eps[0], (struct amg_target){h->right, 0},
                 buf, UINT32_MAX, false, &call.op) == HG_MSGSIZE);
    /* The buffer still belongs to the caller, and can be sent. */
    harness_fill(buf->data, buf->cap, buf->cap);
    CHECK(h, h->t->msg.send_request(h->eps[0], (struct amg_target){h->right, 0},
                 buf, buf->cap, true, &call.op) == HG_SUCCESS);
    UNTIL(h, call.done > 0);
    CHECK(h, call.op.ret == HG_SUCCESS);
    harness_drop(h, 0, &call);
    /* An unsent buffer can be returned. */
    CHECK(h, h->t->msg.get_buf(h->eps[0], h->right, &buf) == HG_SUCCESS);
    h->t->msg.put_buf(h->eps[0], buf);
}

/* Length limit of a message to the right. */
static uint32_t room(struct harness *h)
{
    struct amg_buf *buf = NULL;
    uint32_t cap = 0;

    CHECK(h, h->t->msg.get_buf(h->eps[0], h->right, &buf) == HG_SUCCESS);
    cap = buf->cap;
    h->t->msg.put_buf(h->eps[0], buf);
    return cap;
}

static void test(struct harness *h)
{
    uint32_t limit = h->limits.request_len;
    uint32_t cap = room(h);
    uint8_t *bytes = malloc(cap);

    CHECK(h, bytes != NULL);
    CHECK(h, limit >= 128 && h->limits.reply_len >= 128 && cap >= limit);
    h->serve = serve;
    for (uint32_t len = 0; len <= cap; len += len < limit ? 1 : LONG_STEP) {
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
