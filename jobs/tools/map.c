/* SPDX-License-Identifier: BSD-3-Clause */
/* Map of the node: the ranks and library threads on each hardware thread. */
#include "map.h"

#include <stdio.h>
#include <string.h>

/* Calls `add` for each thread of the library. */
static void marks_each(const struct report *report,
    void (*add)(struct map *map, int32_t cpu, struct map_mark mark),
    struct map *map)
{
    for (uint32_t i = 0; i < report->local_count; i++) {
        const struct report_rank *local = &report->locals[i];
        const struct amg_placement *placement = &local->placement;
        struct map_mark mark = {.rank = local->rank};

        mark.letter = placement->slot.is_dedicated ? 'P' : 'p';
        if (amg_policy_has_thread(placement->progress))
            add(map, placement->slot.cpu, mark);
    }
}

static struct map_place *place_find(struct map *map, int32_t cpu)
{
    for (uint32_t i = 0; i < map->count; i++)
        if (map->places[i].pu->cpu == cpu)
            return &map->places[i];
    return NULL;
}

static void mark_count(struct map *map, int32_t cpu, struct map_mark mark)
{
    struct map_place *place = place_find(map, cpu);

    (void)mark;
    if (place != NULL)
        place->mark_count++;
}

static void mark_put(struct map *map, int32_t cpu, struct map_mark mark)
{
    struct map_place *place = place_find(map, cpu);

    if (place != NULL)
        place->marks[place->mark_count++] = mark;
}

/* Allocates the counted marks, and resets the counts. */
static bool marks_alloc(struct map *map)
{
    struct map_mark *room = NULL;
    size_t sum = 1; /* never an allocation of 0 bytes */

    for (uint32_t i = 0; i < map->count; i++)
        sum += map->places[i].mark_count;
    room = amg_mem_zalloc(sum * sizeof(*room));
    map->rooms[1] = room;
    for (uint32_t i = 0; room != NULL && i < map->count; i++) {
        map->places[i].marks = room;
        room += map->places[i].mark_count;
        map->places[i].mark_count = 0;
    }
    return room != NULL;
}

static bool ranks_put(struct map *map, const struct report *report)
{
    size_t size = (size_t)map->count * report->local_count + 1;
    uint32_t *room = amg_mem_zalloc(size * sizeof(*room));

    map->rooms[0] = room;
    for (uint32_t i = 0; room != NULL && i < map->count; i++) {
        struct map_place *place = &map->places[i];

        place->ranks = room;
        for (uint32_t n = 0; n < report->local_count; n++)
            if (amg_cpuset_has(&report->locals[n].binding, place->pu->cpu))
                place->ranks[place->rank_count++] = report->locals[n].rank;
        room += place->rank_count;
    }
    return room != NULL;
}

bool map_make(struct map *map, const struct report *report)
{
    const struct amg_machine *machine = report->machine;

    *map = (struct map){.count = machine->pu_count};
    map->places =
        amg_mem_zalloc((machine->pu_count + 1) * sizeof(*map->places));
    if (map->places == NULL)
        return false;
    for (uint32_t i = 0; i < map->count; i++) {
        map->places[i].pu = &machine->pus[i];
        map->places[i].is_allowed =
            amg_cpuset_has(&machine->allowed, machine->pus[i].cpu);
    }
    marks_each(report, mark_count, map);
    if (!marks_alloc(map) || !ranks_put(map, report)) {
        map_fini(map);
        return false;
    }
    marks_each(report, mark_put, map);
    return true;
}

void map_fini(struct map *map)
{
    amg_mem_free(map->rooms[0]);
    amg_mem_free(map->rooms[1]);
    amg_mem_free(map->places);
    *map = (struct map){0};
}

uint32_t map_core_len(const struct map *map, uint32_t first)
{
    uint32_t end = first;

    while (end < map->count &&
           map->places[end].pu->core == map->places[first].pu->core)
        end++;
    return end - first;
}

uint32_t map_numa_len(const struct map *map, uint32_t first)
{
    const struct amg_pu *one = map->places[first].pu;
    uint32_t end = first;

    while (end < map->count && map->places[end].pu->numa == one->numa &&
           map->places[end].pu->package == one->package)
        end++;
    return end - first;
}

uint32_t map_package_len(const struct map *map, uint32_t first)
{
    uint32_t end = first;

    while (end < map->count &&
           map->places[end].pu->package == map->places[first].pu->package)
        end++;
    return end - first;
}

enum map_home map_home_of(const struct amg_machine *machine,
    const struct amg_nic *nic, unsigned *ret_number)
{
    const struct amg_pu *first = NULL;
    bool is_numa = true;
    bool is_package = true;

    *ret_number = 0;
    for (uint32_t i = 0; i < machine->pu_count && !nic->is_everywhere; i++) {
        const struct amg_pu *pu = &machine->pus[i];

        if (!amg_cpuset_has(&nic->near, pu->cpu))
            continue;
        if (first == NULL)
            first = pu;
        is_numa = is_numa && pu->numa == first->numa;
        is_package = is_package && pu->package == first->package;
    }
    if (first == NULL || !is_package)
        return MAP_HOME_NODE;
    *ret_number = is_numa ? first->numa : first->package;
    return is_numa ? MAP_HOME_NUMA : MAP_HOME_PACKAGE;
}

const char *map_nics(const struct amg_machine *machine, enum map_home home,
    unsigned number, char *ret_text, size_t cap)
{
    size_t len = 0;

    ret_text[0] = '\0';
    for (uint32_t i = 0; i < machine->nic_count && len < cap; i++) {
        unsigned at = 0;

        if (map_home_of(machine, &machine->nics[i], &at) == home &&
            at == number)
            len += (size_t)snprintf(ret_text + len, cap - len, "%s%s",
                len == 0 ? "" : ", ", machine->nics[i].name);
    }
    return ret_text;
}

const char *map_list(
    const uint32_t *numbers, uint32_t count, char *ret_text, size_t cap)
{
    size_t len = 0;

    ret_text[0] = '\0';
    for (uint32_t i = 0, end = 0; i < count; i = end) {
        char part[32]; /* two numbers of ten digits, and their separator */
        size_t part_len = 0;

        for (end = i + 1; end < count && numbers[end] == numbers[end - 1] + 1;)
            end++;
        part_len = (size_t)snprintf(
            part, sizeof(part), "%s%u", i == 0 ? "" : ",", numbers[i]);
        if (end - i > 1)
            part_len += (size_t)snprintf(part + part_len,
                sizeof(part) - part_len, "-%u", numbers[end - 1]);
        if (len + part_len + sizeof("...") > cap) {
            snprintf(ret_text + len, cap - len, "...");
            break;
        }
        memcpy(ret_text + len, part, part_len + 1);
        len += part_len;
    }
    return ret_text;
}
