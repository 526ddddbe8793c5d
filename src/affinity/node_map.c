/* SPDX-License-Identifier: BSD-3-Clause */
/* Map of a node: which hardware threads its programs use, and the search for
 * an idle one. */
#include "affinity/policy.h"

#include <string.h>

#include "base/assert.h"

void amg_node_map_binding(const struct amg_node_map *map, uint32_t rank,
    struct amg_cpuset *ret_binding)
{
    *ret_binding = map->ask->ranks[rank].binding;
    amg_cpuset_cut(ret_binding, &map->usable);
}

/* Without a topology the cgroup's cpus are not known: then all ranks may use
 * the cpus that some rank is bound to, and so find the same map. */
static void usable_find(struct amg_node_map *map)
{
    const struct amg_machine *machine = map->machine;
    struct amg_cpuset bound = {{0}};

    for (uint32_t i = 0; i < machine->pu_count; i++)
        amg_cpuset_add(&map->usable, machine->pus[i].cpu);
    if (machine->is_known) {
        amg_cpuset_cut(&map->usable, &machine->allowed);
        return;
    }
    for (uint32_t rank = 0; rank < map->ask->rank_count; rank++)
        amg_cpuset_unite(&bound, &map->ask->ranks[rank].binding);
    amg_cpuset_cut(&map->usable, &bound);
}

/* First hardware thread of the group that `index` belongs to so far. */
static uint16_t leader_of(struct amg_node_map *map, uint16_t index)
{
    while (map->uses[index].group != index) {
        map->uses[index].group = map->uses[map->uses[index].group].group;
        index = map->uses[index].group;
    }
    return index;
}

/* Joins the groups of the hardware threads of `set`; returns that group. */
static uint16_t set_join(struct amg_node_map *map, const struct amg_cpuset *set)
{
    uint16_t group = AMG_NO_GROUP;

    for (uint16_t i = 0; i < map->machine->pu_count; i++) {
        uint16_t other = 0;

        if (!amg_cpuset_has(set, map->machine->pus[i].cpu))
            continue;
        if (map->uses[i].group == AMG_NO_GROUP)
            map->uses[i].group = i;
        other = leader_of(map, i);
        if (group == AMG_NO_GROUP)
            group = other;
        else if (other < group) {
            map->uses[group].group = other;
            group = other;
        } else
            map->uses[other].group = group;
    }
    return group;
}

static void groups_find(struct amg_node_map *map)
{
    for (uint32_t rank = 0; rank < map->ask->rank_count; rank++) {
        struct amg_cpuset binding;

        amg_node_map_binding(map, rank, &binding);
        /* No binding is known: the rank may run on any usable cpu. */
        if (amg_cpuset_count(&binding) == 0)
            binding = map->usable;
        set_join(map, &binding);
    }
    for (uint16_t i = 0; i < map->machine->pu_count; i++) {
        if (map->uses[i].group != AMG_NO_GROUP)
            map->uses[i].group = leader_of(map, i);
    }
}

uint16_t amg_node_map_group(const struct amg_node_map *map, uint32_t rank)
{
    struct amg_cpuset binding;

    amg_node_map_binding(map, rank, &binding);
    if (amg_cpuset_count(&binding) == 0)
        binding = map->usable;
    for (uint16_t i = 0; i < map->machine->pu_count; i++) {
        if (amg_cpuset_has(&binding, map->machine->pus[i].cpu))
            return map->uses[i].group;
    }
    return AMG_NO_GROUP;
}

/* Counts the hardware threads and cores of each group. */
static void groups_measure(struct amg_node_map *map)
{
    const struct amg_pu *pus = map->machine->pus;

    for (uint32_t i = 0; i < map->machine->pu_count; i++) {
        struct amg_pu_use *use = &map->uses[i];

        if (use->group == AMG_NO_GROUP)
            continue;
        for (uint32_t k = i; k-- > 0 && pus[k].core == pus[i].core;)
            use->order += map->uses[k].group == use->group;
        map->groups[use->group].pus++;
        map->groups[use->group].cores += use->order == 0;
    }
}

static void groups_fill(struct amg_node_map *map)
{
    for (uint32_t rank = 0; rank < map->ask->rank_count; rank++) {
        uint16_t index = amg_node_map_group(map, rank);
        uint32_t threads = map->ask->ranks[rank].threads;
        struct amg_cpuset binding;
        struct amg_group *group = NULL;

        if (index == AMG_NO_GROUP)
            continue;
        group = &map->groups[index];
        amg_node_map_binding(map, rank, &binding);
        if (amg_cpuset_count(&binding) == 0)
            group->is_unknown = true;
        group->ranks++;
        group->silent += threads == 0;
        group->threads = threads < UINT32_MAX - group->threads
                             ? group->threads + threads
                             : UINT32_MAX;
    }
    for (uint32_t i = 0; i < map->machine->pu_count; i++) {
        struct amg_group *group = &map->groups[i];
        uint32_t silent = group->silent;

        if (group->ranks == 1 && silent == 1)
            group->threads = group->cores;
        else
            group->threads = silent < UINT32_MAX - group->threads
                                 ? group->threads + silent
                                 : UINT32_MAX;
    }
}

