/* SPDX-License-Identifier: BSD-3-Clause */
/* Other threads migrate running and yielding threads between pools; none is
 * lost, or runs twice at once. */
#include <stdatomic.h>

#include "ult.h"

enum { STREAMS = 3, THREADS = 4, MOVES = 20000 };

struct runner {
    atomic_int inside;
    atomic_bool stop;
};

static void run(void *arg)
{
    struct runner *runner = arg;

    while (!atomic_load(&runner->stop)) {
        CHECK(atomic_fetch_add(&runner->inside, 1) == 0);
        atomic_fetch_sub(&runner->inside, 1);
        OK(ABT_thread_yield());
    }
}

int main(void)
{
    static struct runner runners[THREADS];
    ABT_thread threads[THREADS];
    unsigned seed = 1;

    ult_begin(1 + STREAMS);
    for (int i = 0; i < THREADS; i++)
        threads[i] = ult_start(1 + i % STREAMS, run, &runners[i]);
    for (int i = ult_bearable(MOVES); i > 0; i--) {
        int rc = ABT_thread_migrate_to_pool(threads[rand_r(&seed) % THREADS],
            ult_pool(1 + rand_r(&seed) % STREAMS));

        CHECK(rc == ABT_SUCCESS || rc == ABT_ERR_MIGRATION_TARGET);
    }
    for (int i = 0; i < THREADS; i++) {
        atomic_store(&runners[i].stop, true);
        ult_join(&threads[i]);
    }
    for (int i = 1; i <= STREAMS; i++) {
        size_t size = 1;

        OK(ABT_pool_get_total_size(ult_pool(i), &size));
        CHECK(size == 0);
    }
    ult_end();
    return 0;
}
