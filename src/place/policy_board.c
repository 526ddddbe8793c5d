/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs of a node use, and what they leave idle. */
#include "place/policy_board.h"

#include <string.h>

#include "base/assert.h"

void amg_board_binding(const struct amg_board *board, uint32_t rank,
    struct amg_cpuset *ret_binding)
{
    *ret_binding = board->ask->ranks[rank].binding;
    amg_cpuset_cut(ret_binding, &board->usable);
}

/* Without a topology nobody knows what a cgroup allows; but what one rank is
 * bound to, all of them may use, and so come to the same map. */
static void usable_find(struct amg_board *board)
{
    const struct amg_machine *machine = board->machine;
    struct amg_cpuset bound = {{0}};

    for (uint32_t i = 0; i < machine->pu_count; i++)
        amg_cpuset_add(&board->usable, machine->pus[i].cpu);
    if (machine->is_known) {
        amg_cpuset_cut(&board->usable, &machine->allowed);
        return;
    }
    for (uint32_t rank = 0; rank < board->ask->rank_count; rank++)
        amg_cpuset_unite(&bound, &board->ask->ranks[rank].binding);
    amg_cpuset_cut(&board->usable, &bound);
}

/* The first one of the group that a hardware thread is in so far. */
static uint16_t leader_of(struct amg_board *board, uint16_t index)
{
    while (board->spots[index].group != index) {
        board->spots[index].group =
            board->spots[board->spots[index].group].group;
        index = board->spots[index].group;
    }
    return index;
}

/* All of `set` become one group, which is that of its first one. */
static uint16_t set_join(struct amg_board *board, const struct amg_cpuset *set)
{
    uint16_t group = AMG_NO_GROUP;

    for (uint16_t i = 0; i < board->machine->pu_count; i++) {
        uint16_t other = 0;

        if (!amg_cpuset_has(set, board->machine->pus[i].cpu))
            continue;
        if (board->spots[i].group == AMG_NO_GROUP)
            board->spots[i].group = i;
        other = leader_of(board, i);
        if (group == AMG_NO_GROUP)
            group = other;
        else if (other < group) {
            board->spots[group].group = other;
            group = other;
        } else
            board->spots[other].group = group;
    }
    return group;
}

static void groups_find(struct amg_board *board)
{
    for (uint32_t rank = 0; rank < board->ask->rank_count; rank++) {
        struct amg_cpuset binding;

        amg_board_binding(board, rank, &binding);
        /* It may be anywhere. */
        if (amg_cpuset_count(&binding) == 0)
            binding = board->usable;
        set_join(board, &binding);
    }
    for (uint16_t i = 0; i < board->machine->pu_count; i++) {
        if (board->spots[i].group != AMG_NO_GROUP)
            board->spots[i].group = leader_of(board, i);
    }
}

uint16_t amg_board_group(const struct amg_board *board, uint32_t rank)
{
    struct amg_cpuset binding;

    amg_board_binding(board, rank, &binding);
    if (amg_cpuset_count(&binding) == 0)
        binding = board->usable;
    for (uint16_t i = 0; i < board->machine->pu_count; i++) {
        if (amg_cpuset_has(&binding, board->machine->pus[i].cpu))
            return board->spots[i].group;
    }
    return AMG_NO_GROUP;
}

void amg_board_union(
    const struct amg_board *board, uint16_t group, struct amg_cpuset *ret_set)
{
    memset(ret_set, 0, sizeof(*ret_set));
    for (uint32_t i = 0; i < board->machine->pu_count; i++) {
        if (board->spots[i].group == group && group != AMG_NO_GROUP)
            amg_cpuset_add(ret_set, board->machine->pus[i].cpu);
    }
}

/* How many hardware threads and cores a group has. */
static void groups_measure(struct amg_board *board)
{
    const struct amg_pu *pus = board->machine->pus;

    for (uint32_t i = 0; i < board->machine->pu_count; i++) {
        struct amg_spot *spot = &board->spots[i];

        if (spot->group == AMG_NO_GROUP)
            continue;
        for (uint32_t k = i; k-- > 0 && pus[k].core == pus[i].core;)
            spot->order += board->spots[k].group == spot->group;
        board->groups[spot->group].pus++;
        board->groups[spot->group].cores += spot->order == 0;
    }
}

