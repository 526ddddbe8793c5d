/* SPDX-License-Identifier: BSD-3-Clause */
/* Quiescence of a class, at one rank. */
#ifndef AMG_RPC_QUIET_H
#define AMG_RPC_QUIET_H

#include "amalgam_group.h"
#include "core/context.h"
#include "rpc/handle.h"
#include "transport/tree.h"

/* The state of a rank. Owned by struct amg_groups, which embeds it. */
struct amg_quiet {
    struct amg_tree tree; /* of all ranks. Constant, as the three below */
    struct amg_tree_walk first;
    uint32_t parent;
    uint32_t children;
    struct amg_lock lock; /* guards what follows; NOTE(not a leaf): messages are
                           * sent under the lock */
    struct amg_tree_walk walk; /* over the children that were not told */
    bool must_tell;            /* there may be such children */
    bool is_over;              /* what they are told */
    bool has_told;             /* the parent, in this round */
    uint32_t came;             /* children that have told, in this round */
    uint64_t sum;              /* of these */
    uint64_t before; /* root: sum of the round before; NO_SUM: there was none */
    uint64_t wait_ns; /* until the next look at a rank that is not idle */
    /* Of the program's call; HG_AGAIN: under way. */
    bool has_entered;
    hg_return_t ret;
    amalgam_quiesce_cb_t callback; /* NULL: a thread waits */
    void *arg;
    hg_context_t *context; /* of `entry` */
    struct amg_cq_entry entry;
};

/* Enables the class to wait for quiescence. `quiet`, zeroed, stays the
 * caller's; `width`: children of a rank within its node. */
void amg_quiet_attach(hg_class_t *cls, struct amg_quiet *quiet, uint32_t width);

/* Enters, unless an earlier call has. HG_AGAIN: not over, call again. Any other
 * result of a quiescence is returned once. */
hg_return_t amg_quiet_enter(hg_class_t *cls);

/* A message about quiescence has come in. */
void amg_quiet_told(
    hg_context_t *context, enum amg_control kind, const void *bytes);
/* Does what is due; at AMG_CONTEXT_NEVER the context ends. */
void amg_quiet_look(hg_context_t *context, uint64_t now_ns);

#endif
