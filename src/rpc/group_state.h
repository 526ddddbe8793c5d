/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a call to a group at one rank: which members of the rank's part
 * of the tree have answered or failed. Pure functions, without messages and
 * locks.
 *
 * The call is over when all members of the part have answered or are named as
 * failed. Each member is counted once: this rank itself, and the others in the
 * part of one edge. So no member is forgotten, and a call with a part that this
 * rank has not asked yet is not over. */
#ifndef AMG_RPC_GROUP_STATE_H
#define AMG_RPC_GROUP_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "mercury_core_types.h"
#include "transport/tree.h"

enum { AMG_GROUP_FEW = 4 }; /* ranges that need no memory */

/* Neighbouring members that failed with one code. Also in answers. */
struct amg_group_range {
    uint32_t first; /* position; the first member, see amg_group_compare() */
    uint32_t count;
    uint32_t ret; /* hg_return_t */
};

/* Owned by the call that embeds it, and guarded by the call's lock. Begins with
 * a tree and a part, and zeros. */
struct amg_group_state {
    struct amg_tree tree;
    struct amg_tree_part part;
    uint32_t answered; /* members that have answered */
    uint32_t named;    /* members in `failed` */
    hg_return_t ret;   /* the first failure in time, or HG_SUCCESS */
    struct amg_group_range *failed; /* `few`, or memory of amg_mem */
    uint32_t failed_count;
    uint32_t failed_cap;
    struct amg_group_range few[AMG_GROUP_FEW];
    bool lacks_names; /* there was no memory for a range */
};

/* The members of a part have failed with `ret`. */
void amg_group_state_name(
    struct amg_group_state *state, struct amg_tree_part part, hg_return_t ret);
/* The rank of an edge has answered for a part: `answered` members have, the
 * others are in `count` ranges. False: that is not so, and nothing changed. */
bool amg_group_state_answered(struct amg_group_state *state,
    struct amg_tree_part part, uint32_t answered,
    const struct amg_group_range *ranges, uint32_t count);
/* At the end of the call: sorts and joins the ranges of failed members. Without
 * memory for all names, all members count as failed, with HG_NOMEM. */
void amg_group_state_end(struct amg_group_state *state);
void amg_group_state_fini(struct amg_group_state *state);
/* Compares ranks, or the first members of ranges, for qsort(). */
int amg_group_compare(const void *one, const void *other);

static inline bool amg_group_state_is_over(const struct amg_group_state *state)
{
    return state->answered + state->named == state->part.count;
}

#endif
