/* SPDX-License-Identifier: BSD-3-Clause */
/* What a wait does between two looks for news: a pure function. */
#ifndef AMG_CORE_PACE_H
#define AMG_CORE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "amalgam_progress.h"

/* For what need not be bounded: how long a thread of ours sleeps at most. */
#define AMG_PACE_FOR_LONG_NS 1000000000ull

/* Whose core it is that waits. */
enum amg_pace_core {
    AMG_PACE_OWN,       /* the program's, which has one for each thread */
    AMG_PACE_DEDICATED, /* a thread of ours, and nobody else's */
    AMG_PACE_SHARED,    /* others want to compute there */
};

/* One who waits. */
struct amg_pace {
    enum amalgam_wait wish;
    enum amg_pace_core core;
    bool is_blind;    /* descriptors do not tell of all */
    bool no_block;    /* progress never sleeps */
    bool must_yield;  /* ranks of the node outnumber its cores */
    uint64_t spin_ns; /* AMALGAM_SPIN_US */
};

enum amg_pace_kind {
    AMG_PACE_LOOK,  /* look again */
    AMG_PACE_GO_ON, /* the same, and give the core away now and then */
    AMG_PACE_YIELD, /* give it away before each look */
    AMG_PACE_NAP,   /* for `ns`; what the own process does ends it */
    AMG_PACE_SLEEP, /* on descriptors, for at most `ns` */
};

struct amg_pace_step {
    enum amg_pace_kind kind;
    uint64_t ns; /* UINT64_MAX: no limit */
};

/* After nothing has come for so long. */
struct amg_pace_step amg_pace_next(
    const struct amg_pace *pace, uint64_t quiet_ns);

#endif
