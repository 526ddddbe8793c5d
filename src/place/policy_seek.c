/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds a seat for one thread of ours. */
#include "place/policy_seek.h"

#include <string.h>

/* Who looks for a seat. */
struct seeker {
    uint16_t group;
    struct amg_cpuset binding;
    uint64_t nodes;           /* NUMA nodes of its binding, as bits */
    struct amg_cpuset caches; /* last level caches of it, by their numbers */
};

static void seeker_init(
    const struct amg_board *board, uint32_t rank, struct seeker *ret_seeker)
{
    const struct amg_machine *machine = board->machine;

    memset(ret_seeker, 0, sizeof(*ret_seeker));
    ret_seeker->group = amg_board_group(board, rank);
    amg_board_binding(board, rank, &ret_seeker->binding);
    for (uint32_t i = 0; i < machine->pu_count; i++) {
        const struct amg_pu *pu = &machine->pus[i];

        if (!amg_cpuset_has(&ret_seeker->binding, pu->cpu))
            continue;
        ret_seeker->nodes |= 1ull << pu->numa % AMG_NUMA_MAX;
        if (pu->cache < AMG_CPUS_MAX)
            amg_cpuset_add(&ret_seeker->caches, pu->cache);
    }
}

static bool is_near_nic(const struct amg_board *board, const struct amg_pu *pu)
{
    return board->nic != NULL && amg_cpuset_has(&board->nic->near, pu->cpu);
}

/* Is it of a NUMA node of the rank's own? */
static bool is_home(const struct seeker *seeker, const struct amg_pu *pu)
{
    return (seeker->nodes >> pu->numa % AMG_NUMA_MAX & 1) != 0;
}

static enum amg_level level_of(
    const struct amg_board *board, const struct seeker *seeker, uint32_t index)
{
    const struct amg_pu *pu = &board->machine->pus[index];

    if (board->spots[index].kind == AMG_SPOT_CORE)
        return AMG_LEVEL_CORE;
    if (board->spots[index].kind == AMG_SPOT_SIBLING)
        return AMG_LEVEL_SIBLING;
    if (is_near_nic(board, pu))
        return is_home(seeker, pu) ? AMG_LEVEL_NIC_HOME : AMG_LEVEL_NIC;
    return is_home(seeker, pu) ? AMG_LEVEL_NUMA : AMG_LEVEL_ANY;
}

static enum amg_seat_rule rule_of(enum amg_level level)
{
    static const uint8_t rules[AMG_LEVELS] = {
        [AMG_LEVEL_CORE] = AMG_SEAT_CORE,
        [AMG_LEVEL_SIBLING] = AMG_SEAT_SIBLING,
        [AMG_LEVEL_NIC_HOME] = AMG_SEAT_NIC,
        [AMG_LEVEL_NIC] = AMG_SEAT_NIC,
        [AMG_LEVEL_NUMA] = AMG_SEAT_NUMA,
        [AMG_LEVEL_ANY] = AMG_SEAT_ANY,
        [AMG_LEVEL_FOREIGN] = AMG_SEAT_ANY,
        [AMG_LEVEL_SHARED] = AMG_SEAT_ANY,
    };

    return (enum amg_seat_rule)rules[level];
}

/* Whom a thread there would disturb. */
enum harm { HARMS_NOBODY, HARMS_ITSELF, HARMS_OTHERS };

static enum harm harm_of(const struct amg_board *board,
    const struct seeker *seeker, const struct amg_pu *pu)
{
    uint16_t group = board->core_group[pu->core];

    if (group == AMG_NO_GROUP)
        return HARMS_NOBODY;
    return group == seeker->group ? HARMS_ITSELF : HARMS_OTHERS;
}

/* Of equals: from the last core on within a binding, as programs fill it from
 * the first, and from the first on elsewhere; the first idle one of a core. */
static uint64_t turn_of(
    const struct amg_board *board, uint32_t index, enum amg_level level)
{
    uint32_t order = board->spots[index].order;

    if (level != AMG_LEVEL_CORE && level != AMG_LEVEL_SIBLING)
        return index;
    return (uint64_t)(AMG_CPUS_MAX - (index - order)) * 16 + order;
}

