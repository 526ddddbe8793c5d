/* SPDX-License-Identifier: BSD-3-Clause */
/* Protocol of the disconnect: jobs of every small size with messages in random
 * order; a sender that violates it; answers that come late. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "scale/tree_world.h"

enum {
    SIZES = 120,
    SEEDS = 20,
    LAST =
        3 * AMG_MPI_TREE_CHILDREN, /* of a job in which rank 1 has children */
};

/* Every rank but rank 0 is a child of its parent, and each subtree is whole. */
static void test_tree_ranks_form_one_tree(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= SIZES; size++) {
        struct world world;

        world_open(&world, size, 1, size);
        for (uint32_t i = 0; i < size; i++) {
            const struct amg_mpi_tree *tree = &world.ranks[i].tree;
            uint32_t below = 0;

            assert_int_equal(tree->rank, i);
            assert_true(i == 0 || tree->parent < i);
            for (uint32_t j = i; j < size; j++) {
                uint32_t at = j;

                while (at > i)
                    at = world.ranks[at].tree.parent;
                below += at == i;
            }
            assert_int_equal(tree->count, below);
        }
        world_close(&world);
    }
}

static void test_tree_all_close_and_end(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= SIZES; size++)
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct world world;

            world_open(&world, size, 1, seed);
            world_run(&world);
            assert_int_equal(world_waiting(&world), 0);
            assert_int_equal(world.count, 0);
            assert_int_equal(world.phases, 1);
            assert_true(
                world_messages(&world) <= 4 * (AMG_MPI_TREE_CHILDREN + 1));
            for (uint32_t i = 0; i < size; i++)
                assert_false(world.ranks[i].tree.is_broken);
            world_close(&world);
        }
}

/* Calls of handlers while the ranks close take further phases, and the first
 * phase without any is the last. */
static void test_tree_calls_while_closing_repeat_the_phase(void **state)
{
    enum { UNTIL = 7 };

    (void)state;
    for (uint32_t size = 1; size <= SIZES; size++) {
        struct world world;
        uint64_t posted = 0;

        world_open(&world, size, 1, size);
        world.calls_until = UNTIL;
        world_run(&world);
        assert_int_equal(world_waiting(&world), 0);
        assert_int_equal(world.count, 0);
        for (uint32_t i = 0; i < size; i++) {
            assert_int_equal(world.ranks[i].tree.posted, world.ranks[i].posted);
            posted += world.ranks[i].posted;
        }
        assert_true(world.phases >= 1 && world.phases <= UNTIL);
        assert_true(posted == 0 || world.phases > 1);
        world_close(&world);
    }
}

/* A rank that closed in the phase before made a call: rank 0 does not end. */
static void test_tree_dirty_phase_is_not_the_last(void **state)
{
    struct amg_mpi_tree_message message = {
        .rank = 1, .kind = AMG_MPI_DISCONNECT};
    struct amg_mpi_tree tree;

    (void)state;
    amg_mpi_tree_init(&tree, 0, 2);
    for (uint32_t phase = 0; phase < 3; phase++) {
        message.round = phase << 1 | (phase < 2);
        amg_mpi_tree_close(&tree, phase >= 1);
        assert_true(amg_mpi_tree_receive(&tree, &message, 0));
        assert_int_equal(tree.is_over, phase == 2);
        assert_false(amg_mpi_tree_receive(&tree, &message, 0));
    }
    assert_false(tree.is_broken);
}

/* A rank that was closing and has given up is not waited for: not in the phase
 * that follows, nor in one that has begun. */
static void test_tree_rank_that_gave_up_is_not_waited_for(void **state)
{
    (void)state;
    for (unsigned early = 0; early < 2; early++) {
        const struct amg_mpi_tree_message told = {
            .rank = 1, .kind = AMG_MPI_DISCONNECT};
        struct amg_mpi_tree_message message = {
            .rank = 1, .kind = AMG_MPI_DISCONNECT, .round = AMG_MPI_TREE_GONE};
        struct amg_mpi_tree tree;

        amg_mpi_tree_init(&tree, 0, 2);
        assert_true(amg_mpi_tree_receive(&tree, &told, 0));
        if (early)
            assert_true(amg_mpi_tree_receive(&tree, &message, 0));
        amg_mpi_tree_close(&tree, 0);
        assert_int_equal(tree.phase, 1);
        if (!early)
            assert_true(amg_mpi_tree_receive(&tree, &message, 0));
        assert_false(amg_mpi_tree_receive(&tree, &message, 0));
        assert_false(tree.is_over);
        amg_mpi_tree_close(&tree, 0);
        assert_true(tree.is_over && !tree.is_broken);
    }
}

/* Nobody ends before the last rank closes, whoever that is; it is named. */
static void test_tree_late_rank_is_named_and_waited_for(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= SIZES; size++) {
        const struct amg_mpi_missing *missing = NULL;
        struct world world;
        uint32_t late = 0;

        world_open(&world, size, 1, size);
        late = world_random(&world, size);
        world.ranks[late].state = WORLD_LATE;
        world_run(&world);
        assert_int_equal(world_waiting(&world), size);
        world_ask(&world);
        assert_true(amg_mpi_tree_is_answered(&world.ranks[0].tree));
        assert_false(amg_mpi_tree_is_answered(&world.ranks[0].tree));
        missing = &world.ranks[0].tree.missing;
        assert_int_equal(missing->count, 1);
        assert_int_equal(missing->ranks[0], late);
        world.ranks[late].state = WORLD_GOOD;
        world_run(&world);
        assert_int_equal(world_waiting(&world), 0);
        world_close(&world);
    }
}

