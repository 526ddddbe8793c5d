/* SPDX-License-Identifier: BSD-3-Clause */
/* Several instances: a child shares the pools of its parent, in any order of
 * their ends; pools of the program serve an instance; and the stream of a
 * program that has started Argobots itself keeps running. */
#include "one.h"

static margo_instance_id child_open(margo_instance_id parent, const char *json)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    struct margo_logger logger = one_logger();
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    info.parent_mid = parent;
    info.json_config = json;
    info.logger = &logger;
    mid = margo_init_ext("self", MARGO_SERVER_MODE, &info);
    return mid;
}

static void child_shares(void)
{
    margo_instance_id parent = one_open("{\"rpc_thread_count\":1}");
    margo_instance_id child = MARGO_INSTANCE_NULL;
    struct margo_pool_info info;
    ABT_pool pool = ABT_POOL_NULL;

    CHECK(parent != MARGO_INSTANCE_NULL);
    child = child_open(parent, "{\"use_progress_thread\":true,"
                               "\"rpc_pool\":\"__pool_1__\"}");
    CHECK(child != MARGO_INSTANCE_NULL);
    CHECK(margo_get_num_pools(parent) == 3);
    CHECK_RC(margo_find_pool(parent, "__pool_2__", &info), HG_SUCCESS);
    CHECK_RC(margo_find_pool(child, info.pool, NULL), HG_SUCCESS);
    CHECK(margo_get_progress_pool(child, &pool) == 0 && pool == info.pool);
    CHECK_RC(margo_find_pool(parent, "__pool_1__", &info), HG_SUCCESS);
    CHECK(margo_get_handler_pool(child, &pool) == 0 && pool == info.pool);
    CHECK(margo_get_handler_pool(parent, &pool) == 0 && pool == info.pool);
    CHECK_RC(margo_add_pool_from_json(child, "{\"name\":\"ours\"}", NULL),
        HG_SUCCESS);
    CHECK_RC(margo_find_pool(parent, "ours", NULL), HG_SUCCESS);
    CHECK(child_open(parent, "{\"rpc_pool\":\"none\"}") == MARGO_INSTANCE_NULL);
    CHECK(one_said("rpc_pool names the pool 'none'"));
    CHECK(child_open(parent, "{\"argobots\":{}}") == MARGO_INSTANCE_NULL);
    CHECK(one_said("argobots is not for an instance with a parent"));
    margo_finalize(parent);
    CHECK_RC(margo_find_pool(child, "ours", NULL), HG_SUCCESS);
    margo_finalize(child);
}

static void pools_of_the_program(void)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    struct margo_logger logger = one_logger();
    ABT_xstream stream = ABT_XSTREAM_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    ABT_pool given = ABT_POOL_NULL;
    margo_instance_id mid = MARGO_INSTANCE_NULL;
    char *text = NULL;

    CHECK(ABT_init(0, NULL) == ABT_SUCCESS);
    CHECK(ABT_pool_create_basic(ABT_POOL_FIFO_WAIT, ABT_POOL_ACCESS_MPMC,
              ABT_FALSE, &pool) == ABT_SUCCESS);
    CHECK(ABT_xstream_create_basic(ABT_SCHED_BASIC_WAIT, 1, &pool,
              ABT_SCHED_CONFIG_NULL, &stream) == ABT_SUCCESS);
    info.progress_pool = pool;
    info.rpc_pool = pool;
    info.logger = &logger;
    mid = margo_init_ext("self", MARGO_SERVER_MODE, &info);
    CHECK(mid != MARGO_INSTANCE_NULL);
    CHECK(margo_get_handler_pool(mid, &given) == 0 && given == pool);
    CHECK(margo_get_progress_pool(mid, &given) == 0 && given == pool);
    text = margo_get_config_opt(mid, MARGO_CONFIG_USE_NAMES);
    CHECK(text != NULL && strstr(text, "\"kind\":\"external\"") != NULL);
    free(text);
    text = margo_get_config_opt(mid, MARGO_CONFIG_HIDE_EXTERNAL);
    CHECK(text != NULL && strstr(text, "external") == NULL);
    free(text);
    margo_finalize(mid);
    CHECK(ABT_xstream_free(&stream) == ABT_SUCCESS);
    CHECK(ABT_pool_free(&pool) == ABT_SUCCESS);
}

static void step(void *arg)
{
    ++*(int *)arg;
}

/* Its own pool is still run when an instance serves in its stream. */
static void stream_of_the_program(void)
{
    ABT_xstream self = ABT_XSTREAM_NULL;
    ABT_pool own = ABT_POOL_NULL;
    ABT_thread thread = ABT_THREAD_NULL;
    margo_instance_id mid = MARGO_INSTANCE_NULL;
    int steps = 0;

    CHECK(ABT_xstream_self(&self) == ABT_SUCCESS);
    CHECK(ABT_xstream_get_main_pools(self, 1, &own) == ABT_SUCCESS);
    mid = one_open("{}");
    CHECK(mid != MARGO_INSTANCE_NULL);
    CHECK(ABT_thread_create(own, step, &steps, ABT_THREAD_ATTR_NULL, &thread) ==
          ABT_SUCCESS);
    CHECK(ABT_thread_free(&thread) == ABT_SUCCESS && steps == 1);
    CHECK_RC(margo_find_pool(mid, own, NULL), HG_SUCCESS);
    margo_finalize(mid);
    CHECK(ABT_finalize() == ABT_SUCCESS);
}

int main(void)
{
    child_shares();
    pools_of_the_program();
    stream_of_the_program();
    return 0;
}
