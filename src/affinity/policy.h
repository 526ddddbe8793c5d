/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement of the library's threads: a pure function of the machine and of all
 * ranks of the node, so that every rank finds the same map. */
#ifndef AMG_AFFINITY_POLICY_H
#define AMG_AFFINITY_POLICY_H

#include "affinity/node_map.h"

enum {
    AMG_REASON_CAP = 64,
    AMG_NOTES_CAP = 512,
    AMG_SEATS_MAX = 1 + AMALGAM_HANDLERS_MAX
};

/* The place of one thread. */
struct amg_seat {
    int32_t cpu;       /* -1: not pinned */
    bool is_dedicated; /* no other thread uses it: it may spin */
    uint32_t sharers;  /* threads of the library on it, this one counted */
    enum amg_seat_rule rule;
    char reason[AMG_REASON_CAP]; /* the rule, and one fact: "idle core" */
};

/* Result of the policy. */
struct amg_placement {
    enum amalgam_progress progress; /* never AUTO */
    char reason[AMG_REASON_CAP];    /* for that mode */
    bool is_oversubscribed; /* the programs run more threads than they have
                             * cores: waits must not spin */
    unsigned handlers;      /* never AMALGAM_HANDLERS_AUTO */
    struct amg_seat seat;   /* of the progress thread, if there is one */
    struct amg_seat handler_seats[AMALGAM_HANDLERS_MAX];
    char notes[AMG_NOTES_CAP]; /* invalid parts of the ask, and their
                                * replacements: one line each; "": none */
};

/* Is there a progress thread in that mode? */
static inline bool amg_policy_has_thread(enum amalgam_progress progress)
{
    return progress == AMALGAM_PROGRESS_ASSIST ||
           progress == AMALGAM_PROGRESS_THREAD;
}

/* Never fails, allocates nothing, and reads nothing but the ask. */
void amg_policy_place(
    const struct amg_affinity_ask *ask, struct amg_placement *ret_placement);

#endif
