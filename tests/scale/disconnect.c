/* SPDX-License-Identifier: BSD-3-Clause */
/* Disconnect of all ranks of a large job, in one process: a rank sends and
 * receives at most 3 log2 N messages, also when it is asked once who is
 * missing; the depth is at most 2 log_k N; a rank has at most 128 bytes of
 * state; late ranks are named and waited for; with dead ranks each living one
 * ends, and each dead one is named or counted.
 *
 * disconnect NODES RANKS-OF-A-NODE */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "scale/tree_world.h"

enum {
    STATE_BYTES = 128,
    OUTWARD = 32, /* messages of a node to others, when all close */
    FEW = 10,
    MANY = 200,
};

static uint32_t nodes;
static uint32_t node_size;
static uint32_t size;

static void bounds_check(const struct world *world, const char *what)
{
    uint32_t messages = world_messages(world);
    uint32_t depth = world_depth(world);
    double per_node = (double)world->between_nodes / nodes;

    printf("%-12s %8u ranks on %5u nodes: messages of a rank %2u, depth %u, "
           "bytes %zu, messages of a node to others %.2f\n",
        what, size, nodes, messages, depth, sizeof(struct amg_mpi_tree),
        per_node);
    WORLD_CHECK(messages <= 3 * log2(size));
    WORLD_CHECK(depth <= 2 * log2(size) / log2(AMG_MPI_TREE_CHILDREN));
    WORLD_CHECK(sizeof(struct amg_mpi_tree) <= STATE_BYTES);
}

static void outcome_check(const struct world *world, bool is_broken)
{
    WORLD_CHECK(world_waiting(world) == 0);
    for (uint32_t i = 0; i < size; i++)
        WORLD_CHECK(world->ranks[i].state == WORLD_DEAD ||
                    world->ranks[i].tree.is_broken == is_broken);
}

static void all_close(uint64_t seed)
{
    struct world world;

    world_open(&world, size, node_size, seed);
    world_run(&world);
    outcome_check(&world, false);
    WORLD_CHECK(world.count == 0);
    bounds_check(&world, "all close");
    WORLD_CHECK(world.between_nodes <= (uint64_t)OUTWARD * nodes);
    world_close(&world);
}

/* Marks `count` random ranks, not rank 0. */
static void ranks_mark(
    struct world *world, uint32_t count, enum world_state state)
{
    while (count > 0) {
        uint32_t rank = 1 + world_random(world, size - 1);

        count -= world->ranks[rank].state == WORLD_GOOD;
        world->ranks[rank].state = (uint8_t)state;
    }
}

static void ranks_come(struct world *world)
{
    for (uint32_t i = 0; i < size; i++)
        world->ranks[i].state = WORLD_GOOD;
    world_run(world);
}

/* They make progress, but have not closed: exactly they are named. */
static void late_ones(uint64_t seed, uint32_t count)
{
    struct world world;
    const struct amg_mpi_missing *missing = NULL;

    world_open(&world, size, node_size, seed);
    ranks_mark(&world, count, WORLD_LATE);
    world_run(&world);
    WORLD_CHECK(world_waiting(&world) == size);
    world_ask(&world);
    WORLD_CHECK(amg_mpi_tree_is_answered(&world.ranks[0].tree));
    missing = &world.ranks[0].tree.missing;
    WORLD_CHECK(missing->count == count && missing->unasked == 0);
    for (uint32_t i = 0; i < count && i < AMG_MPI_NAMED_MAX; i++)
        WORLD_CHECK(world.ranks[missing->ranks[i]].state == WORLD_LATE &&
                    (i == 0 || missing->ranks[i - 1] < missing->ranks[i]));
    ranks_come(&world);
    outcome_check(&world, false);
    bounds_check(&world, "late");
    world_close(&world);
}

/* The first of each path from rank 0 are named, what is below them is counted;
 * nobody is lost. */
static void silent_check(const struct world *world)
{
    const struct amg_mpi_missing *missing = &world->ranks[0].tree.missing;
    uint32_t first = 0;
    uint32_t below = 0;

    for (uint32_t i = 0; i < size; i++) {
        bool is_silent = world_is_silent(world, i);
        bool is_cut_off = world_is_cut_off(world, i);

        first += is_silent && !is_cut_off;
        below += is_cut_off;
    }
    WORLD_CHECK(missing->count == first && missing->unasked == below);
    for (uint32_t i = 0; i < first && i < AMG_MPI_NAMED_MAX; i++) {
        WORLD_CHECK(world_is_silent(world, missing->ranks[i]));
        WORLD_CHECK(!world_is_cut_off(world, missing->ranks[i]));
    }
}

/* They compute, take no message, and are told of; then they come. */
static void busy_ones(uint64_t seed, uint32_t count)
{
    struct world world;

    world_open(&world, size, node_size, seed);
    ranks_mark(&world, count, WORLD_BUSY);
    world_run(&world);
    world_ask(&world);
    WORLD_CHECK(amg_mpi_tree_is_answered(&world.ranks[0].tree));
    silent_check(&world);
    ranks_come(&world);
    outcome_check(&world, false);
    WORLD_CHECK(world.count == 0);
    bounds_check(&world, "busy");
    world_close(&world);
}

/* Is a dead rank above it that rank 0 does not name? */
static bool is_alone(const struct world *world, uint32_t rank)
{
    const struct amg_mpi_missing *missing = &world->ranks[0].tree.missing;
    bool is_named = true;

    while (rank != 0 && is_named) {
        rank = world->ranks[rank].tree.parent;
        is_named = world->ranks[rank].state != WORLD_DEAD;
        for (uint32_t i = 0; i < missing->count && i < AMG_MPI_NAMED_MAX; i++)
            is_named = is_named || missing->ranks[i] == rank;
    }
    return !is_named;
}

/* Rank 0 gives up on them: all others end, by its word where it can reach them.
 */
static void dead_ones(uint64_t seed, uint32_t count, uint32_t first)
{
    struct world world;
    uint32_t alone = 0;

    world_open(&world, size, node_size, seed);
    if (first != 0)
        world.ranks[first].state = WORLD_DEAD;
    ranks_mark(&world, count, WORLD_DEAD);
    world_run(&world);
    WORLD_CHECK(!world.ranks[0].tree.is_over);
    world_ask(&world);
    silent_check(&world);
    world_give_up(&world);
    outcome_check(&world, true);
    for (uint32_t i = 0; i < size; i++) {
        bool has_word = world.ranks[i].tree.missing.count > 0;

        if (world.ranks[i].state == WORLD_DEAD)
            continue;
        WORLD_CHECK(has_word || is_alone(&world, i));
        alone += !has_word;
    }
    printf("%u dead, of which rank 0 knows %u; %u others end alone\n",
        count + (first != 0), world.ranks[0].tree.missing.count, alone);
    world_close(&world);
}

int main(int argc, char **argv)
{
    WORLD_CHECK(argc == 3);
    nodes = (uint32_t)strtoul(argv[1], NULL, 10);
    node_size = (uint32_t)strtoul(argv[2], NULL, 10);
    size = nodes * node_size;
    WORLD_CHECK(size > MANY + 2);
    all_close(1);
    late_ones(2, 1);
    late_ones(3, MANY);
    busy_ones(4, FEW);
    dead_ones(5, 1, 0);
    dead_ones(6, FEW, 1);
    dead_ones(7, MANY, 0);
    return EXIT_SUCCESS;
}
