/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration text: defaults, fields, warnings, and refusals with field
 * and reason; nothing leaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "amalgam_progress.h"
#include "base/mem.h"
#include "lines.h"
#include "margo.h"
#include "margo/config.h"

static struct lines lines;

static bool read_with(
    const char *text, int mode, struct amg_margo_config *config)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    struct margo_logger logger = lines_logger(&lines);

    info.json_config = text;
    info.logger = &logger;
    if (!amg_margo_config_read(&info, "self", mode, config))
        return false;

    struct amg_margo_log log;
    amg_margo_log_init(&log, &logger);
    if (amg_margo_config_plan(&log, false, config))
        return true;
    amg_margo_config_free(config);
    return false;
}

/* Parses a text that must be accepted without warnings. */
static struct amg_margo_config must_read(const char *text)
{
    struct amg_margo_config config;

    assert_true(read_with(text, MARGO_SERVER_MODE, &config));
    assert_string_equal(lines.warnings, "");
    assert_string_equal(lines.errors, "");
    return config;
}

static const struct amg_margo_pool_spec *pool_of(
    const struct amg_margo_config *config, const struct amg_margo_pool_ref *ref)
{
    struct margo_logger logger = lines_logger(&lines);
    struct amg_margo_log log;
    int at = -1;

    amg_margo_log_init(&log, &logger);
    at = amg_margo_plan_resolve(&log, "here", &config->plan, ref);
    assert_true(at >= 0);
    return &config->plan.pools[at];
}

static void test_config_empty_is_defaults(void **state)
{
    static const char *const texts[] = {NULL, "", "{}", " { } ",
        "{\"argobots\":"
        "null}"};

    (void)state;
    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct amg_margo_config config = must_read(texts[i]);

        assert_int_equal(config.progress_timeout_ub_ms, 100);
        assert_int_equal(config.progress_spindown_ms, 10);
        assert_false(config.is_spindown_given);
        assert_int_equal(config.handle_cache_size, 256);
        assert_int_equal(config.max_handlers, 0);
        assert_int_equal(config.max_stacks, 8);
        assert_int_equal(config.stack_size, 2097152);
        assert_int_equal(config.hg_init.na_init_info.progress_mode,
            AMALGAM_NA_PROGRESS(AMALGAM_PROGRESS_CALLER, AMALGAM_WAIT_AUTO));
        assert_int_equal(config.plan.pool_count, 1);
        assert_int_equal(config.plan.stream_count, 1);
        assert_string_equal(config.plan.pools[0].name, "__primary__");
        assert_string_equal(config.plan.streams[0].name, "__primary__");
        assert_string_equal(
            pool_of(&config, &config.plan.progress)->name, "__primary__");
        assert_string_equal(
            pool_of(&config, &config.plan.rpc)->name, "__primary__");
        amg_margo_config_free(&config);
    }
}

static void test_config_short_forms_become_pools(void **state)
{
    struct amg_margo_config config =
        must_read("{\"use_progress_thread\": true, \"rpc_thread_count\": 3}");

    (void)state;
    assert_int_equal(config.plan.pool_count, 3);
    assert_int_equal(config.plan.stream_count, 5);
    assert_ptr_equal(
        pool_of(&config, &config.plan.progress), &config.plan.pools[1]);
    assert_ptr_equal(pool_of(&config, &config.plan.rpc), &config.plan.pools[2]);
    assert_null(config.plan.pools[1].name);
    assert_true(config.plan.streams[1].is_progress);
    for (unsigned i = 2; i < 5; i++) {
        assert_false(config.plan.streams[i].is_progress);
        assert_null(config.plan.streams[i].name);
        assert_ptr_equal(pool_of(&config, &config.plan.streams[i].pools[0]),
            &config.plan.pools[2]);
    }
    amg_margo_config_free(&config);

    config =
        must_read("{\"use_progress_thread\":true,\"rpc_thread_count\":-1}");
    assert_true(config.plan.rpc_is_progress);
    assert_ptr_equal(pool_of(&config, &config.plan.rpc), &config.plan.pools[1]);
    amg_margo_config_free(&config);
}

