/* SPDX-License-Identifier: BSD-3-Clause */
/* Why threads sit where they do, in words for a person. */
#include "place/policy_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CPUS_CAP = 40, BESIDE_CAP = 48, SHARED_CAP = 64 };

static const char *const rule_names[] = {
    [AMG_SEAT_CHOSEN] = "named by the user",
    [AMG_SEAT_CORE] = "idle core within the own binding",
    [AMG_SEAT_SIBLING] = "idle hardware thread within the own binding",
    [AMG_SEAT_NIC] = "idle, near the NIC",
    [AMG_SEAT_NUMA] = "idle, on the own NUMA node",
    [AMG_SEAT_ANY] = "idle, on another NUMA node",
    [AMG_SEAT_LAST] = "the last of the own binding, in use",
    [AMG_SEAT_UNPINNED] = "not pinned",
};

const char *amg_policy_rule_name(enum amg_seat_rule rule)
{
    return (unsigned)rule < AMG_SEAT_RULES ? rule_names[rule] : "unknown";
}

const char *amg_words_option(enum amg_crowd crowd)
{
    return crowd == AMG_CROWD_PROGRESS ? "progress_cpus" : "handler_cpus";
}

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

/* A busy hardware thread of the same core, or -1. */
static int neighbour_of(const struct amg_board *board, uint16_t index)
{
    const struct amg_pu *pus = board->machine->pus;

    for (uint32_t i = 0; i < board->machine->pu_count; i++) {
        if (pus[i].core == pus[index].core &&
            board->spots[i].kind == AMG_SPOT_BUSY)
            return pus[i].cpu;
    }
    return -1;
}

/* ", beside cpu 1", where a program runs on the same core. */
static const char *beside(
    const struct amg_board *board, uint16_t index, char *ret_text)
{
    int cpu = neighbour_of(board, index);

    ret_text[0] = '\0';
    if (cpu >= 0)
        snprintf(ret_text, BESIDE_CAP, ", beside cpu %d, which is in use", cpu);
    return ret_text;
}

/* "6 threads of 1 rank run on the 8 cores of 0-7" */
static void group_words(const struct amg_board *board, uint16_t index,
    bool by_core, char *ret_text, size_t cap)
{
    uint16_t number = board->spots[index].group;
    const struct amg_group *group = &board->groups[number];
    struct amg_cpuset all;
    char cpus[CPUS_CAP];

    amg_board_union(board, number, &all);
    snprintf(ret_text, cap,
        "%u thread%s of %u rank%s run%s on the %u %s%s of cpus %s",
        group->threads, plural(group->threads), group->ranks,
        plural(group->ranks), group->threads == 1 ? "s" : "",
        by_core ? group->cores : group->pus,
        by_core ? "core" : "hardware thread",
        plural(by_core ? group->cores : group->pus),
        amg_cpuset_format(&all, cpus, sizeof(cpus)));
}

static void last_words(
    const struct amg_board *board, char *ret_text, size_t cap)
{
    struct amg_cpuset binding;
    char cpus[CPUS_CAP];

    amg_board_binding(board, board->ask->self, &binding);
    snprintf(ret_text, cap,
        "one of the binding %s, in use by the program, too: no core is idle",
        amg_cpuset_format(&binding, cpus, sizeof(cpus)));
}

/* What the state of a core that the user named is. */
static void chosen_words(const struct amg_board *board, enum amg_crowd crowd,
    uint16_t index, char *ret_text, size_t cap)
{
    const struct amg_spot *spot = &board->spots[index];
    const char *state = "nothing is known of it";

    if (spot->kind == AMG_SPOT_BUSY)
        state = "a program uses it, too";
    else if (spot->kind != AMG_SPOT_OUT)
        state = "it is idle";
    snprintf(ret_text, cap, "as %s says; %s", amg_words_option(crowd), state);
}

static void unpinned_words(const struct amg_board *board, enum amg_crowd crowd,
    struct amg_pick pick, char *ret_text, size_t cap)
{
    struct amg_cpuset binding;

    amg_board_binding(board, board->ask->self, &binding);
    if (pick.is_asked)
        snprintf(
            ret_text, cap, "not pinned, as %s says", amg_words_option(crowd));
    else
        snprintf(ret_text, cap, "not pinned: no %s",
            amg_cpuset_count(&binding) == 0
                ? "core is idle, and what the rank is bound to is not known"
                : "idle core is left for it");
}

/* Of the seats that were found by looking for idle ones. */
static void idle_words(const struct amg_board *board, struct amg_pick pick,
    char *ret_text, size_t cap)
{
    const struct amg_machine *machine = board->machine;
    unsigned numa = machine->pus[pick.index].numa;
    char more[CPUS_CAP + 96];
    char side[BESIDE_CAP];

    beside(board, pick.index, side);
    switch ((enum amg_seat_rule)pick.rule) {
    case AMG_SEAT_CORE:
        group_words(board, pick.index, true, more, sizeof(more));
        snprintf(ret_text, cap, "an idle core%s: %s",
            board->core_used[machine->pus[pick.index].core] >
                    board->spots[pick.index].used
                ? ", beside another thread of the library"
                : "",
            more);
        break;
    case AMG_SEAT_SIBLING:
        group_words(board, pick.index, false, more, sizeof(more));
        snprintf(ret_text, cap, "the idle hardware thread beside cpu %d: %s",
            neighbour_of(board, pick.index), more);
        break;
    case AMG_SEAT_NIC:
        snprintf(ret_text, cap,
            "bound to no rank, and near NIC %s (NUMA node %u)%s",
            board->nic == NULL ? "" : board->nic->name, numa, side);
        break;
    case AMG_SEAT_NUMA:
        snprintf(ret_text, cap,
            "bound to no rank, and on the rank's NUMA node %u%s", numa, side);
        break;
    default:
        snprintf(ret_text, cap,
            "bound to no rank, on NUMA node %u: none is idle on the rank's "
            "own%s",
            numa, side);
    }
}

