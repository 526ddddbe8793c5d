/* SPDX-License-Identifier: BSD-3-Clause */
/* Trees of ranks: which ranks a rank passes a message on to. */
#include "transport/tree.h"

#include <stddef.h>

#include "base/assert.h"

uint32_t amg_tree_rank(const struct amg_tree *tree, uint32_t position)
{
    if (tree->ranks != NULL)
        return tree->ranks[position - tree->list_first];
    return tree->base + position * tree->stride;
}

static uint32_t node_of(const struct amg_tree *tree, uint32_t rank)
{
    return tree->node_size == 0 ? 0 : rank / tree->node_size;
}

uint32_t amg_tree_count_below(
    const struct amg_tree *tree, struct amg_tree_part part, uint32_t rank)
{
    uint32_t low = 0;
    uint32_t high = part.count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (amg_tree_rank(tree, part.first + middle) < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct amg_tree_part take_first(
    struct amg_tree_part *rest, uint32_t count)
{
    struct amg_tree_part taken = {rest->first, count};

    AMG_ASSERT(count <= rest->count);
    rest->first += count;
    rest->count -= count;
    return taken;
}

static struct amg_tree_part take_last(
    struct amg_tree_part *rest, uint32_t count)
{
    AMG_ASSERT(count <= rest->count);
    rest->count -= count;
    return (struct amg_tree_part){rest->first + rest->count, count};
}

struct amg_tree_walk amg_tree_walk_begin(const struct amg_tree *tree,
    struct amg_tree_part part, uint32_t rank, uint32_t self)
{
    struct amg_tree_walk walk = {
        .rest = part, .home = node_of(tree, rank), .self = self};

    if (part.count == 0)
        return walk;
    walk.low = node_of(tree, amg_tree_rank(tree, part.first));
    walk.high = node_of(tree, amg_tree_rank(tree, part.first + part.count - 1));
    return walk;
}

/* Takes the half of the nodes that does not have the walk's own node, until
 * that node is left; false: no other node is left. */
static bool next_node(const struct amg_tree *tree, struct amg_tree_walk *walk,
    struct amg_tree_part *ret_part)
{
    while (walk->low < walk->high) {
        uint32_t middle = walk->low + (walk->high - walk->low) / 2;
        uint32_t lower = amg_tree_count_below(
            tree, walk->rest, (middle + 1) * tree->node_size);
        struct amg_tree_part part;

        if (walk->home <= middle) {
            part = take_last(&walk->rest, walk->rest.count - lower);
            walk->high = middle;
        } else {
            part = take_first(&walk->rest, lower);
            walk->low = middle + 1;
        }
        if (part.count > 0) {
            *ret_part = part;
            return true;
        }
    }
    if (walk->low == walk->home || walk->rest.count == 0)
        return false;
    *ret_part = take_first(&walk->rest, walk->rest.count);
    return true;
}

/* Cuts what is left and right of the walk's own position. */
static bool next_in_node(const struct amg_tree *tree,
    struct amg_tree_walk *walk, struct amg_tree_part *ret_part)
{
    struct amg_tree_part *rest = &walk->rest;
    uint32_t before =
        walk->self - rest->first; /* not in `rest`: >= its count */

    if (walk->cut == 0)
        walk->cut = amg_tree_cut_len(
            rest->count + (before >= rest->count), tree->width);
    if (before == 0 && rest->count > 0) {
        take_first(rest, 1);
        before = AMG_TREE_NOWHERE;
    }
    if (before > rest->count)
        before = rest->count;
    if (before == 0)
        return false;
    *ret_part = take_first(rest, before < walk->cut ? before : walk->cut);
    return true;
}

bool amg_tree_walk_next(const struct amg_tree *tree, struct amg_tree_walk *walk,
    struct amg_tree_part *ret_part)
{
    return next_node(tree, walk, ret_part) ||
           next_in_node(tree, walk, ret_part);
}

struct amg_tree_part amg_tree_find(const struct amg_tree *tree,
    struct amg_tree_part part, uint32_t position, uint32_t *ret_parent)
{
    uint32_t parent = amg_tree_rank(tree, part.first);

    AMG_ASSERT(position - part.first < part.count);
    while (part.first != position) {
        struct amg_tree_walk walk;

        parent = amg_tree_rank(tree, part.first);
        walk = amg_tree_walk_begin(tree, part, parent, part.first);
        do {
            bool has_child = amg_tree_walk_next(tree, &walk, &part);

            AMG_ASSERT(has_child);
            (void)has_child;
        } while (position - part.first >= part.count);
    }
    *ret_parent = parent;
    return part;
}

unsigned amg_tree_height(const struct amg_tree *tree, struct amg_tree_part part)
{
    struct amg_tree_walk walk = amg_tree_walk_begin(tree, part, 0, 0);
    unsigned height = 0;

    for (uint32_t nodes = walk.high - walk.low + 1; nodes > 1; nodes /= 2)
        height++;
    if (tree->node_size > 0 && part.count > tree->node_size)
        part.count = tree->node_size;
    return height + amg_tree_cut_height(part.count, tree->width);
}
