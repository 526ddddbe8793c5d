/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads post on one endpoint while another one polls it. */
#include <pthread.h>
#include <stdatomic.h>

#include "harness.h"

enum { THREADS = 3, CALLS = 300, CREDITS = 16, CANCEL_EVERY = 7 };

struct poster {
    struct harness *h;
    pthread_t thread;
    struct harness_call calls[CALLS];
    /* Calls posted, published to the polling thread. */
    atomic_uint posted;
};

static struct poster posters[THREADS];

/* A word identifies thread and call, and is echoed as the reply. */
static void *post_all(void *arg)
{
    struct poster *poster = arg;
    struct harness *h = poster->h;
    uint32_t index = (uint32_t)(poster - posters);

    for (uint32_t i = 0; i < CALLS; i++) {
        uint32_t word = index * CALLS + i;

        CHECK(h, harness_send(h, 0, 0, &word, sizeof(word), true,
                     &poster->calls[i]) == HG_SUCCESS);
        if (i % CANCEL_EVERY == 0)
            CHECK(h,
                h->t->ep.cancel(h->eps[0], &poster->calls[i].op) == HG_SUCCESS);
        atomic_store_explicit(&poster->posted, i + 1, memory_order_release);
    }
    return NULL;
}

static bool is_posted(struct poster *poster, uint32_t i)
{
    return atomic_load_explicit(&poster->posted, memory_order_acquire) > i;
}

static void check_call(struct harness *h, uint32_t index, uint32_t i)
{
    struct harness_call *call = &posters[index].calls[i];

    UNTIL(h, is_posted(&posters[index], i) && call->done > 0);
    CHECK(h, call->done == 1);
    CHECK(h, call->op.ret == HG_SUCCESS ||
                 (i % CANCEL_EVERY == 0 && call->op.ret == HG_CANCELED));
    if (call->op.ret != HG_SUCCESS)
        return;
    CHECK(h, *(uint32_t *)call->op.data == index * CALLS + i);
    harness_drop(h, 0, call);
}

static void test(struct harness *h)
{
    for (uint32_t t = 0; t < THREADS; t++) {
        posters[t].h = h;
        CHECK(h, pthread_create(
                     &posters[t].thread, NULL, post_all, &posters[t]) == 0);
    }
    for (uint32_t i = 0; i < CALLS; i++)
        for (uint32_t t = 0; t < THREADS; t++)
            check_call(h, t, i);
    for (uint32_t t = 0; t < THREADS; t++)
        CHECK(h, pthread_join(posters[t].thread, NULL) == 0);
}

int main(int argc, char **argv)
{
    return harness_main(
        argc, argv, &(struct harness_wish){.credits = CREDITS}, test);
}
