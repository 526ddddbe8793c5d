/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds a seat for one thread of ours. */
#ifndef AMG_PLACE_POLICY_SEEK_H
#define AMG_PLACE_POLICY_SEEK_H

#include "place/policy_board.h"
#include "place/policy_list.h"

/* Which threads of ours. */
enum amg_crowd { AMG_CROWD_PROGRESS, AMG_CROWD_HANDLERS, AMG_CROWDS };

/* Where a thread looks, nearest first. */
enum amg_level {
    AMG_LEVEL_CORE,
    AMG_LEVEL_SIBLING,
    AMG_LEVEL_NIC_HOME, /* near the NIC, which is the own NUMA node, too */
    AMG_LEVEL_NIC,
    AMG_LEVEL_NUMA,
    AMG_LEVEL_ANY,
    AMG_LEVEL_FOREIGN, /* any of these, but of a core that others compute on */
    AMG_LEVEL_SHARED,  /* on all of these, and others of ours may be there */
    AMG_LEVELS
};

/* What was chosen for one thread. */
struct amg_pick {
    uint16_t index; /* of its hardware thread; AMG_NO_PU: not pinned */
    uint8_t rule;   /* enum amg_seat_rule */
    bool is_asked;  /* the user wants it so: "none" */
};

#define AMG_PICK_NOWHERE                                                       \
    ((struct amg_pick){.index = AMG_NO_PU, .rule = AMG_SEAT_UNPINNED})

/* The best idle one of that level; nowhere when there is none. */
struct amg_pick amg_seek_idle(
    const struct amg_board *board, uint32_t rank, enum amg_level level);

/* The last one of the rank's binding, of those that the fewest of ours use;
 * nowhere when the binding is not known. */
struct amg_pick amg_seek_last(const struct amg_board *board, uint32_t rank);

/* The cpu that falls to the n-th of the `per` threads that each rank has. */
unsigned amg_seek_named_cpu(
    const struct amg_list *list, uint32_t rank, unsigned per, unsigned n);

/* May the user name it? Where no topology is known, any that exists. */
bool amg_seek_is_allowed(const struct amg_board *board, unsigned cpu);

/* The one that the user named; nowhere: none, or one that is not allowed. */
struct amg_pick amg_seek_named(const struct amg_board *board,
    const struct amg_list *list, uint32_t rank, unsigned per, unsigned n);

#endif
