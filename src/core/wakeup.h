/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleep and wake-up of the threads that wait for a context. */
#ifndef AMG_CORE_WAKEUP_H
#define AMG_CORE_WAKEUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "core/cq.h"
#include "mercury_types.h"

/* Owned by its context. */
struct amg_wakeup {
    struct amg_lock lock; /* guards the making of what follows */
    /* One for each who may sleep, which stands for its bell and for all
     * endpoints that have a descriptor; -1: not made yet, -2: could not be.
     * The release store by who made it pairs with the acquire in
     * amg_wakeup_fd(). */
    atomic_int fds[AMG_CQ_BELLS];
    int bells[AMG_CQ_BELLS];
    /* Some endpoint has to be polled for its news to be seen. Constant. */
    bool is_not_pollable;
    /* The same for a thread of the library, which leaves those alone that only
     * the program's threads may move. Constant. */
    bool is_thread_not_pollable;
    /* The owner's: others wanted its core when it last looked. */
    bool is_oversubscribed;
    /* The owner's: since when nothing has come, as far as waits know, so that
     * one goes on where the last one ended; 0: something has. */
    uint64_t quiet_since_ns;
    /* Counts polls in which a peer moved something. Written by the owner; a
     * hint, so relaxed. */
    atomic_uint moves;
    /* Something was posted since a wait looked; a hint, so relaxed. */
    atomic_bool was_posted;
};

/* What ended a sleep. */
enum amg_wakeup_reason {
    AMG_WAKEUP_TIMEOUT, /* it was long enough */
    AMG_WAKEUP_SIGNAL,  /* somebody of this process */
    AMG_WAKEUP_EVENT,   /* an endpoint, as its descriptor says */
};

/* When the endpoints are open, and before they are closed. */
void amg_wakeup_init(hg_context_t *context);
void amg_wakeup_fini(hg_context_t *context);

/* The descriptor of `who`, made when first asked for, or -1 and one line in
 * the log when the process has none left. Any thread. */
int amg_wakeup_fd(hg_context_t *context, enum amg_cq_who who);

/* Announces to all who bring news that `who` is about to sleep. By the
 * progress owner. False: there is some since `epoch`; nobody is armed then,
 * or the next poll ends it. */
bool amg_wakeup_arm(hg_context_t *context, enum amg_cq_who who, unsigned epoch);

/* By who is armed: sleeps until its descriptor tells of news, or the moment has
 * come; disarmed then. The progress thread owns nothing meanwhile. */
enum amg_wakeup_reason amg_wakeup_block(
    hg_context_t *context, enum amg_cq_who who, uint64_t until_ns);

/* Sleeps until the own process has news since `epoch`, or the moment has come;
 * what endpoints have is not told. By the owner or the progress thread. */
enum amg_wakeup_reason amg_wakeup_pause(hg_context_t *context,
    enum amg_cq_who who, unsigned epoch, uint64_t until_ns);

/* By the progress thread, not armed: sleeps so long, unless it is roused. */
void amg_wakeup_timed_wait(
    hg_context_t *context, enum amg_cq_who who, uint64_t until_ns);

/* Ends the sleep of `who`, also the one that it may be about to begin. */
void amg_wakeup_wake(hg_context_t *context, enum amg_cq_who who);

/* By the progress owner: sleeps until there is news, or the moment has come.
 * Returns at once when there is some since `epoch`. */
void amg_wakeup_block_until(
    hg_context_t *context, unsigned epoch, uint64_t until_ns);

/* By the progress owner, which found nothing: does who brings its news run on
 * this very core? */
bool amg_wakeup_is_core_shared(hg_context_t *context);

#endif
