/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of numbers: a number finds its object until it is removed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "transport/table.h"

enum { MANY = 1000, OWNER = 3, RANKS = 1280000 };

static int objects[MANY];

static void test_table_find_gives_what_was_added(void **state)
{
    struct amg_table table;
    uint32_t cookies[MANY];

    (void)state;
    amg_table_init(&table, MANY, "things");
    for (int i = 0; i < MANY; i++)
        assert_int_equal(
            amg_table_add(&table, &objects[i], OWNER, &cookies[i]), HG_SUCCESS);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(
            amg_table_find(&table, cookies[i], OWNER)->object, &objects[i]);
    amg_table_fini(&table);
}

static void test_table_full_refuses(void **state)
{
    struct amg_table table;
    FILE *log = tmpfile();
    char line[512];
    uint32_t cookie = 0;

    (void)state;
    assert_non_null(log);
    amg_table_init(&table, 2, "things");
    assert_int_equal(
        amg_table_add(&table, objects, OWNER, &cookie), HG_SUCCESS);
    assert_int_equal(
        amg_table_add(&table, objects, OWNER, &cookie), HG_SUCCESS);
    hg_log_set_stream_error(log);
    assert_int_equal(amg_table_add(&table, objects, OWNER, &cookie), HG_NOMEM);
    assert_int_equal(amg_table_add(&table, objects, OWNER, &cookie), HG_NOMEM);
    hg_log_set_stream_error(NULL);
    rewind(log);
    assert_non_null(fgets(line, sizeof(line), log));
    assert_non_null(strstr(line, "2 things are the limit of a class"));
    assert_null(fgets(line, sizeof(line), log)); /* logged once */
    assert_int_equal(fclose(log), 0);
    amg_table_remove(&table, cookie);
    assert_int_equal(
        amg_table_add(&table, objects, OWNER, &cookie), HG_SUCCESS);
    amg_table_fini(&table);
}

static void test_table_number_removed_is_stale(void **state)
{
    struct amg_table table;
    uint32_t old = 0;
    uint32_t cookie = 0;

    (void)state;
    amg_table_init(&table, MANY, "things");
    assert_int_equal(amg_table_add(&table, objects, OWNER, &old), HG_SUCCESS);
    amg_table_remove(&table, old);
    assert_null(amg_table_find(&table, old, OWNER));
    assert_int_equal(
        amg_table_add(&table, objects, OWNER, &cookie), HG_SUCCESS);
    assert_int_equal(old & AMG_TABLE_INDEX_MASK, cookie & AMG_TABLE_INDEX_MASK);
    assert_null(amg_table_find(&table, old, OWNER));
    assert_non_null(amg_table_find(&table, cookie, OWNER));
    amg_table_fini(&table);
}

static void test_table_number_of_other_owner_is_refused(void **state)
{
    struct amg_table table;
    uint32_t cookie = 0;

    (void)state;
    amg_table_init(&table, MANY, "things");
    assert_null(amg_table_find(&table, 0, OWNER));
    assert_int_equal(
        amg_table_add(&table, objects, OWNER, &cookie), HG_SUCCESS);
    assert_null(amg_table_find(&table, cookie, OWNER + 1));
    assert_null(amg_table_find(&table, UINT32_MAX, OWNER));
    amg_table_fini(&table);
}

/* One call to each rank of the largest jobs at once; and each is found. */
static void test_table_has_room_for_all_ranks_of_a_job(void **state)
{
    struct amg_table table;
    uint32_t cookie = 0;

    (void)state;
    amg_table_init(&table, AMG_TABLE_INDEX_MASK + 1u, "things");
    for (uint32_t rank = 0; rank < RANKS; rank++)
        assert_int_equal(
            amg_table_add(&table, &objects[rank % MANY], rank, &cookie),
            HG_SUCCESS);
    for (uint32_t i = 0; i < RANKS; i++) {
        const struct amg_table_slot *slot = amg_table_find(&table, i, i);

        assert_non_null(slot);
        assert_ptr_equal(slot->object, &objects[i % MANY]);
    }
    amg_table_fini(&table);
}

static void test_table_without_memory_stays_whole(void **state)
{
    struct amg_table table;
    uint32_t cookie = 0;

    (void)state;
    amg_table_init(&table, MANY, "things");
    amg_mem_fail_nth(1);
    assert_int_equal(amg_table_add(&table, objects, OWNER, &cookie), HG_NOMEM);
    assert_int_equal(
        amg_table_add(&table, objects, OWNER, &cookie), HG_SUCCESS);
    amg_table_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_find_gives_what_was_added),
        cmocka_unit_test(test_table_full_refuses),
        cmocka_unit_test(test_table_number_removed_is_stale),
        cmocka_unit_test(test_table_number_of_other_owner_is_refused),
        cmocka_unit_test(test_table_has_room_for_all_ranks_of_a_job),
        cmocka_unit_test(test_table_without_memory_stays_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
