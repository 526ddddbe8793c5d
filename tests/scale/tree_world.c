/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks of a job in one process, for the protocol of the disconnect. */
#include "scale/tree_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { BURST = 8 }; /* messages that arrive between two ranks' closing */

struct world_message {
    uint32_t from;
    uint32_t to;
    uint32_t round;
    uint32_t kind;
    struct amg_mpi_missing *missing; /* NULL: nobody */
};

void world_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    exit(EXIT_FAILURE);
}

static void *room_make(size_t count, size_t len)
{
    void *room = calloc(count, len);

    WORLD_CHECK(room != NULL);
    return room;
}

/* xorshift64 (Marsaglia 2003) */
uint32_t world_random(struct world *world, uint32_t below)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return (uint32_t)((world->random >> 32) * below >> 32);
}

void world_open(
    struct world *world, uint32_t size, uint32_t node_size, uint64_t seed)
{
    *world = (struct world){.size = size,
        .node_size = node_size,
        .random = seed * 0x9e3779b97f4a7c15ull + 1,
        .ranks = room_make(size, sizeof(struct world_rank)),
        .order = room_make(size, sizeof(uint32_t))};
    for (uint32_t i = 0; i < size; i++) {
        amg_mpi_tree_init(&world->ranks[i].tree, i, size);
        world->order[i] = i;
    }
}

void world_close(struct world *world)
{
    for (uint32_t i = 0; i < world->count; i++)
        free(world->bag[i].missing);
    free(world->bag);
    free(world->ranks);
    free(world->order);
}

static void message_add(struct world *world, uint32_t from,
    const struct amg_mpi_tree_message *message)
{
    struct world_message *slot = NULL;

    WORLD_CHECK(message->rank < world->size && message->rank != from);
    if (world->count == world->cap) {
        world->cap = world->cap == 0 ? 1024 : world->cap * 2;
        world->bag = realloc(world->bag, world->cap * sizeof(*world->bag));
        WORLD_CHECK(world->bag != NULL);
    }
    slot = &world->bag[world->count++];
    *slot = (struct world_message){
        from, message->rank, message->round, message->kind, NULL};
    if (message->missing.count > 0 &&
        (message->kind == AMG_MPI_DISCONNECT_ALL ||
            message->kind == AMG_MPI_DISCONNECT_MISSING)) {
        slot->missing = room_make(1, sizeof(*slot->missing));
        *slot->missing = message->missing;
    }
    world->ranks[from].messages++;
    world->between_nodes +=
        from / world->node_size != message->rank / world->node_size;
}

/* The rank sends what it has to send. */
static void rank_move(struct world *world, uint32_t rank)
{
    struct amg_mpi_tree *tree = &world->ranks[rank].tree;
    struct amg_mpi_tree_message message;

    while (amg_mpi_tree_next(tree, &message))
        message_add(world, rank, &message);
    if (world->ranks[rank].state != WORLD_GOOD || tree->phase == 0 ||
        tree->is_closing || tree->is_over)
        return;
    world->phases = tree->phase > world->phases ? tree->phase : world->phases;
    world->ranks[rank].posted += tree->phase < world->calls_until &&
                                 world_random(world, world->size) <= 1;
    amg_mpi_tree_close(tree, (uint32_t)world->ranks[rank].posted);
    rank_move(world, rank);
}

static void message_deliver(struct world *world, uint32_t index)
{
    struct world_message taken = world->bag[index];
    struct world_rank *to = &world->ranks[taken.to];
    struct amg_mpi_tree_message message = {
        .rank = taken.from, .round = taken.round, .kind = taken.kind};

    world->bag[index] = world->bag[--world->count];
    if (taken.missing != NULL)
        message.missing = *taken.missing;
    free(taken.missing);
    if (to->state == WORLD_DEAD)
        return;
    to->messages++;
    WORLD_CHECK(amg_mpi_tree_receive(&to->tree, &message, world->now_ns));
    rank_move(world, taken.to);
}

