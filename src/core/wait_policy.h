/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait policy: what a waiting thread does between two polls. */
#ifndef AMG_CORE_WAIT_POLICY_H
#define AMG_CORE_WAIT_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "amalgam_progress.h"

/* Longest sleep of a thread of standby.c, whatever the policy allows. */
#define AMG_WAIT_LONG_NS     1000000000ull
#define AMG_WAIT_FOR_EVER_NS UINT64_MAX

/* Use of the core that the waiting thread runs on. */
enum amg_core_use {
    AMG_CORE_OWN,       /* each thread of the program has a core */
    AMG_CORE_DEDICATED, /* for a thread of the library alone */
    AMG_CORE_SHARED,    /* other threads run on this core, too */
};

/* Properties of a waiting thread. */
struct amg_wait_policy {
    enum amalgam_wait hint;
    enum amg_core_use core;
    bool is_not_pollable; /* descriptors do not report all events */
    bool no_block;        /* progress never blocks */
    bool must_yield;      /* ranks of the node outnumber its cores */
    uint64_t spin_ns;     /* time to poll, from AMALGAM_SPIN_US */
};

enum amg_wait_kind {
    AMG_WAIT_POLL,           /* poll again */
    AMG_WAIT_POLL_AND_YIELD, /* poll again, and yield now and then */
    AMG_WAIT_YIELD,          /* yield before each poll */
    AMG_WAIT_SLEEP,          /* block on descriptors, for at most `ns` */
};

struct amg_wait_step {
    enum amg_wait_kind kind;
    uint64_t ns; /* AMG_WAIT_FOR_EVER_NS: no limit */
};

/* How long a wait polls, or polls and yields, before it sleeps. */
uint64_t amg_wait_policy_spin_ns(const struct amg_wait_policy *policy);

/* The next step of a wait, after `quiet_ns` without an event. */
struct amg_wait_step amg_wait_policy_next(
    const struct amg_wait_policy *policy, uint64_t quiet_ns);

#endif
