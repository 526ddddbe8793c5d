/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks and threads on each hardware thread, and the homes of NICs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "jobs/tools/map.h"
#include "node.h"

static void test_list_of_runs_is_short(void **state)
{
    const uint32_t numbers[] = {0, 1, 2, 3, 7, 9, 10};
    char text[32];

    (void)state;
    assert_string_equal(map_list(numbers, 7, text, sizeof(text)), "0-3,7,9-10");
    assert_string_equal(map_list(numbers, 1, text, sizeof(text)), "0");
    assert_string_equal(map_list(numbers, 0, text, sizeof(text)), "");
}

static void test_list_without_room_is_cut(void **state)
{
    const uint32_t numbers[] = {100, 102, 104, 4294967295u};

    (void)state;
    for (size_t cap = sizeof("..."); cap < 32; cap++) {
        char text[32];
        size_t len = 0;

        memset(text, 'x', sizeof(text));
        map_list(numbers, 4, text, cap);
        len = strlen(text);
        assert_in_range(len, 3, cap - 1);
        if (len != strlen("100,102,104,4294967295"))
            assert_string_equal(text + len - 3, "...");
    }
}

static void test_map_tells_who_is_bound_where(void **state)
{
    struct node node;
    struct map map;

    (void)state;
    node_make(&node, 1, 1, 2, 2); /* cpus 0 2, 1 3 */
    node_rank(&node, 0, 1);
    node_rank(&node, 1, 1);
    node.machine.allowed.words[0] &= ~(1ull << 3);
    assert_true(map_make(&map, &node.report));
    assert_int_equal(map.count, 4);
    assert_int_equal(map.places[0].rank_count, 1);
    assert_int_equal(map.places[1].pu->cpu, 2);
    assert_int_equal(map.places[1].rank_count, 0);
    assert_int_equal(map.places[2].pu->cpu, 1);
    assert_int_equal(map.places[2].rank_count, 2);
    assert_int_equal(map.places[2].ranks[1], 1);
    assert_true(map.places[1].is_allowed);
    assert_false(map.places[3].is_allowed);
    map_fini(&map);
    node_free(&node);
}

static void test_map_marks_threads_of_ours(void **state)
{
    struct node node;
    struct map map;
    struct report_rank *local = NULL;

    (void)state;
    node_make(&node, 1, 1, 4, 1);
    local = node_rank(&node, 0, 1);
    node_thread(local, 3, true);
    local = node_rank(&node, 0, 1);
    node_thread(local, 3, false);
    local = node_rank(&node, 0, 1);
    node_thread(local, -1, false); /* not pinned: not on the map */
    node_rank(&node, 0, 1)->placement.slot.cpu = 0; /* it has no such thread */
    assert_true(map_make(&map, &node.report));
    assert_int_equal(map.places[0].mark_count, 0);
    assert_int_equal(map.places[2].mark_count, 0);
    assert_int_equal(map.places[3].mark_count, 2);
    assert_int_equal(map.places[3].marks[0].letter, 'P');
    assert_int_equal(map.places[3].marks[0].rank, 0);
    assert_int_equal(map.places[3].marks[1].letter, 'p');
    assert_int_equal(map.places[3].marks[1].rank, 1);
    map_fini(&map);
    node_free(&node);
}

static void test_map_measures_boxes(void **state)
{
    struct node node;
    struct map map;

    (void)state;
    node_make(&node, 2, 2, 4, 2);
    assert_true(map_make(&map, &node.report));
    assert_int_equal(map_core_len(&map, 0), 2);
    assert_int_equal(map_numa_len(&map, 8), 8);
    assert_int_equal(map_package_len(&map, 16), 16);
    map_fini(&map);
    node_free(&node);
}

static void test_nic_is_at_home_where_it_is_near(void **state)
{
    struct node node;
    char text[64];
    unsigned number = 99;

    (void)state;
    node_make(&node, 2, 2, 4, 1); /* NUMA node 2: 8-11, package 1: 8-15 */
    node_nic(&node, "near_numa", 8, 11);
    node_nic(&node, "near_package", 8, 15);
    node_nic(&node, "near_two_packages", 4, 11);
    node_nic(&node, "near_all", 0, 15);
    node_nic(&node, "near_part_of_numa", 9, 10);
    assert_int_equal(map_home_of(&node.machine, &node.machine.nics[0], &number),
        MAP_HOME_NUMA);
    assert_int_equal(number, 2);
    assert_string_equal(
        map_nics(&node.machine, MAP_HOME_NUMA, 2, text, sizeof(text)),
        "near_numa, near_part_of_numa");
    assert_string_equal(
        map_nics(&node.machine, MAP_HOME_PACKAGE, 1, text, sizeof(text)),
        "near_package");
    assert_string_equal(
        map_nics(&node.machine, MAP_HOME_NODE, 0, text, sizeof(text)),
        "near_two_packages, near_all");
    assert_string_equal(
        map_nics(&node.machine, MAP_HOME_PACKAGE, 0, text, sizeof(text)), "");
    node_free(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_of_runs_is_short),
        cmocka_unit_test(test_list_without_room_is_cut),
        cmocka_unit_test(test_map_tells_who_is_bound_where),
        cmocka_unit_test(test_map_marks_threads_of_ours),
        cmocka_unit_test(test_map_measures_boxes),
        cmocka_unit_test(test_nic_is_at_home_where_it_is_near),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
