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
    /* The ranks of this node, 136 bytes for each; NULL where other processes
     * are not known. */
    struct amg_place_rank *ranks;
    uint32_t rank_count;
    uint32_t self;      /* index of this one */
    bool has_far;       /* ranks of the job are on other nodes */
    bool has_strangers; /* they are a part of a larger one, of which others may
                         * be on this node */
    /* What leads to them, if a driver knows: its place on the bus, or a name;
     * the same on all ranks of the node. "": not known. */
    char nic[AMG_NIC_NAME_CAP];
    /* What came of it; NULL: not settled, or all is left to the callers, for
     * this reason: constant text. */
    struct amg_placement *placement;
    const char *reason;
    bool is_crowded;        /* who waits gives the core away */
    enum amalgam_wait wait; /* the environment applied */
};

void amg_drive_fini(struct amg_drive *drive);

/* Copies the options, NULL being the defaults. HG_INVALID_ARG (the log says
 * which), HG_NOMEM; what was asked before stays then. */
hg_return_t amg_drive_ask(
    struct amg_drive *drive, const struct amalgam_progress_options *options);

/* What is asked for with the environment applied; the texts are borrowed. What
 * makes no sense there is warned of once, and left out. */
void amg_drive_wanted(
    const struct amg_drive *drive, struct amalgam_progress_options *ret_wanted);

/* Takes over who the ranks of the node are, an array of amg_mem_alloc(), and
 * whether the job has others. */
void amg_drive_set_ranks(struct amg_drive *drive, struct amg_place_rank *ranks,
    uint32_t count, uint32_t self, bool has_far);

/* What the class whose domains are borrowed knows of the node; and what it was
 * asked, where this one was asked for nothing. */
void amg_drive_borrow(struct amg_drive *drive, const struct amg_drive *lender);

/* Settles where the threads of the class's contexts sit, and says so in the
 * log; again after a change of what is asked. Never fails: without memory the
 * callers drive. The machine is looked at only where that can matter. Who waits
 * must give its core away where the node's programs need it. */
void amg_drive_settle(hg_class_t *cls);

/* What settling asks the policy for the rank of the node with that index, the
 * environment applied: so that the map of all of them can be shown. Loads the
 * machine. False: the ranks of the node are not known. */
bool amg_drive_question(
    const hg_class_t *cls, uint32_t index, struct amg_place_ask *ret_ask);

/* How a thread in that seat waits, and why, in words: "sleeps at once, as
 * others use the core". */
const char *amg_drive_wait_words(
    const struct amg_drive *drive, const struct amg_seat *seat);
/* The same for who calls, and has no seat of ours. */
const char *amg_drive_caller_words(const struct amg_drive *drive);

/* One line: who makes progress, why, and how that waits. A second one of the
 * handler threads, "" where there are none. Returns `ret_text`. */
const char *amg_drive_progress_words(
    const struct amg_drive *drive, char *ret_text, size_t cap);
const char *amg_drive_handler_words(
    const struct amg_drive *drive, char *ret_text, size_t cap);

/* "thread", "sleep" */
const char *amg_drive_progress_name(enum amalgam_progress progress);
const char *amg_drive_wait_name(enum amalgam_wait wait);

#endif
