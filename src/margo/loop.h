/* SPDX-License-Identifier: BSD-3-Clause */
/* The user-level thread that makes progress: spins or sleeps. */
#ifndef AMG_MARGO_LOOP_H
#define AMG_MARGO_LOOP_H

#include <stdint.h>

#include "margo.h"

struct amg_margo_loop {
    ABT_thread thread; /* part "instance" owns and completes this struct */
};

int amg_margo_loop_start(margo_instance_id mid);
void amg_margo_loop_stop(margo_instance_id mid);

/* It has something to look at (a timer that is due earlier, an end): ends its
 * sleep. Any thread. */
void amg_margo_loop_kick(margo_instance_id mid);

#endif
