/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement of the library's threads on the cores of a node.
 *
 * The policy places the progress threads of all ranks of the node on one map;
 * threads whose cores the user named come first. All ranks find the same map,
 * and each takes its own thread from the map.
 *
 * The policy goes level by level: first the threads that find an idle core in
 * the binding of their rank, last the threads that go far, so that no rank
 * takes a core that is near to another rank. Within a level the ranks choose in
 * their order, unused cores first. A thread that finds no idle core shares one,
 * as the thread mostly sleeps. */
#include "affinity/policy.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"

/* RANKS_KNOWN: further ranks of a node get slots at the last level only. */
enum { RANKS_KNOWN = 4096 };

static const char *const rule_names[AMG_SLOT_RULES] = {
    [AMG_SLOT_CHOSEN] = "named core",
    [AMG_SLOT_CORE] = "idle core",
    [AMG_SLOT_SIBLING] = "idle sibling",
    [AMG_SLOT_NIC] = "near NIC",
    [AMG_SLOT_NUMA] = "own NUMA node",
    [AMG_SLOT_ANY] = "other NUMA node",
    [AMG_SLOT_LAST] = "busy core",
    [AMG_SLOT_UNPINNED] = "not pinned",
};

#define LIST_NAME "progress_cpus (AMALGAM_PROGRESS_CPUS)"

/* Places the threads of all ranks; on the stack of amg_policy_place(). */
struct placing {
    struct amg_node_map map;
    struct amg_cpu_list list;
    bool has_progress;        /* ranks may have progress threads */
    bool is_auto;             /* no thread where nothing is idle */
    bool has_pick;            /* the asking rank has a thread */
    struct amg_pick progress; /* place of that thread */
    uint64_t placed[RANKS_KNOWN / 64];
};

static void keep(struct placing *placing, uint32_t rank, struct amg_pick pick)
{
    if (pick.index != AMG_NO_PU)
        amg_node_map_take(&placing->map, pick.index);
    if (rank < RANKS_KNOWN)
        placing->placed[rank / 64] |= 1ull << rank % 64;
    if (rank != placing->map.ask->self)
        return;
    placing->has_pick = true;
    placing->progress = pick;
}

/* The cpu that the user named; nowhere: no cpu, or one that is not allowed. */
static struct amg_pick named_pick(const struct placing *placing, uint32_t rank)
{
    const struct amg_cpu_list *list = &placing->list;
    struct amg_pick pick = AMG_PICK_NOWHERE;
    unsigned cpu = 0;

    if (list->kind != AMG_CPU_LIST_CPUS)
        return pick;
    cpu = list->cpus[rank % list->count];
    if (amg_node_map_allows(&placing->map, cpu)) {
        pick.index = placing->map.index_of[cpu];
        pick.rule = AMG_SLOT_CHOSEN;
    }
    return pick;
}

/* Places threads on the cores that the user named, idle or not. */
static void named_place(struct placing *placing)
{
    for (uint32_t rank = 0; rank < placing->map.ask->rank_count; rank++) {
        struct amg_pick pick = named_pick(placing, rank);

        if (pick.index != AMG_NO_PU)
            keep(placing, rank, pick);
    }
}

/* Lets the ranks without a slot look for one at that level. */
static void level_place(struct placing *placing, enum amg_level level)
{
    const struct amg_node_map *map = &placing->map;
    bool is_last = level == AMG_LEVEL_SHARED;
    bool is_none = placing->list.kind == AMG_CPU_LIST_NONE;

    for (uint32_t rank = 0; rank < map->ask->rank_count; rank++) {
        bool is_known = rank < RANKS_KNOWN;
        struct amg_pick pick = AMG_PICK_NOWHERE;

        if (is_known ? (placing->placed[rank / 64] >> rank % 64 & 1) != 0
                     : !is_last)
            continue;
        if (named_pick(placing, rank).index != AMG_NO_PU)
            continue;
        pick = amg_node_map_find_idle(map, rank, level);
        if (pick.index == AMG_NO_PU && (placing->is_auto || !is_last))
            continue;
        if (is_none)
            pick = (struct amg_pick){AMG_NO_PU, AMG_SLOT_UNPINNED, true};
        else if (pick.index == AMG_NO_PU)
            pick = amg_node_map_find_last(map, rank);
        keep(placing, rank, pick);
    }
}

/* Places the thread of each rank. */
static void progress_place(struct placing *placing)
{
    named_place(placing);
    for (unsigned level = 0; level < AMG_LEVELS; level++)
        level_place(placing, (enum amg_level)level);
}

/* Adds a line to the notes, whole or not at all. */
__attribute__((format(printf, 2, 3))) static void note_add(
    char *notes, const char *format, ...)
{
    size_t len = strlen(notes);
    va_list args;
    int more = 0;

    va_start(args, format);
    more = vsnprintf(notes + len, AMG_NOTES_CAP - len, format, args);
    va_end(args);
    if (more < 0 || (size_t)more + 1 >= AMG_NOTES_CAP - len)
        notes[len] = '\0';
    else
        memcpy(notes + len + more, "\n", 2);
}

/* Notes the parts of the list that are invalid for the asking rank. */
static void list_check(
    const struct placing *placing, const char *text, char *notes)
{
    const struct amg_cpu_list *list = &placing->list;
    const struct amg_node_map *map = &placing->map;
    uint32_t self = map->ask->self;
    unsigned cpu = 0;

    if (list->kind == AMG_CPU_LIST_BAD)
        note_add(notes,
            LIST_NAME " is \"%.64s\", but %s: the library chooses instead",
            text, list->why);
    if (list->kind != AMG_CPU_LIST_CPUS)
        return;
    cpu = list->cpus[self % list->count];
    if (!amg_node_map_allows(map, cpu))
        note_add(notes,
            LIST_NAME " is \"%.64s\", but cpu %u, which falls to rank %u, %s: "
                      "the library chooses instead",
            text, cpu, map->ask->ranks[self].rank,
            map->index_of[cpu] == AMG_NO_PU ? "does not exist here"
                                            : "is not allowed by the cgroup");
    if (self >= list->count)
        note_add(notes,
            LIST_NAME " is \"%.64s\", which names %u for %u threads on this "
                      "node: threads share cores",
            text, list->count, map->ask->rank_count);
}

