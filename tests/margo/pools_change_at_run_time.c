/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools and streams of an instance: found by handle, name and index, added and
 * removed while it runs, counted, and kept while they are needed. If there is
 * no memory for one, the code says so. */
#include "base/mem.h"
#include "one.h"

enum { NTH = 40 };

static margo_instance_id mid;

static void found_alike(void)
{
    struct margo_pool_info info;
    struct margo_pool_info again;
    struct margo_xstream_info stream;

    CHECK(margo_get_num_pools(mid) == 3);
    CHECK(margo_get_num_xstreams(mid) == 4);
    CHECK_RC(margo_find_pool(mid, "__pool_2__", &info), HG_SUCCESS);
    CHECK_RC(margo_find_pool(mid, info.pool, &again), HG_SUCCESS);
    CHECK(again.index == info.index && again.pool == info.pool);
    CHECK_RC(margo_find_pool(mid, info.index, &again), HG_SUCCESS);
    CHECK(strcmp(again.name, "__pool_2__") == 0);
    CHECK_RC(margo_find_pool(mid, "nowhere", &again), HG_NOENTRY);
    CHECK_RC(margo_find_pool(mid, 3, &again), HG_INVALID_ARG);
    CHECK_RC(margo_find_pool(mid, ABT_POOL_NULL, &again), HG_INVALID_ARG);
    CHECK_RC(margo_find_pool(mid, (const char *)NULL, &again), HG_INVALID_ARG);
    CHECK_RC(margo_find_pool(MARGO_INSTANCE_NULL, 0, &again), HG_INVALID_ARG);
    CHECK_RC(margo_find_xstream(mid, "__xstream_3__", &stream), HG_SUCCESS);
    CHECK_RC(margo_find_xstream(mid, stream.xstream, NULL), HG_SUCCESS);
    CHECK_RC(margo_find_xstream(mid, 4, NULL), HG_INVALID_ARG);
    CHECK(margo_get_num_pools(MARGO_INSTANCE_NULL) == 0);
}

static void step(void *arg)
{
    ++*(int *)arg;
}

/* A pool without a stream keeps pushed threads until a stream runs it. */
static void added_and_removed(void)
{
    struct margo_pool_info pool;
    struct margo_xstream_info stream;
    ABT_thread thread = ABT_THREAD_NULL;
    unsigned count = 9;
    int steps = 0;

    CHECK_RC(margo_add_pool_from_json(mid, "{\"name\":\"mine\"}", &pool),
        HG_SUCCESS);
    CHECK(strcmp(pool.name, "mine") == 0 && pool.index == 3);
    CHECK_RC(margo_pool_ref_count(mid, "mine", &count), HG_SUCCESS);
    CHECK(count == 0);
    CHECK(ABT_thread_create(pool.pool, step, &steps, ABT_THREAD_ATTR_NULL,
              &thread) == ABT_SUCCESS);
    CHECK_RC(margo_remove_pool(mid, "mine"), HG_PERMISSION);
    CHECK(one_said("have not ended"));
    CHECK_RC(margo_add_xstream_from_json(mid,
                 "{\"name\":\"runs\",\"scheduler\":{\"pools\":[\"mine\"]}}",
                 &stream),
        HG_SUCCESS);
    CHECK(ABT_thread_free(&thread) == ABT_SUCCESS);
    CHECK(steps == 1);
    CHECK_RC(margo_pool_ref_count(mid, pool.pool, &count), HG_SUCCESS);
    CHECK(count == 1);
    CHECK_RC(margo_remove_pool(mid, pool.index), HG_PERMISSION);
    CHECK_RC(margo_remove_xstream(mid, stream.xstream), HG_SUCCESS);
    CHECK_RC(margo_find_xstream(mid, "runs", NULL), HG_NOENTRY);
    CHECK_RC(margo_remove_pool(mid, pool.pool), HG_SUCCESS);
    CHECK_RC(margo_remove_pool(mid, "mine"), HG_NOENTRY);
}

static void leave(void *arg)
{
    ABT_xstream first = ABT_XSTREAM_NULL;
    ABT_xstream now = ABT_XSTREAM_NULL;
    ABT_xstream_state state = ABT_XSTREAM_STATE_RUNNING;

    CHECK(ABT_xstream_self(&first) == ABT_SUCCESS);
    now = first;
    *(hg_return_t *)arg = margo_remove_xstream(mid, first);
    CHECK_RC(margo_find_xstream(mid, first, NULL), HG_NOENTRY);
    while (now == first) {
        CHECK(ABT_thread_yield() == ABT_SUCCESS);
        CHECK(ABT_xstream_self(&now) == ABT_SUCCESS);
    }
    /* The first stream uses the pool until the next removal after its end. */
    while (state != ABT_XSTREAM_STATE_TERMINATED)
        CHECK(ABT_xstream_get_state(first, &state) == ABT_SUCCESS);
    *(hg_return_t *)arg = margo_remove_xstream(mid, now);
}

