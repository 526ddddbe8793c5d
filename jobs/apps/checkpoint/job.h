/* SPDX-License-Identifier: BSD-3-Clause */
/* What all parts of the job know: who we are, and the library's objects. */
#ifndef CHECKPOINT_JOB_H
#define CHECKPOINT_JOB_H

#include <stdint.h>
#include <time.h>

#include "mercury.h"

/* Owned by main(), and constant once everything is open. */
struct job {
    hg_class_t *cls;
    hg_context_t *context;
    hg_id_t part_id;
    hg_id_t beat_id;
    int rank;
    int size;
    int servers; /* ranks 0 to servers - 1 serve */
    int senders; /* the others send; a lone rank does both */
};

#define JOB_NS_PER_S 1000000000ull

static inline uint64_t job_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * JOB_NS_PER_S + (uint64_t)now.tv_nsec;
}

#endif
