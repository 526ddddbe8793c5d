/* SPDX-License-Identifier: BSD-3-Clause */
/* The node as text.
 *
 * Equal cores share one line. A core counts as equal to the core before it if
 * both have as many ranks and library threads, if the numbers of all hardware
 * threads rise by one step, and if the numbers of all ranks rise by 0 or by 1.
 * So a node with one rank on each of its 128 cores takes as few lines as one
 * that runs a single rank. */
#include <stdio.h>
#include <string.h>

#include "mercury.h"
#include "writers.h"

/* Equal cores from `first` on. */
struct run {
    const struct map *map;
    uint32_t first; /* place */
    uint32_t len;   /* places of a core */
    uint32_t cores;
    uint32_t cpu_step;
    uint32_t rank_step;
    bool by_cache; /* the text names their last level cache */
};

static bool are_ranks_alike(
    const struct map_place *one, const struct map_place *next, uint32_t step)
{
    if (one->rank_count != next->rank_count)
        return false;
    for (uint32_t i = 0; i < one->rank_count; i++)
        if (next->ranks[i] != one->ranks[i] + step)
            return false;
    return true;
}

static bool are_marks_alike(
    const struct map_place *one, const struct map_place *next, uint32_t step)
{
    if (one->mark_count != next->mark_count)
        return false;
    for (uint32_t i = 0; i < one->mark_count; i++)
        if (next->marks[i].rank != one->marks[i].rank + step ||
            next->marks[i].letter != one->marks[i].letter)
            return false;
    return true;
}

/* Whether the core at `next` continues the run. */
static bool is_next(const struct run *run, uint32_t next)
{
    const struct map_place *places = run->map->places;
    uint32_t last = next - run->len;

    if (map_core_len(run->map, next) != run->len ||
        (run->by_cache && places[next].pu->cache != places[last].pu->cache))
        return false;
    for (uint32_t i = 0; i < run->len; i++) {
        const struct map_place *one = &places[last + i];
        const struct map_place *other = &places[next + i];

        if (one->is_allowed != other->is_allowed ||
            other->pu->cpu != one->pu->cpu + run->cpu_step ||
            !are_ranks_alike(one, other, run->rank_step) ||
            !are_marks_alike(one, other, run->rank_step))
            return false;
    }
    return true;
}

/* Number of equal cores from the first one of the run on, up to `end`. */
static uint32_t run_measure(struct run *run, uint32_t end)
{
    uint32_t next = run->first + run->len;
    uint32_t cores = 1;

    if (next < end)
        run->cpu_step = (uint32_t)run->map->places[next].pu->cpu -
                        run->map->places[run->first].pu->cpu;
    while (next < end && is_next(run, next)) {
        next += run->len;
        cores++;
    }
    return cores;
}

static struct run run_find(
    const struct map *map, uint32_t first, uint32_t end, bool by_cache)
{
    struct run run = {.map = map,
        .first = first,
        .len = map_core_len(map, first),
        .by_cache = by_cache};
    struct run other = run;

    other.rank_step = 1;
    run.cores = run_measure(&run, end);
    other.cores = run_measure(&other, end);
    return other.cores > run.cores ? other : run;
}

/* Whether the text names caches: if several, but not all, cores of a NUMA node
 * share a cache. */
static bool are_caches_shown(const struct amg_machine *machine)
{
    uint32_t count = 1;

    for (uint32_t i = 1; i < machine->pu_count; i++)
        count += machine->pus[i].cache != machine->pus[i - 1].cache;
    return count > machine->numa_count && count < machine->core_count;
}

/* "0-7", "0-3,8-11", or "0,4...60" for an even step. */
static void cpus_print(const struct run *run, uint32_t slot, uint32_t len)
{
    const struct map_place *one = &run->map->places[run->first];
    struct amg_cpuset set = {{0}};
    char text[REPORT_TEXT_CAP];

    if (len == 1 && run->cores > 2 && run->cpu_step > 1) {
        unsigned cpu = one[slot].pu->cpu;

        snprintf(text, sizeof(text), "%u,%u...%u", cpu, cpu + run->cpu_step,
            cpu + run->cpu_step * (run->cores - 1));
        printf("%-14s", text);
        return;
    }
    for (uint32_t core = 0; core < run->cores; core++)
        for (uint32_t i = slot; i < slot + len; i++)
            amg_cpuset_add(&set, one[core * run->len + i].pu->cpu);
    printf("%-14s", amg_cpuset_format(&set, text, sizeof(text)));
}