/* The opener of the class may reset a short form before pools are planned. */
static void test_config_plan_follows_a_reset_form(void **state)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    struct margo_logger logger = lines_logger(&lines);
    struct amg_margo_config config;
    struct amg_margo_log log;

    (void)state;
    info.json_config = "{\"use_progress_thread\":true,\"rpc_thread_count\":2}";
    info.logger = &logger;
    amg_margo_log_init(&log, &logger);
    assert_true(
        amg_margo_config_read(&info, "self", MARGO_CLIENT_MODE, &config));
    config.use_progress_thread = false;
    config.rpc_thread_count = 0;
    assert_true(amg_margo_config_plan(&log, false, &config));
    assert_int_equal(config.plan.stream_count, 1);
    amg_margo_config_free(&config);
}

static void test_config_fields_are_read(void **state)
{
    struct amg_margo_config config = must_read(
        "{\"progress_timeout_ub_msec\":7,\"progress_spindown_msec\":0,"
        "\"handle_cache_size\":0,\"enable_abt_profiling\":true,"
        "\"version\":\"0.9\",\"plumber\":{\"bucket_policy\":\"numa\","
        "\"nic_policy\":\"bycore\"},\"amalgam\":{\"max_concurrent_rpcs\":12},"
        "\"monitoring\":{\"config\":{}},"
        "\"argobots\":{\"abt_mem_max_num_stacks\":3,"
        "\"abt_thread_stacksize\":65536,\"profiling_dir\":\"/tmp\","
        "\"lazy_stack_alloc\":true,"
        "\"version\":\"1.2\"},"
        "\"mercury\":{\"address\":\"x\",\"version\":\"2\",\"listening\":true,"
        "\"auto_sm\":true,\"stats\":true,\"na_no_block\":true,"
        "\"na_no_retry\":true,\"no_bulk_eager\":true,\"no_loopback\":true,"
        "\"max_contexts\":4,\"request_post_init\":9,\"request_post_incr\":-1,"
        "\"input_eager_size\":1,\"output_eager_size\":1,"
        "\"na_max_unexpected_size\":8192,\"na_max_expected_size\":9000,"
        "\"na_addr_format\":\"ipv4\",\"ip_subnet\":\"10.0.0.0/8\","
        "\"auth_key\":\"k\",\"sm_info_string\":\"s\","
        "\"checksum_level\":\"rpc_payload\"}}");
    const struct hg_init_info *hg = &config.hg_init;

    (void)state;
    assert_int_equal(config.progress_timeout_ub_ms, 7);
    assert_true(config.is_spindown_given);
    assert_int_equal(config.progress_spindown_ms, 0);
    assert_int_equal(config.handle_cache_size, 0);
    assert_true(config.is_profiling);
    assert_int_equal(config.max_handlers, 12);
    assert_int_equal(config.max_stacks, 3);
    assert_int_equal(config.stack_size, 65536);
    assert_string_equal(config.profiling_dir, "/tmp");
    assert_true(config.wants_lazy_stacks);
    assert_string_equal(config.bucket_policy, "numa");
    assert_string_equal(config.nic_policy, "bycore");
    assert_int_equal(hg->auto_sm, 1);
    assert_int_equal(hg->stats, 1);
    assert_int_equal(hg->na_init_info.progress_mode,
        NA_NO_BLOCK | NA_NO_RETRY |
            AMALGAM_NA_PROGRESS(AMALGAM_PROGRESS_CALLER, AMALGAM_WAIT_AUTO));
    assert_int_equal(hg->no_bulk_eager, 1);
    assert_int_equal(hg->no_loopback, 1);
    assert_int_equal(hg->na_init_info.max_contexts, 4);
    assert_int_equal(hg->request_post_init, 9);
    assert_int_equal(hg->request_post_incr, -1);
    assert_int_equal(hg->na_init_info.max_unexpected_size, 8192);
    assert_int_equal(hg->na_init_info.max_expected_size, 9000);
    assert_int_equal(hg->na_init_info.addr_format, NA_ADDR_IPV4);
    assert_string_equal(hg->na_init_info.ip_subnet, "10.0.0.0/8");
    assert_string_equal(hg->na_init_info.auth_key, "k");
    assert_string_equal(hg->sm_info_string, "s");
    assert_int_equal(hg->checksum_level, HG_CHECKSUM_RPC_PAYLOAD);
    amg_margo_config_free(&config);
}

