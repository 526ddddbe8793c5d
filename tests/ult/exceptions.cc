/* SPDX-License-Identifier: BSD-3-Clause */
/* C++: threads of one stream that handle exceptions at the same time, and
 * migrate to another stream meanwhile, each rethrow their own. */
#include <cstdio>
#include <exception>
#include <string>

#include "abt.h"

enum { THREADS = 4, ROUNDS = 20 };

static int wrong;
static ABT_pool pools[2];

/* Lets others of the stream throw; every second time, migrates before. */
static void others_run(int round)
{
    if (round % 2 == 1) {
        ABT_thread self = ABT_THREAD_NULL;

        ABT_thread_self(&self);
        ABT_thread_migrate_to_pool(self, pools[round / 2 % 2]);
    }
    ABT_thread_yield();
}

static void handle(const std::string &mine, int round)
{
    try {
        throw mine;
    } catch (const std::string &) {
        others_run(round);
        try {
            throw;
        } catch (const std::string &again) {
            if (again != mine)
                __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
        }
    }
    if (std::current_exception() != nullptr)
        __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

static void run(void *arg)
{
    for (int round = 0; round < ROUNDS; round++)
        handle(std::string("thread ") + static_cast<const char *>(arg), round);
}

int main()
{
    static char names[THREADS][2] = {"a", "b", "c", "d"};
    ABT_xstream streams[2];
    ABT_thread threads[THREADS];

    if (ABT_init(0, nullptr) != ABT_SUCCESS ||
        ABT_xstream_self(&streams[0]) != ABT_SUCCESS ||
        ABT_xstream_create(ABT_SCHED_NULL, &streams[1]) != ABT_SUCCESS)
        return 1;
    for (int i = 0; i < 2; i++)
        ABT_xstream_get_main_pools(streams[i], 1, &pools[i]);
    for (int i = 0; i < THREADS; i++)
        if (ABT_thread_create(pools[0], run, names[i], ABT_THREAD_ATTR_NULL,
                &threads[i]) != ABT_SUCCESS)
            return 1;
    for (auto &thread : threads)
        ABT_thread_free(&thread);
    ABT_xstream_free(&streams[1]);
    ABT_finalize();
    if (wrong > 0)
        std::printf("%d exceptions were another thread's\n", wrong);
    return wrong > 0;
}
