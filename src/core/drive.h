/* SPDX-License-Identifier: BSD-3-Clause */
/* How the contexts of a class are driven: what was asked for, and what the
 * machine made of it. */
#ifndef AMG_CORE_DRIVE_H
#define AMG_CORE_DRIVE_H

#include "amalgam_progress.h"
#include "place/policy.h"

/* Owned by its class; constant while a context is open. */
struct amg_drive {
    /* What was asked for, the environment not applied yet. */
    struct amalgam_progress_options asked; /* its texts are ours */
    bool is_mercury; /* callbacks run in HG_Trigger() where nothing is asked */
    /* The ranks of this node; NULL where other processes are not known. */
    struct amg_place_rank *ranks;
    uint32_t rank_count;
    uint32_t self; /* index of this one */
    /* What came of it; NULL: not settled, or all is left to the callers. */
    struct amg_placement *placement;
    enum amalgam_wait wait; /* the environment applied */
};

void amg_drive_fini(struct amg_drive *drive);

/* Copies the options. HG_INVALID_ARG (the log says which), HG_NOMEM. */
hg_return_t amg_drive_ask(
    struct amg_drive *drive, const struct amalgam_progress_options *options);

/* Takes over who the ranks of the node are, an array of amg_mem_alloc(). */
void amg_drive_set_ranks(struct amg_drive *drive, struct amg_place_rank *ranks,
    uint32_t count, uint32_t self);

/* Settles where the threads of the class's contexts sit, and says so in the
 * log; again after a change of what is asked. Never fails: without memory the
 * callers drive. The machine is looked at only where that can matter. */
void amg_drive_settle(hg_class_t *cls);

/* What settling asks the policy for the rank of the node with that index, the
 * environment applied: so that the map of all of them can be shown. Loads the
 * machine. False: the ranks of the node are not known. */
bool amg_drive_question(
    const hg_class_t *cls, uint32_t index, struct amg_place_ask *ret_ask);

#endif
