/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress configuration of a class: what was asked for, and what the machine
 * made of it. */
#ifndef AMG_CORE_PROGRESS_CONFIG_H
#define AMG_CORE_PROGRESS_CONFIG_H

#include "amalgam_progress.h"
#include "core/wait_policy.h"
#include "affinity/policy.h"

/* Owned by its class; constant while a context is open. */
struct amg_progress_config {
    /* The options of the program, the environment not applied yet. */
    struct amalgam_progress_options asked; /* owns its texts */
    bool is_mercury; /* callbacks run in HG_Trigger() where nothing is asked */
    /* The ranks of this node, 136 bytes for each; NULL where other processes
     * are not known. */
    struct amg_affinity_rank *ranks;
    uint32_t rank_count;
    uint32_t self;      /* index of this one */
    bool has_far;       /* ranks of the job are on other nodes */
    bool has_strangers; /* the job is a part of a larger one, whose other ranks
                         * may be on this node */
    /* The NIC to other nodes, if a driver knows it: its place on the bus, or a
     * name; the same on all ranks of the node. "": not known. */
    char nic[AMG_NIC_NAME_CAP];
    /* Facts of the class, set by it before it settles. */
    bool is_user_bound; /* no thread of the library may move any route */
    bool has_bound;     /* there is a route that none may move */
    bool no_block;
    bool is_not_pollable; /* descriptors do not tell of all that comes */
    bool must_yield;      /* ranks of the node outnumber its cores */
    bool is_reporting;    /* of the first rank: prints, where asked for */
    /* The answer of the policy. NULL: not settled, or the calls of the
     * application make progress, for `reason`, a constant text. */
    struct amg_placement *placement;
    const char *reason;
    bool is_oversubscribed; /* more threads than cores: waits yield the core */
    enum amalgam_wait wait; /* the environment applied */
};

void amg_progress_config_fini(struct amg_progress_config *config);

/* Copies the options, NULL being the defaults. HG_INVALID_ARG (the log says
 * which), HG_NOMEM; what was asked before stays then. */
hg_return_t amg_progress_config_ask(struct amg_progress_config *config,
    const struct amalgam_progress_options *options);

/* The options with the environment applied; the texts are borrowed. A value
 * that makes no sense is left out, with one warning in the process. */
void amg_progress_config_wanted(const struct amg_progress_config *config,
    struct amalgam_progress_options *ret_wanted);

/* Takes over the ranks of the node, an array of amg_mem_alloc(). `has_far`: the
 * job has ranks on other nodes, too. */
void amg_progress_config_set_ranks(struct amg_progress_config *config,
    struct amg_affinity_rank *ranks, uint32_t count, uint32_t self,
    bool has_far);

/* Copies from the class whose domains are borrowed: the ranks of the node, and
 * its options where this class has none. */
void amg_progress_config_borrow(struct amg_progress_config *config,
    const struct amg_progress_config *lender);

/* Settles where the threads of the class's contexts run, and logs it; again
 * after a change of what is asked. Never fails: without memory the calls of the
 * application make progress. Looks at the machine only where that can matter.
 */
void amg_progress_config_settle(struct amg_progress_config *config);

/* The question to the policy for the rank of the node with that index, the
 * environment applied, so that the map of all of them can be shown. Loads the
 * machine. False: the ranks of the node are not known. */
bool amg_progress_config_question(const struct amg_progress_config *config,
    uint32_t index, struct amg_affinity_ask *ret_ask);

/* The policy of a wait of a thread in that seat, or, with NULL, of a call of
 * the application. */
struct amg_wait_policy amg_progress_config_wait_policy(
    const struct amg_progress_config *config, const struct amg_seat *seat);
/* How a thread in that seat waits, or, with NULL, a call of the application:
 * "spin 100 us, then sleep". Returns `ret_text`. */
const char *amg_progress_config_wait(const struct amg_progress_config *config,
    const struct amg_seat *seat, char *ret_text, size_t cap);
/* "thread" */
const char *amg_progress_config_progress_name(enum amalgam_progress progress);

#endif
