/* SPDX-License-Identifier: BSD-3-Clause */
/* A placement test: machine, ranks, their options, and the wanted result. */
#include "affinity/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "affinity/machine_text.h"

enum { EXIT_SKIP = 77, TEXT_CAP = 4096 };

static const char *const mode_names[] = {
    [AMALGAM_PROGRESS_AUTO] = "auto",
    [AMALGAM_PROGRESS_CALLER] = "caller",
    [AMALGAM_PROGRESS_ASSIST] = "assist",
    [AMALGAM_PROGRESS_THREAD] = "thread",
};

static const char *const rule_words[] = {
    [AMG_SLOT_CHOSEN] = "chosen",
    [AMG_SLOT_CORE] = "core",
    [AMG_SLOT_SIBLING] = "sibling",
    [AMG_SLOT_NIC] = "nic",
    [AMG_SLOT_NUMA] = "numa",
    [AMG_SLOT_ANY] = "any",
    [AMG_SLOT_LAST] = "last",
    [AMG_SLOT_UNPINNED] = "unpinned",
};

struct amg_cpuset scene_cpuset(const char **text)
{
    struct amg_cpuset set = {{0}};
    char *end = (char *)*text;

    do {
        unsigned long first = strtoul(end, &end, 10);
        unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

        for (; first <= last && first < AMG_CPUS_MAX; first++)
            amg_cpuset_add(&set, (unsigned)first);
    } while (*end++ == ',');
    *text = end - 1;
    return set;
}

uint32_t scene_ranks(const char *text, struct amg_affinity_rank *ret_ranks)
{
    uint32_t count = 0;

    while (*text != '\0') {
        struct amg_affinity_rank rank = {.threads = 0};
        char *end = NULL;
        unsigned long times = 1;

        if (*text == '?')
            text++;
        else
            rank.binding = scene_cpuset(&text);
        end = (char *)text;
        if (*end == '/')
            rank.threads = (uint32_t)strtoul(end + 1, &end, 10);
        if (*end == '*')
            times = strtoul(end + 1, &end, 10);
        while (times-- > 0 && count < SCENE_RANKS_MAX) {
            rank.rank = count;
            ret_ranks[count++] = rank;
        }
        text = end + (*end == ' ');
    }
    return count;
}

static size_t slot_tell(const struct amg_core_slot *slot, const char *who,
    char *ret_text, size_t cap)
{
    char where[16] = "-";
    char class[24] = "own";

    if (slot->cpu >= 0)
        snprintf(where, sizeof(where), "%d", (int)slot->cpu);
    if (!slot->is_dedicated && slot->sharers > 1)
        snprintf(class, sizeof(class), "shared by %u", slot->sharers);
    else if (!slot->is_dedicated)
        snprintf(class, sizeof(class), "shared");
    return (size_t)snprintf(ret_text, cap, "%s %s %s %s: %s", who, where,
        rule_words[slot->rule], class, slot->reason);
}

const char *scene_tell(
    const struct amg_placement *placement, char *ret_text, size_t cap)
{
    size_t len = 0;

    if (amg_policy_has_thread(placement->progress))
        len = slot_tell(
            &placement->slot, mode_names[placement->progress], ret_text, cap);
    else
        len = (size_t)snprintf(ret_text, cap, "%s: %s",
            mode_names[placement->progress], placement->reason);
    if (placement->is_oversubscribed && len < cap)
        len += (size_t)snprintf(ret_text + len, cap - len, "\ncrowded");
    if (placement->notes[0] != '\0' && len < cap)
        snprintf(ret_text + len, cap - len, "\n%s", placement->notes);
    return ret_text;
}

static hg_return_t machine_load(const struct scene *scene, const char *folder,
    struct amg_machine **ret_machine)
{
    size_t len = strlen(scene->machine);
    char path[1024];

    if (len < 4 || strcmp(scene->machine + len - 4, ".xml") != 0)
        return machine_text_load(
            AMG_TOPO_SYNTHETIC, scene->machine, ret_machine);
    snprintf(path, sizeof(path), "%s/%s", folder, scene->machine);
    return machine_text_load(AMG_TOPO_XML, path, ret_machine);
}

/* False: a rank got another result, which is printed. */
static bool scene_play(
    const struct scene *scene, const struct amg_machine *machine)
{
    struct amg_affinity_rank ranks[SCENE_RANKS_MAX];
    struct amg_affinity_ask ask = {
        .machine = machine,
        .ranks = ranks,
        .rank_count = scene_ranks(scene->ranks, ranks),
        .nic = scene->nic,
        .progress = scene->progress,
        .is_mercury = scene->is_mercury,
        .has_strangers = scene->has_strangers,
        .progress_cpus = scene->progress_cpus,
    };
    unsigned line = 0;
    bool is_right = true;

    for (ask.self = 0; ask.self < ask.rank_count; ask.self++) {
        struct amg_placement placement;
        char text[TEXT_CAP];
        const char *wanted = scene->wanted[line];

        amg_policy_place(&ask, &placement);
        scene_tell(&placement, text, sizeof(text));
        if (strcmp(text, wanted) != 0) {
            printf("%s, rank %u:\n  got    %s\n  wanted %s\n", scene->name,
                ask.self, text, wanted);
            is_right = false;
        }
        if (line + 1 < SCENE_LINES_MAX && scene->wanted[line + 1] != NULL)
            line++;
    }
    return is_right;
}

int scenes_play(const struct scene *scenes, unsigned count, const char *folder)
{
    int rc = EXIT_SUCCESS;

    for (unsigned i = 0; i < count; i++) {
        struct amg_machine *machine = NULL;
        hg_return_t ret = machine_load(&scenes[i], folder, &machine);

        if (ret == HG_OPNOTSUPPORTED)
            return EXIT_SKIP;
        if (ret != HG_SUCCESS) {
            printf("%s: its machine cannot be loaded\n", scenes[i].name);
            rc = EXIT_FAILURE;
            continue;
        }
        if (!scene_play(&scenes[i], machine))
            rc = EXIT_FAILURE;
        machine_text_free(machine);
    }
    return rc;
}
