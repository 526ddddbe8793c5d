/* SPDX-License-Identifier: BSD-3-Clause */
/* A bounded queue between OS threads and user-level threads of three streams:
 * each item is taken once, with any kind of producer and consumer, using locks
 * and conditions, eventuals, and barriers of all kinds of threads. */
#include "ult.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PRODUCERS = 4, CONSUMERS = 4, ITEMS = 4000, CAP = 7, ALL = 8 };

static struct {
    ABT_mutex mutex;
    ABT_cond has_item;
    ABT_cond has_room;
    int items[CAP];
    int count;
    int taken; /* in all */
} queue;

static atomic_int seen[PRODUCERS * ITEMS];
static ABT_barrier barrier;
static atomic_int at_barrier;

static void queue_put(int item)
{
    OK(ABT_mutex_lock(queue.mutex));
    while (queue.count == CAP)
        OK(ABT_cond_wait(queue.has_room, queue.mutex));
    queue.items[queue.count++] = item;
    OK(ABT_cond_signal(queue.has_item));
    OK(ABT_mutex_unlock(queue.mutex));
}

/* -1: no item will come. */
static int queue_take(void)
{
    int item = -1;

    OK(ABT_mutex_lock(queue.mutex));
    while (queue.count == 0 && queue.taken < PRODUCERS * ITEMS)
        OK(ABT_cond_wait(queue.has_item, queue.mutex));
    if (queue.count > 0) {
        item = queue.items[--queue.count];
        queue.taken++;
        if (queue.taken == PRODUCERS * ITEMS)
            OK(ABT_cond_broadcast(queue.has_item));
        OK(ABT_cond_signal(queue.has_room));
    }
    OK(ABT_mutex_unlock(queue.mutex));
    return item;
}

/* All eight wait before any begins, and when all are done. */
static void meet(int times)
{
    atomic_fetch_add(&at_barrier, 1);
    OK(ABT_barrier_wait(barrier));
    CHECK(atomic_load(&at_barrier) >= times * ALL);
}

static void produce(void *arg)
{
    const int first = (int)(intptr_t)arg * ITEMS;

    meet(1);
    for (int i = 0; i < ITEMS; i++)
        queue_put(first + i);
    meet(2);
}

static void consume(void *arg)
{
    int item = 0;

    (void)arg;
    meet(1);
    while ((item = queue_take()) >= 0)
        CHECK(atomic_fetch_add(&seen[item], 1) == 0);
    meet(2);
}

static void *produce_by_thread(void *arg)
{
    produce(arg);
    return NULL;
}

static void *consume_by_thread(void *arg)
{
    consume(arg);
    return NULL;
}

static void run(void)
{
    pthread_t threads[4];
    ABT_thread ults[4];

    for (intptr_t i = 0; i < 2; i++) {
        ults[i] = ult_start((int)i, produce, (void *)i);
        ults[2 + i] = ult_start(2 + (int)i, consume, NULL);
        CHECK(pthread_create(
                  &threads[i], NULL, produce_by_thread, (void *)(2 + i)) == 0);
        CHECK(pthread_create(&threads[2 + i], NULL, consume_by_thread, NULL) ==
              0);
    }
    for (int i = 0; i < 4; i++)
        ult_join(&ults[i]);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(void)
{
    ult_begin(3);
    OK(ABT_mutex_create(&queue.mutex));
    OK(ABT_cond_create(&queue.has_item));
    OK(ABT_cond_create(&queue.has_room));
    OK(ABT_barrier_create(ALL, &barrier));
    run();
    for (int i = 0; i < PRODUCERS * ITEMS; i++)
        CHECK(atomic_load(&seen[i]) == 1);
    OK(ABT_barrier_free(&barrier));
    OK(ABT_cond_free(&queue.has_room));
    OK(ABT_cond_free(&queue.has_item));
    OK(ABT_mutex_free(&queue.mutex));
    ult_end();
    return 0;
}
