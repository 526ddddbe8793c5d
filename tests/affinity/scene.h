/* SPDX-License-Identifier: BSD-3-Clause */
/* A machine, the ranks on it, what they ask, and what each of them must get. */
#ifndef AMG_TESTS_PLACE_SCENE_H
#define AMG_TESTS_PLACE_SCENE_H

#include "affinity/policy.h"

enum { SCENE_RANKS_MAX = 64, SCENE_LINES_MAX = 8 };

struct scene {
    const char *name;
    /* A file of the folder of machines, where it ends in .xml; else hwloc's
     * synthetic description. */
    const char *machine;
    /* "0-7 8-15/4 ?": one word for each rank: its binding ("?": not known), and
     * how many threads it says it runs. "8-15*4": four ranks of the kind. */
    const char *ranks;
    const char *nic;
    enum amalgam_progress progress;
    bool is_mercury;
    bool has_strangers;
    unsigned handlers;
    const char *progress_cpus;
    const char *handler_cpus;
    /* Rank by rank, as scene_tell() says it; the last line is that of all ranks
     * after it, too. */
    const char *wanted[SCENE_LINES_MAX];
};

/* Reads "0-3,8" and stops behind it. */
struct amg_cpuset scene_cpuset(const char **text);

/* Reads a scene's ranks; returns how many. */
uint32_t scene_ranks(const char *text, struct amg_affinity_rank *ret_ranks);

/* "thread 17 sibling own: REASON", and a line of the same kind for each handler
 * thread, and the notes. */
const char *scene_tell(
    const struct amg_placement *placement, char *ret_text, size_t cap);

/* Plays all scenes, with the machines in the folder. Returns what main() does:
 * 77 where hwloc is needed and not there. */
int scenes_play(const struct scene *scenes, unsigned count, const char *folder);

#endif
