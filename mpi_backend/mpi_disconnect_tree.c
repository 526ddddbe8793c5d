/* SPDX-License-Identifier: BSD-3-Clause */
/* Protocol of the collective disconnect, as a state machine of one rank. */
#include "mpi_backend/mpi_disconnect_tree.h"

#include "base/assert.h"
#include "base/clock.h"
#include "transport/tree.h"

static_assert(AMG_MPI_TREE_CHILDREN <= 8, "a byte has a bit for each child");

/* Shape of the tree: positions are ranks, and nodes do not count. */
static const struct amg_tree shape = {
    .stride = 1, .width = AMG_MPI_TREE_CHILDREN};

/* Ranks per child in a subtree of `count`; the last child may have fewer. */
static uint32_t part_of(uint32_t count)
{
    return amg_tree_cut_len(count, AMG_MPI_TREE_CHILDREN);
}

static unsigned children_of(uint32_t count)
{
    return count == 1 ? 0 : (count - 1 + part_of(count) - 1) / part_of(count);
}

/* The subtree whose root is `rank`, a rank of the subtree `from`. */
static struct amg_tree_part subtree_of(struct amg_tree_part from, uint32_t rank)
{
    uint32_t parent;

    return amg_tree_find(&shape, from, rank, &parent);
}

static struct amg_tree_part own_subtree(const struct amg_mpi_tree *tree)
{
    return (struct amg_tree_part){tree->rank, tree->count};
}

static struct amg_tree_part child_at(
    const struct amg_mpi_tree *tree, unsigned index)
{
    AMG_ASSERT(index < children_of(tree->count));
    return subtree_of(
        own_subtree(tree), tree->rank + 1 + index * part_of(tree->count));
}

/* The bit of a child; 0: `rank` is no child. */
static uint8_t child_bit(const struct amg_mpi_tree *tree, uint32_t rank)
{
    uint32_t after = rank - tree->rank - 1;

    if (rank <= tree->rank || rank >= tree->rank + tree->count ||
        after % part_of(tree->count) != 0)
        return 0;
    return (uint8_t)(1u << after / part_of(tree->count));
}

static uint8_t all_children(const struct amg_mpi_tree *tree)
{
    return (uint8_t)((1u << children_of(tree->count)) - 1);
}

static bool is_whole(const struct amg_mpi_tree *tree)
{
    return tree->is_closing && tree->closing == all_children(tree);
}

static void outcome_set(
    struct amg_mpi_tree *tree, const struct amg_mpi_missing *missing)
{
    AMG_ASSERT(!tree->is_over);
    tree->missing = *missing;
    tree->is_over = true;
    tree->is_broken = missing->count > 0;
    tree->has_told = true;
    tree->is_asking = false;
    tree->asked = 0;
    tree->to_ask = 0;
    tree->to_repeat = 0;
    tree->down_next = tree->rank + 1;
}

static void phase_begin(struct amg_mpi_tree *tree)
{
    AMG_ASSERT(!tree->is_over && is_whole(tree));
    tree->phase++;
    tree->closing = tree->gone;
    tree->is_closing = false;
    tree->is_dirty = false;
    tree->has_told = tree->rank == 0;
    tree->to_repeat = all_children(tree) & (uint8_t)~tree->gone;
}

/* If the whole subtree is closing, rank 0 ends the disconnect or the phase. Any
 * other rank then sends DISCONNECT, which also answers an open question. */
static void whole_check(struct amg_mpi_tree *tree)
{
    static const struct amg_mpi_missing nobody;

    if (tree->is_over || !is_whole(tree))
        return;
    tree->is_asking = false;
    if (tree->rank != 0)
        return;
    if (tree->phase > 0 && !tree->is_dirty)
        outcome_set(tree, &nobody);
    else
        phase_begin(tree);
}

static uint32_t named_count(const struct amg_mpi_missing *missing)
{
    return missing->count < AMG_MPI_NAMED_MAX ? missing->count
                                              : AMG_MPI_NAMED_MAX;
}

/* Counts a missing rank; the lowest ranks are named, in order. */
static void missing_add(struct amg_mpi_missing *missing, uint32_t rank)
{
    uint32_t *ranks = missing->ranks;
    uint32_t at = named_count(missing);

    missing->count++;
    if (at == AMG_MPI_NAMED_MAX && ranks[--at] < rank)
        return;
    for (; at > 0 && ranks[at - 1] > rank; at--)
        ranks[at] = ranks[at - 1];
    ranks[at] = rank;
}

static void missing_merge(
    struct amg_mpi_missing *missing, const struct amg_mpi_missing *more)
{
    uint32_t named = named_count(more);