static void ranks_print(const struct run *run, const struct map_place *place)
{
    char text[REPORT_TEXT_CAP];

    if (!place->is_allowed)
        fputs("not available", stdout);
    else if (place->rank_count == 0)
        fputs("no rank", stdout);
    else if (run->rank_step == 1 && run->cores > 1 && place->rank_count == 1)
        printf("ranks %u-%u, one each", place->ranks[0],
            place->ranks[0] + run->cores - 1);
    else
        printf("rank%s %s", place->rank_count == 1 ? "" : "s",
            map_list(place->ranks, place->rank_count, text, sizeof(text)));
}

/* "; P0-P7 on 8-15" */
static void marks_print(const struct run *run, const struct map_place *place)
{
    uint32_t last = (run->cores - 1) * run->cpu_step;

    if (place->mark_count == 0)
        return;
    fputs(";", stdout);
    for (uint32_t i = 0; i < place->mark_count; i++) {
        const struct map_mark *mark = &place->marks[i];

        printf(" %c%u", mark->letter, mark->rank);
        if (run->cores > 1)
            printf("-%c%u", mark->letter, mark->rank + run->cores - 1);
    }
    printf(" on %u", place->pu->cpu);
    if (run->cores > 1)
        printf(run->cpu_step == 1 ? "-%u" : "...%u", place->pu->cpu + last);
}

/* Number of hardware threads of the core, from `slot` on, with the same ranks.
 */
static uint32_t slots_alike(const struct run *run, uint32_t slot)
{
    const struct map_place *one = &run->map->places[run->first];
    uint32_t end = slot + 1;

    while (end < run->len && one[end].is_allowed == one[slot].is_allowed &&
           are_ranks_alike(&one[slot], &one[end], 0))
        end++;
    return end - slot;
}

static void run_print(const struct run *run)
{
    const struct map_place *one = &run->map->places[run->first];
    char cores[32];
    char cache[32] = "";

    if (run->by_cache)
        snprintf(cache, sizeof(cache), " (cache %u)", one->pu->cache);
    if (run->cores == 1)
        snprintf(cores, sizeof(cores), "core %u", one->pu->core);
    else
        snprintf(cores, sizeof(cores), "cores %u-%u", one->pu->core,
            one->pu->core + run->cores - 1);
    for (uint32_t slot = 0, len = 0; slot < run->len; slot += len) {
        len = slots_alike(run, slot);
        printf("        %-13s%s  cpus ", slot == 0 ? cores : "", cache);
        cpus_print(run, slot, len);
        fputs("  ", stdout);
        ranks_print(run, &one[slot]);
        for (uint32_t i = slot; i < slot + len; i++)
            marks_print(run, &one[i]);
        putchar('\n');
    }
}

/* "    NUMA node 1, networks hsn0" */
static void head_print(const struct report *report, const char *what,
    unsigned number, enum map_home home)
{
    char nics[REPORT_TEXT_CAP];

    map_nics(report->machine, home, number, nics, sizeof(nics));
    printf("%s %u%s%s\n", what, number, nics[0] == '\0' ? "" : ", networks ",
        nics);
}

static void numa_print(
    const struct report *report, const struct map *map, uint32_t first)
{
    const struct amg_machine *machine = report->machine;
    uint32_t end = first + map_numa_len(map, first);
    bool by_cache = are_caches_shown(machine);
    struct run run = {0};

    head_print(
        report, "      NUMA node", machine->pus[first].numa, MAP_HOME_NUMA);
    while (first < end) {
        run = run_find(map, first, end, by_cache);
        run_print(&run);
        first += run.cores * run.len;
    }
}