static void test_config_environment_caps_handlers(void **state)
{
    struct amg_margo_config config;

    (void)state;
    setenv("AMALGAM_MAX_CONCURRENT_RPCS", "5", 1);
    config = must_read("{}");
    assert_int_equal(config.max_handlers, 5);
    amg_margo_config_free(&config);
    config = must_read("{\"amalgam\":{\"max_concurrent_rpcs\":0}}");
    assert_int_equal(config.max_handlers, 0);
    amg_margo_config_free(&config);
    unsetenv("AMALGAM_MAX_CONCURRENT_RPCS");
}

/* Texts that are accepted with a warning, which names the path. */
static void test_config_unknown_is_logged(void **state)
{
    static const char *const rows[][2] = {
        {"{\"progress_spindown\":1}", "progress_spindown is unknown"},
        {"{\"argobots\":{\"pool\":[]}}", "argobots.pool is unknown"},
        {"{\"mercury\":{\"adress\":\"\"}}", "mercury.adress is unknown"},
        {"{\"mercury\":{\"na_addr_format\":\"ipv5\"}}",
            "mercury.na_addr_format is 'ipv5'"},
        {"{\"handle_cache_size\":1} x", "line 1, column 25"},
        {"{\"mercury\":{\"listening\":false}}", "mercury.listening"},
        {"{\"amalgam\":{\"x\":1}}", "amalgam.x is unknown"},
        {"{\"plumber\":{\"y\":1}}", "plumber.y is unknown"},
        {"{\"argobots\":{\"pools\":[{\"nam\":\"a\"}]}}",
            "argobots.pools[0].nam is unknown"},
        {"{\"argobots\":{\"pools\":[{}],\"xstreams\":[{\"cpu\":1,"
         "\"scheduler\":{\"pools\":[0]}}]}}",
            "argobots.xstreams[0].cpu is unknown"},
        {"{\"use_progress_thread\":true,\"progress_pool\":\"__primary__\"}",
            "use_progress_thread is without effect"},
        {"{\"rpc_thread_count\":1,\"rpc_pool\":0}",
            "rpc_thread_count is without effect"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct amg_margo_config config;

        assert_true(read_with(rows[i][0], MARGO_SERVER_MODE, &config));
        if (!lines_warned(&lines, rows[i][1]))
            fail_msg("%s: warned '%s'", rows[i][0], lines.warnings);
        amg_margo_config_free(&config);
    }
}

/* Texts that are refused, and the field and reason in the log. */
static const char *const refused[][2] = {
    {"{", "line 1, column"},
    {"[]", "has to be a JSON object"},
    {"null ", "has to be a JSON object"},
    {"{\"progress_timeout_ub_msec\":\"1\"}",
        "progress_timeout_ub_msec has to be an integer, and is a string"},
    {"{\"progress_timeout_ub_msec\":-1}",
        "progress_timeout_ub_msec is -1; 0 to"},
    {"{\"progress_timeout_ub_msec\":1.5}", "has to be an integer"},
    {"{\"handle_cache_size\":99999999999999999999}", "handle_cache_size"},
    {"{\"use_progress_thread\":1}", "has to be true or false"},
    {"{\"rpc_thread_count\":-2}", "rpc_thread_count is -2; -1 to"},
    {"{\"argobots\":[]}", "argobots has to be an object"},
    {"{\"mercury\":7}", "mercury has to be an object"},
    {"{\"monitoring\":7}", "monitoring has to be an object"},
    {"{\"mercury\":{\"max_contexts\":256}}", "mercury.max_contexts is 256"},
    {"{\"mercury\":{\"ip_subnet\":\"a\\u0000b\"}}", "zero byte"},
    {"{\"argobots\":{\"abt_thread_stacksize\":1}}",
        "argobots.abt_thread_stacksize is 1"},
    {"{\"argobots\":{\"pools\":{}}}", "argobots.pools has to be an array"},
    {"{\"argobots\":{\"pools\":[7]}}", "argobots.pools[0] has to be an object"},
    {"{\"argobots\":{\"pools\":[null]}}",
        "argobots.pools[0] has to be an object, and is null"},
    {"{\"mercury\":{\"checksum_level\":\"crc\"}}",
        "mercury.checksum_level is 'crc', which is unknown: there are none"},
    {"{\"argobots\":{\"pools\":[{},{},{\"kind\":\"fifo_fast\"}]}}",
        "argobots.pools[2].kind is 'fifo_fast', which is unknown: there are "
        "fifo_wait, fifo, prio_wait, earliest_first, randws"},
    {"{\"argobots\":{\"pools\":[{\"kind\":\"external\"}]}}",
        "argobots.pools[0].kind is 'external', which a text cannot define"},
    {"{\"argobots\":{\"pools\":[{\"access\":\"all\"}]}}",
        "argobots.pools[0].access is 'all'"},
    {"{\"argobots\":{\"pools\":[{}],\"xstreams\":[{\"scheduler\":{"
     "\"type\":\"best\",\"pools\":[0]}}]}}",
        "argobots.xstreams[0].scheduler.type is 'best'"},
    {"{\"argobots\":{\"pools\":[{\"kind\":1}]}}",
        "argobots.pools[0].kind has to be a string"},
    {"{\"argobots\":{\"pools\":[{\"name\":\"a\"},{\"name\":\"a\"}]}}",
        "argobots.pools[1].name is 'a', as that of number 0"},
    {"{\"argobots\":{\"pools\":[{\"name\":\"__mine\"}]}}", "reserved"},
    {"{\"argobots\":{\"pools\":[{\"name\":\"\"}]}}", "it is empty"},
    {"{\"argobots\":{\"pools\":[{\"name\":\"1\"}]}}", "begin with a letter"},
    {"{\"argobots\":{\"xstreams\":[{}]}}",
        "argobots.xstreams[0].scheduler.pools is missing"},
    {"{\"argobots\":{\"xstreams\":[{\"scheduler\":{\"pools\":[]}}]}}",
        "argobots.xstreams[0].scheduler.pools has 0 elements"},
    {"{\"argobots\":{\"xstreams\":[{\"scheduler\":{\"pools\":[5]}}]}}",
        "argobots.xstreams[0].scheduler.pools[0] is the pool 5; there are"},
    {"{\"argobots\":{\"xstreams\":[{\"scheduler\":{\"pools\":[\"x\"]}}]}}",
        "scheduler.pools[0] names the pool 'x', which does not exist"},
    {"{\"argobots\":{\"xstreams\":[{\"scheduler\":{\"pools\":[-1]}}]}}",
        "scheduler.pools[0] is -1"},
    {"{\"argobots\":{\"xstreams\":[{\"scheduler\":{\"pools\":[true]}}]}}",
        "has to be the name or the index of a pool"},
    {"{\"argobots\":{\"xstreams\":[{\"cpubind\":-2,\"scheduler\":{"
     "\"pools\":[0]}}]}}",
        "argobots.xstreams[0].cpubind is -2"},
    {"{\"argobots\":{\"xstreams\":[{\"affinity\":[0,-1],\"scheduler\":{"
     "\"pools\":[0]}}]}}",
        "argobots.xstreams[0].affinity[1] is -1"},
    {"{\"argobots\":{\"pools\":[{\"name\":\"p\"}],\"xstreams\":["
     "{\"name\":\"s\",\"scheduler\":{\"pools\":[0]}},"
     "{\"name\":\"s\",\"scheduler\":{\"pools\":[0]}}]}}",
        "argobots.xstreams[1].name is 's', as that of number 0"},
    {"{\"progress_pool\":\"nowhere\"}",
        "progress_pool names the pool 'nowhere', which does not exist"},
    {"{\"rpc_pool\":3}", "rpc_pool is the pool 3; there are 1, from 0 on"},
    {"{\"argobots\":{\"pools\":[{\"name\":\"p\"}]},\"progress_pool\":0}",
        "no stream runs the pool 0 (p), which progress_pool names"},
};

static void test_config_nonsense_is_refused(void **state)
{
    struct amg_mem_stats before;
    struct amg_mem_stats after;

    (void)state;
    amg_mem_stats_get(&before);
    for (unsigned i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct amg_margo_config config;

        if (read_with(refused[i][0], MARGO_SERVER_MODE, &config))
            fail_msg("%s was taken", refused[i][0]);
        if (!lines_failed(&lines, refused[i][1]))
            fail_msg("%s: said '%s'", refused[i][0], lines.errors);
    }
    amg_mem_stats_get(&after);
    assert_int_equal(before.live, after.live);
}

static void test_config_bad_arguments_are_refused(void **state)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    struct margo_logger logger = lines_logger(&lines);
    struct amg_margo_config config;

    (void)state;
    info.logger = &logger;
    assert_false(amg_margo_config_read(&info, "self", 2, &config));
    assert_true(lines_failed(&lines, "the mode is 2"));
    assert_false(
        amg_margo_config_read(&info, NULL, MARGO_SERVER_MODE, &config));
    assert_true(lines_failed(&lines, "the address is NULL"));
}