static void groups_fill(struct amg_board *board)
{
    for (uint32_t rank = 0; rank < board->ask->rank_count; rank++) {
        uint16_t index = amg_board_group(board, rank);
        uint32_t threads = board->ask->ranks[rank].threads;
        struct amg_cpuset binding;
        struct amg_group *group = NULL;

        if (index == AMG_NO_GROUP)
            continue;
        group = &board->groups[index];
        amg_board_binding(board, rank, &binding);
        if (amg_cpuset_count(&binding) == 0)
            group->is_unknown = true;
        group->ranks++;
        group->silent += threads == 0;
        group->threads = threads < UINT32_MAX - group->threads
                             ? group->threads + threads
                             : UINT32_MAX;
    }
    for (uint32_t i = 0; i < board->machine->pu_count; i++) {
        struct amg_group *group = &board->groups[i];
        uint32_t silent = group->silent;

        if (group->ranks == 1 && silent == 1)
            group->threads = group->cores;
        else
            group->threads = silent < UINT32_MAX - group->threads
                                 ? group->threads + silent
                                 : UINT32_MAX;
    }
}

/* Lets the threads of each group take their hardware threads: the first one of
 * each core, then the second. */
static void busy_mark(struct amg_board *board)
{
    const struct amg_pu *pus = board->machine->pus;
    uint32_t left[AMG_CPUS_MAX];
    bool has_more = true;

    for (uint32_t i = 0; i < board->machine->pu_count; i++)
        left[i] =
            board->groups[i].is_unknown ? UINT32_MAX : board->groups[i].threads;
    for (unsigned order = 0; has_more; order++) {
        has_more = false;
        for (uint32_t i = 0; i < board->machine->pu_count; i++) {
            struct amg_spot *spot = &board->spots[i];

            has_more = has_more || spot->order > order;
            if (spot->group == AMG_NO_GROUP || spot->order != order ||
                left[spot->group] == 0)
                continue;
            left[spot->group]--;
            spot->kind = AMG_SPOT_BUSY;
            if (board->core_group[pus[i].core] == AMG_NO_GROUP)
                board->core_group[pus[i].core] = spot->group;
        }
    }
}

static void idle_mark(struct amg_board *board)
{
    const struct amg_pu *pus = board->machine->pus;

    for (uint32_t i = 0; i < board->machine->pu_count; i++) {
        struct amg_spot *spot = &board->spots[i];

        if (spot->kind == AMG_SPOT_BUSY ||
            !amg_cpuset_has(&board->usable, pus[i].cpu))
            continue;
        if (spot->group == AMG_NO_GROUP)
            spot->kind =
                board->ask->has_strangers ? AMG_SPOT_OUT : AMG_SPOT_FREE;
        else if (board->core_group[pus[i].core] == AMG_NO_GROUP)
            spot->kind = AMG_SPOT_CORE;
        else
            spot->kind = AMG_SPOT_SIBLING;
    }
}

void amg_board_init(struct amg_board *board, const struct amg_place_ask *ask)
{
    memset(board, 0, sizeof(*board));
    board->ask = ask;
    board->machine = ask->machine;
    board->nic = amg_machine_nic(ask->machine, ask->nic);
    if (board->nic != NULL && board->nic->is_everywhere)
        board->nic = NULL;
    AMG_ASSERT(ask->machine->pu_count <= AMG_CPUS_MAX);
    for (uint32_t i = 0; i < AMG_CPUS_MAX; i++) {
        board->spots[i].group = AMG_NO_GROUP;
        board->core_group[i] = AMG_NO_GROUP;
        board->index_of[i] = AMG_NO_PU;
    }
    for (uint16_t i = 0; i < ask->machine->pu_count; i++)
        board->index_of[ask->machine->pus[i].cpu] = i;
    usable_find(board);
    groups_find(board);
    groups_measure(board);
    groups_fill(board);
    busy_mark(board);
    idle_mark(board);
}
