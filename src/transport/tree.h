/* SPDX-License-Identifier: BSD-3-Clause */
/* Trees of ranks: which ranks a rank passes a message on to. Pure functions.
 *
 * The members of a group have positions: the order of their ranks. A part of
 * the tree is a range of positions, and is led by its first member. A rank that
 * passes a message on to a part hands out all members but itself to children,
 * each of which is the leader of a part again:
 *
 *   - Between nodes it halves the interval of the part's nodes, and gives the
 *     half without its own node to the first member there, until its own node
 *     is left. So one message goes to each node, and a leader whose part has
 *     s nodes gives at most s / 2 of them to a child.
 *   - Within its node it cuts the other members into `width` equal ranges.
 *
 * The rank that begins, the root, may be any rank, also one that is no member;
 * all other senders are the first members of their parts. Each message but the
 * root's own therefore goes from a lower to a higher rank, and the ranges stay
 * ranges: outputs can be folded in the order of ranks.
 *
 * With N ranks on M nodes of P ranks, for any root: the depth is at most
 * 1 + log2(M) + log_width(P), and a rank sends and receives at most
 * 2 (log2(M) + width + 2) messages for a request and its answer. For 10,000
 * nodes of 128 ranks, and a width of 5: 16 levels and 40 messages.
 *
 * A tree without nodes is a cut alone: ranks `first + 1` and above, in at most
 * `width` equal ranges. The collective disconnect over MPI has this tree. */
#ifndef AMG_TRANSPORT_TREE_H
#define AMG_TRANSPORT_TREE_H

#include <stdbool.h>
#include <stdint.h>

#define AMG_TREE_NOWHERE                                                       \
    UINT32_MAX /* the position of a rank that is no member */

/* The members of a group, by position. Owned by the caller, constant. */
struct amg_tree {
    uint32_t base;   /* the rank at position 0, if `ranks` is NULL */
    uint32_t stride; /* between the ranks of neighbouring positions, > 0 */
    const uint32_t *ranks; /* ascending; ranks[0] is the rank at `list_first` */
    uint32_t list_first;
    uint32_t node_size; /* node n has the ranks from n * node_size on; 0: the
                         * nodes are not known, all members count as one node */
    uint32_t width;     /* children of a rank within its node, > 0 */
};

/* The members at `count` positions from `first` on. */
struct amg_tree_part {
    uint32_t first;
    uint32_t count;
};

/* The children of one rank, one after the other. */
struct amg_tree_walk {
    struct amg_tree_part rest; /* not given to children yet */
    uint32_t low;              /* first node of `rest` */
    uint32_t high;             /* last node of `rest` */
    uint32_t home;             /* node of the rank whose children these are */
    uint32_t self;             /* position of that rank, or AMG_TREE_NOWHERE */
    uint32_t cut;              /* members per child within the node; 0: not yet
                                * known */
};

uint32_t amg_tree_rank(const struct amg_tree *tree, uint32_t position);

/* How many members of a part have ranks below `rank`. */
uint32_t amg_tree_count_below(
    const struct amg_tree *tree, struct amg_tree_part part, uint32_t rank);

/* Begins the walk over the children of `rank`, which passes a message on to
 * `part`. `self` is its position, or AMG_TREE_NOWHERE. */
struct amg_tree_walk amg_tree_walk_begin(const struct amg_tree *tree,
    struct amg_tree_part part, uint32_t rank, uint32_t self);
/* The part of the next child; false: there are no more children. */
bool amg_tree_walk_next(const struct amg_tree *tree, struct amg_tree_walk *walk,
    struct amg_tree_part *ret_part);

/* The part of `part` that the member at `position` leads, and the rank that
 * passes messages on to that part. The leader of `part` has the whole part, and
 * passes messages on to itself. */
struct amg_tree_part amg_tree_find(const struct amg_tree *tree,
    struct amg_tree_part part, uint32_t position, uint32_t *ret_parent);

/* The most messages, one after the other, from the leader of a part to another
 * member; fewer are enough if ranks are missing in the part. A root that does
 * not lead the part may need one message more. */
unsigned amg_tree_height(
    const struct amg_tree *tree, struct amg_tree_part part);

/* Members per child of a part of `count` members without nodes, its leader
 * included in `count`; the last child may have fewer. */
static inline uint32_t amg_tree_cut_len(uint32_t count, uint32_t width)
{
    return (count - 1 + width - 1) / width;
}

/* Levels below the leader of a part of `count` members without nodes. */
static inline unsigned amg_tree_cut_height(uint32_t count, uint32_t width)
{
    unsigned height = 0;

    for (; count > 1; height++)
        count = amg_tree_cut_len(count, width);
    return height;
}

#endif
