/* SPDX-License-Identifier: BSD-3-Clause */
/* Readers and writers on three streams, which yield inside: writers exclude
 * all, readers share, and all of them get the lock. */
#include "ult.h"

#include <stdatomic.h>

enum { THREADS = 24, ROUNDS = 100 };

static ABT_rwlock lock;
static atomic_int readers;
static atomic_int writers;
static atomic_int most_readers;
static int written; /* plain on purpose: only the lock guards it */

static void read_once(void)
{
    int inside = 0;

    OK(ABT_rwlock_rdlock(lock));
    inside = atomic_fetch_add(&readers, 1) + 1;
    if (inside > atomic_load(&most_readers))
        atomic_store(&most_readers, inside);
    OK(ABT_thread_yield());
    CHECK(atomic_load(&writers) == 0);
    CHECK(written <= THREADS * ROUNDS);
    atomic_fetch_sub(&readers, 1);
    OK(ABT_rwlock_unlock(lock));
}

static void write_once(void)
{
    OK(ABT_rwlock_wrlock(lock));
    CHECK(atomic_fetch_add(&writers, 1) == 0);
    OK(ABT_thread_yield());
    CHECK(atomic_load(&readers) == 0);
    written++;
    atomic_fetch_sub(&writers, 1);
    OK(ABT_rwlock_unlock(lock));
}

static void work(void *arg)
{
    const int self = (int)(intptr_t)arg;

    for (int i = 0; i < ROUNDS; i++) {
        if ((self + i) % 5 == 0)
            write_once();
        else
            read_once();
    }
}

int main(void)
{
    ABT_thread threads[THREADS];

    ult_begin(3);
    OK(ABT_rwlock_create(&lock));
    for (intptr_t i = 0; i < THREADS; i++)
        threads[i] = ult_start((int)i, work, (void *)i);
    OK(ABT_thread_free_many(THREADS, threads));
    CHECK(written == THREADS * ROUNDS / 5);
    CHECK(atomic_load(&most_readers) > 1);
    OK(ABT_rwlock_free(&lock));
    CHECK(lock == ABT_RWLOCK_NULL);
    ult_end();
    return 0;
}