/* Marks the hardware threads that the program threads of each group are
 * expected on: the first one of each core, then the second one. */
static void busy_mark(struct amg_node_map *map)
{
    const struct amg_pu *pus = map->machine->pus;
    uint32_t left[AMG_CPUS_MAX];
    bool has_more = true;

    for (uint32_t i = 0; i < map->machine->pu_count; i++)
        left[i] =
            map->groups[i].is_unknown ? UINT32_MAX : map->groups[i].threads;
    for (unsigned order = 0; has_more; order++) {
        has_more = false;
        for (uint32_t i = 0; i < map->machine->pu_count; i++) {
            struct amg_pu_use *use = &map->uses[i];

            has_more = has_more || use->order > order;
            if (use->group == AMG_NO_GROUP || use->order != order ||
                left[use->group] == 0)
                continue;
            left[use->group]--;
            use->kind = AMG_PU_BUSY;
            if (map->core_group[pus[i].core] == AMG_NO_GROUP)
                map->core_group[pus[i].core] = use->group;
        }
    }
}

static void idle_mark(struct amg_node_map *map)
{
    const struct amg_pu *pus = map->machine->pus;

    for (uint32_t i = 0; i < map->machine->pu_count; i++) {
        struct amg_pu_use *use = &map->uses[i];

        if (use->kind == AMG_PU_BUSY ||
            !amg_cpuset_has(&map->usable, pus[i].cpu))
            continue;
        if (use->group == AMG_NO_GROUP)
            use->kind = map->ask->has_strangers ? AMG_PU_OUT : AMG_PU_FREE;
        else if (map->core_group[pus[i].core] == AMG_NO_GROUP)
            use->kind = AMG_PU_CORE;
        else
            use->kind = AMG_PU_SIBLING;
    }
}

void amg_node_map_init(
    struct amg_node_map *map, const struct amg_affinity_ask *ask)
{
    memset(map, 0, sizeof(*map));
    map->ask = ask;
    map->machine = ask->machine;
    map->nic = amg_machine_nic(ask->machine, ask->nic);
    if (map->nic != NULL && map->nic->is_everywhere)
        map->nic = NULL;
    AMG_ASSERT(ask->machine->pu_count <= AMG_CPUS_MAX);
    for (uint32_t i = 0; i < AMG_CPUS_MAX; i++) {
        map->uses[i].group = AMG_NO_GROUP;
        map->core_group[i] = AMG_NO_GROUP;
        map->index_of[i] = AMG_NO_PU;
    }
    for (uint16_t i = 0; i < ask->machine->pu_count; i++)
        map->index_of[ask->machine->pus[i].cpu] = i;
    usable_find(map);
    groups_find(map);
    groups_measure(map);
    groups_fill(map);
    busy_mark(map);
    idle_mark(map);
}

/* The rank that looks for a hardware thread. */
struct seeker {
    uint16_t group;
    struct amg_cpuset binding;
    uint64_t nodes;           /* NUMA nodes of its binding, as bits */
    struct amg_cpuset caches; /* last level caches of its binding */
};

static void seeker_init(
    const struct amg_node_map *map, uint32_t rank, struct seeker *ret_seeker)
{
    const struct amg_machine *machine = map->machine;

    memset(ret_seeker, 0, sizeof(*ret_seeker));
    ret_seeker->group = amg_node_map_group(map, rank);
    amg_node_map_binding(map, rank, &ret_seeker->binding);
    for (uint32_t i = 0; i < machine->pu_count; i++) {
        const struct amg_pu *pu = &machine->pus[i];

        if (!amg_cpuset_has(&ret_seeker->binding, pu->cpu))
            continue;
        ret_seeker->nodes |= 1ull << pu->numa % AMG_NUMA_MAX;
        if (pu->cache < AMG_CPUS_MAX)
            amg_cpuset_add(&ret_seeker->caches, pu->cache);
    }
}

static bool is_near_nic(const struct amg_node_map *map, const struct amg_pu *pu)
{
    return map->nic != NULL && amg_cpuset_has(&map->nic->near, pu->cpu);
}

/* Is `pu` of a NUMA node of the rank's binding? */
static bool is_home(const struct seeker *seeker, const struct amg_pu *pu)
{
    return (seeker->nodes >> pu->numa % AMG_NUMA_MAX & 1) != 0;
}

static enum amg_level level_of(
    const struct amg_node_map *map, const struct seeker *seeker, uint32_t index)
{
    const struct amg_pu *pu = &map->machine->pus[index];

    if (map->uses[index].kind == AMG_PU_CORE)
        return AMG_LEVEL_CORE;
    if (map->uses[index].kind == AMG_PU_SIBLING)
        return AMG_LEVEL_SIBLING;
    if (is_near_nic(map, pu))
        return is_home(seeker, pu) ? AMG_LEVEL_NIC_HOME : AMG_LEVEL_NIC;
    return is_home(seeker, pu) ? AMG_LEVEL_NUMA : AMG_LEVEL_ANY;
}

