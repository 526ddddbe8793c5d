/* SPDX-License-Identifier: BSD-3-Clause */
/* With nothing but cpu numbers, ranks with different bindings compute one map,
 * and no thread is placed where another may be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "affinity/scene.h"

enum { CPUS = 8, TEXT_CAP = 4096 };

static struct amg_pu pus[CPUS];
static unsigned failures;

/* As src/affinity/topo.c makes it for a process with that binding. */
static struct amg_machine flat(const struct amg_cpuset *binding)
{
    struct amg_machine machine = {.pus = pus,
        .pu_count = CPUS,
        .core_count = CPUS,
        .package_count = 1,
        .numa_count = 1,
        .allowed = *binding,
        .is_this = true};

    for (uint16_t i = 0; i < CPUS; i++)
        pus[i] = (struct amg_pu){.cpu = i, .core = i};
    return machine;
}

struct row {
    const char *ranks;
    enum amalgam_progress progress;
    const char *progress_cpus;
    const char *wanted[3]; /* prefix of each rank's result */
};

static const struct row rows[] = {
    {"0-3 4-7", AMALGAM_PROGRESS_AUTO, NULL,
        {"caller: no idle core: 2 ranks on 8 cores",
            "caller: no idle core: 2 ranks on 8 cores"}},
    {"0-1 2-3", AMALGAM_PROGRESS_AUTO, NULL,
        {"caller: no idle core: 2 ranks on 4 cores",
            "caller: no idle core: 2 ranks on 4 cores"}},
    {"0-3/2 4-7/4", AMALGAM_PROGRESS_AUTO, NULL,
        {"thread 3 core own: ", "caller: no idle core for this rank"}},
    {"0-7 0-7", AMALGAM_PROGRESS_AUTO, NULL,
        {"thread 7 core own: ", "thread 6 core own: "}},
    {"0-3 2-5", AMALGAM_PROGRESS_AUTO, NULL,
        {"thread 5 core own: ", "thread 4 core own: "}},
    {"0-3 4-7", AMALGAM_PROGRESS_THREAD, NULL,
        {"thread 3 last shared: ", "thread 7 last shared: "}},
    {"0-3 4-5", AMALGAM_PROGRESS_THREAD, "7,6",
        {"thread 7 chosen shared: named core, use unknown",
            "thread 6 chosen shared: named core, use unknown"}},
    {"0-3 4-5", AMALGAM_PROGRESS_THREAD, "8",
        {"thread 3 last shared: ", "thread 5 last shared: "}},
    {"? ?", AMALGAM_PROGRESS_AUTO, NULL,
        {"caller: no idle core known", "caller: no idle core known"}},
    {"? 4-5", AMALGAM_PROGRESS_THREAD, NULL,
        {"thread - unpinned shared: ", "thread 5 last shared: "}},
};

static void row_play(const struct row *row)
{
    struct amg_affinity_rank ranks[SCENE_RANKS_MAX];
    struct amg_affinity_ask ask = {
        .ranks = ranks,
        .rank_count = scene_ranks(row->ranks, ranks),
        .progress = row->progress,
        .progress_cpus = row->progress_cpus,
    };

    for (ask.self = 0; ask.self < ask.rank_count; ask.self++) {
        struct amg_machine machine = flat(&ranks[ask.self].binding);
        struct amg_placement placement;
        const char *wanted = row->wanted[ask.self];
        char text[TEXT_CAP];

        ask.machine = &machine;
        amg_policy_place(&ask, &placement);
        scene_tell(&placement, text, sizeof(text));
        if (strncmp(text, wanted, strlen(wanted)) != 0) {
            printf("\"%s\", rank %u:\n  got    %s\n  wanted %s\n", row->ranks,
                ask.self, text, wanted);
            failures++;
        }
    }
}

int main(void)
{
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        row_play(&rows[i]);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
