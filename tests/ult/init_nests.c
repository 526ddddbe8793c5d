/* SPDX-License-Identifier: BSD-3-Clause */
/* ABT_init() and ABT_finalize() are counted, the last one ends the runtime, and
 * it may be initialized again; threads need it, clocks and locks do not. */
#include "ult.h"

static void count_up(void *arg)
{
    ++*(int *)arg;
}

static void use(void)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_bool is_primary = ABT_FALSE;
    int count = 0;

    OK(ABT_initialized());
    OK(ABT_xstream_self(&self));
    OK(ABT_self_is_primary(&is_primary));
    CHECK(is_primary == ABT_TRUE);
    OK(ABT_xstream_get_main_pools(self, 1, &pool));
    OK(ABT_thread_create(
        pool, count_up, &count, ABT_THREAD_ATTR_NULL, &thread));
    OK(ABT_thread_free(&thread));
    CHECK(count == 1);
}

/* From a thread that is not the primary one: refused, without effect. */
static void finalize_here(void *arg)
{
    *(int *)arg = ABT_finalize();
}

int main(int argc, char **argv)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    ABT_thread thread = ABT_THREAD_NULL;
    int code = ABT_SUCCESS;

    GIVES(ABT_ERR_UNINITIALIZED, ABT_initialized());
    GIVES(ABT_ERR_UNINITIALIZED, ABT_finalize());
    CHECK(ABT_get_wtime() > 0);
    for (int round = 0; round < 3; round++) {
        OK(ABT_init(argc, argv));
        OK(ABT_init(0, NULL));
        use();
        OK(ABT_finalize());
        use();
        OK(ABT_xstream_self(&self));
        OK(ABT_xstream_get_main_pools(self, 1, &pool));
        OK(ABT_thread_create(
            pool, finalize_here, &code, ABT_THREAD_ATTR_NULL, &thread));
        OK(ABT_thread_free(&thread));
        CHECK(code != ABT_SUCCESS);
        use();
        OK(ABT_finalize());
        GIVES(ABT_ERR_UNINITIALIZED, ABT_initialized());
        GIVES(ABT_ERR_UNINITIALIZED, ABT_finalize());
    }
    return 0;
}
