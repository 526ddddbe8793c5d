/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress configuration of a class: its options and resulting placement. */
#ifndef AMG_CORE_PROGRESS_CONFIG_H
#define AMG_CORE_PROGRESS_CONFIG_H

#include "amalgam_progress.h"
#include "core/wait_policy.h"
#include "affinity/policy.h"

/* Owned by its class; constant while a context is open. */
struct amg_progress_config {
    /* Options of the program, without the environment. */
    struct amalgam_progress_options asked; /* progress_cpus: an own copy */
    bool is_mercury; /* callbacks run in HG_Trigger() by default */
    /* The ranks of this node, 136 bytes each; NULL if other processes are not
     * known. */
    struct amg_affinity_rank *ranks;
    uint32_t rank_count;
    uint32_t self;      /* index of this rank */
    bool has_far;       /* some ranks of the job are on other nodes */
    bool has_strangers; /* ranks outside of the job may be on this node */
    /* Bus address or name of a NIC to other nodes, for placement: the NIC of
     * the node's first rank, at all ranks of the node. "": not known. */
    char nic[AMG_NIC_NAME_CAP];
    /* Facts of the class, set before the configuration is settled. */
    bool is_user_bound; /* no library thread may make progress on any route */
    bool has_bound; /* there is a route that only the program may progress */
    bool no_block;  /* progress never blocks */
    bool is_not_pollable; /* descriptors do not report all events */
    bool must_yield;      /* ranks of the node outnumber its cores */
    bool is_reporting;    /* the first rank: prints if AMALGAM_REPORT is set */
    /* Result of the policy. NULL: not settled; or only application calls make
     * progress, and `reason`, a constant string, says why. */
    const struct amg_placement *placement;
    struct amg_placement placed; /* memory of `placement` */
    const char *reason;
    bool is_oversubscribed; /* more threads than cpus: waits must yield */
    enum amalgam_wait wait; /* with the environment applied */
};

void amg_progress_config_fini(struct amg_progress_config *config);

/* Copies the options, NULL being the defaults. HG_INVALID_ARG (the log has the
 * option), HG_NOMEM; on an error the earlier options stay. */
hg_return_t amg_progress_config_ask(struct amg_progress_config *config,
    const struct amalgam_progress_options *options);

/* Takes over the ranks of the node, an array of amg_mem_alloc(). `has_far`: the
 * job also has ranks on other nodes. */
void amg_progress_config_set_ranks(struct amg_progress_config *config,
    struct amg_affinity_rank *ranks, uint32_t count, uint32_t self,
    bool has_far);

/* Copies from `owner`, the class that owns the domains: the ranks of the node
 * (their memory stays the owner's), the NIC, and each mode of progress and wait
 * that is AUTO in this class. */
void amg_progress_config_borrow(struct amg_progress_config *config,
    const struct amg_progress_config *owner);

/* Determines and logs where the threads of the class's contexts run; called
 * again after a change of the options. Loads the topology only if needed. */
void amg_progress_config_settle(struct amg_progress_config *config);

/* Input of the policy for rank `index` of the node, with the environment
 * applied. Loads the topology. False: the ranks of the node are not known. */
bool amg_progress_config_question(const struct amg_progress_config *config,
    uint32_t index, struct amg_affinity_ask *ret_ask);

/* Wait policy of a thread that uses its core as `core` says, and polls for
 * `spin_ns` before it blocks; the caller sets is_not_pollable. */
static inline struct amg_wait_policy amg_progress_config_wait_policy(
    const struct amg_progress_config *config, enum amg_core_use core,
    uint64_t spin_ns)
{
    return (struct amg_wait_policy){
        .hint = config->wait,
        .core = core,
        .no_block = config->no_block,
        .must_yield = config->must_yield || config->is_oversubscribed,
        .spin_ns = spin_ns,
    };
}
/* Describes how a thread on `slot` waits (NULL: the calls of the application):
 * "spin 100 us, then sleep". Returns its complete policy. */
struct amg_wait_policy amg_progress_config_wait(
    const struct amg_progress_config *config, const struct amg_core_slot *slot,
    char *ret_text, size_t cap);
/* The name of a mode in the options, such as "thread". */
const char *amg_progress_config_progress_name(enum amalgam_progress progress);

#endif