static void shared_words(
    enum amg_crowd crowd, const struct amg_seat *seat, char *ret_text)
{
    ret_text[0] = '\0';
    if (seat->sharers < 2)
        return;
    if (crowd == AMG_CROWD_PROGRESS && seat->rule != AMG_SEAT_CHOSEN)
        snprintf(ret_text, SHARED_CAP,
            "; shared by the progress threads of %u ranks", seat->sharers);
    else
        snprintf(ret_text, SHARED_CAP, "; shared by %u threads of the library",
            seat->sharers);
}

void amg_words_seat(const struct amg_board *board, enum amg_crowd crowd,
    struct amg_pick pick, struct amg_seat *ret_seat)
{
    char words[AMG_REASON_CAP];
    char shared[SHARED_CAP];

    *ret_seat = (struct amg_seat){
        .cpu = -1, .rule = (enum amg_seat_rule)pick.rule, .sharers = 1};
    if (pick.index != AMG_NO_PU) {
        const struct amg_spot *spot = &board->spots[pick.index];

        ret_seat->cpu = board->machine->pus[pick.index].cpu;
        ret_seat->sharers = spot->used;
        ret_seat->is_dedicated = spot->used == 1 &&
                                 spot->kind != AMG_SPOT_BUSY &&
                                 spot->kind != AMG_SPOT_OUT;
    }
    if (pick.rule == AMG_SEAT_UNPINNED)
        unpinned_words(board, crowd, pick, words, sizeof(words));
    else if (pick.rule == AMG_SEAT_CHOSEN)
        chosen_words(board, crowd, pick.index, words, sizeof(words));
    else if (pick.rule == AMG_SEAT_LAST)
        last_words(board, words, sizeof(words));
    else
        idle_words(board, pick, words, sizeof(words));
    shared_words(crowd, ret_seat, shared);
    snprintf(ret_seat->reason, sizeof(ret_seat->reason), "%.*s%s",
        (int)(sizeof(words) - SHARED_CAP), words, shared);
}

/* Are there hardware threads that a program leaves idle, and how many cores do
 * programs use? */
static bool idle_count(
    const struct amg_board *board, unsigned *ret_cores, bool *ret_is_whole)
{
    bool is_idle = false;

    *ret_cores = 0;
    *ret_is_whole = true;
    for (uint32_t i = 0; i < board->machine->pu_count; i++) {
        unsigned kind = board->spots[i].kind;

        is_idle = is_idle || (kind != AMG_SPOT_BUSY && kind != AMG_SPOT_OUT);
        *ret_is_whole = *ret_is_whole && kind != AMG_SPOT_OUT;
    }
    for (uint32_t core = 0; core < AMG_CPUS_MAX; core++)
        *ret_cores += board->core_group[core] != AMG_NO_GROUP;
    return is_idle;
}

void amg_words_none_idle(const struct amg_board *board, char *ret_text)
{
    uint16_t group = amg_board_group(board, board->ask->self);
    uint32_t ranks = board->ask->rank_count;
    unsigned cores = 0;
    bool is_whole = true;
    bool is_idle = idle_count(board, &cores, &is_whole);
    const char *where = is_whole ? "of the node" : "that may be used";

    if (group == AMG_NO_GROUP || board->groups[group].is_unknown)
        snprintf(ret_text, AMG_REASON_CAP,
            "no core is known to be idle: the system does not tell what every "
            "rank of the node is bound to");
    else if (is_idle)
        snprintf(ret_text, AMG_REASON_CAP,
            "no core is idle for this rank: those that are, are bound to "
            "others");
    else if (cores == 1)
        snprintf(ret_text, AMG_REASON_CAP,
            "no core is idle: the only one %s is in use by %u rank%s", where,
            ranks, plural(ranks));
    else
        snprintf(ret_text, AMG_REASON_CAP,
            "no core is idle: all %u cores %s are in use by %u rank%s", cores,
            where, ranks, plural(ranks));
}

void amg_words_note(char *notes, const char *format, ...)
{
    size_t len = strlen(notes);
    va_list args;
    int more = 0;

    va_start(args, format);
    more = vsnprintf(notes + len, AMG_NOTES_CAP - len, format, args);
    va_end(args);
    if (more < 0 || (size_t)more + 1 >= AMG_NOTES_CAP - len) {
        notes[len] = '\0';
        return;
    }
    notes[len + (size_t)more] = '\n';
    notes[len + (size_t)more + 1] = '\0';
}
