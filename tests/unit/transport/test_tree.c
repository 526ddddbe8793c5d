/* SPDX-License-Identifier: BSD-3-Clause */
/* Trees of ranks: each member is reached once, by few messages in a row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "transport/tree.h"

enum { WIDTH = 5, MEMBERS = 300, GROUPS = 3000, NODES = 10000, PER_NODE = 128 };

/* What a walk over a whole tree has met. */
struct met {
    const struct amg_tree *tree;
    uint32_t count;       /* members of the whole group */
    unsigned *times;      /* of each position */
    unsigned *to_node;    /* messages that came into a node from another one */
    uint32_t most_of_one; /* messages to the children of one rank and from its
                           * parent */
    unsigned depth;
};

static uint32_t node_of(const struct amg_tree *tree, uint32_t rank)
{
    return tree->node_size == 0 ? 0 : rank / tree->node_size;
}

/* Meets the members of `part` that `rank` passes a message on to. */
static void meet(struct met *met, struct amg_tree_part part, uint32_t rank,
    uint32_t self, unsigned depth)
{
    struct amg_tree_walk walk =
        amg_tree_walk_begin(met->tree, part, rank, self);
    uint32_t messages = depth > 0;
    uint32_t left = part.count - (self - part.first < part.count);
    struct amg_tree_part child;

    met->depth = depth > met->depth ? depth : met->depth;
    while (amg_tree_walk_next(met->tree, &walk, &child)) {
        uint32_t to = amg_tree_rank(met->tree, child.first);

        assert_true(child.count > 0 && child.count <= left);
        assert_true(child.first >= part.first &&
                    child.first + child.count <= part.first + part.count);
        assert_true(depth == 0 || to > rank);
        left -= child.count;
        messages++;
        met->times[child.first]++;
        if (node_of(met->tree, to) != node_of(met->tree, rank))
            met->to_node[node_of(met->tree, to)]++;
        meet(met, child, to, child.first, depth + 1);
    }
    assert_int_equal(left, 0);
    if (messages > met->most_of_one)
        met->most_of_one = messages;
}

/* Checks the tree of `count` members whose root is `rank`. */
static struct met whole_checked(const struct amg_tree *tree, uint32_t count,
    uint32_t rank, uint32_t self, uint32_t nodes)
{
    struct met met = {.tree = tree, .count = count};

    met.times = calloc(count + 1, sizeof(*met.times));
    met.to_node = calloc(nodes, sizeof(*met.to_node));
    assert_non_null(met.times);
    assert_non_null(met.to_node);
    if (self != AMG_TREE_NOWHERE)
        met.times[self]++;
    meet(&met, (struct amg_tree_part){0, count}, rank, self, 0);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(met.times[i], 1);
    for (uint32_t i = 0; i < nodes; i++)
        assert_true(tree->node_size == 0 || met.to_node[i] <= 1);
    free(met.times);
    free(met.to_node);
    return met;
}

static unsigned log2_of(uint32_t number)
{
    unsigned log = 0;

    while (number >>= 1)
        log++;
    return log;
}

static void test_tree_cut_is_as_drawn(void **state)
{
    static const struct amg_tree tree = {.stride = 1, .width = 4};
    static const uint32_t parents[14] = {
        0, 0, 1, 1, 1, 0, 5, 5, 5, 0, 9, 9, 9, 0};
    struct amg_tree_part all = {0, 14};

    (void)state;
    for (uint32_t rank = 0; rank < all.count; rank++) {
        uint32_t parent = UINT32_MAX;
        struct amg_tree_part part = amg_tree_find(&tree, all, rank, &parent);

        assert_int_equal(part.first, rank);
        assert_int_equal(parent, parents[rank]);
        assert_int_equal(part.count, rank == 0                     ? 14
                                     : rank == 13 || rank % 4 != 1 ? 1
                                                                   : 4);
    }
    assert_int_equal(amg_tree_height(&tree, all), 2);
    assert_int_equal(amg_tree_cut_height(1, 4), 0);
}

static void test_tree_none_and_one(void **state)
{
    static const struct amg_tree tree = {
        .base = 7, .stride = 1, .node_size = 2, .width = WIDTH};
    struct amg_tree_part part = {0, 0};
    struct amg_tree_walk walk =
        amg_tree_walk_begin(&tree, part, 3, AMG_TREE_NOWHERE);

    (void)state;
    assert_false(amg_tree_walk_next(&tree, &walk, &part));
    part = (struct amg_tree_part){0, 1};
    walk = amg_tree_walk_begin(&tree, part, 7, 0);
    assert_false(amg_tree_walk_next(&tree, &walk, &part));
    assert_int_equal(amg_tree_height(&tree, part), 0);
    for (uint32_t rank = 0; rank < 12; rank++) {
        part = (struct amg_tree_part){0, 1};
        walk = amg_tree_walk_begin(&tree, part, rank, AMG_TREE_NOWHERE);
        assert_true(amg_tree_walk_next(&tree, &walk, &part));
        assert_int_equal(part.first, 0);
        assert_int_equal(part.count, 1);
        assert_false(amg_tree_walk_next(&tree, &walk, &part));
    }
}