/* Delivers up to `max` messages to those that take them. False: there is none.
 */
static bool messages_deliver(struct world *world, uint32_t max)
{
    uint32_t before = max;

    while (max > 0 && world->count > 0) {
        uint32_t index = world_random(world, world->count);
        uint32_t tries = 0;

        while (tries < world->count &&
               world->ranks[world->bag[index].to].state == WORLD_BUSY) {
            index = (index + 1) % world->count;
            tries++;
        }
        if (tries == world->count)
            break;
        message_deliver(world, index);
        max--;
    }
    return max < before;
}

void world_run(struct world *world)
{
    for (uint32_t i = world->size; i > 1; i--) {
        uint32_t other = world_random(world, i);
        uint32_t rank = world->order[i - 1];

        world->order[i - 1] = world->order[other];
        world->order[other] = rank;
    }
    for (uint32_t i = 0; i < world->size; i++) {
        struct world_rank *rank = &world->ranks[world->order[i]];

        if (rank->state != WORLD_GOOD)
            continue;
        if (!rank->tree.is_closing && !rank->tree.is_over)
            amg_mpi_tree_close(&rank->tree, (uint32_t)rank->posted);
        rank_move(world, world->order[i]);
        (void)messages_deliver(world, world_random(world, BURST));
    }
    while (messages_deliver(world, UINT32_MAX))
        continue;
}

static void time_pass(struct world *world)
{
    world->now_ns += AMG_MPI_TREE_ANSWER_MS * AMG_NS_PER_MS;
    for (uint32_t i = 0; i < world->size; i++) {
        struct world_rank *rank = &world->ranks[i];

        if (world_is_silent(world, i) || !rank->tree.is_asking)
            continue;
        amg_mpi_tree_look(&rank->tree, world->now_ns);
        rank_move(world, i);
    }
    while (messages_deliver(world, UINT32_MAX))
        continue;
}

void world_ask(struct world *world)
{
    struct amg_mpi_tree *root = &world->ranks[0].tree;
    unsigned ms = amg_mpi_tree_answer_ms(root);

    amg_mpi_tree_ask(root, world->now_ns);
    rank_move(world, 0);
    while (messages_deliver(world, UINT32_MAX))
        continue;
    for (; ms > 0 && root->asked != 0; ms -= AMG_MPI_TREE_ANSWER_MS)
        time_pass(world);
    WORLD_CHECK(root->asked == 0);
}

void world_give_up(struct world *world)
{
    for (uint32_t i = 0; i < world->size; i++) {
        struct world_rank *rank = &world->ranks[i];

        if (world_is_silent(world, i) || rank->tree.is_over)
            continue;
        amg_mpi_tree_give_up(&rank->tree);
        rank_move(world, i);
        while (messages_deliver(world, UINT32_MAX))
            continue;
    }
}

uint32_t world_waiting(const struct world *world)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < world->size; i++)
        count += world->ranks[i].state != WORLD_DEAD &&
                 !amg_mpi_tree_is_done(&world->ranks[i].tree);
    return count;
}

uint32_t world_messages(const struct world *world)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < world->size; i++)
        if (world->ranks[i].messages > most)
            most = world->ranks[i].messages;
    return most;
}

uint32_t world_depth(const struct world *world)
{
    uint32_t depth = 0;

    for (uint32_t i = 0; i < world->size; i++) {
        uint32_t levels = 0;

        for (uint32_t at = i; at != 0; at = world->ranks[at].tree.parent)
            levels++;
        depth = levels > depth ? levels : depth;
    }
    return depth;
}

bool world_is_cut_off(const struct world *world, uint32_t rank)
{
    while (rank != 0) {
        rank = world->ranks[rank].tree.parent;
        if (world_is_silent(world, rank))
            return true;
    }
    return false;
}
