/* SPDX-License-Identifier: BSD-3-Clause */
/* Eventuals and futures between streams, each freed as soon as its waiter
 * returns; the waiters are user-level threads of any stream. */
#include "ult.h"

#include <stdatomic.h>

enum { ROUNDS = 1000, PARTS = 5, PAIRS = 4 };

struct parcel {
    ABT_eventual ready;
    ABT_future whole;
    int round;
};

static atomic_int complete;

static void count_complete(void **values)
{
    for (intptr_t i = 0; i < PARTS; i++)
        CHECK((intptr_t)values[i] == 10 * (i + 1));
    atomic_fetch_add(&complete, 1);
}

static void answer(void *arg)
{
    const struct parcel parcel = *(struct parcel *)arg;

    for (intptr_t i = 0; i < PARTS; i++)
        OK(ABT_future_set(parcel.whole, (void *)(10 * (i + 1))));
    OK(ABT_eventual_set(
        parcel.ready, (void *)&parcel.round, sizeof(parcel.round)));
}

static void ask(void *arg)
{
    const int self = (int)(intptr_t)arg;

    for (int i = 0; i < ROUNDS; i++) {
        struct parcel parcel = {.round = i};
        ABT_thread thread;
        void *value = NULL;

        OK(ABT_eventual_create(sizeof(int), &parcel.ready));
        OK(ABT_future_create(PARTS, count_complete, &parcel.whole));
        thread = ult_start(self + i, answer, &parcel);
        OK(ABT_future_wait(parcel.whole));
        OK(ABT_future_free(&parcel.whole));
        OK(ABT_eventual_wait(parcel.ready, &value));
        CHECK(*(int *)value == i);
        OK(ABT_eventual_free(&parcel.ready));
        ult_join(&thread);
    }
}

int main(void)
{
    ABT_thread threads[PAIRS];

    ult_begin(3);
    for (intptr_t i = 0; i < PAIRS; i++)
        threads[i] = ult_start((int)i, ask, (void *)i);
    OK(ABT_thread_free_many(PAIRS, threads));
    CHECK(atomic_load(&complete) == PAIRS * ROUNDS);
    ult_end();
    return 0;
}
