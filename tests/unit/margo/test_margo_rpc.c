/* SPDX-License-Identifier: BSD-3-Clause */
/* Registering and deregistering in turn uses the memory of one RPC, of Margo
 * and of HG; earlier settings are forgotten. The first call to a provider
 * registers the RPC for it. Deregistering an unknown RPC returns a code.
 * Neither logs anything. Ids are those of Margo. An RPC that is deregistered
 * while its pool is set uses neither pool afterwards. An identity that exists
 * is not reported as missing where there is no memory for its copy. Data of an
 * RPC is freed once, also if another registration of the RPC fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/context.h"
#include "margo/instance.h"
#include "margo/rpc.h"
#include "rpc/registry.h"

enum { CYCLES = 100, PROVIDER = 7, NTH = 60 };

static unsigned length_of(const struct amg_list *list)
{
    struct amg_link *link = amg_list_first(list);
    unsigned count = 0;

    for (; link != NULL; link = amg_list_next(list, link))
        count++;
    return count;
}

static void test_rpc_registered_in_turn_takes_memory_once(void **state)
{
    margo_instance_id mid = margo_init("self", MARGO_SERVER_MODE, 0, 0);
    struct amg_rpc_class *rpcs = NULL;
    unsigned before = 0;
    unsigned before_hg = 0;

    (void)state;
    assert_non_null(mid);
    rpcs = amg_rpc_class_of(mid->hg_class);
    before = length_of(&mid->rpcs->all);
    before_hg = length_of(&rpcs->all);
    for (unsigned i = 0; i < CYCLES; i++) {
        int is_disabled = 1;
        hg_id_t id = MARGO_REGISTER(mid, "in_turn", void, void, NULL);

        assert_int_not_equal(id, 0);
        assert_string_equal(margo_rpc_get_name(mid, id), "in_turn");
        assert_int_equal(
            margo_registered_disabled_response(mid, id, &is_disabled),
            HG_SUCCESS);
        assert_int_equal(is_disabled, 0);
        assert_int_equal(
            margo_registered_disable_response(mid, id, 1), HG_SUCCESS);
        assert_int_equal(margo_deregister(mid, id), HG_SUCCESS);
    }
    assert_int_equal(length_of(&mid->rpcs->all), before + 1);
    assert_int_equal(length_of(&rpcs->all), before_hg + 1);
    margo_finalize(mid);
}

static void log_to(FILE *stream)
{
    hg_log_set_stream_error(stream);
    hg_log_set_stream_warning(stream);
    hg_log_set_stream_debug(stream);
}

/* Like `margo_forward` to a provider that no process serves: HG_NOENTRY. */
static void test_rpc_of_new_provider_is_found_without_a_line(void **state)
{
    margo_instance_id mid = margo_init("self", MARGO_CLIENT_MODE, 0, 0);
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t self = HG_ADDR_NULL;
    hg_id_t id = 0;
    FILE *log = tmpfile();

    (void)state;
    assert_non_null(mid);
    assert_non_null(log);
    id = MARGO_REGISTER(mid, "served_nowhere", void, void, NULL);
    assert_int_equal(margo_addr_self(mid, &self), HG_SUCCESS);
    assert_int_equal(margo_create(mid, self, id, &handle), HG_SUCCESS);
    log_to(log);
    assert_int_equal(margo_registered_disable_response(mid, id, 1), HG_SUCCESS);
    assert_int_equal(
        margo_provider_forward(PROVIDER, handle, NULL), HG_SUCCESS);
    assert_int_equal(margo_deregister(mid, id + PROVIDER + 1), HG_NOENTRY);
    log_to(NULL);
    assert_int_equal(ftell(log), 0);
    assert_int_equal(fclose(log), 0);
    assert_int_equal(margo_destroy(handle), HG_SUCCESS);
    assert_int_equal(margo_addr_free(mid, self), HG_SUCCESS);
    margo_finalize(mid);
}

/* The upper halves are HASH_JEN of uthash; that of "echo" is in Margo's own
 * tests. */
