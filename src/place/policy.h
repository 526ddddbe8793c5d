/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the threads of a rank run: a pure function of what is known of the
 * machine and of all ranks of the node, so every rank comes to the same map. */
#ifndef AMG_PLACE_POLICY_H
#define AMG_PLACE_POLICY_H

#include "amalgam_progress.h"
#include "place/machine.h"

enum {
    AMG_REASON_CAP = 192,
    AMG_NOTES_CAP = 512,
    AMG_SEATS_MAX = 1 + AMALGAM_HANDLERS_MAX
};

/* Why a thread sits where it does; best first. A core that the own program
 * leaves idle comes before a hardware thread beside it: what spins there takes
 * nothing from what computes here. */
enum amg_seat_rule {
    AMG_SEAT_CHOSEN,   /* the user named the core */
    AMG_SEAT_CORE,     /* an idle core within the own binding */
    AMG_SEAT_SIBLING,  /* an idle hardware thread within the own binding */
    AMG_SEAT_NIC,      /* bound to no rank, near the NIC */
    AMG_SEAT_NUMA,     /* bound to no rank, of the own NUMA node */
    AMG_SEAT_ANY,      /* bound to no rank, elsewhere */
    AMG_SEAT_LAST,     /* the last one of the own binding, which is in use */
    AMG_SEAT_UNPINNED, /* wherever the process may run */
    AMG_SEAT_RULES
};

/* Where one thread sits. */
struct amg_seat {
    int32_t cpu;       /* -1: not pinned */
    bool is_dedicated; /* nobody else uses it: it may spin */
    uint32_t sharers;  /* threads of ours on it, this one counted */
    enum amg_seat_rule rule;
    char reason[AMG_REASON_CAP]; /* in words, for a person */
};

/* What is known of a rank of the node. Plain bytes: ranks exchange it. */
struct amg_place_rank {
    struct amg_cpuset binding; /* what it was bound to when it started */
    uint32_t rank;             /* in the job */
    uint32_t threads; /* its program runs so many; 0: not known (OMP_NUM_THREADS
                       * says it, where set) */
};

/* All of it is the caller's, and only read. */
struct amg_place_ask {
    const struct amg_machine *machine;
    const struct amg_place_rank *ranks; /* of this node, all of them */
    uint32_t rank_count;
    uint32_t self; /* index of the rank that asks */
    bool
        has_strangers; /* processes that are not known may use all cores that no
                        * rank is bound to: they are left alone, unless named */
    const char *nic;   /* what leads to other nodes goes by it; NULL: nothing */
    /* As in struct amalgam_progress_options, with the environment applied; all
     * ranks of the node are taken to ask the same. */
    enum amalgam_progress progress;
    bool is_mercury; /* AUTO means ASSIST, not THREAD */
    unsigned handlers;
    const char *progress_cpus;
    const char *handler_cpus;
};

/* The answer. */
struct amg_placement {
    enum amalgam_progress progress; /* never AUTO */
    char reason[AMG_REASON_CAP];    /* for that mode */
    bool is_crowded;      /* the ranks' programs run more threads than they have
                           * cores: who waits there must not spin */
    unsigned handlers;    /* never AMALGAM_HANDLERS_AUTO */
    struct amg_seat seat; /* of the progress thread, if there is one */
    struct amg_seat handler_seats[AMALGAM_HANDLERS_MAX];
    char notes[AMG_NOTES_CAP]; /* what of the ask made no sense, and what was
                                * taken instead: one line each; "" nothing */
};

/* Is there a progress thread in that mode? */
static inline bool amg_policy_has_thread(enum amalgam_progress progress)
{
    return progress == AMALGAM_PROGRESS_ASSIST ||
           progress == AMALGAM_PROGRESS_THREAD;
}

/* Never fails, allocates nothing, and reads nothing but the ask. */
void amg_policy_place(
    const struct amg_place_ask *ask, struct amg_placement *ret_placement);

/* "idle hardware thread within the own binding" */
const char *amg_policy_rule_name(enum amg_seat_rule rule);

#endif
