/* SPDX-License-Identifier: BSD-3-Clause */
/* A program for Argobots, without anything of this library. */
#include <abt.h>

#include <stdio.h>

static void work(void *arg)
{
    ABT_thread_yield();
    ++*(int *)arg;
}

int main(int argc, char **argv)
{
    ABT_xstream xstream;
    ABT_pool pool;
    ABT_thread thread;
    int done = 0;

    if (ABT_init(argc, argv) != ABT_SUCCESS)
        return 1;
    if (ABT_xstream_self(&xstream) != ABT_SUCCESS ||
        ABT_xstream_get_main_pools(xstream, 1, &pool) != ABT_SUCCESS ||
        ABT_thread_create(pool, work, &done, ABT_THREAD_ATTR_NULL, &thread) !=
            ABT_SUCCESS ||
        ABT_thread_free(&thread) != ABT_SUCCESS)
        return 2;
    printf("API of version %s, %d thread done\n", ABT_VERSION, done);
    return ABT_finalize() == ABT_SUCCESS && done == 1 ? 0 : 3;
}