/* A thread removes the stream that runs it, and goes on in another one, which
 * it cannot remove as well. */
static void removed_by_its_thread(void)
{
    struct margo_pool_info pool;
    ABT_thread thread = ABT_THREAD_NULL;
    hg_return_t rc = HG_SUCCESS;
    size_t streams = margo_get_num_xstreams(mid);

    CHECK_RC(margo_add_pool_from_json(mid, "{\"name\":\"both\"}", &pool),
        HG_SUCCESS);
    for (unsigned i = 0; i < 2; i++)
        CHECK_RC(margo_add_xstream_from_json(
                     mid, "{\"scheduler\":{\"pools\":[\"both\"]}}", NULL),
            HG_SUCCESS);
    CHECK(ABT_thread_create(pool.pool, leave, &rc, ABT_THREAD_ATTR_NULL,
              &thread) == ABT_SUCCESS);
    CHECK(ABT_thread_free(&thread) == ABT_SUCCESS);
    CHECK(rc == HG_PERMISSION);
    CHECK(one_said("no other stream would run the thread that asks"));
    CHECK(margo_get_num_xstreams(mid) == streams + 1);
    CHECK_RC(margo_remove_xstream(mid, (uint32_t)streams), HG_SUCCESS);
    CHECK_RC(margo_remove_pool(mid, "both"), HG_SUCCESS);
}

static void kept_while_in_use(void)
{
    unsigned count = 0;

    CHECK_RC(margo_remove_pool(mid, "__primary__"), HG_PERMISSION);
    CHECK_RC(margo_remove_pool(mid, "__pool_1__"), HG_PERMISSION);
    CHECK_RC(margo_remove_xstream(mid, "__primary__"), HG_PERMISSION);
    CHECK(one_said("it is the primary one"));
    CHECK_RC(margo_remove_xstream(mid, "__xstream_1__"), HG_PERMISSION);
    CHECK(one_said("no other stream would run"));
    CHECK_RC(margo_add_pool_from_json(mid, NULL, NULL), HG_SUCCESS);
    CHECK_RC(margo_pool_release(mid, 3), HG_PERMISSION);
    CHECK_RC(margo_pool_ref_incr(mid, 3), HG_SUCCESS);
    CHECK_RC(margo_pool_ref_count(mid, 3, &count), HG_SUCCESS);
    CHECK(count == 1);
    CHECK_RC(margo_remove_pool(mid, 3), HG_PERMISSION);
    CHECK_RC(margo_pool_release(mid, 3), HG_SUCCESS);
    CHECK_RC(margo_remove_pool(mid, 3), HG_SUCCESS);
    /* One of two streams of a pool can be removed, but not while it is
     * referenced. */
    CHECK_RC(margo_xstream_ref_incr(mid, "__xstream_2__"), HG_SUCCESS);
    CHECK_RC(margo_xstream_ref_count(mid, "__xstream_2__", &count), HG_SUCCESS);
    CHECK(count == 1);
    CHECK_RC(margo_remove_xstream(mid, "__xstream_2__"), HG_PERMISSION);
    CHECK_RC(margo_xstream_release(mid, "__xstream_2__"), HG_SUCCESS);
    CHECK_RC(margo_xstream_release(mid, "__xstream_2__"), HG_PERMISSION);
    CHECK_RC(margo_remove_xstream(mid, "__xstream_2__"), HG_SUCCESS);
    CHECK_RC(margo_remove_xstream(mid, "__xstream_3__"), HG_PERMISSION);
}

static void nonsense_changes_nothing(void)
{
    struct margo_pool_info info;
    size_t pools = margo_get_num_pools(mid);
    size_t streams = margo_get_num_xstreams(mid);

    CHECK_RC(margo_add_pool_from_json(mid, "{\"name\":\"__pool_2__\"}", NULL),
        HG_INVALID_ARG);
    CHECK_RC(margo_add_pool_from_json(mid, "{\"name\":\"__x\"}", NULL),
        HG_INVALID_ARG);
    CHECK_RC(margo_add_pool_from_json(mid, "[]", NULL), HG_INVALID_ARG);
    CHECK_RC(margo_add_xstream_from_json(mid, "{}", NULL), HG_INVALID_ARG);
    CHECK_RC(margo_add_xstream_from_json(
                 mid, "{\"scheduler\":{\"pools\":[77]}}", NULL),
        HG_INVALID_ARG);
    CHECK_RC(
        margo_add_xstream_from_json(mid,
            "{\"name\":\"__xstream_1__\",\"scheduler\":{\"pools\":[0]}}", NULL),
        HG_INVALID_ARG);
    CHECK_RC(margo_find_pool(mid, 0, &info), HG_SUCCESS);
    CHECK_RC(margo_add_pool_external(mid, "twice", info.pool, ABT_FALSE, NULL),
        HG_INVALID_ARG);
    CHECK_RC(margo_add_pool_external(mid, NULL, ABT_POOL_NULL, ABT_FALSE, NULL),
        HG_INVALID_ARG);
    CHECK(margo_get_num_pools(mid) == pools);
    CHECK(margo_get_num_xstreams(mid) == streams);
}

