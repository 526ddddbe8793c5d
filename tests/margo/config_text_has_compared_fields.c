/* SPDX-License-Identifier: BSD-3-Clause */
/* margo_get_config() returns the fields that programs compare, and no others;
 * those of this library are returned on request. */
#include <json-c/json.h>

#include "one.h"

/* Expected output for each text, without the fields that differ between
 * machines. */
static const char mercury_told[] =
    "\"mercury\":{\"auto_sm\":false,\"stats\":false,\"na_no_block\":false,"
    "\"na_no_retry\":false,\"no_bulk_eager\":false,\"no_loopback\":false,"
    "\"no_multi_recv\":false,\"release_input_early\":false,"
    "\"no_overflow\":false,\"na_request_mem_device\":false,"
    "\"max_contexts\":1,\"request_post_init\":0,\"request_post_incr\":0,"
    "\"multi_recv_op_max\":0,\"multi_recv_copy_threshold\":0,"
    "\"na_max_unexpected_size\":0,\"na_max_expected_size\":0,"
    "\"na_addr_format\":\"unspec\",\"checksum_level\":\"none\","
    "\"traffic_class\":\"unspec\",\"listening\":true,"
    "\"log_level\":\"error\",\"log_subsys\":\"hg\"}";

static const char plain_argobots[] =
    "\"pools\":[{\"name\":\"__primary__\",\"kind\":\"fifo_wait\","
    "\"access\":\"mpmc\"}],\"xstreams\":[{\"name\":\"__primary__\","
    "\"scheduler\":{\"type\":\"basic_wait\",\"pools\":[0]}}]";

static const char threads_argobots[] =
    "\"pools\":[{\"name\":\"__primary__\",\"kind\":\"fifo_wait\","
    "\"access\":\"mpmc\"},{\"name\":\"__pool_1__\",\"kind\":\"fifo_wait\","
    "\"access\":\"mpmc\"},{\"name\":\"__pool_2__\",\"kind\":\"fifo_wait\","
    "\"access\":\"mpmc\"}],\"xstreams\":[{\"name\":\"__primary__\","
    "\"scheduler\":{\"type\":\"basic_wait\",\"pools\":[0]}},"
    "{\"name\":\"__xstream_1__\",\"scheduler\":{\"type\":\"basic_wait\","
    "\"pools\":[1]}},{\"name\":\"__xstream_2__\",\"scheduler\":{"
    "\"type\":\"basic_wait\",\"pools\":[2]}},{\"name\":\"__xstream_3__\","
    "\"scheduler\":{\"type\":\"basic_wait\",\"pools\":[2]}}]";

static const char external_argobots[] =
    "\"pools\":[{\"name\":\"__primary__\",\"kind\":\"external\"}],"
    "\"xstreams\":[{\"name\":\"__primary__\",\"scheduler\":{"
    "\"type\":\"external\",\"pools\":[0]}}]";

static struct json_object *expected(
    const char *argobots, int progress, int rpc, const char *more)
{
    char text[4096];
    struct json_object *json = NULL;

    (void)snprintf(text, sizeof(text),
        "{\"version\":\"0.24.0\",\"progress_timeout_ub_msec\":100,"
        "\"progress_spindown_msec\":10,\"handle_cache_size\":256,"
        "\"enable_abt_profiling\":false,\"progress_pool\":%d,\"rpc_pool\":%d,"
        "\"plumber\":{\"bucket_policy\":\"package\","
        "\"nic_policy\":\"roundrobin\"},%s,\"argobots\":{%s,"
        "\"abt_mem_max_num_stacks\":8,\"abt_thread_stacksize\":2097152,"
        "\"lazy_stack_alloc\":false,\"profiling_dir\":\".\"}%s}",
        progress, rpc, mercury_told, argobots, more);
    json = json_tokener_parse(text);
    CHECK(json != NULL);
    return json;
}

static struct json_object *at(struct json_object *json, const char *key)
{
    struct json_object *value = NULL;

    CHECK(json_object_object_get_ex(json, key, &value));
    return value;
}

/* The configuration of the instance; fields that differ between machines must
 * be there, and are removed. */
static struct json_object *told(margo_instance_id mid, int options)
{
    static const char *const machine[] = {
        "address", "version", "input_eager_size", "output_eager_size"};
    char *text = margo_get_config_opt(mid, options);
    struct json_object *json = NULL;

    CHECK(text != NULL);
    json = json_tokener_parse(text);
    CHECK(json != NULL);
    for (unsigned i = 0; i < sizeof(machine) / sizeof(machine[0]); i++) {
        CHECK(at(at(json, "mercury"), machine[i]) != NULL);
        json_object_object_del(at(json, "mercury"), machine[i]);
    }
    free(text);
    return json;
}