static uint64_t at_most(uint64_t value, unsigned bits)
{
    uint64_t most = (1ull << bits) - 1;

    return value < most ? value : most;
}

/* The less, the better. */
static uint64_t key_of(const struct amg_board *board,
    const struct seeker *seeker, uint32_t index, enum amg_level level)
{
    const struct amg_pu *pu = &board->machine->pus[index];
    uint64_t key = at_most(board->spots[index].used, 16);

    key = key << 3 | level;
    key = key << 2 | (uint64_t)harm_of(board, seeker, pu);
    key = key << 12 | at_most(board->core_used[pu->core], 12);
    key = key << 1 | !is_near_nic(board, pu);
    key = key << 1 | !amg_cpuset_has(&seeker->caches, pu->cache);
    return key << 16 | at_most(turn_of(board, index, level), 16);
}

/* The level at which a rank may take it: who takes the sibling of a core that
 * another rank computes on slows that one down, and so comes there last. */
static enum amg_level level_for(const struct amg_board *board,
    const struct seeker *seeker, uint32_t index, enum amg_level place)
{
    const struct amg_pu *pu = &board->machine->pus[index];

    return harm_of(board, seeker, pu) == HARMS_OTHERS ? AMG_LEVEL_FOREIGN
                                                      : place;
}

struct amg_pick amg_seek_idle(
    const struct amg_board *board, uint32_t rank, enum amg_level level)
{
    struct amg_pick best = AMG_PICK_NOWHERE;
    uint64_t best_key = UINT64_MAX;
    struct seeker seeker;

    seeker_init(board, rank, &seeker);
    for (uint32_t i = 0; i < board->machine->pu_count; i++) {
        enum amg_level place = AMG_LEVEL_SHARED;
        enum amg_level own = AMG_LEVEL_SHARED;
        uint64_t key = 0;

        if (!amg_board_is_idle(board, i, seeker.group))
            continue;
        place = level_of(board, &seeker, i);
        own = level_for(board, &seeker, i, place);
        if (level != AMG_LEVEL_SHARED &&
            (board->spots[i].used > 0 || own != level))
            continue;
        key = key_of(board, &seeker, i, own);
        if (key < best_key) {
            best_key = key;
            best.index = (uint16_t)i;
            best.rule = (uint8_t)rule_of(place);
        }
    }
    return best;
}

struct amg_pick amg_seek_last(const struct amg_board *board, uint32_t rank)
{
    struct amg_pick best = AMG_PICK_NOWHERE;
    struct amg_cpuset binding;

    amg_board_binding(board, rank, &binding);
    for (uint32_t i = 0; i < board->machine->pu_count; i++) {
        if (!amg_cpuset_has(&binding, board->machine->pus[i].cpu) ||
            (best.index != AMG_NO_PU &&
                board->spots[i].used > board->spots[best.index].used))
            continue;
        best.index = (uint16_t)i;
        best.rule = AMG_SEAT_LAST;
    }
    return best;
}

unsigned amg_seek_named_cpu(
    const struct amg_list *list, uint32_t rank, unsigned per, unsigned n)
{
    return list->cpus[((uint64_t)rank * per + n) % list->count];
}

bool amg_seek_is_allowed(const struct amg_board *board, unsigned cpu)
{
    return cpu < AMG_CPUS_MAX && board->index_of[cpu] != AMG_NO_PU &&
           (!board->machine->is_known || amg_cpuset_has(&board->usable, cpu));
}

struct amg_pick amg_seek_named(const struct amg_board *board,
    const struct amg_list *list, uint32_t rank, unsigned per, unsigned n)
{
    struct amg_pick pick = AMG_PICK_NOWHERE;
    unsigned cpu = 0;

    if (list->kind != AMG_LIST_CPUS)
        return pick;
    cpu = amg_seek_named_cpu(list, rank, per, n);
    if (amg_seek_is_allowed(board, cpu)) {
        pick.index = board->index_of[cpu];
        pick.rule = AMG_SEAT_CHOSEN;
    }
    return pick;
}