/* A group, root and placement by chance. */
static void random_checked(unsigned *seed)
{
    uint32_t ranks[MEMBERS];
    uint32_t count = (uint32_t)rand_r(seed) % MEMBERS;
    struct amg_tree tree = {.base = (uint32_t)rand_r(seed) % 50,
        .stride = 1 + (uint32_t)rand_r(seed) % 9,
        .node_size = (uint32_t)rand_r(seed) % 40,
        .width = 1 + (uint32_t)rand_r(seed) % 7};
    uint32_t self = (uint32_t)rand_r(seed) % (count + 1);
    uint32_t root = (uint32_t)rand_r(seed) % 5000;
    uint32_t most = 0;

    if (rand_r(seed) % 2 == 0) {
        tree.ranks = ranks;
        for (uint32_t i = 0; i < count; i++)
            ranks[i] = most += 1 + (uint32_t)rand_r(seed) % 11;
    }
    if (self < count)
        root = amg_tree_rank(&tree, self);
    else
        self = AMG_TREE_NOWHERE;
    for (uint32_t i = 0; i < count && self == AMG_TREE_NOWHERE; i++)
        root += amg_tree_rank(&tree, i) == root;
    whole_checked(&tree, count, root, self, 5000);
    if (self == 0) {
        struct amg_tree_part all = {0, count};
        uint32_t at = (uint32_t)rand_r(seed) % count;
        uint32_t parent = UINT32_MAX;
        struct amg_tree_part part = amg_tree_find(&tree, all, at, &parent);

        assert_int_equal(part.first, at);
        assert_true(
            at == 0 ? parent == root : parent < amg_tree_rank(&tree, at));
        assert_true(
            amg_tree_height(&tree, part) <= amg_tree_height(&tree, all));
    }
}

static void test_tree_random_groups_reach_each_member_once(void **state)
{
    unsigned seed = 36;

    (void)state;
    for (int i = 0; i < GROUPS; i++)
        random_checked(&seed);
}

/* The part of a list that a rank has received is a list of its own. */
static void test_tree_slice_of_list_has_same_children(void **state)
{
    uint32_t ranks[MEMBERS];
    struct amg_tree whole = {.ranks = ranks, .node_size = 16, .width = WIDTH};
    struct amg_tree_part part = {40, 200};
    struct amg_tree slice = whole;
    struct amg_tree_part child;
    struct amg_tree_part same;
    struct amg_tree_walk walk;
    struct amg_tree_walk again;

    (void)state;
    for (uint32_t i = 0; i < MEMBERS; i++)
        ranks[i] = 3 * i + i % 2;
    slice.ranks = ranks + part.first;
    slice.list_first = part.first;
    walk = amg_tree_walk_begin(&whole, part, ranks[part.first], part.first);
    again = amg_tree_walk_begin(&slice, part, ranks[part.first], part.first);
    while (amg_tree_walk_next(&whole, &walk, &child)) {
        assert_true(amg_tree_walk_next(&slice, &again, &same));
        assert_memory_equal(&child, &same, sizeof(child));
    }
    assert_false(amg_tree_walk_next(&slice, &again, &same));
}

static void test_tree_of_big_job_is_flat(void **state)
{
    static const struct amg_tree tree = {
        .stride = 1, .node_size = PER_NODE, .width = WIDTH};
    static const uint32_t roots[] = {0, 1, 127, 128, 640063, 640000, 1279999};
    uint32_t count = NODES * PER_NODE;

    (void)state;
    for (unsigned i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        struct met met = whole_checked(&tree, count, roots[i], roots[i], NODES);

        assert_true(met.depth <= log2_of(NODES) + 3);
        assert_true(2 * met.most_of_one <= 2 * log2_of(count));
    }
    assert_true(amg_tree_height(&tree, (struct amg_tree_part){0, count}) <=
                log2_of(NODES) + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_cut_is_as_drawn),
        cmocka_unit_test(test_tree_none_and_one),
        cmocka_unit_test(test_tree_random_groups_reach_each_member_once),
        cmocka_unit_test(test_tree_slice_of_list_has_same_children),
        cmocka_unit_test(test_tree_of_big_job_is_flat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
