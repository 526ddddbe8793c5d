/* SPDX-License-Identifier: BSD-3-Clause */
/* Ids follow from names as in other programs; a deregistered RPC is not found,
 * but pointers to it stay valid, and its data are freed, not those of a later
 * registration; a look-up of an unknown one logs nothing. */
#include "rpc/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "amalgam_oneway.h"
#include "base/log.h"
#include "base/mem.h"
#include "log_kept.h"
#include "mercury_class.h"
#include "mercury_register.h"

static hg_class_t *cls;

static int class_setup(void **state)
{
    (void)state;
    HG_Set_log_level("none");
    cls = HG_Init("self", HG_TRUE);
    return cls == NULL;
}

static int class_teardown(void **state)
{
    (void)state;
    return HG_Finalize(cls) != HG_SUCCESS;
}

static hg_return_t serve(hg_handle_t handle)
{
    (void)handle;
    return HG_SUCCESS;
}

static void test_registry_ids_are_those_of_mercury(void **state)
{
    (void)state;
    assert_int_equal(
        HG_Register_name(cls, "hello", NULL, NULL, NULL), 261238937);
    /* 5381 * 33 + 'a', and one letter more. */
    assert_int_equal(HG_Register_name(cls, "a", NULL, NULL, NULL), 177670);
    assert_int_equal(HG_Register_name(cls, "", NULL, NULL, NULL), 5381);
    /* Characters beyond 127 are positive, as in Mercury's hg_hash_string(). */
    assert_int_equal(HG_Register_name(cls, "\xff", NULL, NULL, NULL), 177828);
}

static void take(hg_class_t *hg_class, int rank, const void *arg, size_t len)
{
    (void)hg_class;
    (void)rank;
    (void)arg;
    (void)len;
}

static void test_registry_name_of_no_id_is_refused(void **state)
{
    static const char name[] = "ytggrlaa"; /* its hash is 0 */

    (void)state;
    HG_Set_log_level("error");
    hg_log_set_func(log_keep);
    assert_int_equal(HG_Register_name(cls, name, NULL, NULL, serve), 0);
    assert_true(log_has("HG_Register_name(): the name has the id 0"));
    assert_int_equal(amalgam_register_oneway(cls, name, take), 0);
    assert_true(log_has("amalgam_register_oneway(): the name has the id 0"));
    hg_log_set_func(NULL);
    HG_Set_log_level("none");
}

static void test_registry_forgotten_rpc_stays_valid(void **state)
{
    struct amg_rpc *rpc = NULL;

    (void)state;
    assert_int_equal(HG_Register(cls, 77, NULL, NULL, serve), HG_SUCCESS);
    rpc = amg_rpc_find(cls, 77);
    assert_non_null(rpc);
    assert_int_equal(HG_Deregister(cls, 77), HG_SUCCESS);
    assert_null(amg_rpc_find(cls, 77));
    assert_ptr_equal(rpc->callback, serve);
    assert_int_equal(HG_Register(cls, 77, NULL, NULL, NULL), HG_SUCCESS);
    assert_ptr_equal(rpc->callback, serve);
    assert_null(amg_rpc_find(cls, 77)->callback);
    /* Registering it again uses the same memory. */
    rpc = amg_rpc_find(cls, 77);
    assert_int_equal(HG_Deregister(cls, 77), HG_SUCCESS);
    assert_int_equal(HG_Register(cls, 77, NULL, NULL, NULL), HG_SUCCESS);
    assert_ptr_equal(amg_rpc_find(cls, 77), rpc);
}

static int old_data;
static int new_data;
static int *freed; /* the last data that were freed */

/* As another thread could, once the RPC is not registered any more. */
static void data_free_and_register(void *data)
{
    freed = data;
    if (data != &old_data)
        return;
    assert_int_equal(HG_Register(cls, 66, NULL, NULL, serve), HG_SUCCESS);
    assert_int_equal(
        HG_Register_data(cls, 66, &new_data, data_free_and_register),
        HG_SUCCESS);
}

static void test_registry_data_of_a_new_registration_stay(void **state)
{
    (void)state;
    assert_int_equal(HG_Register(cls, 66, NULL, NULL, serve), HG_SUCCESS);
    assert_int_equal(
        HG_Register_data(cls, 66, &old_data, data_free_and_register),
        HG_SUCCESS);
    assert_int_equal(HG_Deregister(cls, 66), HG_SUCCESS);
    assert_ptr_equal(freed, &old_data);
    assert_ptr_equal(HG_Registered_data(cls, 66), &new_data);
    assert_int_equal(HG_Deregister(cls, 66), HG_SUCCESS);
    assert_ptr_equal(freed, &new_data);
}

static void test_registry_without_memory_registers_nothing(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 2; n++) {
        amg_mem_fail_nth(n);
        assert_int_equal(HG_Register(cls, 88, NULL, NULL, serve), HG_NOMEM);
        amg_mem_fail_nth(0);
        assert_null(amg_rpc_find(cls, 88));
    }
    amg_mem_fail_nth(1);
    assert_int_equal(HG_Register_name(cls, "none", NULL, NULL, serve), 0);
    amg_mem_fail_nth(0);
}

static void test_registry_question_for_absent_rpc_logs_nothing(void **state)
{
    FILE *log = tmpfile();
    uint8_t is_there = 1;
    hg_id_t id = 0;

    (void)state;
    assert_non_null(log);
    hg_log_set_stream_error(log);
    hg_log_set_stream_warning(log);
    hg_log_set_stream_debug(log);
    hg_log_set_level(HG_LOG_LEVEL_WARNING);
    assert_int_equal(HG_Registered(cls, 99, &is_there), HG_SUCCESS);
    assert_int_equal(is_there, 0);
    assert_int_equal(
        HG_Registered_name(cls, "absent", &id, &is_there), HG_SUCCESS);
    assert_int_equal(is_there, 0);
    assert_int_equal(
        HG_Registered_proc_cb(cls, 99, &is_there, NULL, NULL), HG_SUCCESS);
    assert_int_equal(is_there, 0);
    assert_null(HG_Registered_data(cls, 99));
    assert_int_equal(HG_Register_data(cls, 99, NULL, NULL), HG_NOENTRY);
    assert_int_equal(
        HG_Registered_disabled_response(cls, 99, &is_there), HG_NOENTRY);
    assert_int_equal(HG_Deregister(cls, 99), HG_NOENTRY);
    hg_log_set_level(HG_LOG_LEVEL_NONE);
    hg_log_set_stream_error(NULL);
    hg_log_set_stream_warning(NULL);
    hg_log_set_stream_debug(NULL);
    assert_int_equal(ftell(log), 0);
    assert_int_equal(fclose(log), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registry_ids_are_those_of_mercury),
        cmocka_unit_test(test_registry_name_of_no_id_is_refused),
        cmocka_unit_test(test_registry_forgotten_rpc_stays_valid),
        cmocka_unit_test(test_registry_data_of_a_new_registration_stay),
        cmocka_unit_test(test_registry_without_memory_registers_nothing),
        cmocka_unit_test(test_registry_question_for_absent_rpc_logs_nothing),
    };

    return cmocka_run_group_tests(tests, class_setup, class_teardown);
}