    for (uint32_t i = 0; i < named; i++)
        missing_add(missing, more->ranks[i]);
    missing->count += more->count - named;
    missing->unasked += more->unasked;
}

static bool is_named(const struct amg_mpi_missing *missing, uint32_t rank)
{
    for (uint32_t i = 0; i < named_count(missing); i++)
        if (missing->ranks[i] == rank)
            return true;
    return false;
}

/* The longest time until a subtree of `count` ranks has answered. */
static unsigned answer_ms(uint32_t count)
{
    return amg_tree_cut_height(count, AMG_MPI_TREE_CHILDREN) *
           AMG_MPI_TREE_ANSWER_MS;
}

static void question_begin(
    struct amg_mpi_tree *tree, uint32_t round, uint64_t now_ns)
{
    AMG_ASSERT(!tree->is_over && !is_whole(tree));
    tree->round = round;
    tree->is_asking = true;
    tree->to_ask = all_children(tree) & (uint8_t)~tree->closing;
    tree->asked = tree->to_ask;
    tree->until_ns = now_ns + (uint64_t)answer_ms(tree->count) * AMG_NS_PER_MS;
    tree->missing = (struct amg_mpi_missing){.count = 0};
    if (!tree->is_closing)
        missing_add(&tree->missing, tree->rank);
}

void amg_mpi_tree_init(struct amg_mpi_tree *tree, uint32_t rank, uint32_t size)
{
    struct amg_tree_part all = {0, size};
    struct amg_tree_part own;
    uint32_t parent;

    own = amg_tree_find(&shape, all, rank, &parent);
    *tree = (struct amg_mpi_tree){.rank = rank,
        .size = size,
        .parent = parent,
        .count = own.count,
        .down_next = rank + own.count,
        .has_told = rank == 0};
}

void amg_mpi_tree_close(struct amg_mpi_tree *tree, uint32_t posted)
{
    AMG_ASSERT(!tree->is_over && !tree->is_closing);
    tree->is_dirty = tree->is_dirty || posted != tree->posted;
    tree->posted = posted;
    tree->is_closing = true;
    whole_check(tree);
}

static void on_answer(
    struct amg_mpi_tree *tree, const struct amg_mpi_tree_message *message)
{
    uint8_t bit = child_bit(tree, message->rank);

    if (message->round != tree->round || (tree->asked & bit) == 0)
        return; /* an answer that comes too late */
    tree->asked &= (uint8_t)~bit;
    missing_merge(&tree->missing, &message->missing);
}

/* False: the message violates the protocol. */
static bool on_closing(
    struct amg_mpi_tree *tree, const struct amg_mpi_tree_message *message)
{
    uint8_t bit = child_bit(tree, message->rank);
    bool is_gone = message->round == AMG_MPI_TREE_GONE;

    if (bit == 0 || ((is_gone ? tree->gone : tree->closing) & bit) != 0 ||
        (!is_gone && message->round >> 1 != tree->phase && !tree->is_over))
        return false;
    tree->closing |= bit;
    tree->gone |= is_gone ? bit : 0;
    tree->to_repeat &= (uint8_t)~tree->gone;
    tree->asked &= (uint8_t)~bit;
    tree->to_ask &= (uint8_t)~bit;
    tree->is_dirty = tree->is_dirty || (!is_gone && (message->round & 1) != 0);
    whole_check(tree);
    return true;
}

static bool on_phase(
    struct amg_mpi_tree *tree, const struct amg_mpi_tree_message *message)
{
    if (message->rank != tree->parent || tree->rank == 0)
        return false;
    if (tree->is_over)
        return true;
    if (!tree->has_told || message->round != tree->phase + 1)
        return false;
    phase_begin(tree);
    return true;
}

static bool is_above(const struct amg_mpi_tree *tree, uint32_t rank)
{
    struct amg_tree_part all = {0, tree->size};

    return rank < tree->rank && tree->rank - rank < subtree_of(all, rank).count;
}

bool amg_mpi_tree_receive(struct amg_mpi_tree *tree,
    const struct amg_mpi_tree_message *message, uint64_t now_ns)
{
    uint8_t bit = child_bit(tree, message->rank);

    switch (message->kind) {
    case AMG_MPI_DISCONNECT:
        return on_closing(tree, message);
    case AMG_MPI_DISCONNECT_AGAIN:
        return on_phase(tree, message);
    case AMG_MPI_DISCONNECT_ALL:
        if (!is_above(tree, message->rank) ||
            (message->missing.count == 0 && !tree->has_told))
            return false;
        if (!tree->is_over)
            outcome_set(tree, &message->missing);
        return true;
    case AMG_MPI_DISCONNECT_ASK:
        if (message->rank != tree->parent || tree->rank == 0)
            return false;
        if (!tree->is_over && !is_whole(tree))
            question_begin(tree, message->round, now_ns);
        return true;
    case AMG_MPI_DISCONNECT_MISSING:
        if (bit != 0)
            on_answer(tree, message);
        return bit != 0;
    default:
        return false;
    }
}