static void placing_init(
    struct placing *placing, const struct amg_affinity_ask *ask)
{
    amg_node_map_init(&placing->map, ask);
    amg_cpu_list_parse(ask->progress_cpus, &placing->list);
    placing->is_auto = ask->progress == AMALGAM_PROGRESS_AUTO;
    placing->has_progress =
        placing->is_auto || amg_policy_has_thread(ask->progress);
    placing->has_pick = false;
    placing->progress = AMG_PICK_NOWHERE;
    memset(placing->placed, 0, sizeof(placing->placed));
}

/* Why there is no idle core for the asking rank. */
static void none_idle_reason(const struct amg_node_map *map, char *ret_text)
{
    uint16_t group = amg_node_map_group(map, map->ask->self);
    uint32_t ranks = map->ask->rank_count;
    unsigned cores = 0;
    bool is_idle = false;

    for (uint32_t i = 0; i < map->machine->pu_count; i++)
        is_idle = is_idle || (map->uses[i].kind != AMG_PU_BUSY &&
                                 map->uses[i].kind != AMG_PU_OUT);
    for (uint32_t core = 0; core < AMG_CPUS_MAX; core++)
        cores += map->core_group[core] != AMG_NO_GROUP;
    if (group == AMG_NO_GROUP || map->groups[group].is_unknown)
        snprintf(ret_text, AMG_REASON_CAP,
            "no idle core known: binding of a rank unknown");
    else if (is_idle)
        snprintf(ret_text, AMG_REASON_CAP,
            "no idle core for this rank: bound to others");
    else
        snprintf(ret_text, AMG_REASON_CAP,
            "no idle core: %u rank%s on %u core%s", ranks,
            ranks == 1 ? "" : "s", cores, cores == 1 ? "" : "s");
}

static void mode_answer(
    const struct placing *placing, struct amg_placement *placement)
{
    const struct amg_affinity_ask *ask = placing->map.ask;
    bool is_auto = placing->is_auto;

    placement->progress = ask->progress;
    if (is_auto && !placing->has_pick) {
        placement->progress = AMALGAM_PROGRESS_CALLER;
        none_idle_reason(&placing->map, placement->reason);
        return;
    }
    if (is_auto)
        placement->progress =
            ask->is_mercury ? AMALGAM_PROGRESS_ASSIST : AMALGAM_PROGRESS_THREAD;
    snprintf(placement->reason, sizeof(placement->reason), "%s",
        !is_auto                                    ? "as asked"
        : placing->progress.rule == AMG_SLOT_CHOSEN ? "named core"
                                                    : "idle core");
}

/* The rule that chose the slot, and what speaks against the slot. */
static const char *slot_reason(
    const struct amg_node_map *map, struct amg_pick pick)
{
    if (pick.index == AMG_NO_PU)
        return pick.is_asked ? "not pinned, as asked"
                             : "not pinned, binding unknown";
    if (pick.rule == AMG_SLOT_CHOSEN &&
        map->uses[pick.index].kind == AMG_PU_BUSY)
        return "named core, busy";
    if (pick.rule == AMG_SLOT_CHOSEN &&
        map->uses[pick.index].kind == AMG_PU_OUT)
        return "named core, use unknown";
    return rule_names[pick.rule];
}

static struct amg_core_slot slot_answer(
    const struct amg_node_map *map, struct amg_pick pick)
{
    struct amg_core_slot slot = {.cpu = -1,
        .rule = (enum amg_slot_rule)pick.rule,
        .sharers = 1,
        .reason = slot_reason(map, pick)};

    AMG_ASSERT(slot.rule < AMG_SLOT_RULES);
    if (pick.index != AMG_NO_PU) {
        const struct amg_pu_use *use = &map->uses[pick.index];

        slot.cpu = map->machine->pus[pick.index].cpu;
        slot.sharers = use->used;
        slot.is_dedicated = use->used == 1 && use->kind != AMG_PU_BUSY &&
                            use->kind != AMG_PU_OUT;
    }
    return slot;
}

static void place_answer(
    const struct placing *placing, struct amg_placement *placement)
{
    const struct amg_core_slot none = {
        .cpu = -1, .rule = AMG_SLOT_UNPINNED, .reason = "no thread"};

    placement->slot = none;
    if (placing->has_pick)
        placement->slot = slot_answer(&placing->map, placing->progress);
}

void amg_policy_place(
    const struct amg_affinity_ask *ask, struct amg_placement *ret_placement)
{
    struct placing placing;
    uint16_t number = AMG_NO_GROUP;

    AMG_ASSERT(ask->rank_count > 0 && ask->self < ask->rank_count);
    memset(ret_placement, 0, sizeof(*ret_placement));
    placing_init(&placing, ask);
    if (placing.has_progress)
        progress_place(&placing);
    mode_answer(&placing, ret_placement);
    place_answer(&placing, ret_placement);

    number = amg_node_map_group(&placing.map, ask->self);
    if (number != AMG_NO_GROUP)
        ret_placement->is_oversubscribed =
            placing.map.groups[number].threads > placing.map.groups[number].pus;
    if (placing.has_progress)
        list_check(&placing, ask->progress_cpus, ret_placement->notes);
}
