/* SPDX-License-Identifier: BSD-3-Clause */
/* How many processes the launcher says it has started.
 *
 * Only to tell a job of one rank from one that fell apart into many. Who the
 * ranks are, and how many, is asked of nobody but MPI. */
#ifndef AMG_BOOT_LAUNCH_H
#define AMG_BOOT_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

struct amg_boot_launch {
    uint32_t tasks;    /* started together with this one; 0: nobody says */
    bool is_by_step;   /* by a step of Slurm, and no manager of MPI's within */
    bool is_spokesman; /* the launcher's first, or all where it does not say:
                        * one process that may speak for all of them */
};

/* From the environment, at every call. */
struct amg_boot_launch amg_boot_launch_read(void);

#endif