static void package_print(
    const struct report *report, const struct map *map, uint32_t first)
{
    uint32_t end = first + map_package_len(map, first);

    head_print(report, "    package", report->machine->pus[first].package,
        MAP_HOME_PACKAGE);
    for (; first < end; first += map_numa_len(map, first))
        numa_print(report, map, first);
}

static void count_print(unsigned count, const char *what, const char *end)
{
    printf("%u %s%s%s", count, what, count == 1 ? "" : "s", end);
}

static void machine_print(const struct report *report, const struct map *map)
{
    const struct amg_machine *machine = report->machine;
    char nics[REPORT_TEXT_CAP];

    fputs("  machine            ", stdout);
    if (machine->is_known) {
        count_print(machine->package_count, "package", ", ");
        count_print(machine->numa_count, "NUMA node", ", ");
        count_print(machine->core_count, "core", ", ");
    }
    count_print(machine->pu_count, "hardware thread", "");
    puts(!machine->is_known  ? "; topology unknown (no hwloc, or it found none)"
         : !machine->is_this ? "; described by HWLOC_* variables, not this "
                               "one: no thread is bound"
                             : "");
    map_nics(machine, MAP_HOME_NODE, 0, nics, sizeof(nics));
    if (nics[0] != '\0')
        printf("    networks %s\n", nics);
    for (uint32_t i = 0; i < map->count; i += map_package_len(map, i))
        package_print(report, map, i);
    puts("    P: progress thread of that rank on a core of its own; p: on a "
         "shared core");
}

/* "    rank 3     progress  cpu 7    own         idle core" */
static void core_slot_print(
    uint32_t rank, const char *what, const struct amg_core_slot *core_slot)
{
    char cpu[16] = "-";
    char use[24] = "shared";

    if (core_slot->cpu >= 0)
        snprintf(cpu, sizeof(cpu), "cpu %d", (int)core_slot->cpu);
    if (core_slot->is_dedicated)
        strcpy(use, "own");
    else if (core_slot->sharers > 1)
        snprintf(use, sizeof(use), "shared by %u", core_slot->sharers);
    printf("    rank %-6u %-9s %-8s %-11s %s\n", rank, what, cpu, use,
        core_slot->reason);
}

static void fact_print(uint32_t rank, const char *what, const char *text)
{
    int len = (int)strcspn(text, "\n");

    printf("    rank %-6u %-9s %.*s\n", rank, what, len, text);
    if (text[len] != '\0' && text[len + 1] != '\0')
        fact_print(rank, what, text + len + 1);
}

static void rank_print(const struct report_rank *local)
{
    const struct amg_placement *placement = &local->placement;
    char cpus[REPORT_FIELD_CAP];
    char text[REPORT_TEXT_CAP];

    amg_cpuset_format(&local->binding, cpus, sizeof(cpus));
    if (local->threads == 0)
        snprintf(text, sizeof(text), "cpus %s", cpus);
    else
        snprintf(text, sizeof(text), "cpus %s, %u thread%s of the program",
            cpus, local->threads, local->threads == 1 ? "" : "s");
    fact_print(local->rank, "bound", text);
    snprintf(text, sizeof(text), "%s (%s)",
        amg_progress_config_progress_name(placement->progress),
        placement->reason);
    fact_print(local->rank, "mode", text);
    if (amg_policy_has_thread(placement->progress))
        core_slot_print(local->rank, "progress", &placement->slot);
    fact_print(local->rank, "waiting", local->wait);
    if (placement->notes[0] != '\0')
        fact_print(local->rank, "note", placement->notes);
}

void text_node(const struct report *report, const struct map *map)
{
    machine_print(report, map);
    printf("  placement          of %s\n",
        report->are_all_known ? "the ranks of this node"
                              : "this process only (other ranks unknown)");
    for (uint32_t i = 0; i < report->local_count; i++)
        rank_print(&report->locals[i]);
    if (report->own_progress != report->locals[report->self].placement.progress)
        printf("    a class of amalgam_init: mode %s\n",
            amg_progress_config_progress_name(report->own_progress));
}
