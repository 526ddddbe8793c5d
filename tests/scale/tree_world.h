/* SPDX-License-Identifier: BSD-3-Clause */
/* All ranks of a job in one process, for the protocol of the disconnect: the
 * messages between them are delivered in any order. */
#ifndef TESTS_SCALE_TREE_WORLD_H
#define TESTS_SCALE_TREE_WORLD_H

#include "mpi_backend/mpi_disconnect_tree.h"

/* Ends the program: `expr` is false. */
#define WORLD_CHECK(expr)                                                      \
    ((expr) ? (void)0 : world_fail(__FILE__, __LINE__, #expr))

struct world_message;

enum world_state {
    WORLD_GOOD,
    WORLD_LATE, /* does not close yet, but takes messages */
    WORLD_BUSY, /* does neither yet */
    WORLD_DEAD, /* never does */
};

struct world_rank {
    struct amg_mpi_tree tree;
    uint8_t state;     /* enum world_state */
    uint16_t messages; /* sent or received */
    uint64_t posted;   /* calls that its handlers have made */
};

struct world {
    uint32_t size;
    uint32_t node_size; /* ranks that follow each other are on one node */
    uint64_t random;
    uint64_t now_ns;
    struct world_rank *ranks;
    struct world_message *bag; /* on their way, unordered */
    uint32_t count;
    uint32_t cap;
    uint32_t *order;        /* the ranks, in the order of their closing */
    uint64_t between_nodes; /* messages */
    /* Before this phase the handlers of some ranks make calls. */
    uint32_t calls_until;
    uint32_t phases; /* the last one */
};

void world_fail(const char *file, int line, const char *what);
void world_open(
    struct world *world, uint32_t size, uint32_t node_size, uint64_t seed);
void world_close(struct world *world);
uint32_t world_random(struct world *world, uint32_t below);

/* All good ranks close, in a random order, in between messages
 * arrive. Until nothing moves. */
void world_run(struct world *world);
/* Rank 0 asks which ranks are missing, and time passes until it knows. */
void world_ask(struct world *world);
/* The living ranks give up, rank 0 first. */
void world_give_up(struct world *world);

/* Ranks that live and whose disconnect is not over. */
uint32_t world_waiting(const struct world *world);
/* The most messages of a rank. */
uint32_t world_messages(const struct world *world);
/* Levels of the tree below rank 0. */
uint32_t world_depth(const struct world *world);
static inline bool world_is_silent(const struct world *world, uint32_t rank)
{
    return world->ranks[rank].state >= WORLD_BUSY;
}
/* Is a silent rank between rank 0 and this one? */
bool world_is_cut_off(const struct world *world, uint32_t rank);

#endif
