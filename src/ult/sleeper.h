/* SPDX-License-Identifier: BSD-3-Clause */
/* One who waits until something is pushed into one of several pools: a xstream
 * without work, a user-level thread that dozes, or an OS thread.
 *
 *   AWAKE -> ASLEEP -> AWAKE               who rings wakes the futex afterwards
 *   AWAKE -> BLOCKED -> WAKING -> AWAKE    who rings calls the doze's function
 *
 * Who changes ASLEEP or BLOCKED has claimed it: the one push rings one sleeper,
 * and each sleeper is rung once. A sleeper that is ASLEEP may be gone as soon
 * as it is claimed; one that is WAKING stays until it is AWAKE. */
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

/* A user-level thread that blocks its whole xstream in a call which is no
 * concern of this module; the caller's while it does. */
struct amg_block {
    void (*wake)(void *arg); /* from any thread, also before the sleep begins,
                              * which it then has to end as well */
    void *arg;
};

/* Of a xstream, or on the stack of the caller that waits. */
struct amg_sleeper {
    atomic_uint
        word; /* of enum amg_sleeper_state; the futex word, too. A change of it
               * publishes `block`, and in ringing what was asked */
    struct amg_block *block; /* while BLOCKED or WAKING */
};

/* Its place on the list of one pool, which that pool's lock guards. */
struct amg_watch {
    struct amg_link link;
    struct amg_sleeper *sleeper;
};

/* Who was claimed and is yet to be rung. */
struct amg_claim {
    struct amg_sleeper *sleeper;
    enum amg_sleeper_state was; /* AWAKE: nobody */
};

void amg_sleeper_init(struct amg_sleeper *sleeper);

/* It will sleep, or block, unless claimed meanwhile; then it looks at all it
 * waits for once more. A full barrier. */
void amg_sleeper_arm(struct amg_sleeper *sleeper, struct amg_block *block);
/* Sleeps until claimed; false: the moment of amg_clock_ns() has come. */
bool amg_sleeper_sleep(struct amg_sleeper *sleeper, uint64_t deadline_ns);
/* It is awake, whether it was claimed or not; waits for a ring under way. */
void amg_sleeper_disarm(struct amg_sleeper *sleeper);

/* By any thread, the first two also with a lock held. False: it is awake, or
 * somebody else has claimed it. */
bool amg_sleeper_claim(
    struct amg_sleeper *sleeper, struct amg_claim *ret_claim);
/* The first of a list of watches that can be had. */
void amg_sleeper_claim_first(
    struct amg_list *watches, struct amg_claim *ret_claim);
/* All that are asleep, and none that dozes; also with a lock held: what they
 * wait for can only change with that lock. */
void amg_sleeper_wake_all(struct amg_list *watches);
/* Once for each claim, with no lock held. */
void amg_sleeper_wake(const struct amg_claim *claim);

#endif
