/* SPDX-License-Identifier: BSD-3-Clause */
/* How this process was launched, and the bootstrap of a process alone. */
#ifndef AMG_BOOT_LAUNCH_H
#define AMG_BOOT_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "boot/boot.h"

/* Makes `boot` rank 0 of 1. It holds nothing and needs no end. */
void amg_boot_alone_init(struct amg_boot *boot);

/* Only to tell a job of one rank from one that fell apart into many. Who the
 * ranks are, and how many, is asked of nobody but MPI. */

struct amg_boot_launch {
    uint32_t tasks;    /* started together with this one; 0: nobody says */
    bool is_by_step;   /* by a step of Slurm, and no manager of MPI's within */
    bool is_spokesman; /* the launcher's first, or all where it does not say:
                        * one process that may speak for all of them */
};

/* From the environment, at every call. */
struct amg_boot_launch amg_boot_launch_read(void);

#endif
