/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs of a node use, and what they leave idle.
 *
 * Ranks whose bindings meet are a group: their threads may be on any hardware
 * thread of them all. How many run there is taken from what the ranks say; one
 * that says nothing runs a thread on each core of its binding when that is its
 * own, and one thread when it shares it. They are thought to fill the cores
 * from the first on, one thread each, and then to come round again. */
#ifndef AMG_PLACE_POLICY_BOARD_H
#define AMG_PLACE_POLICY_BOARD_H

#include "place/policy.h"

enum { AMG_NO_GROUP = UINT16_MAX, AMG_NO_PU = UINT16_MAX };

enum amg_spot_kind {
    AMG_SPOT_OUT,     /* not ours to use */
    AMG_SPOT_BUSY,    /* a program runs there */
    AMG_SPOT_SIBLING, /* idle beside one where a program runs */
    AMG_SPOT_CORE,    /* of an idle core, of a group's binding */
    AMG_SPOT_FREE     /* bound to no rank */
};

/* A hardware thread, in the order of the machine. */
struct amg_spot {
    uint16_t group; /* its first one's index; AMG_NO_GROUP: none */
    uint16_t used;  /* threads of ours on it */
    uint8_t order;  /* which one of its core, of those of its group */
    uint8_t kind;
};

struct amg_group {
    uint32_t threads;
    uint32_t ranks;
    uint32_t silent; /* ranks that do not say how many threads they run */
    uint16_t pus;
    uint16_t cores;
    bool is_unknown; /* where some of its ranks run is not known */
};

/* Plain data of some ten KiB, for the stack of who asks. */
struct amg_board {
    const struct amg_place_ask *ask;
    const struct amg_machine *machine;
    const struct amg_nic *nic;           /* NULL: none that is nearer to some */
    struct amg_cpuset usable;            /* by the ranks together */
    struct amg_spot spots[AMG_CPUS_MAX]; /* as the machine's `pus` */
    struct amg_group groups[AMG_CPUS_MAX]; /* at their first one's index */
    uint16_t core_used[AMG_CPUS_MAX];      /* threads of ours on a core */
    uint16_t core_group[AMG_CPUS_MAX];     /* who is busy there, AMG_NO_GROUP:
                                            * nobody */
    uint16_t index_of[AMG_CPUS_MAX];       /* of a cpu; AMG_NO_PU */
};

void amg_board_init(struct amg_board *board, const struct amg_place_ask *ask);

/* What of its binding is to be reckoned with: empty where that is not known. */
void amg_board_binding(const struct amg_board *board, uint32_t rank,
    struct amg_cpuset *ret_binding);
/* AMG_NO_GROUP where there is not even a machine. */
uint16_t amg_board_group(const struct amg_board *board, uint32_t rank);
/* All hardware threads of a group. */
void amg_board_union(
    const struct amg_board *board, uint16_t group, struct amg_cpuset *ret_set);

/* May the rank's threads of ours have it to themselves? */
static inline bool amg_board_is_idle(
    const struct amg_board *board, unsigned index, uint16_t group)
{
    const struct amg_spot *spot = &board->spots[index];

    return spot->kind == AMG_SPOT_FREE ||
           ((spot->kind == AMG_SPOT_CORE || spot->kind == AMG_SPOT_SIBLING) &&
               spot->group == group);
}

/* A thread of ours sits down. */
static inline void amg_board_take(struct amg_board *board, unsigned index)
{
    board->spots[index].used++;
    board->core_used[board->machine->pus[index].core]++;
}

#endif
