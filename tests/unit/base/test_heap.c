/* SPDX-License-Identifier: BSD-3-Clause */
/* A heap returns its objects in order of keys, also after removals from its
 * middle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/heap.h"

enum { NODES = 1000 };

static struct amg_heap_node nodes[NODES];

/* A mixed order of keys, each of them twice. */
static void all_push(struct amg_heap *heap)
{
    for (unsigned i = 0; i < NODES; i++) {
        nodes[i].key = i * 7919u % (NODES / 2);
        amg_heap_push(heap, &nodes[i]);
    }
}

/* Removes all in order; returns how many there were. */
static unsigned all_pop(struct amg_heap *heap)
{
    uint64_t before = 0;
    unsigned count = 0;

    while (heap->first != NULL) {
        assert_true(heap->first->key >= before);
        before = heap->first->key;
        amg_heap_remove(heap, heap->first);
        count++;
    }
    return count;
}

static void test_heap_pops_in_order(void **state)
{
    struct amg_heap heap = {NULL};

    (void)state;
    all_push(&heap);
    assert_int_equal(heap.first->key, 0);
    assert_int_equal(all_pop(&heap), NODES);
}

static void test_heap_remove_any_keeps_the_order(void **state)
{
    struct amg_heap heap = {NULL};

    (void)state;
    all_push(&heap);
    for (unsigned i = 0; i < NODES; i += 3)
        amg_heap_remove(&heap, &nodes[i]);
    /* Some are put back, which gives heaps of many shapes. */
    for (unsigned i = 0; i < NODES; i += 6)
        amg_heap_push(&heap, &nodes[i]);
    for (unsigned i = 1; i < NODES; i += 3)
        amg_heap_remove(&heap, &nodes[i]);
    assert_int_equal(all_pop(&heap), 333 + 167);
}

static void test_heap_of_one_is_empty_after_it(void **state)
{
    struct amg_heap heap = {NULL};
    struct amg_heap_node node = {.key = 5};

    (void)state;
    amg_heap_push(&heap, &node);
    assert_ptr_equal(heap.first, &node);
    amg_heap_remove(&heap, &node);
    assert_null(heap.first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heap_pops_in_order),
        cmocka_unit_test(test_heap_remove_any_keeps_the_order),
        cmocka_unit_test(test_heap_of_one_is_empty_after_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
