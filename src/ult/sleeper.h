/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleepers, which block until a push into one of several pools: an xstream
 * without work, a user-level thread that blocks its xstream, or an OS thread.
 *
 *   AWAKE -> ASLEEP -> AWAKE               the claimer wakes the futex then
 *   AWAKE -> BLOCKED -> WAKING -> AWAKE    the claimer calls block->wake()
 *
 * The caller that changes ASLEEP or BLOCKED has claimed the sleeper: one push
 * wakes one sleeper, and each sleeper is woken once. The memory of an ASLEEP
 * sleeper may be freed once it is claimed; that of a WAKING one stays until it
 * is AWAKE. */
#ifndef AMG_ULT_SLEEPER_H
#define AMG_ULT_SLEEPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

enum amg_sleeper_state {
    AMG_SLEEPER_AWAKE,
    AMG_SLEEPER_ASLEEP,
    AMG_SLEEPER_BLOCKED,
    AMG_SLEEPER_WAKING,
};

/* A user-level thread that blocks its whole xstream in a call of another
 * module; owned by the caller meanwhile. */
struct amg_block {
    void (*wake)(void *arg); /* called by any thread, also before the sleep
                                begins, which it then has to end as well */
    void *arg;
};

/* Part of an xstream, or on the stack of the caller that waits. */
struct amg_sleeper {
    /* A value of enum amg_sleeper_state, and the futex word. A change publishes
     * `block`, and on a wake-up the request. */
    atomic_uint word;
    struct amg_block *block; /* while BLOCKED or WAKING */
};

/* Link in the list of one pool, guarded by the lock of that pool. */
struct amg_watch {
    struct amg_link link;
    struct amg_sleeper *sleeper;
};

/* A sleeper that was claimed, but not woken yet. */
struct amg_claim {
    struct amg_sleeper *sleeper;
    enum amg_sleeper_state was; /* AWAKE: none */
};

void amg_sleeper_init(struct amg_sleeper *sleeper);

/* Announces that it will block unless claimed; afterwards it checks everything
 * it waits for once more. A full barrier. */
void amg_sleeper_arm(struct amg_sleeper *sleeper, struct amg_block *block);
/* Blocks until claimed; false: the time of amg_clock_ns() has passed. */
bool amg_sleeper_sleep(struct amg_sleeper *sleeper, uint64_t deadline_ns);
/* Makes it AWAKE, claimed or not; waits for a wake-up in progress. */
void amg_sleeper_disarm(struct amg_sleeper *sleeper);

/* Called by any thread, the first two also with a lock held. False: it is
 * awake, or another caller has claimed it. */
bool amg_sleeper_claim(
    struct amg_sleeper *sleeper, struct amg_claim *ret_claim);
/* Claims the first possible sleeper of a list of watches. */
void amg_sleeper_claim_first(
    struct amg_list *watches, struct amg_claim *ret_claim);
/* Wakes all that are ASLEEP, and none that is BLOCKED; also with a lock held,
 * if what they wait for changes only with that lock. */
void amg_sleeper_wake_all(struct amg_list *watches);
/* Called once for each claim, with no lock held. */
void amg_sleeper_wake(const struct amg_claim *claim);

#endif
