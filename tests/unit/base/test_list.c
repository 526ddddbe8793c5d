/* SPDX-License-Identifier: BSD-3-Clause */
/* Intrusive lists keep their order, and links know whether they are listed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/list.h"

enum { ITEMS = 4 };

struct item {
    int number;
    struct amg_link link;
};

static struct item items[ITEMS];

static void items_push(struct amg_list *list, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        items[i] = (struct item){.number = i};
        amg_list_push(list, &items[i].link);
    }
}

static int number_of(struct amg_link *link)
{
    assert_non_null(link);
    return amg_container_of(link, struct item, link)->number;
}

static void test_list_init_is_empty(void **state)
{
    struct amg_list list;

    (void)state;
    amg_list_init(&list);
    assert_true(amg_list_is_empty(&list));
    assert_null(amg_list_first(&list));
    assert_null(amg_list_pop(&list));
}

static void test_list_push_pop_keeps_order(void **state)
{
    struct amg_list list;

    (void)state;
    amg_list_init(&list);
    items_push(&list, 0, ITEMS);
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(number_of(amg_list_pop(&list)), i);
    assert_true(amg_list_is_empty(&list));
}

static void test_list_push_front_comes_first(void **state)
{
    struct amg_list list;

    (void)state;
    amg_list_init(&list);
    items_push(&list, 0, 2);
    items[2] = (struct item){.number = 2};
    amg_list_push_front(&list, &items[2].link);
    assert_int_equal(number_of(amg_list_pop(&list)), 2);
    assert_int_equal(number_of(amg_list_pop(&list)), 0);
}

static void test_list_remove_middle_leaves_others(void **state)
{
    struct amg_list list;

    (void)state;
    amg_list_init(&list);
    items_push(&list, 0, 3);
    assert_true(amg_link_is_listed(&items[1].link));
    amg_list_remove(&items[1].link);
    assert_false(amg_link_is_listed(&items[1].link));
    assert_int_equal(number_of(amg_list_pop(&list)), 0);
    assert_int_equal(number_of(amg_list_pop(&list)), 2);
}

static void test_list_next_walks_to_end(void **state)
{
    struct amg_list list;
    struct amg_link *link = NULL;
    int seen = 0;

    (void)state;
    amg_list_init(&list);
    items_push(&list, 0, ITEMS);
    for (link = amg_list_first(&list); link != NULL;
         link = amg_list_next(&list, link))
        assert_int_equal(number_of(link), seen++);
    assert_int_equal(seen, ITEMS);
}

static void test_list_splice_appends_and_empties(void **state)
{
    struct amg_list to;
    struct amg_list from;

    (void)state;
    amg_list_init(&to);
    amg_list_init(&from);
    items_push(&to, 0, 2);
    amg_list_splice(&to, &from);
    items_push(&from, 2, 2);
    amg_list_splice(&to, &from);
    assert_true(amg_list_is_empty(&from));
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(number_of(amg_list_pop(&to)), i);
    assert_null(amg_list_pop(&to));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_init_is_empty),
        cmocka_unit_test(test_list_push_pop_keeps_order),
        cmocka_unit_test(test_list_push_front_comes_first),
        cmocka_unit_test(test_list_remove_middle_leaves_others),
        cmocka_unit_test(test_list_next_walks_to_end),
        cmocka_unit_test(test_list_splice_appends_and_empties),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