static void test_rpc_id_is_that_of_margo(void **state)
{
    static const struct {
        const char *name;
        uint32_t hash;
    } rows[] = {
        {"echo", 0xe1fdae52},
        {"", 0x0ee1c8aa},
        {"a", 0xfb48d8c3},
        {"abcdefghijkl", 0x669d8e48},
        {"abcdefghijklm", 0xe14154c7},
        {"sum_of_numbers_longer_than_24_bytes", 0xf312c7ef},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(amg_margo_rpc_id(rows[i].name, 42),
            (uint64_t)rows[i].hash << 32 | 42);
}

#if defined(AMG_TEST_POINTS)
static margo_instance_id hooked_mid;
static hg_id_t hooked_id;

static void deregister_hook(const char *name)
{
    if (strcmp(name, "rpc.set_pool") == 0)
        assert_int_equal(margo_deregister(hooked_mid, hooked_id), HG_SUCCESS);
}

static ABT_pool pool_add(margo_instance_id mid, const char *json)
{
    struct margo_pool_info info = {.pool = ABT_POOL_NULL};

    assert_int_equal(margo_add_pool_from_json(mid, json, &info), HG_SUCCESS);
    return info.pool;
}
#endif

static void test_rpc_deregistered_while_its_pool_is_set_uses_none(void **state)
{
    (void)state;
#if defined(AMG_TEST_POINTS)
    margo_instance_id mid = margo_init("self", MARGO_SERVER_MODE, 0, 0);
    ABT_pool old = ABT_POOL_NULL;
    ABT_pool new = ABT_POOL_NULL;

    assert_non_null(mid);
    old = pool_add(mid, "{\"name\":\"old\",\"kind\":\"fifo_wait\"}");
    new = pool_add(mid, "{\"name\":\"new\",\"kind\":\"fifo_wait\"}");
    hooked_mid = mid;
    hooked_id = MARGO_REGISTER_PROVIDER(
        mid, "pool_is_set", void, void, NULL, PROVIDER, old);
    amg_test_point_set(deregister_hook);
    assert_int_equal(margo_rpc_set_pool(mid, hooked_id, new), HG_NOENTRY);
    amg_test_point_set(NULL);
    assert_int_equal(margo_remove_pool_by_name(mid, "old"), HG_SUCCESS);
    assert_int_equal(margo_remove_pool_by_name(mid, "new"), HG_SUCCESS);
    margo_finalize(mid);
#else
    skip();
#endif
}

/* Any allocation of a query fails, also at the provider. */
static void test_rpc_identity_without_memory_is_not_missing(void **state)
{
    margo_instance_id mid = margo_init("self", MARGO_SERVER_MODE, 0, 0);
    hg_addr_t self = HG_ADDR_NULL;
    int failed = 0;

    (void)state;
    assert_non_null(mid);
    assert_int_equal(margo_addr_self(mid, &self), HG_SUCCESS);
    assert_int_equal(
        margo_provider_register_identity(mid, PROVIDER, "shelf"), HG_SUCCESS);
    for (int n = 0; n < NTH; n++) {
        char text[8] = "";
        size_t len = sizeof(text);
        hg_return_t rc = HG_SUCCESS;

        amg_mem_fail_nth((uint64_t)n);
        rc = margo_provider_get_identity(mid, self, PROVIDER, text, &len);
        amg_mem_fail_nth(0);
        assert_int_not_equal(rc, HG_NOENTRY);
        failed += rc != HG_SUCCESS;
        assert_true(rc != HG_SUCCESS || strcmp(text, "shelf") == 0);
    }
    assert_true(failed > 0);
    assert_int_equal(margo_addr_free(mid, self), HG_SUCCESS);
    margo_finalize(mid);
}

static hg_return_t destroy(hg_handle_t handle)
{
    return margo_destroy(handle);
}

static unsigned freed;

static void count_free(void *data)
{
    assert_ptr_equal(data, &freed);
    freed++;
}

/* Any allocation of a registration that replaces the RPC fails. */
static void test_rpc_not_replaced_has_its_data_freed(void **state)
{
    margo_instance_id mid = margo_init("self", MARGO_SERVER_MODE, 0, 0);
    unsigned attached = 0;
    unsigned failed = 0;

    (void)state;
    assert_non_null(mid);
    for (int n = 1; n < NTH; n++) {
        hg_id_t id = MARGO_REGISTER(mid, "replaced", void, void, NULL);
        hg_id_t again = 0;

        assert_int_not_equal(id, 0);
        assert_null(margo_registered_data(mid, id));
        assert_int_equal(
            margo_register_data(mid, id, &freed, count_free), HG_SUCCESS);
        attached++;
        amg_mem_fail_nth((uint64_t)n);
        again = margo_provider_register_name(mid, "replaced", NULL, NULL,
            destroy, MARGO_DEFAULT_PROVIDER_ID, ABT_POOL_NULL);
        amg_mem_fail_nth(0);
        failed += again == 0;
        assert_int_equal(
            margo_deregister(mid, id), again == 0 ? HG_NOENTRY : HG_SUCCESS);
    }
    assert_true(failed > 0);
    margo_finalize(mid);
    assert_int_equal(freed, attached);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rpc_id_is_that_of_margo),
        cmocka_unit_test(test_rpc_registered_in_turn_takes_memory_once),
        cmocka_unit_test(test_rpc_of_new_provider_is_found_without_a_line),
        cmocka_unit_test(test_rpc_deregistered_while_its_pool_is_set_uses_none),
        cmocka_unit_test(test_rpc_identity_without_memory_is_not_missing),
        cmocka_unit_test(test_rpc_not_replaced_has_its_data_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
