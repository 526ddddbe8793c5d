/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement of the library's threads on the cores of a node.
 *
 * The policy places the progress threads of all ranks of the node on one map;
 * threads whose cores the user named come first. All ranks compute the same
 * map, and each rank reads the place of its own thread from the map.
 *
 * The policy goes level by level: first it places the threads that find an idle
 * core in the bindings of their group, last the threads whose only idle cores
 * are far away. So ranks near a core choose before ranks far from that core.
 * Within a level the ranks choose in the order of `ranks`. At the last level,
 * progress threads share idle cores, as progress threads mostly sleep. A rank
 * without an idle core gets a busy core, or, in mode AUTO, no thread. */
#include "affinity/policy.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"

/* Ranks that `placed` has bits for; further ranks try the last level only. */
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

/* Levels of the search for an idle hardware thread, nearest first. */
enum nearness {
    LEVEL_CORE,
    LEVEL_SIBLING,
    LEVEL_NIC_HOME, /* near the NIC, and of a NUMA node of the binding */
    LEVEL_NIC,
    LEVEL_NUMA,
    LEVEL_ANY,
    LEVEL_FOREIGN, /* idle, on a core where another group computes */
    LEVEL_SHARED,  /* any level before; library threads may be there already */
    LEVELS
};

/* The place chosen for one thread. */
struct pick {
    uint16_t index; /* of the hardware thread; AMG_NO_PU: not pinned */
    uint8_t rule;   /* enum amg_slot_rule */
    bool is_asked;  /* the thread is not pinned because the user said "none" */
};

#define PICK_NOWHERE                                                           \
    ((struct pick){.index = AMG_NO_PU, .rule = AMG_SLOT_UNPINNED})

/* The rank that looks for a hardware thread. */
struct seeker {
    uint16_t group;
    struct amg_cpuset binding;
    uint64_t nodes;           /* NUMA nodes of `binding`, as bits */
    struct amg_cpuset caches; /* last level caches of `binding`, by number */
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

static enum nearness level_of(
    const struct amg_node_map *map, const struct seeker *seeker, uint32_t index)
{
    const struct amg_pu *pu = &map->machine->pus[index];

    if (map->uses[index].kind == AMG_PU_CORE)
        return LEVEL_CORE;
    if (map->uses[index].kind == AMG_PU_SIBLING)
        return LEVEL_SIBLING;
    if (is_near_nic(map, pu))
        return is_home(seeker, pu) ? LEVEL_NIC_HOME : LEVEL_NIC;
    return is_home(seeker, pu) ? LEVEL_NUMA : LEVEL_ANY;
}

static enum amg_slot_rule rule_of(enum nearness level)
{
    static const uint8_t rules[LEVELS] = {
        [LEVEL_CORE] = AMG_SLOT_CORE,
        [LEVEL_SIBLING] = AMG_SLOT_SIBLING,
        [LEVEL_NIC_HOME] = AMG_SLOT_NIC,
        [LEVEL_NIC] = AMG_SLOT_NIC,
        [LEVEL_NUMA] = AMG_SLOT_NUMA,
        [LEVEL_ANY] = AMG_SLOT_ANY,
        [LEVEL_FOREIGN] = AMG_SLOT_ANY,
        [LEVEL_SHARED] = AMG_SLOT_ANY,
    };

