/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement of the library's threads: a pure function of the machine and of all
 * ranks of the node, so that every rank computes the same map. */
#ifndef AMG_AFFINITY_POLICY_H
#define AMG_AFFINITY_POLICY_H

#include "affinity/machine.h"
#include "amalgam_progress.h"

/* Ranks with overlapping bindings form a group: their threads may be on any
 * hardware thread of these bindings. A rank that does not state its number of
 * threads counts as one thread per core if it is alone in its group, else as
 * one thread. The map spreads the program threads of a group over the first
 * hardware threads of all cores, then over the second ones. */

/* The rule that chose the place of a rank's thread; best first. An idle core of
 * the group comes before an idle sibling of a busy core, because a thread that
 * spins on an idle core takes nothing from computing threads. */
enum amg_slot_rule {
    AMG_SLOT_CHOSEN,   /* the user named the core */
    AMG_SLOT_CORE,     /* an idle core in the bindings of the rank's group */
    AMG_SLOT_SIBLING,  /* an idle hardware thread of a busy core of the group */
    AMG_SLOT_NIC,      /* outside all bindings, near the NIC */
    AMG_SLOT_NUMA,     /* outside all bindings, on NUMA nodes of the binding */
    AMG_SLOT_ANY,      /* outside all bindings, elsewhere */
    AMG_SLOT_LAST,     /* no cpu is idle: the least used cpu of the binding */
    AMG_SLOT_UNPINNED, /* not pinned: runs wherever the process may run */
    AMG_SLOT_RULES
};

/* A rank of the node. Plain bytes, as the ranks exchange this struct. */
struct amg_affinity_rank {
    struct amg_cpuset binding; /* of the process when it started */
    uint32_t rank;             /* number in the job */
    uint32_t threads; /* of the program (OMP_NUM_THREADS); 0: not known */
};

/* Input of the policy. Owned by the caller, and only read. */
struct amg_affinity_ask {
    const struct amg_machine *machine;
    const struct amg_affinity_rank *ranks; /* all ranks of this node */
    uint32_t rank_count;
    uint32_t self;      /* index of the rank that asks */
    bool has_strangers; /* unknown processes may use cores that no rank is bound
                         * to: only the user may choose such a core */
    const char *nic;    /* NIC to other nodes; NULL: no other nodes */
    /* Fields of struct amalgam_progress_options, with the environment applied.
     * The policy assumes that all ranks of the node have equal values. */
    enum amalgam_progress progress;
    bool is_mercury; /* callbacks run in HG_Trigger(): AUTO means ASSIST */
    const char *progress_cpus;
};

enum { AMG_REASON_CAP = 64, AMG_NOTES_CAP = 256 };

/* The place of one thread. */
struct amg_core_slot {
    int32_t cpu;       /* -1: not pinned */
    bool is_dedicated; /* no other thread uses the cpu: the thread may spin */
    uint32_t sharers;  /* library threads on the cpu, including this thread */
    enum amg_slot_rule rule;
    const char *reason; /* a literal that names the rule: "idle core" */
};

/* Result of the policy. */
struct amg_placement {
    enum amalgam_progress progress; /* never AUTO */
    char reason[AMG_REASON_CAP];    /* why `progress` is that mode */
    bool is_oversubscribed;    /* the rank's group has more program threads than
                                * hardware threads: a wait must not spin */
    struct amg_core_slot slot; /* of the progress thread, if there is one */
    char notes[AMG_NOTES_CAP]; /* for the log, if `progress_cpus` is invalid or
                                * names too few cpus for this rank; else "" */
};

/* Has a class a progress thread in that mode? */
static inline bool amg_policy_has_thread(enum amalgam_progress progress)
{
    return progress == AMALGAM_PROGRESS_ASSIST ||
           progress == AMALGAM_PROGRESS_THREAD;
}

/* Never fails, allocates nothing, and reads nothing but the ask. */
void amg_policy_place(
    const struct amg_affinity_ask *ask, struct amg_placement *ret_placement);

/* Map of a node: which hardware threads its programs use. Made by node_map.c,
 * and used by policy.c alone. */

enum { AMG_NO_GROUP = UINT16_MAX, AMG_NO_PU = UINT16_MAX };

enum amg_pu_use_kind {
    AMG_PU_OUT,     /* not for the library, unless the user names the cpu */
    AMG_PU_BUSY,    /* a program thread is expected there */
    AMG_PU_SIBLING, /* idle, on a core where a program runs */
    AMG_PU_CORE,    /* in a group's bindings, on an idle core */
    AMG_PU_FREE     /* in no rank's binding */
};

/* A hardware thread, in the order of the machine. */
struct amg_pu_use {
    uint16_t group; /* index of its group's first pu; or AMG_NO_GROUP */
    uint16_t used;  /* number of library threads placed there */
    uint8_t order;  /* number among the pus of its group on its core */
    uint8_t kind;   /* enum amg_pu_use_kind */
};

struct amg_group {
    uint32_t threads; /* program threads of all its ranks */
    uint32_t ranks;
    uint32_t silent; /* ranks whose number of threads is not known */
    uint16_t pus;
    uint16_t cores;
    bool is_unknown; /* the binding of one of its ranks is not known */
};

/* Plain data of 32 KiB, for the stack of the caller. */
struct amg_node_map {
    const struct amg_affinity_ask *ask;
    const struct amg_machine *machine;
    const struct amg_nic *nic; /* ask->nic; NULL: none, or near to all cpus */
    struct amg_cpuset usable;  /* cpus that any rank may use */
    struct amg_pu_use uses[AMG_CPUS_MAX];  /* in the order of `pus` */
    struct amg_group groups[AMG_CPUS_MAX]; /* by index of a group's first pu */
    uint16_t core_used[AMG_CPUS_MAX];      /* library threads on a core */
    uint16_t core_group[AMG_CPUS_MAX];     /* group that computes on a core,
                                            * or AMG_NO_GROUP */
    uint16_t index_of[AMG_CPUS_MAX];       /* by cpu: its pu, or AMG_NO_PU */
};

void amg_node_map_init(
    struct amg_node_map *map, const struct amg_affinity_ask *ask);

/* The group of a rank; AMG_NO_GROUP: there is no usable cpu. */
uint16_t amg_node_map_group(const struct amg_node_map *map, uint32_t rank);

/* The usable part of a rank's binding; empty: the binding is not known. */
static inline void amg_node_map_binding(const struct amg_node_map *map,
    uint32_t rank, struct amg_cpuset *ret_binding)
{
    *ret_binding = map->ask->ranks[rank].binding;
    amg_cpuset_cut(ret_binding, &map->usable);
}

#endif
