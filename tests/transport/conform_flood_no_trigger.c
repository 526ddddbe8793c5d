/* SPDX-License-Identifier: BSD-3-Clause */
/* A target that polls and releases nothing keeps bounded memory; once it
 * releases, nothing is lost. */
#include "base/mem.h"
#include "harness.h"

enum { CALLS = 2000, CREDITS = 16, POLLS = 3000, SLACK_BYTES = 64 * 1024 };

static struct harness_call calls[CALLS];
static struct amg_list kept;
static uint32_t kept_count;
static uint32_t next_number;
static bool is_keeping = true;

static void answer_one(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    if (arrival->is_one_way)
        h->t->msg.release(ep, arrival);
    else
        harness_echo(h, ep, arrival);
}

static void serve(
    struct harness *h, struct amg_ep *ep, struct amg_arrival *arrival)
{
    CHECK(h, *(uint32_t *)arrival->data == next_number);
    CHECK(h, arrival->is_one_way == next_number % 2);
    next_number++;
    if (!is_keeping) {
        answer_one(h, ep, arrival);
        return;
    }
    amg_list_push(&kept, &arrival->link);
    kept_count++;
    CHECK(h, kept_count <= CREDITS);
}

static uint64_t bytes_now(void)
{
    struct amg_mem_stats stats;

    amg_mem_stats_get(&stats);
    return stats.bytes;
}

static void test(struct harness *h)
{
    uint64_t bound =
        CREDITS * (AMG_ROOM_FACTOR * h->limits.request_len + 256ull) +
        SLACK_BYTES;
    uint64_t bytes_before = 0;
    struct amg_link *link = NULL;

    amg_list_init(&kept);
    h->serve = serve;
    for (uint32_t i = 0; i < CALLS; i++)
        CHECK(h, harness_send(h, 0, 0, &i, sizeof(i), i % 2 == 0, &calls[i]) ==
                     HG_SUCCESS);
    bytes_before = bytes_now();
    UNTIL(h, kept_count == CREDITS);
    for (uint32_t i = 0; i < POLLS; i++)
        harness_poll(h);
    CHECK(h, bytes_now() <= bytes_before + bound);
    harness_sync(h);
    is_keeping = false;
    while ((link = amg_list_pop(&kept)) != NULL)
        answer_one(
            h, h->eps[0], amg_container_of(link, struct amg_arrival, link));
    for (uint32_t i = 0; i < CALLS; i++) {
        UNTIL(h, calls[i].done > 0);
        CHECK(h, calls[i].done == 1 && calls[i].op.ret == HG_SUCCESS);
        if (i % 2 != 0)
            continue;
        CHECK(h, *(uint32_t *)calls[i].op.data == i);
        harness_drop(h, 0, &calls[i]);
    }
    UNTIL(h, next_number == CALLS);
}

int main(int argc, char **argv)
{
    return harness_main(
        argc, argv, &(struct harness_wish){.credits = CREDITS}, test);
}