static void same(struct json_object *is, struct json_object *should)
{
    if (json_object_equal(is, should) == 0) {
        fprintf(stderr, "%s\nis told, and not\n%s\n",
            json_object_to_json_string(is), json_object_to_json_string(should));
        exit(1);
    }
    json_object_put(is);
    json_object_put(should);
}

static margo_instance_id opened(const char *json)
{
    margo_instance_id mid = one_open(json);

    CHECK(mid != MARGO_INSTANCE_NULL);
    CHECK(one_lines[0] == '\0');
    return mid;
}

static void ours_when_asked(margo_instance_id mid)
{
    struct json_object *json = told(mid, MARGO_CONFIG_AMALGAM);

    CHECK(json_object_get_int(at(at(json, "amalgam"), "max_concurrent_rpcs")) ==
          7);
    CHECK(strcmp(json_object_get_string(at(at(json, "argobots"), "version")),
              ABT_VERSION) == 0);
    json_object_put(json);
}

/* The stream of a program that has started Argobots, with its stacks. */
static void after_init(void)
{
    margo_instance_id mid = MARGO_INSTANCE_NULL;
    struct json_object *json = NULL;

    CHECK(margo_set_environment("{}") == 0);
    CHECK(ABT_init(0, NULL) == ABT_SUCCESS);
    mid = opened("{}");
    same(told(mid, 0), expected(external_argobots, 0, 0, ""));
    json = told(mid, MARGO_CONFIG_HIDE_EXTERNAL | MARGO_CONFIG_USE_NAMES);
    CHECK(json_object_array_length(at(at(json, "argobots"), "pools")) == 0);
    CHECK(json_object_array_length(at(at(json, "argobots"), "xstreams")) == 0);
    CHECK(strcmp(json_object_get_string(at(json, "progress_pool")),
              "__primary__") == 0);
    CHECK(strcmp(json_object_get_string(at(json, "rpc_pool")), "__primary__") ==
          0);
    json_object_put(json);
    margo_finalize(mid);
    CHECK(ABT_finalize() == ABT_SUCCESS);
}

/* A core that the machine does not have: warned of, and not in effect. */
static void core_missing(void)
{
    margo_instance_id mid =
        one_open("{\"argobots\":{\"pools\":[{\"name\":\"p\"}],\"xstreams\":["
                 "{\"name\":\"s\",\"cpubind\":8000,\"scheduler\":{\"pools\":"
                 "[\"p\"]}}]}}");
    struct json_object *json = NULL;
    struct json_object *streams = NULL;

    CHECK(mid != MARGO_INSTANCE_NULL);
    CHECK(one_said("was not pinned to the core 8000"));
    json = told(mid, 0);
    streams = at(at(json, "argobots"), "xstreams");
    for (size_t i = 0; i < json_object_array_length(streams); i++)
        CHECK(json_object_object_get_ex(
                  json_object_array_get_idx(streams, i), "cpubind", NULL) == 0);
    json_object_put(json);
    margo_finalize(mid);
}

int main(void)
{
    margo_instance_id mid = MARGO_INSTANCE_NULL;

    HG_Set_log_level("error");
    HG_Set_log_subsys("hg");
    mid = opened("{\"amalgam\":{\"max_concurrent_rpcs\":7}}");
    same(told(mid, 0), expected(plain_argobots, 0, 0, ""));
    ours_when_asked(mid);
    margo_finalize(mid);
    mid = opened("{\"use_progress_thread\":true,\"rpc_thread_count\":2,"
                 "\"monitoring\":{\"config\":{\"statistics\":{\"disable\":true}"
                 ",\"time_series\":{\"disable\":true}}}}");
    same(told(mid, 0),
        expected(threads_argobots, 1, 2,
            ",\"monitoring\":{\"config\":{\"filename_prefix\":\"margo\","
            "\"precision\":9,"
            "\"statistics\":{\"disable\":true,\"pretty_json\":false},"
            "\"time_series\":{\"disable\":true,\"pretty_json\":false,"
            "\"time_interval_sec\":1.0}},\"name\":\"default\"}"));
    margo_finalize(mid);
    core_missing();
    CHECK(setenv("ABT_THREAD_STACKSIZE", "65536", 1) == 0);
    CHECK(setenv("ABT_MEM_MAX_NUM_STACKS", "3", 1) == 0);
    mid = opened("{}");
    {
        struct json_object *json = told(mid, 0);
        struct json_object *argobots = at(json, "argobots");

        CHECK(
            json_object_get_int(at(argobots, "abt_thread_stacksize")) == 65536);
        CHECK(json_object_get_int(at(argobots, "abt_mem_max_num_stacks")) == 3);
        json_object_put(json);
    }
    margo_finalize(mid);
    after_init();
    return 0;
}