void amg_mpi_tree_ask(struct amg_mpi_tree *tree, uint64_t now_ns)
{
    AMG_ASSERT(tree->rank == 0);
    if (!tree->is_over && !tree->is_asking)
        question_begin(tree, tree->round + 1, now_ns);
}

void amg_mpi_tree_look(struct amg_mpi_tree *tree, uint64_t now_ns)
{
    if (!tree->is_asking || now_ns < tree->until_ns)
        return;
    for (unsigned i = 0; tree->asked >> i != 0; i++) {
        struct amg_tree_part child = child_at(tree, i);

        if ((tree->asked >> i & 1) == 0)
            continue;
        missing_add(&tree->missing, child.first);
        tree->missing.unasked += child.count - 1;
    }
    tree->asked = 0;
    tree->to_ask = 0;
}

bool amg_mpi_tree_is_answered(struct amg_mpi_tree *tree)
{
    if (tree->rank != 0 || !tree->is_asking || tree->asked != 0)
        return false;
    tree->is_asking = false;
    return true;
}

void amg_mpi_tree_give_up(struct amg_mpi_tree *tree)
{
    struct amg_mpi_missing missing = {.count = 0};

    tree->is_closing = true;
    if (tree->is_over)
        return;
    if (tree->rank == 0 && is_whole(tree)) {
        outcome_set(tree, &missing);
        return;
    }
    if (tree->rank == 0) {
        if (!tree->is_asking)
            question_begin(tree, tree->round + 1, 0);
        amg_mpi_tree_look(tree, UINT64_MAX);
        missing = tree->missing;
        AMG_ASSERT(missing.count > 0);
        outcome_set(tree, &missing);
        return;
    }
    tree->is_asking = false;
    tree->asked = 0;
    tree->to_ask = 0;
    tree->to_repeat = 0;
    tree->is_over = true;
    tree->is_broken = true;
    tree->has_told = false;
}

/* The next rank that gets DISCONNECT_ALL; false: none is left. */
static bool down_next(struct amg_mpi_tree *tree, uint32_t *ret_rank)
{
    uint32_t end = tree->rank + tree->count;

    while (tree->down_next < end && is_named(&tree->missing, tree->down_next))
        tree->down_next++; /* skips the named rank, not the ranks below */
    if (tree->down_next == end)
        return false;
    AMG_ASSERT(tree->down_next < end);
    *ret_rank = tree->down_next;
    tree->down_next += subtree_of(own_subtree(tree), *ret_rank).count;
    return true;
}

/* Takes the next child out of a set; false: there is none. */
static bool child_next(
    const struct amg_mpi_tree *tree, uint8_t *children, uint32_t *ret_rank)
{
    unsigned index = 0;

    if (*children == 0)
        return false;
    while ((*children >> index & 1) == 0)
        index++;
    *children &= (uint8_t) ~(1u << index);
    *ret_rank = child_at(tree, index).first;
    return true;
}

bool amg_mpi_tree_next(
    struct amg_mpi_tree *tree, struct amg_mpi_tree_message *ret_message)
{
    struct amg_mpi_tree_message message = {
        .rank = tree->parent, .round = tree->round, .missing = tree->missing};

    if (child_next(tree, &tree->to_repeat, &message.rank)) {
        message.kind = AMG_MPI_DISCONNECT_AGAIN;
        message.round = tree->phase;
    } else if (!tree->has_told && is_whole(tree)) {
        tree->has_told = true;
        message.kind = AMG_MPI_DISCONNECT;
        message.round = tree->is_broken ? AMG_MPI_TREE_GONE
                                        : tree->phase << 1 | tree->is_dirty;
    } else if (child_next(tree, &tree->to_ask, &message.rank)) {
        message.kind = AMG_MPI_DISCONNECT_ASK;
    } else if (tree->rank != 0 && tree->is_asking && tree->asked == 0) {
        tree->is_asking = false;
        message.kind = AMG_MPI_DISCONNECT_MISSING;
    } else if (tree->is_over && down_next(tree, &message.rank)) {
        message.kind = AMG_MPI_DISCONNECT_ALL;
    } else {
        return false;
    }
    *ret_message = message;
    return true;
}

unsigned amg_mpi_tree_answer_ms(const struct amg_mpi_tree *tree)
{
    return answer_ms(tree->size);
}