/* Pools and streams of the program stay the program's, or are handed over. */
static void external_ones(void)
{
    ABT_pool pools[2] = {ABT_POOL_NULL, ABT_POOL_NULL};
    ABT_xstream stream = ABT_XSTREAM_NULL;
    struct margo_xstream_info info;
    ABT_thread thread = ABT_THREAD_NULL;
    size_t size = 0;
    int steps = 0;

    for (unsigned i = 0; i < 2; i++)
        CHECK(ABT_pool_create_basic(ABT_POOL_FIFO_WAIT, ABT_POOL_ACCESS_MPMC,
                  ABT_FALSE, &pools[i]) == ABT_SUCCESS);
    CHECK_RC(margo_add_pool_external(mid, "given", pools[0], ABT_TRUE, NULL),
        HG_SUCCESS);
    CHECK(ABT_thread_create(pools[0], step, &steps, ABT_THREAD_ATTR_NULL,
              &thread) == ABT_SUCCESS);
    CHECK_RC(margo_transfer_pool_content(pools[0], pools[1]), HG_SUCCESS);
    CHECK(ABT_pool_get_size(pools[1], &size) == ABT_SUCCESS && size == 1);
    CHECK_RC(
        margo_transfer_pool_content(pools[0], ABT_POOL_NULL), HG_INVALID_ARG);
    CHECK(ABT_xstream_create_basic(ABT_SCHED_BASIC_WAIT, 1, &pools[1],
              ABT_SCHED_CONFIG_NULL, &stream) == ABT_SUCCESS);
    CHECK_RC(margo_add_xstream_external(mid, "lent", stream, ABT_FALSE, &info),
        HG_INVALID_ARG);
    CHECK(one_said("margo_add_pool_external() adds one"));
    CHECK_RC(margo_find_pool(mid, pools[1], NULL), HG_NOENTRY);
    CHECK_RC(margo_add_pool_external(mid, NULL, pools[1], ABT_FALSE, NULL),
        HG_SUCCESS);
    CHECK_RC(margo_add_xstream_external(mid, "lent", stream, ABT_FALSE, &info),
        HG_SUCCESS);
    CHECK_RC(margo_find_pool(mid, pools[1], NULL), HG_SUCCESS);
    CHECK(ABT_thread_free(&thread) == ABT_SUCCESS && steps == 1);
    CHECK_RC(margo_remove_xstream(mid, "lent"), HG_SUCCESS);
    CHECK_RC(margo_remove_pool(mid, pools[1]), HG_SUCCESS);
    CHECK_RC(margo_remove_pool(mid, "given"), HG_SUCCESS);
    CHECK(ABT_xstream_free(&stream) == ABT_SUCCESS);
    CHECK(ABT_pool_free(&pools[1]) == ABT_SUCCESS);
}

/* Any allocation of a call fails; the first one of the stream, which reads the
 * text, is left out. */
static void without_memory(void)
{
    struct margo_pool_info pool;
    hg_return_t rc = HG_SUCCESS;
    int failed[2] = {0, 0};

    for (uint64_t n = 1; n < NTH; n++) {
        amg_mem_fail_nth(n);
        rc = margo_add_pool_from_json(mid, "{\"name\":\"few\"}", NULL);
        amg_mem_fail_nth(0);
        CHECK(rc == HG_SUCCESS || rc == HG_NOMEM);
        failed[0] += rc != HG_SUCCESS;
        if (rc == HG_SUCCESS)
            CHECK_RC(margo_remove_pool(mid, "few"), HG_SUCCESS);
    }
    CHECK_RC(
        margo_add_pool_from_json(mid, "{\"name\":\"few\"}", &pool), HG_SUCCESS);
    for (uint64_t n = 2; n < NTH; n++) {
        amg_mem_fail_nth(n);
        rc = margo_add_xstream_from_json(mid,
            "{\"name\":\"few\",\"scheduler\":{\"pools\":[\"few\"]}}", NULL);
        amg_mem_fail_nth(0);
        CHECK(rc == HG_SUCCESS || rc == HG_NOMEM);
        failed[1] += rc != HG_SUCCESS;
        if (rc == HG_SUCCESS)
            CHECK_RC(margo_remove_xstream(mid, "few"), HG_SUCCESS);
    }
    CHECK_RC(margo_remove_pool(mid, "few"), HG_SUCCESS);
    CHECK(failed[0] > 0 && failed[1] > 0);
}

int main(void)
{
    mid = one_open("{\"use_progress_thread\":true,\"rpc_thread_count\":2}");
    CHECK(mid != MARGO_INSTANCE_NULL);
    found_alike();
    added_and_removed();
    removed_by_its_thread();
    kept_while_in_use();
    nonsense_changes_nothing();
    external_ones();
    without_memory();
    margo_finalize(mid);
    return 0;
}