/* The n-th allocation fails, for each n: the text is refused, and nothing
 * leaks. */
static void test_config_without_memory_is_refused(void **state)
{
    static const char text[] =
        "{\"use_progress_thread\":true,\"rpc_thread_count\":2,"
        "\"argobots\":{\"pools\":[{\"name\":\"a\"},{}],\"xstreams\":[{"
        "\"name\":\"s\",\"affinity\":[0,1],\"scheduler\":{\"pools\":[\"a\",1]}"
        "}]}}";
    struct amg_mem_stats before;
    struct amg_mem_stats after;
    bool is_read = false;

    (void)state;
    amg_mem_stats_get(&before);
    for (unsigned nth = 1; !is_read; nth++) {
        struct amg_margo_config config;

        assert_true(nth < 1000);
        amg_mem_fail_nth(nth);
        is_read = read_with(text, MARGO_SERVER_MODE, &config);
        amg_mem_fail_nth(0);
        if (is_read)
            amg_margo_config_free(&config);
        else
            assert_true(lines_failed(&lines, "no memory"));
    }
    amg_mem_stats_get(&after);
    assert_int_equal(before.live, after.live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_empty_is_defaults),
        cmocka_unit_test(test_config_short_forms_become_pools),
        cmocka_unit_test(test_config_plan_follows_a_reset_form),
        cmocka_unit_test(test_config_fields_are_read),
        cmocka_unit_test(test_config_environment_caps_handlers),
        cmocka_unit_test(test_config_unknown_is_logged),
        cmocka_unit_test(test_config_nonsense_is_refused),
        cmocka_unit_test(test_config_bad_arguments_are_refused),
        cmocka_unit_test(test_config_without_memory_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
