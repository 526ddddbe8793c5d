/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks exchange while a domain opens is reduced to the same result in
 * any order, in constant length, also for 1,280,000 ranks on 10,000 nodes. */
#include "mpi_backend/mpi_facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RANKS = 1280000, NODES = 10000, PER_NODE = RANKS / NODES };

static uint64_t seed;

/* xorshift64. */
static uint64_t random_next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Ranks are dealt to nodes round robin, so that the first ones are leaders. */
static void facts_of(uint32_t rank, struct amg_mpi_facts *ret_facts)
{
    amg_mpi_facts_init(
        ret_facts, rank, rank < NODES, rank == RANKS / 2, rank == 3);
}

static struct amg_mpi_greeting greeting_of(
    uint32_t rank, const struct amg_mpi_library *library)
{
    struct amg_mpi_greeting made = {.first = *library,
        .message_len = 4096 - rank % 7,
        .credits = 64 + rank % 5,
        .max_kib = 1000 + rank % 7,
        .protocol = 17,
        .inverse = ~17u,
        .nonce = rank + 100};

    made.first.rank = rank;
    made.other = (struct amg_mpi_library){.rank = AMG_MPI_NO_RANK};
    return made;
}

/* Reduces [from, to) in a binary tree, whose halves come in random order.
 * Returns its depth. */
static unsigned facts_tree(
    uint32_t from, uint32_t to, struct amg_mpi_facts *ret_facts)
{
    struct amg_mpi_facts other;
    uint32_t middle = from + (to - from) / 2;
    unsigned depth = 0;
    unsigned depth_of_other = 0;

    if (to - from == 1) {
        facts_of(from, ret_facts);
        return 0;
    }
    if (random_next() % 2 == 0) {
        depth = facts_tree(from, middle, ret_facts);
        depth_of_other = facts_tree(middle, to, &other);
    } else {
        depth = facts_tree(middle, to, ret_facts);
        depth_of_other = facts_tree(from, middle, &other);
    }
    amg_mpi_facts_reduce(&other, ret_facts);
    return 1 + (depth > depth_of_other ? depth : depth_of_other);
}

static void test_facts_of_many_ranks_are_the_same_in_any_order(void **state)
{
    (void)state;
    for (seed = 1; seed < 4; seed++) {
        uint64_t mine = seed;
        struct amg_mpi_facts facts;

        assert_true(facts_tree(0, RANKS, &facts) <= 21); /* log2, rounded up */
        assert_int_equal(facts.nodes, NODES);
        assert_int_equal(facts.failed, 1);
        assert_int_equal(facts.is_part, 1);
        assert_int_equal(facts.last_leader, NODES - 1);
        assert_int_equal(facts.leader_count, AMG_MPI_LEADERS);
        for (uint32_t i = 0; i < AMG_MPI_LEADERS; i++)
            assert_int_equal(facts.leaders[i], i);
        assert_true(amg_mpi_facts_is_leader(&facts, AMG_MPI_LEADERS - 1));
        assert_false(amg_mpi_facts_is_leader(&facts, AMG_MPI_LEADERS));
        seed = mine;
    }
}

static void test_facts_of_few_nodes_name_all_leaders(void **state)
{
    struct amg_mpi_facts facts;
    struct amg_mpi_facts other;

    (void)state;
    amg_mpi_facts_init(&facts, 5, true, false, false);
    amg_mpi_facts_init(&other, 9, false, false, false);
    amg_mpi_facts_reduce(&other, &facts);
    amg_mpi_facts_init(&other, 0, true, false, false);
    amg_mpi_facts_reduce(&other, &facts);
    assert_int_equal(facts.nodes, 2);
    assert_int_equal(facts.leader_count, 2);
    assert_int_equal(facts.leaders[0], 0);
    assert_int_equal(facts.leaders[1], 5);
    assert_int_equal(facts.last_leader, 5);
    assert_int_equal(facts.failed, 0);
}

/* The size of nodes of a job whose node i has sizes[i] ranks, one after the
 * other, or, if is_dealt, ranks in turn. */
static uint32_t node_size_of(
    const uint32_t *sizes, uint32_t count, bool is_dealt)
{
    struct amg_mpi_facts facts;
    struct amg_mpi_facts other;
    uint32_t rank = 0;

    for (uint32_t node = 0; node < count; node++)
        for (uint32_t i = 0; i < sizes[node]; i++, rank++) {
            amg_mpi_facts_init(&other, rank, i == 0, false, false);
            amg_mpi_facts_add_node(
                &other, sizes[node], !is_dealt || i == 0, node == count - 1);
            if (rank > 0)
                amg_mpi_facts_reduce(&other, &facts);
            else
                facts = other;
        }
    return amg_mpi_facts_node_size(&facts);
}