static enum amg_slot_rule rule_of(enum amg_level level)
{
    static const uint8_t rules[AMG_LEVELS] = {
        [AMG_LEVEL_CORE] = AMG_SLOT_CORE,
        [AMG_LEVEL_SIBLING] = AMG_SLOT_SIBLING,
        [AMG_LEVEL_NIC_HOME] = AMG_SLOT_NIC,
        [AMG_LEVEL_NIC] = AMG_SLOT_NIC,
        [AMG_LEVEL_NUMA] = AMG_SLOT_NUMA,
        [AMG_LEVEL_ANY] = AMG_SLOT_ANY,
        [AMG_LEVEL_FOREIGN] = AMG_SLOT_ANY,
        [AMG_LEVEL_SHARED] = AMG_SLOT_ANY,
    };

    return (enum amg_slot_rule)rules[level];
}

/* The ranks that a thread on a hardware thread would disturb. */
enum harm { HARMS_NOBODY, HARMS_ITSELF, HARMS_OTHERS };

static enum harm harm_of(const struct amg_node_map *map,
    const struct seeker *seeker, const struct amg_pu *pu)
{
    uint16_t group = map->core_group[pu->core];

    if (group == AMG_NO_GROUP)
        return HARMS_NOBODY;
    return group == seeker->group ? HARMS_ITSELF : HARMS_OTHERS;
}

/* Order of hardware threads that are equal otherwise: within a binding from the
 * last core on, as programs fill it from the first core on, and elsewhere from
 * the first core on; within a core, the first idle hardware thread. */
static uint64_t turn_of(
    const struct amg_node_map *map, uint32_t index, enum amg_level level)
{
    uint32_t order = map->uses[index].order;

    if (level != AMG_LEVEL_CORE && level != AMG_LEVEL_SIBLING)
        return index;
    return (uint64_t)(AMG_CPUS_MAX - (index - order)) * 16 + order;
}

static uint64_t at_most(uint64_t value, unsigned bits)
{
    uint64_t most = (1ull << bits) - 1;

    return value < most ? value : most;
}

/* The smaller the key, the better the hardware thread. */
static uint64_t key_of(const struct amg_node_map *map,
    const struct seeker *seeker, uint32_t index, enum amg_level level)
{
    const struct amg_pu *pu = &map->machine->pus[index];
    uint64_t key = at_most(map->uses[index].used, 16);

    key = key << 3 | level;
    key = key << 2 | (uint64_t)harm_of(map, seeker, pu);
    key = key << 12 | at_most(map->core_used[pu->core], 12);
    key = key << 1 | !is_near_nic(map, pu);
    key = key << 1 | !amg_cpuset_has(&seeker->caches, pu->cache);
    return key << 16 | at_most(turn_of(map, index, level), 16);
}

/* The level at which a rank may take a hardware thread: AMG_LEVEL_FOREIGN on a
 * core where another group computes, which a thread there slows down. */
static enum amg_level level_for(const struct amg_node_map *map,
    const struct seeker *seeker, uint32_t index, enum amg_level place)
{
    const struct amg_pu *pu = &map->machine->pus[index];

    return harm_of(map, seeker, pu) == HARMS_OTHERS ? AMG_LEVEL_FOREIGN : place;
}

struct amg_pick amg_node_map_find_idle(
    const struct amg_node_map *map, uint32_t rank, enum amg_level level)
{
    struct amg_pick best = AMG_PICK_NOWHERE;
    uint64_t best_key = UINT64_MAX;
    struct seeker seeker;

    seeker_init(map, rank, &seeker);
    for (uint32_t i = 0; i < map->machine->pu_count; i++) {
        enum amg_level place = AMG_LEVEL_SHARED;
        enum amg_level own = AMG_LEVEL_SHARED;
        uint64_t key = 0;

        if (!amg_node_map_is_idle(map, i, seeker.group))
            continue;
        place = level_of(map, &seeker, i);
        own = level_for(map, &seeker, i, place);
        if (level != AMG_LEVEL_SHARED &&
            (map->uses[i].used > 0 || own != level))
            continue;
        key = key_of(map, &seeker, i, own);
        if (key < best_key) {
            best_key = key;
            best.index = (uint16_t)i;
            best.rule = (uint8_t)rule_of(place);
        }
    }
    return best;
}

struct amg_pick amg_node_map_find_last(
    const struct amg_node_map *map, uint32_t rank)
{
    struct amg_pick best = AMG_PICK_NOWHERE;
    struct amg_cpuset binding;

    amg_node_map_binding(map, rank, &binding);
    for (uint32_t i = 0; i < map->machine->pu_count; i++) {
        if (!amg_cpuset_has(&binding, map->machine->pus[i].cpu) ||
            (best.index != AMG_NO_PU &&
                map->uses[i].used > map->uses[best.index].used))
            continue;
        best.index = (uint16_t)i;
        best.rule = AMG_SLOT_LAST;
    }
    return best;
}

bool amg_node_map_allows(const struct amg_node_map *map, unsigned cpu)
{
    return cpu < AMG_CPUS_MAX && map->index_of[cpu] != AMG_NO_PU &&
           (!map->machine->is_known || amg_cpuset_has(&map->usable, cpu));
}