/* Whichever rank is dead, the others learn it and end; with rank 0 dead, by
 * their own clocks. */
static void test_tree_dead_rank_is_survived(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= SIZES; size++) {
        struct world world;
        uint32_t dead = 0;

        world_open(&world, size, 1, size);
        dead = world_random(&world, size);
        world.ranks[dead].state = WORLD_DEAD;
        world_run(&world);
        if (dead != 0)
            world_ask(&world);
        world_give_up(&world);
        assert_int_equal(world_waiting(&world), 0);
        for (uint32_t i = 0; i < size; i++) {
            const struct amg_mpi_tree *tree = &world.ranks[i].tree;

            if (i == dead)
                continue;
            assert_true(tree->is_broken);
            assert_int_equal(tree->missing.count, dead != 0 ? 1 : 0);
            assert_true(dead == 0 || tree->missing.ranks[0] == dead);
        }
        world_close(&world);
    }
}

static bool receive(
    struct amg_mpi_tree *tree, enum amg_mpi_kind kind, uint32_t from)
{
    const struct amg_mpi_tree_message message = {.rank = from, .kind = kind};

    return amg_mpi_tree_receive(tree, &message, 0);
}

static void test_tree_wrong_sender_is_refused(void **state)
{
    struct amg_mpi_tree tree;
    struct amg_mpi_tree_message message;

    (void)state;
    amg_mpi_tree_init(&tree, 1, LAST + 1);
    assert_int_equal(tree.parent, 0);
    assert_false(receive(&tree, AMG_MPI_DISCONNECT, 0));
    assert_false(receive(&tree, AMG_MPI_DISCONNECT, 1));
    assert_false(receive(&tree, AMG_MPI_DISCONNECT, LAST));
    assert_false(receive(&tree, AMG_MPI_DISCONNECT_ASK, 2));
    assert_false(receive(&tree, AMG_MPI_DISCONNECT_MISSING, 0));
    assert_false(receive(&tree, AMG_MPI_DISCONNECT_ALL, 2));
    assert_false(receive(&tree, AMG_MPI_DISCONNECT_ALL, 0)); /* it is open */
    assert_false(receive(&tree, AMG_MPI_REQUEST, 0));
    assert_false(amg_mpi_tree_next(&tree, &message));
    assert_true(receive(&tree, AMG_MPI_DISCONNECT, 2));
    assert_false(receive(&tree, AMG_MPI_DISCONNECT, 2)); /* again */
}

/* An answer to an older question, or after its time, changes nothing. */
static void test_tree_late_answer_is_ignored(void **state)
{
    struct amg_mpi_tree_message late = {.rank = 1,
        .kind = AMG_MPI_DISCONNECT_MISSING,
        .missing = {.count = 1, .ranks = {1}}};
    struct amg_mpi_tree_message message;
    struct amg_mpi_tree tree;

    (void)state;
    amg_mpi_tree_init(&tree, 0, LAST + 1);
    amg_mpi_tree_close(&tree, 0);
    amg_mpi_tree_ask(&tree, 0);
    for (uint32_t i = 0; i < AMG_MPI_TREE_CHILDREN; i++) {
        assert_true(amg_mpi_tree_next(&tree, &message));
        assert_int_equal(message.kind, AMG_MPI_DISCONNECT_ASK);
    }
    assert_false(amg_mpi_tree_next(&tree, &message));
    late.round = message.round - 1;
    assert_true(amg_mpi_tree_receive(&tree, &late, 0));
    assert_int_equal(tree.missing.count, 0);
    amg_mpi_tree_look(&tree, amg_mpi_tree_answer_ms(&tree) * AMG_NS_PER_MS - 1);
    assert_false(amg_mpi_tree_is_answered(&tree));
    amg_mpi_tree_look(&tree, amg_mpi_tree_answer_ms(&tree) * AMG_NS_PER_MS);
    assert_true(amg_mpi_tree_is_answered(&tree));
    assert_int_equal(tree.missing.count, AMG_MPI_TREE_CHILDREN);
    assert_int_equal(tree.missing.unasked, LAST - AMG_MPI_TREE_CHILDREN);
    late.round = message.round;
    assert_true(amg_mpi_tree_receive(&tree, &late, 0));
    assert_int_equal(tree.missing.count, AMG_MPI_TREE_CHILDREN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_ranks_form_one_tree),
        cmocka_unit_test(test_tree_all_close_and_end),
        cmocka_unit_test(test_tree_calls_while_closing_repeat_the_phase),
        cmocka_unit_test(test_tree_dirty_phase_is_not_the_last),
        cmocka_unit_test(test_tree_rank_that_gave_up_is_not_waited_for),
        cmocka_unit_test(test_tree_late_rank_is_named_and_waited_for),
        cmocka_unit_test(test_tree_dead_rank_is_survived),
        cmocka_unit_test(test_tree_wrong_sender_is_refused),
        cmocka_unit_test(test_tree_late_answer_is_ignored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