    return (enum amg_slot_rule)rules[level];
}

/* The program that a progress thread on a hardware thread would slow down. */
enum harm { HARMS_NOBODY, HARMS_ITSELF, HARMS_OTHERS };

static enum harm harm_of(const struct amg_node_map *map,
    const struct seeker *seeker, const struct amg_pu *pu)
{
    uint16_t group = map->core_group[pu->core];

    if (group == AMG_NO_GROUP)
        return HARMS_NOBODY;
    return group == seeker->group ? HARMS_ITSELF : HARMS_OTHERS;
}

/* Order of otherwise equal hardware threads. In the bindings of a group, the
 * last core comes first: programs fill a binding from the first core on.
 * Elsewhere, the first core comes first, and within a core the first thread. */
static uint64_t turn_of(
    const struct amg_node_map *map, uint32_t index, enum nearness level)
{
    uint32_t order = map->uses[index].order;

    if (level != LEVEL_CORE && level != LEVEL_SIBLING)
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
    const struct seeker *seeker, uint32_t index, enum nearness level)
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

/* The level at which a rank may take a hardware thread: LEVEL_FOREIGN on a core
 * where a progress thread would slow another group down, else `place`. */
static enum nearness level_for(const struct amg_node_map *map,
    const struct seeker *seeker, uint32_t index, enum nearness place)
{
    const struct amg_pu *pu = &map->machine->pus[index];

    return harm_of(map, seeker, pu) == HARMS_OTHERS ? LEVEL_FOREIGN : place;
}

/* Is the hardware thread idle, and open to library threads of that group? */
static bool map_is_idle(
    const struct amg_node_map *map, unsigned index, uint16_t group)
{
    const struct amg_pu_use *use = &map->uses[index];

    return use->kind == AMG_PU_FREE ||
           ((use->kind == AMG_PU_CORE || use->kind == AMG_PU_SIBLING) &&
               use->group == group);
}

/* Counts a thread of the library on a hardware thread. */
static void map_take(struct amg_node_map *map, unsigned index)
{
    map->uses[index].used++;
    map->core_used[map->machine->pus[index].core]++;
}

/* The best idle hardware thread of that level; PICK_NOWHERE: none is idle. */
static struct pick map_find_idle(
    const struct amg_node_map *map, uint32_t rank, enum nearness level)
{
    struct pick best = PICK_NOWHERE;
    uint64_t best_key = UINT64_MAX;
    struct seeker seeker;

    seeker_init(map, rank, &seeker);
    for (uint32_t i = 0; i < map->machine->pu_count; i++) {
        enum nearness place = LEVEL_SHARED;
        enum nearness own = LEVEL_SHARED;
        uint64_t key = 0;

        if (!map_is_idle(map, i, seeker.group))
            continue;
        place = level_of(map, &seeker, i);
        own = level_for(map, &seeker, i, place);
        if (level != LEVEL_SHARED && (map->uses[i].used > 0 || own != level))
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

/* The last of those hardware threads of the rank's binding that the fewest
 * library threads use; PICK_NOWHERE: the binding is not known. */
static struct pick map_find_last(const struct amg_node_map *map, uint32_t rank)
{
    struct pick best = PICK_NOWHERE;
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

/* May the user name that cpu? Without a topology: any cpu that exists. */
static bool map_allows(const struct amg_node_map *map, unsigned cpu)
{
    return cpu < AMG_CPUS_MAX && map->index_of[cpu] != AMG_NO_PU &&
           (!map->machine->is_known || amg_cpuset_has(&map->usable, cpu));
}

/* List of cpus that a user writes: "auto", "none", or "0-3,8". */
struct cpu_list {
    enum { LIST_AUTO, LIST_NONE, LIST_CPUS, LIST_BAD } kind;
    uint32_t count;
    uint16_t cpus[AMG_CPUS_MAX]; /* in the order of the text */
    size_t bad_at;               /* offset of the first invalid run */
};

/* Reads a number and moves `*text` behind it. False: no digit. A number that is
 * too large becomes AMG_CPUS_MAX, which is the number of no cpu. */
static bool number_read(const char **text, unsigned *ret_number)
{
    unsigned number = 0;

    if (!isdigit((unsigned char)**text))
        return false;
    for (; isdigit((unsigned char)**text); ++*text) {
        number = 10 * number + (unsigned)(**text - '0');
        if (number > AMG_CPUS_MAX)
            number = AMG_CPUS_MAX;
    }
    *ret_number = number;
    return true;
}

/* Reads "3" or "0-3", and moves `*text` behind it. */
static bool run_read(const char **text, struct cpu_list *list)
{
    unsigned first = 0;
    unsigned last = 0;

    if (!number_read(text, &first))
        return false;
    last = first;
    if (**text == '-') {
        ++*text;
        if (!number_read(text, &last))
            return false;
    }
    if (last < first || last >= AMG_CPUS_MAX ||
        list->count + (last - first) >= AMG_CPUS_MAX)
        return false;
    while (first <= last)
        list->cpus[list->count++] = (uint16_t)first++;
    return true;
}

/* Parses the user's list; `text` NULL means "auto". */
static void list_parse(const char *text, struct cpu_list *list)
{
    const char *at = text;
    const char *run = text;

    list->count = 0;
    list->kind = LIST_AUTO;
    if (text == NULL || strcmp(text, "auto") == 0)
        return;
    list->kind = LIST_NONE;
    if (strcmp(text, "none") == 0)
        return;
    list->kind = LIST_CPUS;
    while (run_read(&at, list) && (*at == '\0' || *at == ',')) {
        if (*at == '\0')
            return;
        run = ++at;
    }
    list->kind = LIST_BAD;
    list->bad_at = (size_t)(run - text);
}

/* State of a placement of all threads; on the stack of amg_policy_place(). */
struct placing {
    struct amg_node_map map;
    struct cpu_list list;
    bool has_progress;    /* the mode allows progress threads */
    bool is_auto;         /* a rank that finds no idle cpu gets no thread */
    bool has_pick;        /* the asking rank gets a thread */
    struct pick progress; /* place of the asking rank's thread */
    uint64_t placed[RANKS_KNOWN / 64];
};

static void keep(struct placing *placing, uint32_t rank, struct pick pick)
{
    if (pick.index != AMG_NO_PU)
        map_take(&placing->map, pick.index);
    if (rank < RANKS_KNOWN)
        placing->placed[rank / 64] |= 1ull << rank % 64;
    if (rank != placing->map.ask->self)
        return;
    placing->has_pick = true;
    placing->progress = pick;
}

/* The allowed cpu that the user named for the rank; or PICK_NOWHERE. */
static struct pick named_pick(const struct placing *placing, uint32_t rank)
{
    const struct cpu_list *list = &placing->list;
    struct pick pick = PICK_NOWHERE;
    unsigned cpu = 0;

    if (list->kind != LIST_CPUS)
        return pick;
    cpu = list->cpus[rank % list->count];
    if (map_allows(&placing->map, cpu)) {
        pick.index = placing->map.index_of[cpu];
        pick.rule = AMG_SLOT_CHOSEN;
    }
    return pick;
}

/* Places threads on the cores that the user named, idle or not. */
static void named_place(struct placing *placing)
{
    for (uint32_t rank = 0; rank < placing->map.ask->rank_count; rank++) {
        struct pick pick = named_pick(placing, rank);

        if (pick.index != AMG_NO_PU)
            keep(placing, rank, pick);
    }
}

/* Lets the ranks that have no place yet look for a place at that level. */
static void level_place(struct placing *placing, enum nearness level)
{
    const struct amg_node_map *map = &placing->map;
    bool is_last = level == LEVEL_SHARED;
    bool is_none = placing->list.kind == LIST_NONE;

    for (uint32_t rank = 0; rank < map->ask->rank_count; rank++) {
        bool is_known = rank < RANKS_KNOWN;
        struct pick pick = PICK_NOWHERE;

        if (is_known ? (placing->placed[rank / 64] >> rank % 64 & 1) != 0
                     : !is_last)
            continue;
        if (named_pick(placing, rank).index != AMG_NO_PU)
            continue;
        pick = map_find_idle(map, rank, level);
        if (pick.index == AMG_NO_PU && (placing->is_auto || !is_last))
            continue;
        if (is_none)
            pick = (struct pick){AMG_NO_PU, AMG_SLOT_UNPINNED, true};
        else if (pick.index == AMG_NO_PU)
            pick = map_find_last(map, rank);
        keep(placing, rank, pick);
    }
}

static void progress_place(struct placing *placing)
{
    named_place(placing);
    for (unsigned level = 0; level < LEVELS; level++)
        level_place(placing, (enum nearness)level);
}

/* Writes a message if the list is invalid or too short for the asking rank. */
static void list_check(
    const struct placing *placing, const char *text, char *ret_notes)
{
    const struct cpu_list *list = &placing->list;
    const struct amg_node_map *map = &placing->map;
    uint32_t self = map->ask->self;
    unsigned cpu = list->count > 0 ? list->cpus[self % list->count] : 0;

    if (list->kind == LIST_BAD)
        snprintf(ret_notes, AMG_NOTES_CAP,
            LIST_NAME
            " is \"%.64s\", which from \"%.24s\" on is not auto, none, or up "
            "to %d cpus below %d, as in 0-3,8: the library chooses instead",
            text, text + list->bad_at, AMG_CPUS_MAX, AMG_CPUS_MAX);
    else if (list->kind == LIST_CPUS && !map_allows(map, cpu))
        snprintf(ret_notes, AMG_NOTES_CAP,
            LIST_NAME " is \"%.64s\", but cpu %u, which falls to rank %u, %s: "
                      "the library chooses instead",
            text, cpu, map->ask->ranks[self].rank,
            map->index_of[cpu] == AMG_NO_PU ? "does not exist here"
                                            : "is not allowed by the cgroup");
    else if (list->kind == LIST_CPUS && self >= list->count)
        snprintf(ret_notes, AMG_NOTES_CAP,
            LIST_NAME " is \"%.64s\", which names %u for %u threads on this "
                      "node: threads share cores",
            text, list->count, map->ask->rank_count);
}

static void placing_init(
    struct placing *placing, const struct amg_affinity_ask *ask)
{
    amg_node_map_init(&placing->map, ask);
    list_parse(ask->progress_cpus, &placing->list);
    placing->is_auto = ask->progress == AMALGAM_PROGRESS_AUTO;
    placing->has_progress =
        placing->is_auto || amg_policy_has_thread(ask->progress);
    placing->has_pick = false;
    placing->progress = PICK_NOWHERE;
    memset(placing->placed, 0, sizeof(placing->placed));
}

/* Writes why there is no idle core for the asking rank. */
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

/* Names the rule that chose the slot, and a drawback of a named core. */
static const char *slot_reason(const struct amg_node_map *map, struct pick pick)
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
    const struct amg_node_map *map, struct pick pick)
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
    ret_placement->slot = (struct amg_core_slot){
        .cpu = -1, .rule = AMG_SLOT_UNPINNED, .reason = "no thread"};
    if (placing.has_pick)
        ret_placement->slot = slot_answer(&placing.map, placing.progress);
    number = amg_node_map_group(&placing.map, ask->self);
    if (number != AMG_NO_GROUP)
        ret_placement->is_oversubscribed =
            placing.map.groups[number].threads > placing.map.groups[number].pus;
    if (placing.has_progress)
        list_check(&placing, ask->progress_cpus, ret_placement->notes);
}
