/* SPDX-License-Identifier: BSD-3-Clause */
/* Map of a node: the hardware threads that its programs use, computed from the
 * bindings and thread counts of its ranks. */
#include "affinity/policy.h"

#include <string.h>

#include "base/assert.h"

/* The cpus that a rank may run on: its binding. False: the binding is not
 * known, so the rank may run on any usable cpu. */
static bool map_range(
    const struct amg_node_map *map, uint32_t rank, struct amg_cpuset *ret_range)
{
    amg_node_map_binding(map, rank, ret_range);
    if (amg_cpuset_count(ret_range) > 0)
        return true;
    *ret_range = map->usable;
    return false;
}

/* Sets the usable cpus: the cpus that the cgroup allows; without a topology,
 * the cpus of all bindings, because all ranks know the bindings. */
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

/* First hardware thread of the group that hardware thread `index` is in now. */
static uint16_t leader_of(struct amg_node_map *map, uint16_t index)
{
    while (map->uses[index].group != index) {
        map->uses[index].group = map->uses[map->uses[index].group].group;
        index = map->uses[index].group;
    }
    return index;
}

/* Joins the groups of the hardware threads of `set` to one group. */
static void set_join(struct amg_node_map *map, const struct amg_cpuset *set)
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
}

static void groups_find(struct amg_node_map *map)
{
    for (uint32_t rank = 0; rank < map->ask->rank_count; rank++) {
        struct amg_cpuset binding;

        (void)map_range(map, rank, &binding);
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

    (void)map_range(map, rank, &binding);
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
        if (!map_range(map, rank, &binding))
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

/* Marks the hardware threads where program threads of each group are expected:
 * the first hardware thread of each core, then the second of each core. */
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