static void test_facts_size_of_nodes(void **state)
{
    static const uint32_t even[] = {4, 4, 4, 4};
    static const uint32_t last_shorter[] = {4, 4, 3};
    static const uint32_t last_longer[] = {4, 4, 5};
    static const uint32_t first_shorter[] = {3, 4, 4};
    static const uint32_t middle_shorter[] = {4, 3, 4, 4};
    static const uint32_t ones[] = {1, 1, 1};

    (void)state;
    assert_int_equal(node_size_of(even, 4, false), 4);
    assert_int_equal(node_size_of(even, 2, false), 4);
    assert_int_equal(node_size_of(even, 1, false), 4);
    assert_int_equal(node_size_of(last_shorter, 3, false), 4);
    assert_int_equal(node_size_of(last_longer, 3, false), 0);
    assert_int_equal(node_size_of(first_shorter, 3, false), 0);
    assert_int_equal(node_size_of(middle_shorter, 4, false), 0);
    assert_int_equal(node_size_of(ones, 3, false), 1);
    assert_int_equal(node_size_of(ones, 1, false), 1);
    assert_int_equal(node_size_of(even, 4, true), 0);
}

/* Reduces the greetings of `count` ranks, those of `odd` and above with another
 * library, one at a time in random order. */
static struct amg_mpi_greeting greetings_reduce(uint32_t count, uint32_t odd)
{
    struct amg_mpi_library mine;
    struct amg_mpi_library theirs;
    struct amg_mpi_greeting all;
    uint32_t *order = malloc(count * sizeof(*order));

    assert_non_null(order);
    amg_mpi_library_fill(0, &mine);
    theirs = mine;
    theirs.layout++;
    strcpy(theirs.version, "9.9.9");
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count - 1; i > 0; i--) {
        uint32_t k = (uint32_t)(random_next() % (i + 1));
        uint32_t kept = order[i];

        order[i] = order[k];
        order[k] = kept;
    }
    all = greeting_of(order[0], order[0] < odd ? &mine : &theirs);
    for (uint32_t i = 1; i < count; i++) {
        struct amg_mpi_greeting one =
            greeting_of(order[i], order[i] < odd ? &mine : &theirs);

        amg_mpi_greeting_reduce(&one, &all);
    }
    free(order);
    return all;
}

static void test_greeting_of_one_version_fits(void **state)
{
    struct amg_mpi_greeting all;
    char text[400] = "untouched";

    (void)state;
    seed = 7;
    all = greetings_reduce(100000, UINT32_MAX);
    assert_true(amg_mpi_greeting_fits(&all, text, sizeof(text)));
    assert_string_equal(text, "untouched");
    assert_int_equal(all.first.rank, 0);
    assert_int_equal(all.nonce, 100);
    assert_int_equal(all.message_len, 4090);
    assert_int_equal(all.credits, 64);
    assert_int_equal(all.max_kib, 1000);
    assert_int_equal(all.protocol, ~all.inverse);
}

static void test_greeting_names_lowest_ranks_of_two_versions(void **state)
{
    (void)state;
    seed = 9;
    for (uint32_t odd = 1; odd < 40; odd += 3) {
        struct amg_mpi_greeting all = greetings_reduce(1000, odd);
        char wanted[64];
        char text[400];

        assert_false(amg_mpi_greeting_fits(&all, text, sizeof(text)));
        assert_int_equal(all.first.rank, 0);
        assert_int_equal(all.other.rank, odd);
        snprintf(wanted, sizeof(wanted), "and rank %u on ", odd);
        assert_non_null(strstr(text, wanted));
        assert_non_null(strstr(text, "has 9.9.9"));
        assert_non_null(strstr(text, "rank 0 on "));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts_of_many_ranks_are_the_same_in_any_order),
        cmocka_unit_test(test_facts_of_few_nodes_name_all_leaders),
        cmocka_unit_test(test_facts_size_of_nodes),
        cmocka_unit_test(test_greeting_of_one_version_fits),
        cmocka_unit_test(test_greeting_names_lowest_ranks_of_two_versions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
