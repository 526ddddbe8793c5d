/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait policy: what a waiting thread does between two polls. */
#ifndef AMG_CORE_WAIT_POLICY_H
#define AMG_CORE_WAIT_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "amalgam_progress.h"

/* For what need not be bounded: how long a thread of ours sleeps at most. */
#define AMG_WAIT_LONG_NS     1000000000ull
#define AMG_WAIT_FOR_EVER_NS UINT64_MAX

/* Whose core it is that waits. */
enum amg_core_use {
    AMG_CORE_OWN,       /* the program's, which has one for each thread */
    AMG_CORE_DEDICATED, /* a thread of ours, and nobody else's */
    AMG_CORE_SHARED,    /* others want to compute there */
};

/* One who waits. */
struct amg_wait_policy {
    enum amalgam_wait hint;
    enum amg_core_use core;
    bool is_not_pollable; /* descriptors do not tell of all */
    bool no_block;        /* progress never sleeps */
    bool must_yield;      /* ranks of the node outnumber its cores */
    uint64_t spin_ns;     /* AMALGAM_SPIN_US */
};

enum amg_wait_kind {
    AMG_WAIT_POLL,           /* look again */
    AMG_WAIT_POLL_AND_YIELD, /* the same, and give the core away now and then */
    AMG_WAIT_YIELD,          /* give it away before each look */
    AMG_WAIT_PAUSE,          /* for `ns`; what the own process does ends it */
    AMG_WAIT_SLEEP,          /* on descriptors, for at most `ns` */
};

struct amg_wait_step {
    enum amg_wait_kind kind;
    uint64_t ns; /* AMG_WAIT_FOR_EVER_NS: no limit */
};

/* How long a wait polls before it does anything else. */
uint64_t amg_wait_policy_spin_ns(const struct amg_wait_policy *policy);

/* After nothing has come for so long. */
struct amg_wait_step amg_wait_policy_next(
    const struct amg_wait_policy *policy, uint64_t quiet_ns);

#endif
