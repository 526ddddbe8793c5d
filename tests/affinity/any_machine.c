/* SPDX-License-Identifier: BSD-3-Clause */
/* On any machine and for any options, no thread is placed where it is not
 * allowed, no thread with its own core shares it, and all ranks compute the
 * same map.
 *
 * Machines, bindings and options are random numbers with a fixed seed; the
 * argument is their number. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "affinity/policy.h"

enum { RANKS_MAX = 12, ROUNDS = 3000, PUS_MAX = 96, LIST_CAP = 32 };

static uint64_t state = 20231117;
static struct amg_pu pus[PUS_MAX];
static struct amg_machine machine;
static struct amg_affinity_rank ranks[RANKS_MAX];
static struct amg_placement placements[RANKS_MAX];
static unsigned failures;

/* xorshift: the same numbers everywhere. */
static unsigned below(unsigned limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 11) % limit);
}

#define CHECK(expr)                                                            \
    ((expr) ? (void)0                                                          \
            : (void)(failures++, printf("round %" PRIu64 ", line %d: %s\n",    \
                                     round_now, __LINE__, #expr)))

static uint64_t round_now;

/* One to three packages of one or two NUMA nodes, SMT up to four, cpus numbered
 * core by core or thread by thread. */
static void machine_make(void)
{
    unsigned packages = 1 + below(3);
    unsigned nodes = 1 + below(2);
    unsigned cores = 1 + below(4);
    unsigned smt = 1u << below(3);
    unsigned all = packages * nodes * cores;
    bool by_core = below(2) == 0;

    memset(&machine, 0, sizeof(machine));
    machine.pus = pus;
    machine.package_count = packages;
    machine.numa_count = packages * nodes;
    machine.core_count = all;
    machine.is_known = below(8) != 0;
    machine.is_this = true;
    for (unsigned core = 0; core < all; core++) {
        for (unsigned thread = 0; thread < smt; thread++) {
            struct amg_pu *pu = &pus[machine.pu_count++];

            pu->cpu =
                (uint16_t)(by_core ? core * smt + thread : thread * all + core);
            pu->core = (uint16_t)core;
            pu->thread = (uint16_t)thread;
            pu->numa = pu->cache = (uint16_t)(core / cores);
            pu->package = (uint16_t)(core / cores / nodes);
            if (below(10) != 0)
                amg_cpuset_add(&machine.allowed, pu->cpu);
        }
    }
    for (; machine.nic_count < below(3); machine.nic_count++) {
        struct amg_nic *nic = &machine.nics[machine.nic_count];
        unsigned numa = below(machine.numa_count);

        snprintf(nic->name, sizeof(nic->name), "nic%u", machine.nic_count);
        nic->is_everywhere = below(4) == 0;
        for (uint32_t i = 0; i < machine.pu_count; i++) {
            if (nic->is_everywhere || pus[i].numa == numa)
                amg_cpuset_add(&nic->near, pus[i].cpu);
        }
    }
}

/* Bound to some cores in a row, to all, to single hardware threads, or
 * unknown. */
static void rank_make(struct amg_affinity_rank *rank, uint32_t number)
{
    unsigned kind = below(8);
    unsigned first = below(machine.pu_count);
    unsigned count = kind == 0 ? machine.pu_count : 1 + below(12);

    memset(rank, 0, sizeof(*rank));
    rank->rank = number;
    rank->threads = below(3) == 0 ? 0 : below(10);
    for (unsigned i = 0; i < count && kind != 1; i++)
        amg_cpuset_add(&rank->binding, pus[(first + i) % machine.pu_count].cpu);
    if (machine.is_known && below(4) != 0)
        amg_cpuset_cut(&rank->binding, &machine.allowed);
}

/* A list of cores that exist and are allowed; NULL: none. */
static const char *list_make(char *text, unsigned entries)
{
    size_t len = 0;

    if (amg_cpuset_count(&machine.allowed) == 0)
        return NULL;
    while (entries > 0) {
        unsigned cpu = pus[below(machine.pu_count)].cpu;

        if (!amg_cpuset_has(&machine.allowed, cpu))
            continue;
        len += (size_t)snprintf(
            text + len, LIST_CAP * 4 - len, "%s%u", len > 0 ? "," : "", cpu);
        entries--;
    }
    return text;
}

/* All hardware threads that a rank of another group may be bound to, and that
 * may therefore be in use. */
static bool is_bound_to_others(const struct amg_affinity_ask *ask, unsigned cpu)
{
    struct amg_cpuset mine = ranks[ask->self].binding;
    bool has_grown = true;

    while (has_grown) {
        has_grown = false;
        for (uint32_t i = 0; i < ask->rank_count; i++) {
            if (amg_cpuset_meets(&mine, &ranks[i].binding) &&
                !amg_cpuset_covers(&mine, &ranks[i].binding)) {
                amg_cpuset_unite(&mine, &ranks[i].binding);
                has_grown = true;
            }
        }
    }
    if (amg_cpuset_has(&mine, cpu))
        return false;
    for (uint32_t i = 0; i < ask->rank_count; i++) {
        if (amg_cpuset_has(&ranks[i].binding, cpu))
            return true;
    }
    return false;
}

static bool is_usable(const struct amg_affinity_ask *ask, unsigned cpu)
{
    bool is_bound = false;
    bool exists = false;

    for (uint32_t i = 0; i < machine.pu_count; i++)
        exists = exists || machine.pus[i].cpu == cpu;
    if (!exists)
        return false;
    for (uint32_t i = 0; i < ask->rank_count; i++)
        is_bound = is_bound || amg_cpuset_has(&ranks[i].binding, cpu);
    return machine.is_known ? amg_cpuset_has(&machine.allowed, cpu) : is_bound;
}

/* Threads of the library on that cpu, and whether one of them assumes to be
 * alone. */
static uint32_t users_of(
    const struct amg_affinity_ask *ask, int32_t cpu, bool *ret_is_dedicated)
{
    uint32_t users = 0;

    *ret_is_dedicated = false;
    for (uint32_t i = 0; i < ask->rank_count; i++) {
        const struct amg_placement *got = &placements[i];

        if (amg_policy_has_thread(got->progress) && got->slot.cpu == cpu) {
            users++;
            *ret_is_dedicated = *ret_is_dedicated || got->slot.is_dedicated;
        }
    }
    return users;
}

static void slot_check(
    const struct amg_affinity_ask *ask, const struct amg_core_slot *slot)
{
    bool is_dedicated = false;
    bool is_named = slot->rule == AMG_SLOT_CHOSEN;
    bool is_own = false;
    uint32_t users = 0;

    CHECK(slot->rule < AMG_SLOT_RULES);
    CHECK(slot->reason[0] != '\0');
    CHECK((slot->cpu < 0) == (slot->rule == AMG_SLOT_UNPINNED));
    if (slot->cpu < 0) {
        CHECK(!slot->is_dedicated && slot->sharers == 1);
        return;
    }
    users = users_of(ask, slot->cpu, &is_dedicated);
    is_own = amg_cpuset_has(&ranks[ask->self].binding, (unsigned)slot->cpu);
    CHECK(users == slot->sharers);
    CHECK(!is_dedicated || users == 1);
    CHECK(
        is_usable(ask, (unsigned)slot->cpu) || (is_named && !machine.is_known));
    if (!is_named)
        CHECK(!is_bound_to_others(ask, (unsigned)slot->cpu));
    if (slot->rule == AMG_SLOT_LAST)
        CHECK(is_own && !slot->is_dedicated);
    if (slot->rule > AMG_SLOT_SIBLING && slot->rule < AMG_SLOT_LAST)
        CHECK(!is_own && !ask->has_strangers);
}

static void answer_check(const struct amg_affinity_ask *ask, bool is_short)
{
    const struct amg_placement *got = &placements[ask->self];

    CHECK(got->progress != AMALGAM_PROGRESS_AUTO);
    CHECK(got->reason[0] != '\0');
    if (ask->progress != AMALGAM_PROGRESS_AUTO)
        CHECK(got->progress == ask->progress);
    else
        CHECK(got->progress == AMALGAM_PROGRESS_CALLER ||
              got->progress == (ask->is_mercury ? AMALGAM_PROGRESS_ASSIST
                                                : AMALGAM_PROGRESS_THREAD));
    CHECK(got->notes[0] == '\0' || is_short);
    if (amg_policy_has_thread(got->progress))
        slot_check(ask, &got->slot);
}

static void round_play(void)
{
    char list[LIST_CAP * 4];
    struct amg_affinity_ask ask = {
        .machine = &machine,
        .ranks = ranks,
        .rank_count = 1 + below(RANKS_MAX),
        .is_mercury = below(2) == 0,
        .has_strangers = below(5) == 0,
    };

    machine_make();
    for (uint32_t i = 0; i < ask.rank_count; i++)
        rank_make(&ranks[i], i);
    ask.progress = (enum amalgam_progress)below(AMALGAM_PROGRESS_THREAD + 1);
    ask.nic = below(2) == 0 ? NULL : "nic0";
    if (below(6) == 0)
        ask.progress_cpus =
            below(3) == 0 ? "none" : list_make(list, 1 + below(LIST_CAP));
    for (ask.self = 0; ask.self < ask.rank_count; ask.self++) {
        struct amg_placement again;

        memset(&again, 0xff, sizeof(again));
        amg_policy_place(&ask, &placements[ask.self]);
        amg_policy_place(&ask, &again);
        CHECK(memcmp(&again, &placements[ask.self], sizeof(again)) == 0);
    }
    for (ask.self = 0; ask.self < ask.rank_count; ask.self++)
        answer_check(&ask, ask.progress_cpus != NULL);
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : ROUNDS;

    for (round_now = 0; round_now < rounds && failures < 10; round_now++)
        round_play();
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
