/* SPDX-License-Identifier: BSD-3-Clause */
/* A placement test: machine, ranks, their options, and the wanted result. */
#ifndef AMG_TESTS_PLACE_SCENE_H
#define AMG_TESTS_PLACE_SCENE_H

#include "affinity/policy.h"

enum { SCENE_RANKS_MAX = 64, SCENE_LINES_MAX = 8 };

struct scene {
    const char *name;
    /* A file in the folder of machines, if it ends in .xml; else hwloc's
     * synthetic description. */
    const char *machine;
    /* "0-7 8-15/4 ?": one word per rank: its binding ("?": unknown), and its
     * number of threads. "8-15*4": four such ranks. */
    const char *ranks;
    const char *nic;
    enum amalgam_progress progress;
    bool is_mercury;
    bool has_strangers;
    const char *progress_cpus;
    /* One line per rank, as of scene_tell(); the last line is also that of all
     * further ranks. */
    const char *wanted[SCENE_LINES_MAX];
};

/* Parses "0-3,8" and stops behind it. */
struct amg_cpuset scene_cpuset(const char **text);

/* Parses a scene's ranks; returns their number. */
uint32_t scene_ranks(const char *text, struct amg_affinity_rank *ret_ranks);

/* "thread 17 sibling own: REASON", and the notes. */
const char *scene_tell(
    const struct amg_placement *placement, char *ret_text, size_t cap);

/* Plays all scenes, with the machines in the folder. Returns the exit code of
 * main(): 77 if hwloc is needed and missing. */
int scenes_play(const struct scene *scenes, unsigned count, const char *folder);

#endif
